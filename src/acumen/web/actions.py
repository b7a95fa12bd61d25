"""Acting on memories: a look at what would change first, then the act, then a way back."""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from acumen.errors import BadInput
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories.memory import Memory, searchable
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind, ActionRequest, ActionScope, Target
from acumen.model.times import DAY_MS
from acumen.review import actions, audit_log, queue, undo
from acumen.storage.memories.memory_browser import MemoryFilter
from acumen.storage.store import Tx
from acumen.web import charts
from acumen.web.diff import Piece, words_changed
from acumen.web.memories import shelf_of
from acumen.web.page import PER_PAGE, Visit, page
from acumen.web.paths import ROOT
from acumen.web.review import wanted_by
from acumen_client.wire.review import MemoryChanges
from acumen_client.wire.shapes import Role

MOST_AT_ONCE = 1_000
SNOOZE_DAYS = (30, 7, 90)
# What a form may send of an edit.
EDITABLE = ("content", "trigger", "rationale", "pitfall")
DONE_WORDS = {
    ActionKind.ARCHIVE: "archived",
    ActionKind.RESTORE: "restored",
    ActionKind.EDIT: "edited",
    ActionKind.SUPERSEDE_BY: "superseded",
    ActionKind.MERGE: "merged",
    ActionKind.PIN: "pinned",
    ActionKind.UNPIN: "unpinned",
    ActionKind.SNOOZE: "snoozed",
    ActionKind.MARK_USEFUL: "marked useful",
    ActionKind.DISMISS: "dismissed",
    ActionKind.CHANGE_SCOPE: "given another scope",
    ActionKind.DELETE: "deleted",
    ActionKind.CONFIGURE: "thresholds changed",
    ActionKind.SETTLE_CONFLICT: "superseded",
    ActionKind.UNDO_CHANGE: "changed back",
    ActionKind.UNDO: "put back",
}


# What is done by pages of its own, or not to a memory.
NO_ACTIONS = frozenset({ActionKind.UNDO, ActionKind.CONFIGURE, ActionKind.SETTLE_CONFLICT, ActionKind.UNDO_CHANGE})
LONGEST_REASON = 1_000


class Preview(Struct, frozen=True):
    """What an action would do. `saving` is the tokens a day that those it takes out of use cost."""

    asked: ActionRequest
    action: Action
    titles: dict[MemoryRef, str]
    saving: float
    pieces: Sequence[Piece] = ()
    choices: Sequence[MemoryRef] = ()

    @property
    def changed(self) -> list[ActionItem]:
        return [item for item in self.action.items if item.changed]

    @property
    def unchanged(self) -> list[ActionItem]:
        return [item for item in self.action.items if not item.changed]

    @property
    def sent(self) -> list[Target]:
        """What the person agrees to."""
        changed = {item.ref for item in self.changed}
        every = self.asked.doing is ActionKind.MERGE
        return [target for target in self.asked.targets if every or target.ref in changed]


@page("/actions/preview", Role.REVIEWER, "POST")
async def preview(visit: Visit) -> Response:
    targets = await _targets(visit)
    doing = _doing(visit)
    if doing is ActionKind.SUPERSEDE_BY and not _successor(visit):
        titles, choices = await visit.deps.store.read(lambda tx: _suggested(tx, targets))
        return visit.html(
            "preview.html", choose="successor", targets=targets, titles=titles, choices=choices, doing=doing
        )
    if doing is ActionKind.EDIT and not _changes(visit):
        titles, tags = await visit.deps.store.read(lambda tx: _tagged(tx, targets))
        return visit.html("preview.html", choose="tags", targets=targets, titles=titles, tags=tags, doing=doing)
    if doing is ActionKind.CHANGE_SCOPE and not visit.form.get("reach"):
        titles = await visit.deps.store.read(lambda tx: tx.memories.get_titles([one.ref for one in targets[:8]]))
        return visit.html("preview.html", choose="reach", targets=targets, titles=titles, doing=doing)
    if doing is ActionKind.MERGE and len(targets) < 2 and not visit.form.get("successor"):
        raise BadInput("Select at least two memories to merge: one stays, the others point to it.")
    told = await _look(visit, _asked(visit, doing, targets))
    return visit.html("preview.html", choose="", told=told, doing=doing, snooze_days=SNOOZE_DAYS)


async def _look(visit: Visit, asked: ActionRequest) -> Preview:
    """A dry run, with the words that a person needs to judge it by."""
    would = replace(asked, confirm=f"delete {len(asked.targets)}")
    flagged = await queue.flagged([target.ref for target in asked.targets], visit.deps) if _dismisses(asked) else {}
    action = await actions.preview(would, flagged, visit.deps)
    return await visit.deps.store.read(lambda tx: _told(tx, asked, action, visit.deps.now()))


