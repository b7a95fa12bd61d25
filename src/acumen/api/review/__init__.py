"""Endpoints that read, change and erase memories and proposals."""
