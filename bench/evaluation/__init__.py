"""Judging sessions without a model: a labelled set of sessions, and how the rules agree with it."""
