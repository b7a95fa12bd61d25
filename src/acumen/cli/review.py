"""`acumen memory-review` and `acumen stats`: what memories cost, and which deserve a look."""

from acumen.cli.output import show, table, when
from acumen.errors import BadInput
from acumen_client.client import Client
from acumen_client.wire.meter import InjectionStat
from acumen_client.wire.review import MemoryReviewCandidate


def memory_review(client: Client, user: str | None, *, all_users: bool, days: int, limit: int, as_json: bool) -> None:
    if user is None and not all_users:
        raise BadInput("Say whose memories to look through: --user NAME, or --all-users.")
    found = client.memory_review(user_id=user, include_all_users=all_users, days_back=days, limit=limit)
    rows = [[one.score, one.entity_type, one.entity_id, one.user_id, one.title, _why(one)] for one in found.candidates]
    listed = table(["score", "kind", "id", "user", "memory", "why"], rows) + "\n\n" if rows else ""
    show(as_json, found, f"{listed}{found.msg}.")


def injections(client: Client, *, days: int, limit: int, as_json: bool) -> None:
    found = client.injection_stats(days_back=days, limit=limit)
    rows = [_shown(one) for one in found.stats]
    listed = table(["shown", "sessions", "tokens", "kind", "id", "last shown"], rows) + "\n\n" if rows else ""
    since = f" Use is counted since {when(found.covered_since)}." if found.covered_since else ""
    show(as_json, found, f"{listed}{found.msg}.{since}")


def _why(one: MemoryReviewCandidate) -> str:
    return "; ".join(f"{signal}: {words}" for signal, words in one.reasons.items())


def _shown(one: InjectionStat) -> list[object]:
    counts = [one.surfaced_count, one.distinct_session_count, one.total_prompt_tokens]
    return [*counts, one.entity_type, one.entity_id, when(one.last_injected_at)]