def _told(tx: Tx, asked: ActionRequest, action: Action, at: Millis) -> Preview:
    refs = [item.ref for item in action.items]
    titles = tx.memories.get_titles(refs)
    if asked.reach.everyone:  # whoever shows it to everyone reads all of it first
        own = tx.by_kind[Kind.USER_PLAYBOOK].get_many([ref.id for ref in refs if ref.kind is Kind.USER_PLAYBOOK])
        titles |= {MemoryRef(Kind.USER_PLAYBOOK, name): searchable(one) for name, one in own.items()}
    leaving = [item.ref for item in action.items if item.changed and asked.doing in _TAKES_OUT]
    choices = refs if asked.doing is ActionKind.MERGE else ()
    return Preview(asked, action, titles, _tokens_a_day(tx, leaving, at), _edited(tx, asked), choices)


_TAKES_OUT = frozenset({ActionKind.ARCHIVE, ActionKind.MERGE, ActionKind.SUPERSEDE_BY, ActionKind.DELETE})


def _tokens_a_day(tx: Tx, refs: Sequence[MemoryRef], at: Millis) -> float:
    """Over the time that the queue looks at, so that both tell the same."""
    window = queue.window_of(tx, queue.USUAL_DAYS, at)
    used = {
        kind: tx.usage.counters.get_uses(kind, window.since, [ref.id for ref in refs if ref.kind == kind])
        for kind in Kind
    }
    return sum(used[ref.kind][ref.id].tokens for ref in refs if ref.id in used[ref.kind]) / window.counted_days


def _edited(tx: Tx, asked: ActionRequest) -> list[Piece]:
    if not asked.changes.keys() & set(EDITABLE):
        return []
    ref = asked.targets[0].ref
    before: Memory | None = tx.by_kind[ref.kind].get(ref.id)
    after = "\n".join(str(asked.changes[name]) for name in ("trigger", "content", "pitfall") if asked.changes.get(name))
    return words_changed(searchable(before), after) if before else []


def _tagged(tx: Tx, targets: Sequence[Target]) -> tuple[dict[MemoryRef, str], list[str]]:
    """Titles, and the tags that any of them has."""
    refs = [target.ref for target in targets]
    found = [memory for kind in Kind for memory in _of_kind(tx, kind, refs)]
    return tx.memories.get_titles(refs[:8]), sorted({tag for memory in found for tag in memory.tags})


def _of_kind(tx: Tx, kind: Kind, refs: Sequence[MemoryRef]) -> list[Memory]:
    return list(tx.by_kind[kind].get_many([ref.id for ref in refs if ref.kind is kind]).values())


def _suggested(tx: Tx, targets: Sequence[Target]) -> tuple[dict[MemoryRef, str], list[MemoryRef]]:
    """Memories that may take the place of these: those that say nearly the same."""
    own = {target.ref for target in targets}
    kind = targets[0].ref.kind
    pairs = tx.memory_flags.find_pairs(kind, ids=[ref.id for ref in own if ref.kind is kind])
    near = [MemoryRef(kind, other) for pair in pairs for other in (pair.left, pair.right)]
    choices = [ref for ref in dict.fromkeys(near) if ref not in own][:5]
    return tx.memories.get_titles([*own, *choices]), choices


# --- doing it ------------------------------------------------------------------------------------------------------


@page("/actions", Role.REVIEWER, "POST")
async def do(visit: Visit) -> Response:
    asked = _asked(visit, _doing(visit), await _targets(visit))
    flagged = await queue.flagged([target.ref for target in asked.targets], visit.deps) if _dismisses(asked) else {}
    return done(visit, await actions.confirm(asked, flagged, visit.deps))


@page("/actions/{id}/undo", Role.REVIEWER, "POST")
async def undo_action(visit: Visit) -> Response:
    return done(visit, await undo.undo(ActionId(visit.path_id), visit.caller.actor, visit.deps))


def done(visit: Visit, action: Action) -> Response:
    """A note with the way back; a browser without scripts is led to the audit log."""
    visit.app.forget_config(visit.deps.org)  # thresholds may be among what was put back
    if not visit.partial:
        return RedirectResponse(f"{ROOT}/audit", 303)
    headers = {"HX-Trigger": json.dumps({"acumen:changed": {"count": action.changed}})}
    return visit.html("part/toast.html", headers=headers, action=action, word=DONE_WORDS[action.doing])


