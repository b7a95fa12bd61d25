"""Grammar for learning without a model: from text to sentences, words, clauses, and what they say."""
