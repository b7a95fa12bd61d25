"""Redact values before they are stored, and count what was replaced."""

from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from acumen.model.plural import counted
from acumen.model.secrets import redact
from acumen_client.secret_names import is_secret

V = TypeVar("V", bound=Struct)
MARK = "[redacted"
# What callers write into turns and memories; ids and names of ours are no free text.
_FREE = frozenset(
    "content shadow_content expert_content user_action_description image_url tools_used "
    "lesson trigger rationale pitfall blocking_issue name notes source_span metadata tags custom_features value".split()
)


class Redactor:
    """Replaces secrets unless the operator keeps them; `count` is how many were replaced."""

    def __init__(self, *, keep_secrets: bool = False) -> None:
        self.count = 0
        self._keep = keep_secrets

    def text(self, text: str) -> str:
        if self._keep:
            return text
        clean = redact(text)
        if clean != text:
            self.count += max(clean.count(MARK) - text.count(MARK), 1)
        return clean

    def struct(self, value: V) -> V:
        """The same object when nothing in its free text is a secret."""
        changes = {}
        for name in value.__struct_fields__:
            if name in _FREE and (before := getattr(value, name)):
                after = self.value(before)
                if after is not before and after != before:
                    changes[name] = after
        return replace(value, **changes) if changes else value

    def value(self, value: Any) -> Any:
        """Text, or JSON: there a value is a secret by the name of its field, too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Struct):
            return self.struct(value)
        if isinstance(value, list | tuple):
            return type(value)(self.value(inner) for inner in value)
        if isinstance(value, dict):
            return {name: self._field(name, inner) for name, inner in value.items()}
        return value

    def _field(self, name: str, value: Any) -> Any:
        if self._keep or not (_tells(value) and is_secret(name)):
            return self.value(value)
        self.count += value != MARKED
        return MARKED

    def warning(self, where: str) -> str | None:
        """For the caller, if anything was replaced."""
        if not self.count:
            return None
        return f"{counted(self.count, 'secret')} in {where} redacted before storing"


MARKED = f"{MARK}]"


def _tells(value: Any) -> bool:
    """Whether a secret exists is not a secret."""
    return value is not None and not isinstance(value, bool)
