"""Turns as evidence: search finds every turn, without the words that the user asked to forget.

A turn that says nothing else is hidden as a whole. Both follow from the memories alone, so undoing a "forget" brings
the words back.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

import sqlalchemy as sa
from msgspec.structs import replace

from acumen.model.conversation import Interaction
from acumen.model.ids import InteractionId
from acumen.model.memories.base import Cause, Status
from acumen.model.memories.search import TURN
from acumen.storage.engine.compiled_statement import CompiledSelect, SelectByIds
from acumen.storage.engine.scope import OrgScope, in_batches
from acumen.storage.memories.search_rows import SearchRows
from acumen.storage.tables import interactions, lineage, profiles, search_rows, user_playbooks

# Words that are left of a turn for it to be worth finding; where none are spaced, each character counts.
FEWEST_LEFT = 3
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]|\w+")

_entity = search_rows.c.entity_id
_HIDDEN = SelectByIds(_entity, [_entity], where=sa.and_(search_rows.c.kind == TURN, search_rows.c.gone))
_STORED = SelectByIds(interactions.c.interaction_id, [interactions.c.interaction_id, interactions.c.content])

# Of each turn, what the memories that rest on it took from it. None: the whole turn.
Forgotten = Mapping[InteractionId, Sequence[str | None]]


@cache
def _forgotten(table: sa.Table) -> CompiledSelect:
    """What a user's forgotten memories rest on."""
    c = table.c
    mine = (c.org_id == sa.bindparam("org"), c.user_id == sa.bindparam("user"))
    forgotten = sa.select(c.interaction_ids, c.source_span).where(*mine, c.status == sa.literal(str(Status.FORGOTTEN)))
    return CompiledSelect(forgotten)


@cache
def _requests() -> CompiledSelect:
    """The sentences in which a user asked to forget something."""
    c = lineage.c
    mine = (c.org_id == sa.bindparam("org"), c.user_id == sa.bindparam("user"))
    return CompiledSelect(
        sa.select(c.interaction_id, c.quote).where(*mine, c.cause == sa.literal(str(Cause.FORGET))).distinct()
    )


class HiddenTurns:
    def __init__(self, scope: OrgScope, search: SearchRows) -> None:
        self._scope = scope
        self._search = search

    def find_hidden(self, turns: Collection[InteractionId]) -> set[InteractionId]:
        """Those of them that search must not find."""
        ids = [str(turn) for turn in turns]
        rows = (row for batch in in_batches(ids) for row in _HIDDEN.rows(self._scope.conn, self._scope.org, batch))
        return {InteractionId(int(row["entity_id"])) for row in rows}

    def blank(self, user: str, turns: Sequence[Interaction]) -> list[Interaction]:
        """A user's turns without the words that are forgotten."""
        forgotten = self._forgotten(user) if turns else {}
        if not forgotten:
            return list(turns)
        return [replace(turn, content=_without(turn.content, forgotten.get(turn.id, ()))) for turn in turns]

    def refresh(self, user: str, turns: Iterable[InteractionId]) -> None:
        """Hides those of which nothing is left, shows the others; all of these are indexed again."""
        contents = self._contents(set(turns))
        forgotten = self._forgotten(user)
        empty = {turn for turn, content in contents.items() if _is_empty(content, forgotten.get(turn, ()))}
        hidden = self.find_hidden(contents)
        self._put(user, sorted(empty - hidden), gone=True)
        self._put(user, sorted(contents.keys() - empty), gone=False)

    def refresh_users(self, users: set[str]) -> None:
        """The same for every turn that a forgotten memory of these users rests on."""
        for user in sorted(users & self._with_forgotten()):
            self.refresh(user, self._forgotten(user))

    def _with_forgotten(self) -> set[str]:
        users: set[str] = set()
        for c in (profiles.c, user_playbooks.c):
            query = self._scope.select(c.user_id).where(c.status == str(Status.FORGOTTEN))
            users |= {row.user_id for row in self._scope.all(query.distinct()) if row.user_id}
        return users

    def _forgotten(self, user: str) -> Forgotten:
        scope = {"org": self._scope.org, "user": user}
        memories = [
            row for table in (profiles, user_playbooks) for row in _forgotten(table).rows(self._scope.conn, **scope)
        ]
        if not memories:
            return {}
        requests = {row["interaction_id"]: row["quote"] for row in _requests().rows(self._scope.conn, **scope)}
        words: dict[InteractionId, list[str | None]] = {}
        for memory in memories:
            for turn in memory["interaction_ids"] or ():
                words.setdefault(turn, []).append(requests.get(turn) or memory["source_span"])
        return words

    def _contents(self, turns: Collection[InteractionId]) -> dict[InteractionId, str]:
        batches = in_batches(sorted(turns))
        rows = (row for batch in batches for row in _STORED.rows(self._scope.conn, self._scope.org, batch))
        return {InteractionId(row["interaction_id"]): row["content"] for row in rows}

    def _put(self, user: str, turns: Collection[InteractionId], *, gone: bool) -> None:
        """The vector of a turn that is shown is made again from the words that are left."""
        new = self._scope.db.insert(search_rows)
        changed = {"gone": gone} if gone else {"gone": gone, "vector": None, "model": ""}
        upsert = new.on_conflict_do_update(index_elements=["org_id", "kind", "entity_id"], set_=changed)
        blank = {"kind": TURN, "user_id": user, "seq": 0, "gone": gone, "analyser": "", "terms": "", "model": ""}
        rows = [self._scope.stamp({**blank, "entity_id": str(turn), "vector": None}) for turn in turns]
        if rows:
            self._scope.conn.execute(upsert, rows)
            self._search.touch_all(TURN, [row["entity_id"] for row in rows])


# --- words -----------------------------------------------------------------------------------------------------------


def _without(content: str, forgotten: Iterable[str | None]) -> str:
    for words in forgotten:
        place = _place(content, words)
        content = f"{content[: place.start()]}{content[place.end() :]}" if place else ""
    return content.strip()


def _is_empty(content: str, forgotten: Sequence[str | None]) -> bool:
    """Also where a memory's words are not found: which of the turn's words it took is not known then."""
    return bool(forgotten) and len(_WORD.findall(_without(content, forgotten))) < FEWEST_LEFT


def _place(content: str, words: str | None) -> re.Match[str] | None:
    parts = [re.escape(word) for word in (words or "").split()]
    return re.search(r"\s+".join(parts), content) if parts else None
