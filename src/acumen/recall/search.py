"""Find the memories that fit a question, for one user, exactly over all that is current."""

import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.index.partition import RankQuery
from acumen.llm.local_models import Vector
from acumen.llm.tokens import count_tokens
from acumen.model.conversation import Interaction, versions_meant
from acumen.model.ids import InjectionId, InteractionId, Kind, MemoryRef, UserId, fresh_id
from acumen.model.memories.search import Facet, Filter, Found, RankingMode
from acumen.model.metering.experiment import Assignment
from acumen.model.metering.usage import PRODUCTION
from acumen.model.redaction import Redactor
from acumen.recall.context import Context, Shares, compose
from acumen.recall.dedupe import dedupe_lessons
from acumen.recall.experiments import assigned
from acumen.recall.lines import is_unapproved
from acumen.recall.parts import ContextScope, Hit, Material, Reading, gather, lines_of
from acumen.storage.store import Tx

T = TypeVar("T")

LESSONS = (Kind.USER_PLAYBOOK, Kind.AGENT_PLAYBOOK)
# Scores that are equal to this many digits are a tie.
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
    show_unapproved: bool = False  # in the context; the lists show the approval of each hit
    context: ContextScope | None = None  # whose memories and turns go into the context, in addition to the hits
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
    warning: str | None = None  # what of the query was redacted
    also: Sequence[Hit] = ()  # memories that went into the context, or could have, without being found

    @property
    def withheld(self) -> bool:
        """Nothing was looked for, because an experiment wants this user to be shown nothing."""
        return self.assignment is not None and self.assignment.is_holdout

    def of(self, kind: type[T]) -> list[tuple[T, Found | None]]:
        return [(hit.memory, hit.match) for hit in self.hits if isinstance(hit.memory, kind)]


class TurnHit(Struct, frozen=True):
    turn: Interaction
    match: Found | None


class AskTurns(Struct, frozen=True):
    """A question about what a user and an agent said."""

    user_id: UserId
    query: str | None
    top_k: int
    filter: Filter = field(default_factory=Filter)
    most_recent: int | None = None
    mode: RankingMode = RankingMode.HYBRID
    threshold: float | None = None


class RecalledTurns(Struct, frozen=True):
    injection_id: InjectionId
    hits: Sequence[TurnHit]
    mode: RankingMode
    degraded: str | None


class _Understood(Struct, frozen=True):
    """The query as the index takes it; None if nothing was asked."""

    query: RankQuery | None
    mode: RankingMode
    degraded: str | None = None


async def search_memories(ask: Ask, deps: Deps) -> Recalled:
    began = time.perf_counter()
    ask, warning = _without_secrets(ask, deps)
    assignment = assigned(deps.config.experiment, ask.user_id) if ask.caller_type == PRODUCTION else None
    if assignment is not None and assignment.is_holdout:
        duration_ms, empty = (time.perf_counter() - began) * 1000, Context("", 0, (), ())
        at = deps.now()
        return Recalled(_injection_id(), ask, (), empty, ask.mode, None, at, duration_ms, assignment, warning=warning)
    understood = await _understand(ask.query, ask.mode, deps)
    budget = deps.settings.recall.max_tokens if ask.max_tokens is None else ask.max_tokens
    hits, material = await deps.store.read(lambda tx: _read(tx, ask, understood, budget, deps))
    lines = lines_of(hits, material, ask.agent_version, show_unapproved=ask.show_unapproved)
    quotes = material.quotes
    choose = None if quotes is None else lambda room, rendered: quotes.choose(room, count_tokens, rendered)
    context = compose(lines.standing, lines.relevant, choose, budget, count_tokens, ask.shares, cite=ask.cite)
    return Recalled(
        injection_id=_injection_id(),
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
        warning=warning,
    )


A = TypeVar("A", "Ask", "AskTurns")


def _without_secrets(ask: A, deps: Deps) -> tuple[A, str | None]:
    """A query is stored with its injection, and what it searches is redacted, too."""
    redactor = Redactor(keep_secrets=deps.settings.observe.keep_secrets)
    clean = redactor.text(ask.query or "")
    return (replace(ask, query=clean) if redactor.count else ask), redactor.warning("the query")


def _injection_id() -> InjectionId:
    return InjectionId(fresh_id("inj"))


async def search_turns(ask: AskTurns, deps: Deps) -> RecalledTurns:
    ask, _ = _without_secrets(ask, deps)
    understood = await _understand(ask.query, ask.mode, deps)
    hits = await deps.store.read(lambda tx: _turns(tx, ask, understood, deps))
    return RecalledTurns(_injection_id(), hits, understood.mode, understood.degraded)


async def _understand(query: str | None, mode: RankingMode, deps: Deps) -> _Understood:
    text = (query or "").strip()
    if not text:
        return _Understood(None, mode)
    vector: Vector | None = None if mode == RankingMode.FTS else await deps.local_models.embed_query(text)
    if vector is None and mode != RankingMode.FTS:
        return _Understood(
            RankQuery.of(text, None, RankingMode.FTS),
            RankingMode.FTS,
            f"searched by words only: {deps.local_models.problem}",
        )
    return _Understood(RankQuery.of(text, vector, mode), mode)


def _read(tx: Tx, ask: Ask, understood: _Understood, budget: int, deps: Deps) -> tuple[list[Hit], Material]:
    hits = _hits(tx, ask, understood, deps)
    if ask.context is None or understood.query is None or not budget:
        return hits, Material()
    reading = Reading(tx, deps.index.cache, ask.context, understood.query, ask.threshold, deps.local_models.name)
    return hits, gather(reading, hits)


