"""Notes and known memories become changes. Pure."""
