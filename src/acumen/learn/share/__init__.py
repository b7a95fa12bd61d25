"""User playbooks of many users become shared lessons."""
