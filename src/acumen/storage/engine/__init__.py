"""Transactions, both databases, group commit, compiled statements, migrations and backup."""
