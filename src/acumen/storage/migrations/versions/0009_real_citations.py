"""Citations that no agent made are removed, and what was counted from them is counted again.

Up to 0008 whatever a turn reported as retrieved counted as cited, and sessions of the SDK reported all that they were
shown. A citation stays where the turn it was counted for names the memory in its `citations`; where the turn does not
exist any more, nothing shows that an agent cited, and the citation is removed too.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

AT_ONCE = 500
CITED, UNRESOLVED = "learning_citation", "learning_citation_unresolved"

_EVENTS = sa.table("usage_events", sa.column("org_id"), sa.column("event_id"))
_TURNS = sa.table(
    "interactions", sa.column("org_id"), sa.column("interaction_id"), sa.column("citations", sa.JSON(none_as_null=True))
)
_NAMED = """
SELECT event_id, entity_type, entity_id, metadata_json FROM usage_events
WHERE org_id = :org AND event_name IN (:cited, :unresolved)
"""
_CITATIONS = """
SELECT user_id, session_id, entity_type, entity_id, created_at FROM usage_events
WHERE org_id = :org AND event_name = 'learning_citation' ORDER BY created_at, event_id
"""
# The injection that a citation belongs to: the latest of its session, or else of the week before in no session.
_CREDIT = """
UPDATE usage_events SET cited_at = :created_at WHERE org_id = :org AND cited_at IS NULL AND event_id = (
    SELECT e.event_id FROM usage_events e WHERE e.org_id = :org AND e.user_id = :user_id
    AND e.entity_type = :entity_type AND e.entity_id = :entity_id AND e.event_name = 'learning_injection'
    AND e.created_at <= :created_at
    AND (e.session_id = :session_id OR (e.session_id IS NULL AND e.created_at >= :created_at - 604800000))
    ORDER BY (e.session_id IS NULL), e.created_at DESC LIMIT 1)
"""
_COUNT_AGAIN = (
    "DELETE FROM citing_versions WHERE org_id = :org",
    """
INSERT INTO citing_versions (org_id, agent_version, since, created_at, updated_at)
SELECT org_id, COALESCE(agent_version, ''), MIN(cited_at), MIN(cited_at), MIN(cited_at) FROM usage_events
WHERE org_id = :org AND cited_at IS NOT NULL GROUP BY org_id, COALESCE(agent_version, '')
""",
    "UPDATE user_days SET cited_shown = 0, cited_tokens = 0 WHERE org_id = :org",
    """
