"""Outcomes of sessions, summed: this period and the one before, by bucket, and by the memories that were cited."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.model.ids import Millis
from acumen.model.metering.evaluation import Evaluation, EvaluationFilter, SessionKey
from acumen.model.metering.figures import Attribution, ReportPeriod, Totals, Wins
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx

WEEK_MS = 7 * DAY_MS
# Days begin at midnight UTC. Weeks begin on Mondays; the epoch began on a Thursday.
MONDAY = 4 * DAY_MS
WIDTHS = {"day": (DAY_MS, 0), "week": (WEEK_MS, MONDAY)}
# Fewer comparisons, or a shorter time, say little.
ENOUGH_COMPARED = 20
ENOUGH_MS = WEEK_MS
MOST_RULES = 20
MOST_SESSIONS = 50
MOST_RECENT = 20
MOST_SOURCES = 50


class Bucket(Struct, frozen=True):
    at: Millis
    totals: Totals
    compared: int


class CitedRule(Struct, frozen=True):
    """A memory that was cited, and its title; empty where it is deleted."""

    attribution: Attribution
    title: str


class OverviewPart(Struct, frozen=True):
    """All sessions of a period, or those of some sources."""

    now: Totals
    before: Totals
    buckets: list[Bucket]
    corrections: list[int]
    corrections_before: list[int]
    rules: list[CitedRule]


class SourceSet(Struct, frozen=True):
    sources: Sequence[str]
    part: OverviewPart
    sessions: list[SessionKey]


class Overview(Struct, frozen=True):
    state: str
    part: OverviewPart
    wins: list[tuple[Millis, Wins]]
    recent: list[Evaluation]
    by_source: Mapping[str, list[SessionKey]]
    sets: Mapping[str, SourceSet]
    unmatched: int


async def overview(
    period: ReportPeriod, bucket: str, sets: Mapping[str, Sequence[str]], deps: Deps, *, shadows: bool
) -> Overview:
    """`bucket` is day or week. Without `shadows` comparisons are left out."""

    def read(tx: Tx) -> Overview:
        wins = tx.session_statistics.count_wins(period, DAY_MS) if shadows else []
        part = _part(tx, period, bucket, None, shadows=shadows)
        counts = tx.session_statistics.count_by_source(period)
        listed = {source for sources in sets.values() for source in sources}
        sessions = {
            source: tx.session_statistics.find_sessions(period, [source], MOST_SESSIONS)
            for source in sorted(counts)[:MOST_SOURCES]
        }
        by_set = {
            label: SourceSet(
                sources,
                _part(tx, period, bucket, sources, shadows=shadows),
                tx.session_statistics.find_sessions(period, sources, MOST_SESSIONS),
            )
            for label, sources in sets.items()
        }
        return Overview(
            state=_state(part.now, wins, tx.session_statistics.get_first_ended(), deps.now()),
            part=part,
            wins=wins,
            recent=tx.evaluations.find(EvaluationFilter(), MOST_RECENT),
            by_source=sessions,
            sets=by_set,
            unmatched=sum(count for source, count in counts.items() if source not in listed) if sets else 0,
        )

    return await deps.store.read(read)


def _part(tx: Tx, period: ReportPeriod, bucket: str, sources: Sequence[str] | None, *, shadows: bool) -> OverviewPart:
    width, origin = WIDTHS[bucket]
    figures = tx.session_statistics
    compared = dict(figures.count_wins(period, width, origin)) if shadows and sources is None else {}
    buckets = figures.get_buckets(period, width, origin, sources)
    cited = figures.get_attribution(period, MOST_RULES, sources)
    titles = tx.memories.get_titles(attribution.ref for attribution in cited)
    sessions = {rule.ref: figures.find_sessions_citing(rule.ref, period, MOST_SESSIONS, sources) for rule in cited}
    return OverviewPart(
        now=figures.get_totals(period, sources),
        before=figures.get_totals(period.before, sources),
        buckets=[Bucket(at, totals, compared.get(at, Wins()).compared) for at, totals in buckets],
        corrections=figures.count_corrections(period, sources),
        corrections_before=figures.count_corrections(period.before, sources),
        rules=[CitedRule(replace(rule, sessions=sessions[rule.ref]), titles.get(rule.ref, "")) for rule in cited],
    )


def _state(totals: Totals, wins: Sequence[tuple[Millis, Wins]], first: Millis | None, at: Millis) -> str:
    compared = sum(day.compared for _, day in wins)
    if not totals.sessions:
        return "empty"
    if not compared:
        return "shadow_off"
    young = first is None or at - first < ENOUGH_MS
    return "early" if young or compared < ENOUGH_COMPARED else "full"
