"""Find the memories that fit a question, for one user, exactly over all that is current."""

import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.deps import Deps, Nearness, beside
from acumen.llm.embed import NAME
from acumen.llm.meaning import Vector
from acumen.llm.tokens import count_tokens
from acumen.model.conversation import Interaction, versions_meant
from acumen.model.ids import InjectionId, InteractionId, Kind, MemoryRef, UserId, fresh_id
from acumen.model.memories.search import Filter, Found, RankingMode, SearchRow
from acumen.model.metering.experiment import HOLDOUT, Assignment
from acumen.model.metering.usage import PRODUCTION
from acumen.recall.context import Context, Shares, compose
from acumen.recall.dedupe import without_doubles
from acumen.recall.experiments import assigned
from acumen.recall.index import vector_of, words_of
from acumen.recall.index_cache import HeldMemories, HeldTurns, IndexCache
from acumen.recall.lines import is_unapproved
from acumen.recall.partition import RankQuery
from acumen.recall.parts import ContextScope, Hit, Material, Reading, gather, lines_of
from acumen.storage.store import Tx

T = TypeVar("T")

# So many memories that may say the same as a new one are looked at.
ALIKE = 24
LESSONS = (Kind.USER_PLAYBOOK, Kind.AGENT_PLAYBOOK)
# Scores that are the same to so many digits are a tie.
TIE_DIGITS = 2


class Ask(Struct, frozen=True):
    """A question. `filters` names the kinds to look through and what may come of each."""

    query: str | None
    top_k: int
    filters: Mapping[Kind, Filter]
    mode: RankingMode = RankingMode.HYBRID
    threshold: float | None = None
    user_id: UserId | None = None
    session_id: str | None = None
    request_id: str | None = None
    caller_type: str = PRODUCTION
    max_tokens: int | None = None
    agent_version: str | None = None
    show_unapproved: bool = False  # in the context; the lists tell of each hit how it stands
    context: ContextScope | None = None  # whose memories and turns go into the context besides the hits
    shares: Shares = Shares()
    cite: bool = False


class Recalled(Struct, frozen=True):
    """The fact that a search was answered: with what, for whom, at what cost."""

    injection_id: InjectionId
    ask: Ask
    hits: Sequence[Hit]
    context: Context
    mode: RankingMode
    degraded: str | None  # why the search fell short of what was asked, in a sentence
    at: int
    duration_ms: float
    assignment: Assignment | None = None  # to an arm of the experiment that runs
    context_budget: int = 0
    also: Sequence[Hit] = ()  # memories that went into the context, or could have, without being found

    @property
    def withheld(self) -> bool:
        """Nothing was looked for, because an experiment wants this user to be shown nothing."""
        return self.assignment is not None and self.assignment.arm == HOLDOUT

    def of(self, kind: type[T]) -> list[tuple[T, Found | None]]:
        return [(hit.memory, hit.found) for hit in self.hits if isinstance(hit.memory, kind)]


class TurnHit(Struct, frozen=True):
    turn: Interaction
    found: Found | None


class _Understood(Struct, frozen=True):
    """The question as the partitions take it."""

    question: RankQuery | None
    mode: RankingMode
    degraded: str | None = None


