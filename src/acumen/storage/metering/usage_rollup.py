"""What usage events add to the sums by memory and by user, gathered before it is written."""

from typing import Any

from acumen.model.metering.usage import CITED, ECHOED, SEARCHED, SHOWN, UsageEvent
from acumen.model.times import DAY_MS

SHOWINGS = ("shown", "tokens", "cited_shown", "cited_tokens", "echoed_shown", "echoed_tokens")
MEMORY_COUNTS = (*SHOWINGS, "citations", "echoes", "judged_shown", "judged_tokens")
USER_COUNTS = ("searches", "zero_hits", *SHOWINGS)
TIMES = ("first_at", "last_at", "last_cited_at")

MemoryKey = tuple[str, str, int]
UserKey = tuple[int, str, str]


def day_of(at: int) -> int:
    """UTC days since 1970."""
    return at // DAY_MS


class UsageRollup:
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
            row = self._user(event.user_id, event.agent_version, event.at)
            row["searches"] += event.count
            row["zero_hits"] += 0 if event.tokens else event.count
        elif event.name == SHOWN:
            self._shown(event)
        elif event.name in (CITED, ECHOED) and event.kind and event.memory_id:
            row = self._memory(event.kind, event.memory_id, event.at)
            row["citations" if event.name == CITED else "echoes"] += event.count
            if event.name == CITED:
                row["last_cited_at"] = max(row["last_cited_at"] or 0, event.at)

    def _shown(self, event: UsageEvent) -> None:
        at, row = event.at, self._memory(event.kind or "", event.memory_id or "", event.at)
        row["first_at"] = min(row["first_at"] or at, at)
        row["last_at"] = max(row["last_at"] or 0, at)
        if self._judged(event.agent_version, at):
            _add(row, "judged_", event.count, event.tokens)
        for its in (row, self._user(event.user_id, event.agent_version, at)):
            _add(its, "", event.count, event.tokens)

    def _judged(self, version: str | None, at: int) -> bool:
        since = self.citing.get(version or "")
        return since is not None and since <= at

    def credit(self, event: UsageEvent, showing: Any) -> None:
        """A showing was cited or echoed for the first time; it is counted on the day of the showing."""
        at, version, counted = (
            showing.created_at,
            showing.agent_version or "",
            (showing.count_value, showing.prompt_tokens),
        )
        row = self._memory(showing.entity_type, showing.entity_id, at)
        for its in (row, self._user(showing.user_id, version, at)):
            _add(its, "cited_" if event.name == CITED else "echoed_", *counted)
        if event.name == CITED and not self._judged(version, at):
            _add(row, "judged_", *counted)
        if event.name == CITED and version not in self.citing:
            self.citing[version] = self.newly_citing[version] = event.at

    def _memory(self, kind: str, memory_id: str, at: int) -> dict[str, Any]:
        key = (kind, memory_id, day_of(at))
        row = self.memories.get(key)
        if row is None:
            row = self.memories[key] = dict(_EMPTY)
        return row

    def _user(self, user: str | None, version: str | None, at: int) -> dict[str, Any]:
        key = (day_of(at), user or "", version or "")
        row = self.users.get(key)
        if row is None:
            row = self.users[key] = dict.fromkeys(USER_COUNTS, 0)
        return row


_EMPTY: dict[str, Any] = {**dict.fromkeys(MEMORY_COUNTS, 0), **dict.fromkeys(TIMES)}


def _add(row: dict[str, Any], which: str, count: int, tokens: int) -> None:
    row[f"{which}shown"] += count
    row[f"{which}tokens"] += tokens
