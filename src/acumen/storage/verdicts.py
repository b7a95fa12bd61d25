"""What auditors found, as rows."""

from collections.abc import Sequence

import sqlalchemy as sa

from acumen.model.ids import Millis
from acumen.model.verdict import Finding, Recurrence
from acumen.storage.scope import Scope
from acumen.storage.tables import findings


class Verdicts:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def add(self, found: Sequence[Finding]) -> None:
        names = ("op_id", "subject", "overall", "severity", "signature", "message")
        self._scope.add(findings, [{name: getattr(one, name) for name in names} for one in found])

    def of_subject(self, subject: str, limit: int) -> list[Finding]:
        """The latest first."""
        return self._find(findings.c.subject == subject, limit)

    def of_signature(self, signature: str, limit: int) -> list[Finding]:
        return self._find(findings.c.signature == signature, limit)

    def recurrence(self, signatures: Sequence[str]) -> list[Recurrence]:
        """How often each was found, and at how many distinct subjects; the widest spread first."""
        c = findings.c
        subjects = sa.func.count(c.subject.distinct())
        query = (
            sa.select(c.signature, sa.func.count().label("count"), subjects.label("subjects"))
            .where(c.org_id == self._scope.org, c.signature.in_(signatures))
            .group_by(c.signature)
            .order_by(subjects.desc(), c.signature)
        )
        return [Recurrence(row[0], int(row[1]), int(row[2])) for row in self._scope.all(query)]

    def _find(self, where: sa.ColumnElement[bool], limit: int) -> list[Finding]:
        c = findings.c
        query = sa.select(findings).where(c.org_id == self._scope.org, where)
        rows = self._scope.rows(query.order_by(c.finding_id.desc()).limit(limit))
        names = ("op_id", "subject", "overall", "severity", "signature", "message")
        return [Finding(**{name: row[name] for name in names}, created_at=Millis(row["created_at"])) for row in rows]
