"""Memories as learning stores them, with the cause of each change and the words behind it."""

from typing import Any

from msgspec.structs import replace

from acumen.model.ids import InteractionId, Kind, MemoryRef, UserId, fresh_id
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.conflict import Conflict
from acumen.model.memories.search import SearchRow
from acumen.storage.memories.lineage import CONFLICT, Because
from acumen.storage.store import OrgStore, Tx
from tests.world import Org, a_profile, a_request, a_turn, kind_of


def store_of(org: Org) -> OrgStore:
    return org.app.store.of(org.id)


def say(tx: Tx, text: str, user: str = "ada", session: str = "s1") -> InteractionId:
    """A user's turn in a session."""
    request = a_request(fresh_id("req"), user, session)
    tx.conversations.add(request, [a_turn(text, request)])
    return tx.conversations.get_last_id(request.id) or InteractionId(0)


def learn(tx: Tx, memory: Any, quote: str = "", **turn: str) -> MemoryRef:
    """Adds the memory because of a turn that says `quote`, or what the memory says."""
    words = quote or getattr(memory, "content", "") or memory.lesson.content
    said_in = say(tx, words, memory.user_id or "ada", **turn)
    memory, kind = replace(memory, interaction_ids=[*memory.interaction_ids, said_in]), kind_of(memory)
    because = Because("a new fact", cause=Cause.LEARNED, quote=words, interaction_id=said_in)
    return tx.memories.add(kind, memory, SearchRow(kind, "", memory.user_id or "", words.lower(), "w1"), because)


def change(tx: Tx, ref: MemoryRef, cause: Cause, quote: str, **fields: Any) -> None:
    """Changes fields of the memory, caused by a turn that says `quote`."""
    memory: Any = tx.by_kind[ref.kind].get(ref.id)
    said_in = say(tx, quote, memory.user_id or "ada", "s2")
    because = Because(f"because of a {cause}", cause=cause, quote=quote, interaction_id=said_in)
    row = SearchRow(ref.kind, "", memory.user_id or "", quote.lower(), "w1") if "content" in fields else None
    tx.memories.update(ref, memory, replace(memory, **fields), row, because)


def supersede(tx: Tx, ref: MemoryRef, by: MemoryRef, quote: str, cause: Cause = Cause.CORRECTION) -> None:
    successor = tx.by_kind[by.kind].mapping.parse_id(by.id)
    change(tx, ref, cause, quote, status=Status.SUPERSEDED, superseded_by=successor)


def put_in_conflict(tx: Tx, older: MemoryRef, newer: MemoryRef, quote: str = "", user: str = "ada") -> str:
    said_in = say(tx, quote or "another value", user, "s3")
    link = Conflict(
        fresh_id("con"), UserId(user), older, newer, "two values of one attribute", tx.at, quote or None, said_in
    )
    tx.conflicts.add(link)
    because = Because(
        "two values of one attribute",
        sources=[older.id],
        cause=Cause.CONFLICT,
        quote=quote or None,
        interaction_id=said_in,
    )
    tx.lineage.record(newer, CONFLICT, because, user=user)
    return link.id


def two_ports(tx: Tx, user: str = "ada", **more: Any) -> tuple[MemoryRef, MemoryRef]:
    """An older and a newer fact about the same thing."""
    return (
        learn(tx, a_profile("The staging port is 8080", user, **more)),
        learn(tx, a_profile("The staging port is 9090", user, **more)),
    )


def profile_ref(name: str) -> MemoryRef:
    return MemoryRef(Kind.PROFILE, name)
