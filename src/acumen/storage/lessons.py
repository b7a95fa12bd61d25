"""What was concluded from operations, and the lessons that it suggests, as rows."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from msgspec.structs import asdict

from acumen.model.ids import Millis
from acumen.model.memory import Origin
from acumen.model.proposal import Analysis, AnalysisState, Proposal
from acumen.storage.scope import Scope, row_of, value_of
from acumen.storage.tables import analyses, proposals

_LATEST = 10_000


class Lessons:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    # --- analyses ------------------------------------------------------------------------------------------------

    def is_analysed(self, evidence_hash: str) -> bool:
        c = analyses.c
        return self._scope.one(self._scope.mine(c.analysis_id).where(c.evidence_hash == evidence_hash)) is not None

    def conclude(self, analysis: Analysis) -> bool:
        """False when the same evidence was analysed before, by whomever."""
        told = {"evidence": list(analysis.evidence), "scopes": list(analysis.scopes), **asdict(analysis.origin)}
        return bool(self._scope.add_new(analyses, [row_of(analyses, analysis, analysis_id=analysis.id, **told)]))

    def analyses_of(self, key: str, limit: int = 100) -> list[Analysis]:
        """The latest first."""
        c = analyses.c
        query = self._scope.mine(analyses).where(c.key == key).order_by(c.created_at.desc(), c.analysis_id.desc())
        return [_analysis(row) for row in self._scope.all(query.limit(limit))]

    # --- proposals -----------------------------------------------------------------------------------------------

    def get(self, key: str) -> Proposal | None:
        return next(iter(self._proposals(proposals.c.key == key)), None)

    def of_playbook(self, playbook_id: int) -> Proposal | None:
        return next(iter(self._proposals(proposals.c.playbook_id == playbook_id)), None)

    def at_endpoint(self, source: str, endpoint: str) -> list[Proposal]:
        return self._proposals(proposals.c.source == source, proposals.c.endpoint == endpoint, most=100)

    def all(self) -> list[Proposal]:
        """The latest changed first."""
        return self._proposals()

    def propose(self, proposal: Proposal) -> None:
        told = {"evidence": list(proposal.evidence), "scopes": list(proposal.scopes)}
        s, row = self._scope, self._scope.stamp(row_of(proposals, proposal, **told))
        kept = {name: value for name, value in row.items() if name not in ("org_id", "key", "created_at")}
        s.conn.execute(s.db.insert(proposals).on_conflict_do_update(index_elements=["org_id", "key"], set_=kept), row)

    def decided(self, key: str, at: Millis) -> None:
        """A person has spoken: it no longer waits, and no flag of before stands."""
        self._scope.update(proposals, proposals.c.key == key, decided_at=at, flag=None)

    def flag(self, source: str, endpoint: str, schema_hash: str, agent_version: str) -> int:
        """Lessons about an endpoint that rest on another schema or another version of the agent."""
        c = proposals.c
        here = (c.source == source, c.endpoint == endpoint, c.flag.is_(None))
        flagged = 0
        for column, now, why in (
            (c.schema_hash, schema_hash, "the tool's schema has changed"),
            (c.agent_version, agent_version, "another version of the agent is at work"),
        ):
            if now:  # what rests on none differs from none
                reason = f"{why} since this was learned: look at it again"
                flagged += self._scope.update(proposals, *here, column != now, flag=reason)
        return flagged

    # --- removing ------------------------------------------------------------------------------------------------

    def drop_resting_on(self, op_ids: Sequence[str], keys: Sequence[str]) -> list[Proposal]:
        """Analyses and proposals of which one of the operations is evidence; returns the proposals."""
        s, db = self._scope, self._scope.db
        told = sa.or_(db.has_any(analyses.c.evidence, op_ids), analyses.c.key.in_(keys))
        s.delete(analyses, told)
        resting = sa.or_(db.has_any(proposals.c.evidence, op_ids), proposals.c.key.in_(keys))
        gone = self._proposals(resting, most=None)
        s.delete(proposals, proposals.c.key.in_([one.key for one in gone]))
        return gone

    def _proposals(self, *where: sa.ColumnElement[bool], most: int | None = _LATEST) -> list[Proposal]:
        """The latest changed first."""
        query = self._scope.mine(proposals).where(*where).order_by(proposals.c.updated_at.desc(), proposals.c.key)
        return [_proposal(row) for row in self._scope.all(query.limit(most))]


def _analysis(row: Any) -> Analysis:
    return value_of(
        Analysis,
        row,
        id=row.analysis_id,
        evidence=tuple(row.evidence or ()),
        scopes=tuple(row.scopes or ()),
        state=AnalysisState(row.state),
        diagnosis=row.diagnosis or {},
        origin=value_of(Origin, row),
    )


def _proposal(row: Any) -> Proposal:
    told = {"evidence": tuple(row.evidence or ()), "scopes": tuple(row.scopes or ()), "detail": row.detail or {}}
    return value_of(Proposal, row, **told)
