"""Learning without a model key: a labelled set of conversations, how it is scored, and how it is played."""
