"""What auditors found, as rows."""

from collections.abc import Sequence

import sqlalchemy as sa

from acumen.model.ids import Millis
from acumen.model.operations.verdict import Recurrence, VerdictFinding
from acumen.storage.engine.scope import OrgScope, row_of, value_of
from acumen.storage.tables import findings


class Verdicts:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, new: Sequence[VerdictFinding]) -> None:
        at = self._scope.at
        self._scope.insert(findings, [row_of(findings, finding, created_at=at) for finding in new])

    def find_by_subject(self, subject: str, limit: int) -> list[VerdictFinding]:
        """The latest first."""
        return self._find(findings.c.subject == subject, limit)

    def find_by_signature(self, signature: str, limit: int) -> list[VerdictFinding]:
        return self._find(findings.c.signature == signature, limit)

    def count_recurrence(self, signatures: Sequence[str]) -> list[Recurrence]:
        """How often each was found, and at how many distinct subjects; the widest spread first."""
        c = findings.c
        subjects = sa.func.count(c.subject.distinct())
        query = (
            self._scope.select(c.signature, sa.func.count().label("count"), subjects.label("subjects"))
            .where(c.signature.in_(signatures))
            .group_by(c.signature)
            .order_by(subjects.desc(), c.signature)
        )
        return [Recurrence(row[0], int(row[1]), int(row[2])) for row in self._scope.all(query)]

    def expire(self, before: Millis) -> int:
        return self._scope.delete(findings, findings.c.created_at < before)

    def _find(self, where: sa.ColumnElement[bool], limit: int) -> list[VerdictFinding]:
        query = self._scope.select(findings).where(where).order_by(findings.c.finding_id.desc())
        return [value_of(VerdictFinding, row) for row in self._scope.all(query.limit(limit))]
