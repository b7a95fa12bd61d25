"""Candidates of large scopes: the rows that may be the best ones, found by the database instead of in memory."""
