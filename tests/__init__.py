"""Tests; they mirror src."""
