"""Topics, the ordered runtime, the Faust apps that wire topics to agents, and the command line. Floor 4."""
