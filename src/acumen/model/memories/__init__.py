"""Profiles, playbooks, and what search and sharing read of them."""