UPDATE user_days SET cited_shown = again.injections, cited_tokens = again.tokens FROM (
    SELECT created_at / 86400000 AS day, COALESCE(user_id, '') AS user_id, COALESCE(agent_version, '') AS agent_version,
    SUM(count_value) AS injections, SUM(prompt_tokens) AS tokens FROM usage_events
    WHERE org_id = :org AND event_name = 'learning_injection' AND cited_at IS NOT NULL
    GROUP BY created_at / 86400000, COALESCE(user_id, ''), COALESCE(agent_version, '')
) AS again WHERE user_days.org_id = :org AND user_days.day = again.day AND user_days.user_id = again.user_id
AND user_days.agent_version = again.agent_version
""",
)
_IS_CITED = "e.event_name = 'learning_injection' AND e.cited_at IS NOT NULL"
_IS_JUDGED = "e.event_name = 'learning_injection' AND (e.cited_at IS NOT NULL OR e.created_at >= v.since)"
_COUNTS = {
    "cited_shown": (_IS_CITED, "e.count_value"),
    "cited_tokens": (_IS_CITED, "e.prompt_tokens"),
    "judged_shown": (_IS_JUDGED, "e.count_value"),
    "judged_tokens": (_IS_JUDGED, "e.prompt_tokens"),
    "citations": ("e.event_name = 'learning_citation'", "e.count_value"),
}


def upgrade() -> None:
    conn = op.get_bind()
    of_org = sa.text("SELECT DISTINCT org_id FROM usage_events WHERE event_name IN (:cited, :unresolved)")
    for org in conn.execute(of_org, {"cited": CITED, "unresolved": UNRESOLVED}).scalars().all():
        automatic = list(_automatic(conn, org))
        for start in range(0, len(automatic), AT_ONCE):
            some = automatic[start : start + AT_ONCE]
            conn.execute(sa.delete(_EVENTS).where(_EVENTS.c.org_id == org, _EVENTS.c.event_id.in_(some)))
        if automatic:
            _credit_again(conn, org)
            for statement in (*_COUNT_AGAIN, _days(), _totals()):
                conn.execute(sa.text(statement), {"org": org})


def _automatic(conn: sa.Connection, org: str) -> Iterator[str]:
    """The events of citations that no turn names in its `citations`."""
    named = conn.execute(sa.text(_NAMED), {"org": org, "cited": CITED, "unresolved": UNRESOLVED}).all()
    for start in range(0, len(named), AT_ONCE):
        events = [(row, json.loads(row.metadata_json).get("interaction_id")) for row in named[start : start + AT_ONCE]]
        cited = _cited_by_turn(conn, org, [turn for _, turn in events if turn is not None])
        for row, turn in events:
            if (row.entity_type, row.entity_id) not in cited.get(turn, ()):
                yield row.event_id


def _cited_by_turn(conn: sa.Connection, org: str, turns: Sequence[int]) -> dict[int | None, set[tuple[str, str]]]:
    """`playbook` is the older word for `user_playbook`."""
    c = _TURNS.c
    query = sa.select(c.interaction_id, c.citations).where(c.org_id == org, c.interaction_id.in_(turns))
    return {row.interaction_id: set(map(_name, row.citations or ())) for row in conn.execute(query)}


def _name(citation: dict[str, Any]) -> tuple[str, str]:
    kind = citation["kind"]
    return "user_playbook" if kind == "playbook" else kind, str(citation["real_id"]).strip()


def _credit_again(conn: sa.Connection, org: str) -> None:
    conn.execute(
        sa.text("UPDATE usage_events SET cited_at = NULL WHERE org_id = :org AND cited_at IS NOT NULL"), {"org": org}
    )
    citations = [{"org": org, **row} for row in conn.execute(sa.text(_CITATIONS), {"org": org}).mappings()]
    if citations:
        conn.execute(sa.text(_CREDIT), citations)


# --- the counters of memories ----------------------------------------------------------------------------------------


def _by_day() -> str:
    """What the events of each memory's days add up to."""
    sums = ", ".join(
        f"SUM(CASE WHEN {which} THEN {what} ELSE 0 END) AS {name}" for name, (which, what) in _COUNTS.items()
    )
    return f"""
SELECT d.kind, d.entity_id, d.day, {sums},
    MAX(CASE WHEN e.event_name = 'learning_citation' THEN e.created_at END) AS last_cited_at
FROM memory_days d
LEFT JOIN usage_events e ON e.org_id = d.org_id AND e.entity_type = d.kind AND e.entity_id = d.entity_id
    AND e.event_name IN ('learning_injection', 'learning_citation')
    AND e.created_at >= CAST(d.day AS BIGINT) * 86400000 AND e.created_at < (CAST(d.day AS BIGINT) + 1) * 86400000
LEFT JOIN citing_versions v ON v.org_id = e.org_id AND v.agent_version = COALESCE(e.agent_version, '')
WHERE d.org_id = :org GROUP BY d.kind, d.entity_id, d.day
"""


def _days() -> str:
    """A day's row has the sums of the days before it."""
    earlier = "OVER (PARTITION BY kind, entity_id ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    before = ", ".join(f"COALESCE(SUM({name}) {earlier}, 0) AS {name}" for name in _COUNTS)
    return _update("memory_days", f"SELECT kind, entity_id, day, {before} FROM ({_by_day()}) AS by_day", "day")


def _totals() -> str:
    sums = ", ".join(f"SUM({name}) AS {name}" for name in _COUNTS)
    summed = f"SELECT kind, entity_id, {sums}, MAX(last_cited_at) AS last_cited_at FROM ({_by_day()}) AS by_day"
    return _update("memory_totals", f"{summed} GROUP BY kind, entity_id", values=("last_cited_at",))


def _update(table: str, query: str, *keys: str, values: Sequence[str] = ()) -> str:
    new = ", ".join(f"{name} = again.{name}" for name in (*_COUNTS, *values))
    same = " AND ".join(f"{table}.{name} = again.{name}" for name in ("kind", "entity_id", *keys))
    return f"UPDATE {table} SET {new} FROM ({query}) AS again WHERE {table}.org_id = :org AND {same}"
