"""Commands that work on this machine: the server, its database and its keys."""