def _hits(tx: Tx, ask: Ask, understood: _Understood, deps: Deps) -> list[Hit]:
    """A shared lesson and the user's own one that it was written from count once; further hits take the free place."""
    hits = _all_hits(tx, ask, understood, deps)
    deduped = _dedupe(tx, hits, ask)
    if len(deduped) == len(hits):
        return deduped
    more = replace(ask, top_k=ask.top_k + len(hits) - len(deduped))
    deduped = _dedupe(tx, _all_hits(tx, more, understood, deps), ask)
    by_kind = ([hit for hit in deduped if hit.ref.kind == kind][: ask.top_k] for kind in ask.filters)
    return [hit for hits in by_kind for hit in hits]


def _all_hits(tx: Tx, ask: Ask, understood: _Understood, deps: Deps) -> list[Hit]:
    query = understood.query
    if query is None:
        return [hit for kind, filter_ in ask.filters.items() for hit in _listed(tx, kind, filter_, ask.top_k)]
    # All are ranked before any is fetched: vectors take the place in the processor's cache of what fetching needs.
    ranked = [(kind, _ranked(tx, kind, filter_, ask, query, deps)) for kind, filter_ in ask.filters.items()]
    return [hit for kind, matches in ranked for hit in _fetched(tx, kind, matches)]


def _ranked(tx: Tx, kind: Kind, filter_: Filter, ask: Ask, query: RankQuery, deps: Deps) -> list[Found]:
    unshared = _unshared(tx, kind, filter_)
    (ranked,) = deps.index.rank(tx, kind, [query], ask.top_k + len(unshared), filter_, ask.threshold)
    shared = [match for match in ranked.matches if match.entity_id not in unshared][: ask.top_k]
    return _own_version_first(shared, ranked.facets, ask.agent_version) if kind in LESSONS else shared


def _own_version_first(matches: list[Found], facets: Mapping[str, Facet], agent_version: str | None) -> list[Found]:
    """On ties, lessons that the caller's agent version has learned itself."""
    if agent_version is None:
        return matches
    versions = versions_meant(agent_version)
    same = {match.entity_id for match in matches if facets[match.entity_id].agent_version in versions}
    return sorted(matches, key=lambda match: (-round(match.score, TIE_DIGITS), match.entity_id not in same))


def _turns(tx: Tx, ask: AskTurns, understood: _Understood, deps: Deps) -> list[TurnHit]:
    if understood.query is None:
        listed = tx.conversations.find_newest(
            ask.user_id, ask.most_recent or ask.top_k, ask.filter.since, ask.filter.until, ask.filter.request_id
        )
        hidden = tx.hidden_turns.find_hidden([turn.id for turn in listed])
        shown = [turn for turn in listed if turn.id not in hidden]
        return [TurnHit(turn, None) for turn in tx.hidden_turns.blank(ask.user_id, shown)]
    with deps.index.cache.turns(tx, ask.user_id, deps.local_models.name) as index:
        matches = index.rows.rank(understood.query, ask.top_k, ask.filter.admits, ask.threshold)
    ids = [InteractionId(int(match.entity_id)) for match in matches]
    stored = {str(turn.id): turn for turn in tx.hidden_turns.blank(ask.user_id, tx.conversations.get_many(ids))}
    hits = [TurnHit(stored[match.entity_id], match) for match in matches if match.entity_id in stored]
    if ask.most_recent:
        hits = sorted(hits, key=lambda hit: hit.turn.id, reverse=True)[: ask.most_recent]
    return hits


def _waits(hit: Hit, ask: Ask) -> bool:
    return not ask.show_unapproved and is_unapproved(hit.memory)


def _dedupe(tx: Tx, hits: list[Hit], ask: Ask) -> list[Hit]:
    lessons = [int(hit.ref.id) for hit in hits if hit.ref.kind is Kind.USER_PLAYBOOK and hit.match]
    if not lessons or not any(hit.ref.kind is Kind.AGENT_PLAYBOOK and hit.match for hit in hits):
        return hits
    sources = tx.clusters.find_lessons_of(lessons)
    if not sources:
        return hits
    # What is not rendered must not replace what would be.
    return dedupe_lessons(hits, sources, lambda hit: hit.ref, lambda hit: 0.0 if _waits(hit, ask) else hit.score)


def _unshared(tx: Tx, kind: Kind, filter_: Filter) -> set[str]:
    """A lesson that a person would not have shared is found only by the user who taught it."""
    return tx.sources.find_withheld() if kind is Kind.USER_PLAYBOOK and filter_.user_id is None else set()


def _listed(tx: Tx, kind: Kind, filter_: Filter, most: int) -> list[Hit]:
    unshared = _unshared(tx, kind, filter_)
    listed = tx.by_kind[kind].find(filter_, most + len(unshared))
    hits = (Hit(memory, MemoryRef(kind, str(memory.id)), None) for memory in listed)
    return [hit for hit in hits if hit.ref.id not in unshared][:most]


def _fetched(tx: Tx, kind: Kind, matches: Sequence[Found]) -> list[Hit]:
    stored = tx.by_kind[kind].get_many([match.entity_id for match in matches])
    return [
        Hit(stored[match.entity_id], MemoryRef(kind, match.entity_id), match)
        for match in matches
        if match.entity_id in stored
    ]
