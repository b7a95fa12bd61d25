"""Show a past search again, and ask its question of the memories as they were at another time."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from acumen.deps import Deps
from acumen.errors import NotFound
from acumen.index.documents import Document, terms_of, vector_of
from acumen.index.partition import Partition, RankQuery
from acumen.llm.tokens import count_tokens
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories.memory import Memory, of_snapshot, owner, searchable
from acumen.model.memories.playbook import AgentPlaybook
from acumen.model.memories.profile import NEVER, Profile, lesson_ends_at
from acumen.model.memories.search import Facet, Filter, Found, RankingMode, SearchRow
from acumen.model.metering.usage import Injection
from acumen.recall.context import Context, Line, Shares, compose
from acumen.recall.lines import by_stability
from acumen.recall.parts import OWN_KINDS, Hit, Material, lines_of
from acumen.recall.quotes import Quote
from acumen.recall.search import Ask
from acumen.storage.store import Tx


def kept(ask: Ask, budget: int, quoted: Sequence[Quote] = ()) -> dict[str, Any]:
    """What an injection stores of its query in addition to the text: everything that decided the result.

    With the turns that were quoted, so that they can be cited, and erased where they are deleted.
    """
    return {
        "top_k": ask.top_k,
        "mode": str(ask.mode),
        "threshold": ask.threshold,
        "max_tokens": budget,
        "show_unapproved": ask.show_unapproved,
        "agent_version": ask.agent_version,
        "shares": asdict(ask.shares) if ask.context else None,
        "cite": ask.cite,
        "quoted": [int(quote.turn) for quote in quoted],
        "filters": {
            str(kind): {name: value for name, value in asdict(filter_).items() if value is not None}
            for kind, filter_ in ask.filters.items()
        },
    }


def _filters(stored: Mapping[str, Any], at: Millis) -> dict[Kind, Filter]:
    """As they were asked, at another time."""
    filters = {Kind(kind): convert({"statuses": None, **values}, Filter) for kind, values in stored["filters"].items()}
    return {
        kind: filter_ if filter_.unexpired_at is None else replace(filter_, unexpired_at=at)
        for kind, filter_ in filters.items()
    }


class Then(Struct, frozen=True):
    """What a question would have found at a moment."""

    at: Millis
    context: Context
    hits: Sequence[tuple[MemoryRef, Found]]

    @property
    def lines(self) -> dict[MemoryRef, Line]:
        return {line.ref: line for line in self.context.shown}


class ReplayComparison(Struct, frozen=True):
    injection: Injection
    earlier: Then
    later: Then

    @property
    def appeared(self) -> list[MemoryRef]:
        return [ref for ref in self.later.lines if ref not in self.earlier.lines]

    @property
    def vanished(self) -> list[MemoryRef]:
        return [ref for ref in self.earlier.lines if ref not in self.later.lines]

    @property
    def reworded(self) -> list[MemoryRef]:
        before, after = self.earlier.lines, self.later.lines
        return [ref for ref in before if ref in after and before[ref].text != after[ref].text]

    @property
    def diff(self) -> str:
        """The two contexts, line by line; empty when they are the same."""
        before, after = self.earlier.context.text.splitlines(), self.later.context.text.splitlines()
        return "\n".join(difflib.unified_diff(before, after, "earlier", "later", lineterm=""))


async def injection(name: str, deps: Deps) -> Injection:
    """A past search, as it was."""
    stored = await deps.store.read(lambda tx: tx.injections.get(name))
    if stored is None:
        raise NotFound(f"Injection {name!r} not found. Metering may have been off, or the record has expired.")
    return stored


async def compare(name: str, earlier: Millis, later: Millis, deps: Deps) -> ReplayComparison:
    """The same question at two moments, over the memories as recorded in their lineage."""
    past = await injection(name, deps)
    return ReplayComparison(past, await _then(past, earlier, deps), await _then(past, later, deps))


async def _then(past: Injection, at: Millis, deps: Deps) -> Then:
    stored = past.ask
    if stored is None:
        raise NotFound("This injection predates full query storage; it can be shown but not run again.")
    mode, shares = RankingMode(stored["mode"]), stored.get("shares")
    vector = None if mode == RankingMode.FTS else await deps.local_models.embed_query(past.query)
    question = RankQuery.of(past.query, vector, mode if vector is not None else RankingMode.FTS)
    hits: list[Hit] = []
    standing: list[tuple[MemoryRef, Memory]] = []
    for kind, filter_ in _filters(stored, at).items():
        memories, partition = await _stood(kind, filter_.user_id, at, deps)
        ranked = partition.rank(question, stored["top_k"], filter_.admits, stored["threshold"])
        hits += [Hit(memories[match.entity_id], MemoryRef(kind, match.entity_id), match) for match in ranked]
        if shares and kind in OWN_KINDS:
            named = ((name, partition.facet(name)) for name in memories)
            ids = [name for name, facet in named if facet.standing and filter_.admits(facet)]
            standing += [(MemoryRef(kind, name), memories[name]) for name in ids]
    material = Material([Hit(memory, ref, None) for ref, memory in by_stability(standing)])
    # Questions of before this was asked were shown everything.
    lines = lines_of(hits, material, stored.get("agent_version"), show_unapproved=stored.get("show_unapproved", True))
    parts = Shares(**shares) if shares else Shares(0, 1, 0)
    context = compose(
        lines.standing, lines.relevant, None, stored["max_tokens"], count_tokens, parts, cite=stored.get("cite", False)
    )
    return Then(at, context, [(hit.ref, hit.match) for hit in hits if hit.match])


async def _stood(
    kind: Kind, user: UserId | None, at: Millis, deps: Deps
) -> tuple[Mapping[str, Memory], Partition[Facet]]:
    """The memories of that time, and what search would have held of them."""
    memories, rows = await deps.store.read(lambda tx: _as_of(tx, kind, user, at))
    rows |= await _made_findable(kind, memories, rows, deps)
    return memories, _partition(memories, rows, deps.local_models.name)


def _as_of(tx: Tx, kind: Kind, user: UserId | None, at: Millis) -> tuple[dict[str, Memory], dict[str, SearchRow]]:
    """The memories of that time, and the search rows of those that are unchanged."""
    then = {name: of_snapshot(kind, name, stored) for name, stored in tx.lineage.get_as_of(kind, user, at).items()}
    now = tx.by_kind[kind].get_many(list(then))
    same = {name for name, memory in now.items() if searchable(memory) == searchable(then[name])}
    rows = {row.entity_id: row for row, _, gone in tx.search_rows.find_since(kind, user, 0) if not gone}
    return then, {name: row for name, row in rows.items() if name in same}


async def _made_findable(
    kind: Kind, memories: Mapping[str, Memory], rows: Mapping[str, SearchRow], deps: Deps
) -> dict[str, SearchRow]:
    missing = [name for name in memories if name not in rows]
    made = await deps.index.rows([Document.of(kind, memories[name]) for name in missing])
    return dict(zip(missing, made, strict=True))


def _partition(memories: Mapping[str, Memory], rows: Mapping[str, SearchRow], model: str) -> Partition[Facet]:
    partition: Partition[Facet] = Partition()
    for name, memory in memories.items():
        row = rows[name]
        partition.put(name, "", vector_of(row, model), _facet(memory), words=terms_of(row))
    return partition


def _ends_at(memory: Memory) -> Millis:
    if isinstance(memory, AgentPlaybook):
        return NEVER
    if isinstance(memory, Profile):
        return memory.expires_at
    return lesson_ends_at(memory.valid_until, memory.category)


def _facet(memory: Memory) -> Facet:
    lesson = not isinstance(memory, Profile)
    return Facet(
        user_id=owner(memory),
        status=memory.status,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        expires_at=_ends_at(memory),
        source=getattr(memory, "source", None) or "",
        agent_version=getattr(memory, "agent_version", "") if lesson else "",
        name=getattr(memory, "name", "") if lesson else "",
        tags=frozenset(memory.tags),
        approval=memory.approval if isinstance(memory, AgentPlaybook) else None,
        request_id=getattr(memory, "request_id", ""),
        extractors=frozenset(getattr(memory, "extractors", ())),
        standing=getattr(memory, "standing", False),
        scoped_version=getattr(memory, "scoped_version", None),
    )