class Search:
    """Holds what search keeps in memory between questions."""

    def __init__(self, most_bytes: int) -> None:
        self._shelf = IndexCache(most_bytes)

    async def memories(self, ask: Ask, deps: Deps) -> Recalled:
        began = time.perf_counter()
        assignment = assigned(deps.config.experiment, ask.user_id) if ask.caller_type == PRODUCTION else None
        if assignment is not None and assignment.arm == HOLDOUT:
            return _withheld(ask, assignment, began, deps)
        understood = await _understand(ask.query, ask.mode, deps)
        budget = deps.settings.recall.max_tokens if ask.max_tokens is None else ask.max_tokens
        hits, material = await deps.store.read(lambda tx: self._read(tx, ask, understood, budget, deps))
        lines = lines_of(hits, material, ask.agent_version, show_unapproved=ask.show_unapproved)
        quotes = material.quotes
        choose = None if quotes is None else lambda room, known: quotes.choose(room, count_tokens, known)
        context = compose(lines.standing, lines.relevant, choose, budget, count_tokens, ask.shares, cite=ask.cite)
        return Recalled(
            injection_id=InjectionId(fresh_id("inj")),
            ask=ask,
            hits=hits,
            context=context,
            mode=understood.mode,
            degraded=understood.degraded,
            at=deps.now(),
            duration_ms=(time.perf_counter() - began) * 1000,
            assignment=assignment,
            context_budget=budget,
            also=material.also(hits),
        )

    def _read(self, tx: Tx, ask: Ask, understood: _Understood, budget: int, deps: Deps) -> tuple[list[Hit], Material]:
        hits = self._hits(tx, ask, understood, deps)
        if ask.context is None or understood.question is None or not budget:
            return hits, Material()
        model = deps.meaning.name
        reading = Reading(tx, self._shelf, ask.context, understood.question, ask.threshold, model)
        return hits, gather(reading, hits)

    async def turns(self, ask: "AskTurns", deps: Deps) -> "RecalledTurns":
        understood = await _understand(ask.query, ask.mode, deps)
        hits = await deps.store.read(lambda tx: self._turns(tx, ask, understood, deps))
        return RecalledTurns(InjectionId(fresh_id("inj")), hits, understood.mode, understood.degraded)

    def alike(self, tx: Tx, kind: Kind, user: UserId, rows: Sequence[SearchRow]) -> list[Nearness]:
        """For each row that is about to be stored, what is stored already and comes near it by words or by meaning."""
        held = self._shelf.memories(tx, kind, user)
        with held.lock:
            held.catch_up(tx, NAME)
            vectors = [None if (lines := vector_of(row, NAME)) is None else lines[0] for row in rows]
            found: list[Nearness] = []
            for row, vector in zip(rows, vectors, strict=True):
                question = RankQuery(words_of(row), vector)
                hits = held.rows.rank(question, ALIKE, Filter(user_id=user, statuses=None).admits, 0.0)
                found.append({hit.entity_id: hit.reasons.get("vector") for hit in hits} | _beside(vector, vectors))
        return found

    def _hits(self, tx: Tx, ask: Ask, understood: _Understood, deps: Deps) -> list[Hit]:
        """What a shared lesson and an own one both say is told once; others take the place that falls free."""
        found = self._found(tx, ask, understood, deps)
        kept = _told_once(tx, found, ask)
        if len(kept) == len(found):
            return kept
        more = replace(ask, top_k=ask.top_k + len(found) - len(kept))
        kept = _told_once(tx, self._found(tx, more, understood, deps), ask)
        by_kind = ([hit for hit in kept if hit.ref.kind == kind][: ask.top_k] for kind in ask.filters)
        return [hit for hits in by_kind for hit in hits]

    def _found(self, tx: Tx, ask: Ask, understood: _Understood, deps: Deps) -> list[Hit]:
        if understood.question is None:
            return [hit for kind, wanted in ask.filters.items() for hit in _listed(tx, kind, wanted, ask.top_k)]
        question = understood.question
        # All are ranked before any is fetched: vectors take the place in the processor's cache of what fetching needs.
        ranked = [(kind, self._ranked(tx, kind, wanted, ask, question, deps)) for kind, wanted in ask.filters.items()]
        return [hit for kind, found in ranked for hit in _fetched(tx, kind, found)]

    def _ranked(self, tx: Tx, kind: Kind, wanted: Filter, ask: Ask, question: RankQuery, deps: Deps) -> list[Found]:
        unshared = _unshared(tx, kind, wanted)
        held = self._shelf.memories(tx, kind, wanted.user_id)
        found = _rank(tx, held, wanted, question, ask.top_k + len(unshared), ask.threshold, deps)
        shared = [row for row in found if row.entity_id not in unshared][: ask.top_k]
        return _own_version_first(shared, held, ask.agent_version) if kind in LESSONS else shared

    def _turns(self, tx: Tx, ask: "AskTurns", understood: _Understood, deps: Deps) -> list[TurnHit]:
        if understood.question is None:
            wanted = ask.wanted
            listed = tx.conversations.newest(
                ask.user_id, ask.most_recent or ask.top_k, wanted.since, wanted.until, wanted.request_id
            )
            hidden = tx.hidden_turns.hidden([turn.id for turn in listed])
            return [TurnHit(turn, None) for turn in listed if turn.id not in hidden]
        held = self._shelf.turns(tx, ask.user_id)
        found = _rank(tx, held, ask.wanted, understood.question, ask.top_k, ask.threshold, deps)
        ids = [InteractionId(int(one.entity_id)) for one in found]
        stored = {str(turn.id): turn for turn in tx.conversations.by_ids(ids)}
        hits = [TurnHit(stored[one.entity_id], one) for one in found if one.entity_id in stored]
        if ask.most_recent:
            hits = sorted(hits, key=lambda hit: hit.turn.id, reverse=True)[: ask.most_recent]
        return hits


