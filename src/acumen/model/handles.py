"""Handles: short names of memories and turns in a context, by which an agent can cite them."""

import re
import zlib
from collections.abc import Iterable

from acumen.model.ids import InteractionId, MemoryRef

# Five digits cost two tokens. Two memories of one user rarely share a handle; then the citation counts for neither.
_NUMBERS = 100_000
_HANDLE = re.compile(r"\[\s*([mt]\d{1,12}(?:\s*[,;]\s*[mt]\d{1,12})*)\s*\]")


def memory_handle(ref: MemoryRef) -> str:
    """The same for as long as the memory exists: `m48217`."""
    return f"m{zlib.crc32(f'{ref.kind}:{ref.id}'.encode()) % _NUMBERS:05d}"


def turn_handle(turn: InteractionId) -> str:
    return f"t{turn}"


def cited_handles(text: str) -> list[str]:
    """Every handle in square brackets, in order, each once: `[m48217]`, `[m48217, t345]`."""
    groups = (re.split(r"\s*[,;]\s*", match.group(1)) for match in _HANDLE.finditer(text))
    return list(dict.fromkeys(handle for group in groups for handle in group))


def without_handles(text: str) -> str:
    """The text without its bracketed handles and the space before them."""
    return re.sub(rf"[ \t]*{_HANDLE.pattern}", "", text)


def by_handle(refs: Iterable[MemoryRef]) -> dict[str, MemoryRef]:
    """Memories under their handles; a handle that two of them share names neither."""
    named: dict[str, set[MemoryRef]] = {}
    for ref in refs:
        named.setdefault(memory_handle(ref), set()).add(ref)
    return {handle: refs.pop() for handle, refs in named.items() if len(refs) == 1}
