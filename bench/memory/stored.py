"""What a server has stored, read from its SQLite file: memories, their changes, jobs that are due."""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

# The words of a memory end only for one of these causes (`acumen.model.memories.base.Cause`).
EXPLICIT_CAUSES = frozenset({"correction", "retraction", "new_value", "model", "person", "forget", "expired"})
CURRENT = "current"
MAX_QUIET_SECONDS = 900
POLL_SECONDS = 0.1


class Ending(Struct, frozen=True):
    """A memory that is no longer current, or whose words were replaced. `new` is what took its place, if anything."""

    kind: str
    user_id: str
    old: str
    new: str
    cause: str
    quote: str

    @property
    def is_explicit(self) -> bool:
        return self.cause in EXPLICIT_CAUSES


class Memory(Struct, frozen=True):
    """`said_at` is in epoch milliseconds; `sentence` is the user's own, where it is stored."""

    kind: str
    user_id: str
    text: str
    sentence: str
    said_at: int
    category: str
    trigger: str = ""
    pitfall: str = ""


@contextmanager
def _rows(data: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(f"file:{data / 'acumen.db'}?mode=ro", uri=True, timeout=30)
    connection.row_factory = sqlite3.Row
    try:
        yield connection
    finally:
        connection.close()


# --- work in progress ---------------------------------------------------------------------------------------------


def wait_until_quiet(data: Path) -> None:
    """Returns once no job is due or running and every turn that search may show has its vector."""
    give_up_at = time.monotonic() + MAX_QUIET_SECONDS
    while True:
        with _rows(data) as db:
            waiting = db.execute(_DUE, {"now": time.time() * 1000}).fetchone()[0]
            dead = db.execute("SELECT event, last_error FROM jobs WHERE state = 'dead' LIMIT 1").fetchone()
        if dead is not None:
            raise RuntimeError(f"a job failed: {dead['fact']}: {dead['last_error']}")
        if not waiting:
            return
        if time.monotonic() > give_up_at:
            raise RuntimeError(f"{waiting} jobs or turns were still waiting after {MAX_QUIET_SECONDS} s")
        time.sleep(POLL_SECONDS)


_DUE = """
SELECT (SELECT COUNT(*) FROM jobs WHERE state = 'running' OR (state = 'waiting' AND run_at <= :now))
     + (SELECT COUNT(*) FROM search_rows WHERE kind = 'turn' AND NOT gone AND vector IS NULL)
"""


# --- memories -----------------------------------------------------------------------------------------------------


def memories(data: Path) -> list[Memory]:
    """The current memories of all users, oldest first."""
    with _rows(data) as db:
        rows = [*db.execute(_PROFILES), *db.execute(_PLAYBOOKS)]
    return [Memory(*(row[name] or default for name, default in _COLUMNS)) for row in rows]


_COLUMNS: tuple[tuple[str, Any], ...] = (
    ("kind", ""),
    ("user_id", ""),
    ("content", ""),
    ("source_span", ""),
    ("said_at", 0),
    ("category", ""),
    ("trigger_text", ""),
    ("pitfall", ""),
)
_PROFILES = """
SELECT 'profile' AS kind, user_id, content, source_span, said_at, category, '' AS trigger_text, '' AS pitfall
FROM profiles WHERE status = 'current' ORDER BY created_at, profile_id
"""
_PLAYBOOKS = """
SELECT 'playbook' AS kind, user_id, content, source_span, said_at, category, "trigger" AS trigger_text, pitfall
FROM user_playbooks WHERE status = 'current' ORDER BY created_at, playbook_id
"""


# --- changes ------------------------------------------------------------------------------------------------------


class Changes(Struct, frozen=True):
    """`expired` counts memories that are current but no longer searched, because their stated time is over."""

    made: int
    endings: list[Ending]
    expired: int


def changes(data: Path) -> Changes:
    """All memories of users that were made, and all that ended, from the `lineage` table."""
    with _rows(data) as db:
        rows = list(db.execute(_LINEAGE))
        expired = db.execute(_EXPIRED, {"now": time.time() * 1000}).fetchone()[0]
        texts = {**_texts(db, _PROFILE_TEXTS), **_texts(db, _PLAYBOOK_TEXTS)}
    events = [(row, _parsed(row["before"]), _parsed(row["after"])) for row in rows]
    endings = [_ending(*event, texts) for event in events if is_ending(event[0]["op"], *event[1:])]
    return Changes(sum(row["op"] == "add" for row in rows), endings, expired)


_LINEAGE = """
SELECT kind, entity_id, user_id, op, cause, quote, before, after FROM lineage
WHERE kind IN ('profile', 'user_playbook') ORDER BY event_id
"""
_EXPIRED = "SELECT COUNT(*) FROM profiles WHERE status = 'current' AND expires_at <= :now"
_PROFILE_TEXTS = "SELECT 'profile' AS kind, profile_id AS id, content FROM profiles"
_PLAYBOOK_TEXTS = "SELECT 'user_playbook' AS kind, playbook_id AS id, content FROM user_playbooks"


def is_ending(op: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    """A current memory was deleted or left the current ones, or its words were replaced and not merely extended."""
    if before is None or before.get("status", CURRENT) != CURRENT:
        return False
    if op == "delete" or after is None or after.get("status", CURRENT) != CURRENT:
        return True
    return words(before) not in words(after)


def words(snapshot: Mapping[str, Any]) -> str:
    """The text of a memory as its lineage stores it."""
    return str((snapshot.get("lesson") or snapshot).get("content") or "")


def _ending(
    row: sqlite3.Row, before: Mapping[str, Any], after: Mapping[str, Any] | None, texts: Mapping[tuple[str, str], str]
) -> Ending:
    successor = (after or {}).get("superseded_by") or (after or {}).get("merged_into")
    new = texts.get((row["kind"], str(successor)), "") if successor else ""
    if after is not None and after.get("status", CURRENT) == CURRENT:
        new = words(after)
    cause, quote = row["cause"] or "", row["quote"] or ""
    return Ending(row["kind"], row["user_id"] or "", words(before), new, cause, quote)


def _texts(db: sqlite3.Connection, query: str) -> dict[tuple[str, str], str]:
    return {(row["kind"], str(row["id"])): row["content"] for row in db.execute(query)}


def _parsed(snapshot: str | None) -> Any:
    return None if snapshot is None else json.loads(snapshot)