def _own_version_first(ranked: list[Found], held: HeldMemories, agent_version: str | None) -> list[Found]:
    """On ties, lessons that the version of the asking agent has learned itself."""
    if agent_version is None:
        return ranked
    versions = versions_meant(agent_version)
    with held.lock:
        own = {row.entity_id for row in ranked if held.rows.facet(row.entity_id).agent_version in versions}
    return sorted(ranked, key=lambda row: (-round(row.score, TIE_DIGITS), row.entity_id not in own))


def _beside(vector: Vector | None, others: Sequence[Vector | None]) -> dict[str, float | None]:
    """How near a row is to those that are stored together with it."""
    return {
        beside(place): None if vector is None or other is None else float(vector @ other)
        for place, other in enumerate(others)
    }


class AskTurns(Struct, frozen=True):
    """A question about what a user and an agent said."""

    user_id: UserId
    query: str | None
    top_k: int
    wanted: Filter = field(default_factory=Filter)
    most_recent: int | None = None
    mode: RankingMode = RankingMode.HYBRID
    threshold: float | None = None


class RecalledTurns(Struct, frozen=True):
    injection_id: InjectionId
    hits: Sequence[TurnHit]
    mode: RankingMode
    degraded: str | None


def _waits(hit: Hit, ask: Ask) -> bool:
    return not ask.show_unapproved and is_unapproved(hit.memory)


def _told_once(tx: Tx, hits: list[Hit], ask: Ask) -> list[Hit]:
    own = [int(hit.ref.id) for hit in hits if hit.ref.kind is Kind.USER_PLAYBOOK and hit.found]
    if not own or not any(hit.ref.kind is Kind.AGENT_PLAYBOOK and hit.found for hit in hits):
        return hits
    taught = tx.clusters.stand_for(own)
    if not taught:
        return hits
    # What is not shown must not stand in the way of what would be.
    score = lambda hit: hit.found.score if hit.found and not _waits(hit, ask) else 0.0  # noqa: E731 - said once
    return without_doubles(hits, taught, lambda hit: hit.ref, score)


def _withheld(ask: Ask, assignment: Assignment, began: float, deps: Deps) -> Recalled:
    """An answer like any other, with nothing in it."""
    return Recalled(
        injection_id=InjectionId(fresh_id("inj")),
        ask=ask,
        hits=(),
        context=Context("", 0, (), ()),
        mode=ask.mode,
        degraded=None,
        at=deps.now(),
        duration_ms=(time.perf_counter() - began) * 1000,
        assignment=assignment,
    )


def _unshared(tx: Tx, kind: Kind, wanted: Filter) -> set[str]:
    """A lesson that a person would not have shared is found by nobody but the user who taught it."""
    return tx.sources.withheld() if kind is Kind.USER_PLAYBOOK and wanted.user_id is None else set()


def _listed(tx: Tx, kind: Kind, wanted: Filter, most: int) -> list[Hit]:
    unshared = _unshared(tx, kind, wanted)
    listed = tx.by_kind[kind].find(wanted, most + len(unshared))
    hits = (Hit(memory, MemoryRef(kind, str(memory.id)), None) for memory in listed)
    return [hit for hit in hits if hit.ref.id not in unshared][:most]


def _fetched(tx: Tx, kind: Kind, found: Sequence[Found]) -> list[Hit]:
    stored = tx.by_kind[kind].by_ids([one.entity_id for one in found])
    return [Hit(stored[one.entity_id], MemoryRef(kind, one.entity_id), one) for one in found if one.entity_id in stored]


def _rank(
    tx: Tx,
    held: HeldMemories | HeldTurns,
    wanted: Filter,
    question: RankQuery,
    most: int,
    threshold: float | None,
    deps: Deps,
) -> list[Found]:
    with held.lock:
        held.catch_up(tx, deps.meaning.name)
        return held.rows.rank(question, most, wanted.admits, threshold)


async def _understand(query: str | None, mode: RankingMode, deps: Deps) -> _Understood:
    text = (query or "").strip()
    if not text:
        return _Understood(None, mode)
    vector: Vector | None = None if mode == RankingMode.FTS else await deps.meaning.of_query(text)
    if vector is None and mode != RankingMode.FTS:
        return _Understood(
            RankQuery.of(text, None, RankingMode.FTS),
            RankingMode.FTS,
            f"searched by words only: {deps.meaning.problem}",
        )
    return _Understood(RankQuery.of(text, vector, mode), mode)
