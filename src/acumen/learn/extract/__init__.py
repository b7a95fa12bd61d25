"""A window of conversation becomes notes."""
