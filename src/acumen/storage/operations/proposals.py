"""What was concluded from operations, and the lessons that it suggests, as rows."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec.structs import asdict

from acumen.model.ids import Millis
from acumen.model.memories.base import Origin
from acumen.model.operations.proposal import About, Analysis, AnalysisState, Proposal
from acumen.storage.engine.scope import OrgScope, in_batches, row_of, value_of
from acumen.storage.tables import analyses, proposals

_LATEST = 10_000


class Proposals:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    # --- analyses ------------------------------------------------------------------------------------------------

    def is_analysed(self, evidence_hash: str) -> bool:
        c = analyses.c
        return self._scope.first(self._scope.select(c.analysis_id).where(c.evidence_hash == evidence_hash)) is not None

    def add_analysis(self, analysis: Analysis) -> bool:
        """False when the same evidence was analysed before, by whomever."""
        columns = {"evidence": list(analysis.evidence), "scopes": list(analysis.scopes), **asdict(analysis.origin)}
        return bool(self._scope.insert_new(analyses, [row_of(analyses, analysis, analysis_id=analysis.id, **columns)]))

    def find_analyses(self, key: str, limit: int = 100) -> list[Analysis]:
        """The latest first."""
        c = analyses.c
        query = self._scope.select(analyses).where(c.key == key).order_by(c.created_at.desc(), c.analysis_id.desc())
        return [_analysis(row) for row in self._scope.all(query.limit(limit))]

    # --- proposals -----------------------------------------------------------------------------------------------

    def get(self, key: str) -> Proposal | None:
        return next(iter(self._proposals(proposals.c.key == key)), None)

    def find_by_playbook(self, playbook_id: int) -> Proposal | None:
        return next(iter(self._proposals(proposals.c.playbook_id == playbook_id)), None)

    def find_by_endpoint(self, source: str, endpoint: str) -> list[Proposal]:
        return self._proposals(proposals.c.source == source, proposals.c.endpoint == endpoint, most=100)

    def all(self) -> list[Proposal]:
        """The latest changed first."""
        return self._proposals()

    def upsert(self, proposal: Proposal) -> None:
        columns = {"evidence": list(proposal.evidence), "scopes": list(proposal.scopes)}
        s, row = self._scope, self._scope.stamp(row_of(proposals, proposal, **columns))
        changed = {name: value for name, value in row.items() if name not in ("org_id", "key", "created_at")}
        s.conn.execute(
            s.db.insert(proposals).on_conflict_do_update(index_elements=["org_id", "key"], set_=changed), row
        )

    def set_decided(self, key: str, at: Millis) -> None:
        """A person has decided: it no longer waits, and earlier flags are cleared."""
        self._scope.update(proposals, proposals.c.key == key, decided_at=at, flag=None)

    def flag(self, source: str, endpoint: str, schema_hash: str, agent_version: str) -> int:
        """Lessons about an endpoint that rest on another schema or another version of the agent."""
        c = proposals.c
        here = (c.source == source, c.endpoint == endpoint, c.flag.is_(None))
        flagged = 0
        for column, now, why in (
            (c.schema_hash, schema_hash, "the tool's schema has changed"),
            (c.agent_version, agent_version, "another version of the agent is in use"),
        ):
            if now:  # what rests on none differs from none
                reason = f"{why} since this was learned: review it again"
                flagged += self._scope.update(proposals, *here, column != now, flag=reason)
        return flagged

    # --- removing ------------------------------------------------------------------------------------------------

    def delete_analyses(self, op_ids: Sequence[str], keys: Sequence[str]) -> Counter[str]:
        """Those of these keys, and those of which one of the operations is evidence; how many of each key."""
        c = analyses.c
        gone = sa.or_(self._scope.db.json_contains_any(c.evidence, op_ids), c.key.in_(keys))
        dropped = Counter(row.key for row in self._scope.all(self._scope.select(c.key).where(gone)))
        self._scope.delete(analyses, gone)
        return dropped

    def find_resting_on(self, op_ids: Sequence[str], keys: Sequence[str]) -> list[Proposal]:
        """Proposals of these keys, and those of which one of the operations is evidence."""
        evidence = self._scope.db.json_contains_any(proposals.c.evidence, op_ids)
        return self._proposals(sa.or_(evidence, proposals.c.key.in_(keys)), most=None)

    def erase_sessions(self, key: str, sessions: Sequence[str]) -> None:
        """What was concluded stays concluded, without these sessions."""
        c = analyses.c
        query = self._scope.select(c.analysis_id, c.scopes).where(
            c.key == key, self._scope.db.json_contains_any(c.scopes, sessions)
        )
        for row in self._scope.all(query):
            left = [scope for scope in row.scopes if scope not in sessions]
            self._scope.update(analyses, c.analysis_id == row.analysis_id, scopes=left)

    def erase_scopes(self, sessions: Collection[str]) -> None:
        """The ids of these sessions, wherever they were evidence."""
        for batch in in_batches(sorted(sessions)):
            for table, key in ((analyses, analyses.c.analysis_id), (proposals, proposals.c.key)):
                rests = self._scope.db.json_contains_any(table.c.scopes, batch)
                for row in self._scope.all(self._scope.select(key, table.c.scopes).where(rests)):
                    left = [scope for scope in row.scopes if scope not in sessions]
                    self._scope.update(table, key == row[0], scopes=left)

    def delete(self, key: str) -> None:
        self._scope.delete(proposals, proposals.c.key == key)

    def expire(self, before: Millis) -> int:
        """Earlier conclusions, except the last one of each lesson."""
        c, later, p = analyses.c, analyses.alias("later").c, proposals.c
        newer = sa.exists().where(later.org_id == c.org_id, later.key == c.key, later.created_at > c.created_at)
        taught = sa.exists().where(p.org_id == c.org_id, p.key == c.key)
        return self._scope.delete(analyses, c.created_at < before, sa.or_(newer, ~taught))

    def _proposals(self, *where: sa.ColumnElement[bool], most: int | None = _LATEST) -> list[Proposal]:
        """The latest changed first."""
        query = self._scope.select(proposals).where(*where).order_by(proposals.c.updated_at.desc(), proposals.c.key)
        return [_proposal(row) for row in self._scope.all(query.limit(most))]


def _analysis(row: Any) -> Analysis:
    return value_of(
        Analysis,
        row,
        id=row.analysis_id,
        about=About(row.about),
        evidence=tuple(row.evidence or ()),
        scopes=tuple(row.scopes or ()),
        state=AnalysisState(row.state),
        diagnosis=row.diagnosis or {},
        origin=value_of(Origin, row),
    )


def _proposal(row: Any) -> Proposal:
    fields = {"evidence": tuple(row.evidence or ()), "scopes": tuple(row.scopes or ()), "detail": row.detail or {}}
    return value_of(Proposal, row, about=About(row.about), **fields)
