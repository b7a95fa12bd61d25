"""Usage, cost, outcomes and experiments."""
