"""One history of the schema for both databases."""
