"""Observe: accept what agents say and do."""
