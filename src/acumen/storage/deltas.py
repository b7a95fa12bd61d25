"""What usage events add to the sums by memory and by user, gathered before it is written."""

from typing import Any

from acumen.model.profile import DAY_MS
from acumen.model.usage import CITED, ECHOED, SEARCHED, SHOWN, UsageEvent

SHOWINGS = ("shown", "tokens", "cited_shown", "cited_tokens", "echoed_shown", "echoed_tokens")
JUDGED = ("judged_shown", "judged_tokens")
MEMORY_COUNTS = (*SHOWINGS, "citations", "echoes", *JUDGED)
USER_COUNTS = ("searches", "zero_hits", *SHOWINGS)
TIMES = ("first_at", "last_at", "last_cited_at")

MemoryKey = tuple[str, str, int]
UserKey = tuple[int, str, str]


def day_of(at: int) -> int:
    """UTC days since 1970."""
    return at // DAY_MS


class Deltas:
    """`citing` says since when agents of a version have cited anything: from then on, what they do not cite is held
    against a memory. An agent that never cites says nothing about what it was shown.
    """

    def __init__(self, citing: dict[str, int] | None = None) -> None:
        self.memories: dict[MemoryKey, dict[str, Any]] = {}
        self.users: dict[UserKey, dict[str, Any]] = {}
        self.citing = citing or {}
        self.newly_citing: dict[str, int] = {}

    def count(self, event: UsageEvent) -> None:
        if event.name == SEARCHED:
            self._user(event, searches=event.count, zero_hits=0 if event.tokens else event.count)
        elif event.name == SHOWN:
            self._shown(event)
        elif event.name in (CITED, ECHOED) and event.kind and event.memory_id:
            row = self._memory(event.kind, event.memory_id, event.at)
            row["citations" if event.name == CITED else "echoes"] += event.count
            if event.name == CITED:
                row["last_cited_at"] = max(row["last_cited_at"] or 0, event.at)

    def _shown(self, event: UsageEvent) -> None:
        row = self._memory(event.kind or "", event.memory_id or "", event.at)
        counts = {"shown": event.count, "tokens": event.tokens}
        _add(row, counts)
        if self._judged(event.agent_version, event.at):
            _add(row, _as_judged(event.count, event.tokens))
        row["first_at"] = min(row["first_at"] or event.at, event.at)
        row["last_at"] = max(row["last_at"] or 0, event.at)
        self._user(event, **counts)

    def _judged(self, version: str | None, at: int) -> bool:
        since = self.citing.get(version or "")
        return since is not None and since <= at

    def came_back(self, event: UsageEvent, showing: Any) -> None:
        """A showing was cited or echoed for the first time; it is counted on the day of the showing."""
        word = "cited" if event.name == CITED else "echoed"
        counts = {f"{word}_shown": showing.count_value, f"{word}_tokens": showing.prompt_tokens}
        row = self._memory(showing.entity_type, showing.entity_id, showing.created_at)
        _add(row, counts)
        version = showing.agent_version or ""
        key = (day_of(showing.created_at), showing.user_id or "", version)
        _add(self.users.setdefault(key, dict.fromkeys(USER_COUNTS, 0)), counts)
        if event.name == CITED and not self._judged(version, showing.created_at):
            _add(row, _as_judged(showing.count_value, showing.prompt_tokens))
        if event.name == CITED and version not in self.citing:
            self.citing[version] = self.newly_citing[version] = event.at

    def _memory(self, kind: str, memory_id: str, at: int) -> dict[str, Any]:
        key = (kind, memory_id, day_of(at))
        row = self.memories.get(key)
        if row is None:
            row = self.memories[key] = dict(_EMPTY)
        return row

    def _user(self, event: UsageEvent, **counts: int) -> None:
        key = (day_of(event.at), event.user_id or "", event.agent_version or "")
        _add(self.users.setdefault(key, dict.fromkeys(USER_COUNTS, 0)), counts)


_EMPTY: dict[str, Any] = {**dict.fromkeys(MEMORY_COUNTS, 0), **dict.fromkeys(TIMES)}


def _add(row: dict[str, Any], counts: dict[str, int]) -> None:
    for name, by in counts.items():
        row[name] += by


def _as_judged(count: int, tokens: int) -> dict[str, int]:
    return dict(zip(JUDGED, (count, tokens), strict=True))
