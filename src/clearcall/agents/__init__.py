"""What each stage does to a message; no Faust in here. Floor 3."""
