"""Usage, injections, outcomes, experiments and the cost of models."""
