"""What the parts of a context are made of, read in one transaction: standing memories, conflicts, quotable turns."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.index.cache import IndexCache
from acumen.index.partition import RankQuery
from acumen.model.conversation import versions_meant
from acumen.model.ids import InteractionId, Kind, MemoryRef, UserId
from acumen.model.memories.conflict import Conflict
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import UserPlaybook
from acumen.model.memories.search import Filter, Found
from acumen.recall.lines import ContextCandidate, by_stability, candidate, in_conflict, is_unapproved
from acumen.recall.quotes import TURNS, Candidates, is_quotable
from acumen.storage.store import Tx

# Standing memories are of one user; what is shared by all is recalled when it is relevant.
OWN_KINDS = (Kind.PROFILE, Kind.USER_PLAYBOOK)
# Of a user with more of them, the latest.
MOST_STANDING = 200


class Hit(Struct, frozen=True):
    """A memory, and how well it answers; listed rather than found when nothing was asked."""

    memory: Memory
    ref: MemoryRef
    match: Found | None

    @property
    def score(self) -> float:
        return self.match.score if self.match else 0.0


class ContextScope(Struct, frozen=True):
    """Whose memories and turns a context may be made of."""

    user_id: UserId
    filters: Mapping[Kind, Filter]
    source: str | None = None
    agent_version: str | None = None  # only turns of this version are quoted
    quotes: bool = True


class Material(Struct, frozen=True):
    """`standing` in its order; `partners` are the other sides of the conflicts of hits and standing memories."""

    standing: Sequence[Hit] = ()
    partners: Sequence[Hit] = ()
    conflicts: Sequence[Conflict] = ()
    quotes: Candidates | None = None

    def also(self, hits: Sequence[Hit]) -> list[Hit]:
        """The memories beyond the hits."""
        refs = {hit.ref for hit in hits}
        return list({hit.ref: hit for hit in (*self.standing, *self.partners) if hit.ref not in refs}.values())


class Reading(Struct, frozen=True):
    """A question, and what it is answered from."""

    tx: Tx
    cache: IndexCache
    scope: ContextScope
    query: RankQuery
    threshold: float | None
    model: str


def gather(reading: Reading, hits: Sequence[Hit]) -> Material:
    tx, scope = reading.tx, reading.scope
    standing = _standing(reading)
    refs = {hit.ref for hit in (*hits, *standing)}
    conflicts = [
        each for each in tx.conflicts.find_open(scope.user_id) if not refs.isdisjoint((each.older, each.newer))
    ]
    sides = {ref for conflict in conflicts for ref in (conflict.older, conflict.newer)}
    return Material(standing, _current(reading, sides - refs), conflicts, _quotes(reading) if scope.quotes else None)


def _standing(reading: Reading) -> list[Hit]:
    memories: dict[MemoryRef, Memory] = {}
    for kind in OWN_KINDS:
        filter_ = reading.scope.filters.get(kind)
        if filter_ is not None:
            criteria = replace(filter_, user_id=reading.scope.user_id)
            ids = reading.tx.by_kind[kind].find_standing(criteria, MOST_STANDING)
            memories |= _by_ref(reading.tx, kind, ids)
    return [Hit(memory, ref, None) for ref, memory in by_stability(memories.items())]


def _current(reading: Reading, refs: Collection[MemoryRef]) -> list[Hit]:
    """Memories that may be rendered for this user."""
    hits = []
    for kind in OWN_KINDS:
        filter_, ids = reading.scope.filters.get(kind), tuple(ref.id for ref in refs if ref.kind == kind)
        if ids and filter_ is not None:
            admitted = reading.tx.by_kind[kind].find_facets(replace(filter_, ids=ids))
            hits += [Hit(memory, ref, None) for ref, memory in _by_ref(reading.tx, kind, list(admitted)).items()]
    return hits


def _by_ref(tx: Tx, kind: Kind, ids: Sequence[str]) -> dict[MemoryRef, Memory]:
    return {MemoryRef(kind, name): memory for name, memory in tx.by_kind[kind].get_many(ids).items()} if ids else {}


def _quotes(reading: Reading) -> Candidates | None:
    tx, query = reading.tx, reading.query
    with reading.cache.turns(tx, reading.scope.user_id, reading.model) as index:
        ranked = index.rows.rank(query, TURNS, None, reading.threshold)
        ranked = _in_scope(tx, [match for match in ranked if is_quotable(match)], reading.scope)
        excerpts = index.excerpts(tx, [match.entity_id for match in ranked])
        turns = [(match, excerpts[match.entity_id]) for match in ranked if match.entity_id in excerpts]
        vectors = index.rows.vectors([match.entity_id for match, _ in turns])
        idf = index.rows.weights(query.terms)
    return (
        Candidates(turns, vectors, idf, None if query.query_vector is None else query.query_vector.unit)
        if turns
        else None
    )


def _in_scope(tx: Tx, ranked: Sequence[Found], scope: ContextScope) -> list[Found]:
    """Only turns of the source and the agent version that are asked for."""
    if scope.source is None and scope.agent_version is None:
        return list(ranked)
    turns = tx.conversations.get_many([InteractionId(int(match.entity_id)) for match in ranked])
    requests = tx.conversations.get_requests(sorted({turn.request_id for turn in turns}))
    versions = None if scope.agent_version is None else versions_meant(scope.agent_version)
    fitting = {
        str(turn.id)
        for turn in turns
        if (request := requests.get(turn.request_id)) is not None
        and (scope.source is None or request.source == scope.source)
        and (versions is None or request.agent_version in versions)
    }
    return [match for match in ranked if match.entity_id in fitting]


class Lines(Struct, frozen=True):
    """The memories of a context as lines."""

    standing: Sequence[ContextCandidate]
    relevant: Sequence[ContextCandidate]


def lines_of(hits: Sequence[Hit], material: Material, version: str | None, *, show_unapproved: bool) -> Lines:
    """A conflict is rendered in the part of its sides; in the standing part if one of them is standing."""
    versions = () if version is None else versions_meant(version)
    every = {
        hit.ref: candidate(
            hit.memory,
            hit.ref,
            hit.score,
            waits=not show_unapproved and is_unapproved(hit.memory),
            own_version=isinstance(hit.memory, UserPlaybook) and hit.memory.agent_version in versions,
        )
        for hit in (*material.partners, *material.standing, *(hit for hit in hits if hit.match))
    }
    paired = _paired(material.conflicts, every)
    standing = _with_partners([hit.ref for hit in material.standing], every, paired)
    taken = {item.ref for item in standing}
    matched = [hit.ref for hit in hits if hit.match]
    again = {hit.ref for hit in material.standing}
    relevant = _with_partners([ref for ref in matched if ref not in taken or ref in again], every, paired)
    return Lines(standing, relevant)


def _paired(
    conflicts: Sequence[Conflict], every: Mapping[MemoryRef, ContextCandidate]
) -> dict[MemoryRef, list[ContextCandidate]]:
    """Both sides under each of them; a memory in two conflicts is rendered with its latest."""
    paired: dict[MemoryRef, list[ContextCandidate]] = {}
    for conflict in reversed(conflicts):
        sides = (conflict.newer, conflict.older)
        if all(ref in every and ref not in paired and not every[ref].waits for ref in sides):
            newer, older = sorted(
                (every[ref] for ref in sides), key=lambda item: (-item.at, item.ref != conflict.newer)
            )
            paired |= dict.fromkeys(sides, in_conflict(newer, older, conflict.id))
    return paired


def _with_partners(
    refs: Sequence[MemoryRef],
    every: Mapping[MemoryRef, ContextCandidate],
    paired: Mapping[MemoryRef, Sequence[ContextCandidate]],
) -> list[ContextCandidate]:
    lines = {item.ref: item for ref in refs for item in paired.get(ref, (every[ref],))}
    return list(lines.values())
