"""How faithful a cleaned text is to what was said. Floor 2: usable on two strings, with nothing else installed."""
