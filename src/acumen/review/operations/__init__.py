"""Review of what was learned from operations: failure groups, proposed lessons, alerts."""
