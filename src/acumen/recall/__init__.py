"""Recall: find the right memories for the next prompt, within a token budget."""
