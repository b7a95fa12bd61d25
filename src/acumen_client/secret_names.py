"""Which values are secret by their name alone, regardless of their content."""

_SECRET = ("password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential", "cookie")
# How many tokens there are is no secret.
_COUNTS = ("tokens", "token_count")


def is_secret(name: str) -> bool:
    lowered = name.lower()
    return any(word in lowered for word in _SECRET) and not lowered.endswith(_COUNTS)
