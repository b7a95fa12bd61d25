"""Storage: what lasts. SQLAlchemy Core written once for both databases."""
