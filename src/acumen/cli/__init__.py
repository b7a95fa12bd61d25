"""The command line: what runs on this machine, and what speaks to a server through the client."""
