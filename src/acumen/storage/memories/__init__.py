"""Profiles and playbooks: their rows, search rows, lineage, conflicts and clusters."""
