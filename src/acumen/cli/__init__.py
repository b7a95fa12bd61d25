"""The command line: commands that run on this machine, and commands that call a server through the client."""
