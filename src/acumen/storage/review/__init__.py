"""The review queue, its signals, and what reviewers did."""
