"""Which user playbooks went into which shared lesson, as rows."""

from collections.abc import Collection

import sqlalchemy as sa

from acumen.model.ids import PlaybookId
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import Approval
from acumen.storage.engine.compiled_statement import SelectByIds
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.tables import agent_playbook_sources, agent_playbooks

_c = agent_playbook_sources.c
# Asked by every search that finds lessons of both kinds.
_BY_SOURCE = SelectByIds(_c.user_playbook_id, [_c.agent_playbook_id, _c.user_playbook_id])


class LessonSources:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, lesson: PlaybookId, members: Collection[PlaybookId]) -> None:
        rows = [{"agent_playbook_id": lesson, "user_playbook_id": member} for member in members]
        self._scope.insert_new(agent_playbook_sources, rows)

    def find(self, lessons: Collection[PlaybookId]) -> dict[PlaybookId, list[PlaybookId]]:
        """What each was written from, in the order of the ids."""
        query = self._scope.select(_c.agent_playbook_id, _c.user_playbook_id).order_by(_c.user_playbook_id)
        members_of: dict[PlaybookId, list[PlaybookId]] = {lesson: [] for lesson in lessons}
        for lesson, member in self._scope.all_in(query, _c.agent_playbook_id, lessons):
            members_of[PlaybookId(lesson)].append(PlaybookId(member))
        return members_of

    def find_lessons_of(self, members: Collection[int]) -> dict[PlaybookId, set[PlaybookId]]:
        """The shared lessons that these user playbooks once went into, each with those of them that did."""
        members_of: dict[PlaybookId, set[PlaybookId]] = {}
        for batch in in_batches(sorted(members)):
            for row in _BY_SOURCE.rows(self._scope.conn, self._scope.org, batch):
                members_of.setdefault(row["agent_playbook_id"], set()).add(row["user_playbook_id"])
        return members_of

    def find_all_lessons(self) -> set[PlaybookId]:
        """Every shared lesson that has sources."""
        return {PlaybookId(row[0]) for row in self._scope.all(self._scope.select(_c.agent_playbook_id).distinct())}

    def find_withheld(self) -> set[str]:
        """User playbooks whose sharing a person has rejected, and that are in no other shared lesson."""
        lesson = agent_playbooks.c
        rejected = sa.case((lesson.approval == str(Approval.REJECTED), 0), else_=1)
        query = (
            self._scope.select(_c.user_playbook_id)
            .join(agent_playbooks, (lesson.playbook_id == _c.agent_playbook_id) & (lesson.org_id == _c.org_id))
            .where(lesson.status == str(Status.CURRENT))
            .group_by(_c.user_playbook_id)
            .having(sa.func.max(rejected) == 0)
        )
        return {str(row[0]) for row in self._scope.all(query)}

    def delete_members(self, members: Collection[PlaybookId]) -> None:
        """These user playbooks are gone, and no lesson owes them a word."""
        self._scope.delete_in(_c.user_playbook_id, members)

    def delete_lessons(self, lessons: Collection[PlaybookId]) -> None:
        """Their clusters stay known: what a person has deleted is not written again from the same evidence."""
        self._scope.delete_in(_c.agent_playbook_id, lessons)
