"""Sessions become outcomes."""
