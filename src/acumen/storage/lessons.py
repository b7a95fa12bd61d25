"""What was concluded from operations, and the lessons that it suggests, as rows."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from acumen.model.ids import Millis
from acumen.model.memory import Origin
from acumen.model.proposal import Analysis, AnalysisState, Proposal
from acumen.storage.scope import Scope
from acumen.storage.tables import analyses, proposals

_LATEST = 10_000


class Lessons:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    # --- analyses ------------------------------------------------------------------------------------------------

    def is_analysed(self, evidence_hash: str) -> bool:
        c = analyses.c
        query = sa.select(c.analysis_id).where(c.org_id == self._scope.org, c.evidence_hash == evidence_hash)
        return self._scope.one(query) is not None

    def conclude(self, analysis: Analysis) -> bool:
        """False when the same evidence was analysed before, by whomever."""
        s = self._scope
        row = s.stamp(_analysis_row(analysis))
        return bool(s.conn.execute(s.db.insert(analyses).on_conflict_do_nothing(), [row]).rowcount)

    def analyses_of(self, key: str, limit: int = 100) -> list[Analysis]:
        """The latest first."""
        c = analyses.c
        query = sa.select(analyses).where(c.org_id == self._scope.org, c.key == key)
        rows = self._scope.rows(query.order_by(c.created_at.desc(), c.analysis_id.desc()).limit(limit))
        return [_analysis(row) for row in rows]

    def count_analyses(self) -> int:
        return self._scope.count(analyses)

    # --- proposals -----------------------------------------------------------------------------------------------

    def get(self, key: str) -> Proposal | None:
        row = next(iter(self._scope.rows(self._select(proposals.c.key == key))), None)
        return _proposal(row) if row else None

    def of_playbook(self, playbook_id: int) -> Proposal | None:
        row = next(iter(self._scope.rows(self._select(proposals.c.playbook_id == playbook_id))), None)
        return _proposal(row) if row else None

    def at_endpoint(self, source: str, endpoint: str) -> list[Proposal]:
        c = proposals.c
        query = self._select(c.source == source, c.endpoint == endpoint).order_by(c.updated_at.desc(), c.key)
        return [_proposal(row) for row in self._scope.rows(query.limit(100))]

    def all(self) -> list[Proposal]:
        """The latest changed first."""
        query = self._select().order_by(proposals.c.updated_at.desc(), proposals.c.key).limit(_LATEST)
        return [_proposal(row) for row in self._scope.rows(query)]

    def propose(self, proposal: Proposal) -> None:
        s = self._scope
        row = s.stamp(_proposal_row(proposal))
        kept = {name: value for name, value in row.items() if name not in ("org_id", "key", "created_at")}
        new = s.db.insert(proposals).on_conflict_do_update(index_elements=["org_id", "key"], set_=kept)
        s.conn.execute(new, [row])

    def decided(self, key: str, at: Millis) -> None:
        """A person has spoken: it no longer waits, and no flag of before stands."""
        c = proposals.c
        changed = sa.update(proposals).where(c.org_id == self._scope.org, c.key == key)
        self._scope.conn.execute(changed.values(decided_at=at, flag=None, updated_at=self._scope.at))

    def flag(self, source: str, endpoint: str, schema_hash: str, agent_version: str) -> int:
        """Lessons about an endpoint that rest on another schema or another version of the agent."""
        c = proposals.c
        flagged = 0
        for column, now, why in (
            (c.schema_hash, schema_hash, "the tool's schema has changed"),
            (c.agent_version, agent_version, "another version of the agent is at work"),
        ):
            if now:
                changed = sa.update(proposals).where(
                    c.org_id == self._scope.org, c.source == source, c.endpoint == endpoint, column.is_not(None)
                )
                reason = f"{why} since this was learned: look at it again"
                done = self._scope.conn.execute(
                    changed.where(column != now, c.flag.is_(None)).values(flag=reason, updated_at=self._scope.at)
                )
                flagged += done.rowcount
        return flagged

    # --- removing ------------------------------------------------------------------------------------------------

    def drop_resting_on(self, op_ids: Sequence[str], keys: Sequence[str]) -> list[Proposal]:
        """Analyses and proposals of which one of the operations is evidence; returns the proposals."""
        s, db = self._scope, self._scope.db
        told = sa.or_(db.has_any(analyses.c.evidence, op_ids), analyses.c.key.in_(keys))
        s.delete(analyses, told)
        resting = sa.or_(db.has_any(proposals.c.evidence, op_ids), proposals.c.key.in_(keys))
        gone = [_proposal(row) for row in s.rows(self._select(resting))]
        s.delete(proposals, proposals.c.key.in_([one.key for one in gone]))
        return gone

    def _select(self, *where: sa.ColumnElement[bool]) -> sa.Select[Any]:
        return sa.select(proposals).where(proposals.c.org_id == self._scope.org, *where)


def _analysis_row(analysis: Analysis) -> dict[str, Any]:
    values = asdict(analysis)
    origin = values.pop("origin")
    values["analysis_id"] = values.pop("id")
    values["evidence"], values["scopes"] = list(analysis.evidence), list(analysis.scopes)
    return {**values, **{name: origin[name] for name in ("engine", "model", "prompt_hash", "confidence")}}


def _analysis(row: sa.RowMapping) -> Analysis:
    return Analysis(
        id=row["analysis_id"],
        about=row["about"],
        key=row["key"],
        evidence_hash=row["evidence_hash"],
        evidence=tuple(row["evidence"] or ()),
        scopes=tuple(row["scopes"] or ()),
        state=AnalysisState(row["state"]),
        diagnosis=row["diagnosis"] or {},
        origin=Origin(row["engine"], row["model"], row["prompt_hash"], row["confidence"]),
        created_at=Millis(row["created_at"]),
    )


def _proposal_row(proposal: Proposal) -> dict[str, Any]:
    values = {name: getattr(proposal, name) for name in Proposal.__dataclass_fields__}
    values["evidence"], values["scopes"] = list(proposal.evidence), list(proposal.scopes)
    return values


def _proposal(row: sa.RowMapping) -> Proposal:
    values = {name: row[name] for name in Proposal.__dataclass_fields__}
    values["evidence"], values["scopes"] = tuple(row["evidence"] or ()), tuple(row["scopes"] or ())
    values["detail"] = row["detail"] or {}
    return Proposal(**values)
