"""Secrets do not become memories; how they are recognised is told in `model/secrets.py`."""

from acumen.model.secrets import redact

__all__ = ["redact"]