def _doing(visit: Visit) -> ActionKind:
    asked = visit.form.get("action")
    if asked not in set(ActionKind) - NO_ACTIONS:
        raise BadInput(f"{asked[:40]!r} is nothing that can be done to a memory.")
    return ActionKind(asked)


def _dismisses(asked: ActionRequest) -> bool:
    """What is dismissed are the numbers of this moment."""
    return asked.doing is ActionKind.DISMISS


def _asked(visit: Visit, doing: ActionKind, targets: Sequence[Target]) -> ActionRequest:
    days = visit.form.get("days", str(SNOOZE_DAYS[0]))
    if days not in {str(one) for one in SNOOZE_DAYS}:
        raise BadInput("Snooze for 7, 30 or 90 days.")
    if doing is ActionKind.DELETE and len(targets) > 1 and not visit.caller.role.allows(Role.ADMIN):
        raise BadInput("Deleting several at once needs a key with the role admin.")
    successor = _successor(visit) or (targets[0].ref.id if doing is ActionKind.MERGE else None)
    return ActionRequest(
        doing=doing,
        targets=targets,
        actor=visit.caller.actor,
        reason=visit.form.get("reason")[:LONGEST_REASON],
        changes=_changes(visit),
        successor=successor if doing in (ActionKind.MERGE, ActionKind.SUPERSEDE_BY) else None,
        until=Millis(visit.deps.now() + int(days) * DAY_MS) if doing is ActionKind.SNOOZE else None,
        confirm=visit.form.get("confirm"),
        reach=_reach(visit) if doing is ActionKind.CHANGE_SCOPE else ActionScope(),
    )


def _reach(visit: Visit) -> ActionScope:
    if visit.form.get("reach") == "everyone":
        return ActionScope(everyone=True)
    return ActionScope(agent_version=visit.form.get("agent_version").strip()[:1_000])


def _changes(visit: Visit) -> dict[str, Any]:
    """Words as they were typed; tags with commas between them."""
    words: dict[str, Any] = {name: visit.form.get(name) for name in EDITABLE if visit.form.all(name)}
    if not visit.form.all("tags"):
        return words
    tags = [tag.strip() for tag in visit.form.get("tags").split(",") if tag.strip()]
    try:
        return {**words, "tags": MemoryChanges(tags=tags).tags}
    except ValidationError:
        raise BadInput("A memory has at most a few short tags, with commas between them.") from None


def _successor(visit: Visit) -> str:
    """An id that was typed in wins over one that was offered."""
    return visit.form.get("other") or visit.form.get("successor")


async def _targets(visit: Visit) -> list[Target]:
    """What was selected: rows of the page, or all that the page's filter finds."""
    if visit.form.get("every") == "review":
        found = await queue.candidates(wanted_by(visit), MOST_AT_ONCE, 0, visit.deps)
        targets = [Target(one.ref, one.version) for one in found.candidates]
    elif visit.form.get("every") == "memories":
        shelf: MemoryFilter = await shelf_of(visit)
        entries, _ = await visit.deps.store.read(lambda tx: tx.memory_browser.page_memories(shelf, MOST_AT_ONCE, 0))
        targets = [Target(one.ref, one.version) for one in entries]
    else:
        targets = list({target.ref: target for target in map(_target, visit.form.all("item"))}.values())
    if not targets:
        raise BadInput("Select at least one memory first.")
    return targets[:MOST_AT_ONCE]


def _target(item: str) -> Target:
    """As a row says it: kind, version and id."""
    kind, _, rest = item.partition(":")
    version, _, memory_id = rest.partition(":")
    if kind not in set(Kind) or not memory_id or not (version.isdecimal() and len(version) < 10):
        raise BadInput("The selection cannot be read: load the page again.")
    return Target(MemoryRef(Kind(kind), memory_id), int(version))


# --- the log -------------------------------------------------------------------------------------------------------


@page("/audit")
async def audit(visit: Visit) -> Response:
    found, total = await audit_log.page(PER_PAGE, visit.offset, None, visit.deps)
    refs = {item.ref for action in found for item in action.items[:5]}
    today = visit.deps.now() // DAY_MS
    titles, per_day = await visit.deps.store.read(
        lambda tx: (tx.memories.get_titles(refs), tx.actions.count_per_day(today - 7 * charts.WEEKS))
    )
    calendar = charts.calendar(per_day, today)
    worked = [cell for week in calendar for cell in week if cell.count]
    return visit.html(
        "audit.html", actions=found, total=total, titles=titles, words=DONE_WORDS, calendar=calendar, worked=worked
    )
