"""Review actions: preview, confirm, undo."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError
from starlette.responses import Response

from acumen.auth.roles import DELETE_SEVERAL
from acumen.errors import BadInput
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind, ActionRequest, ActionScope, Target
from acumen.model.times import DAY_MS
from acumen.review import action_details, actions, memory_list, queue, undo_action
from acumen.review.action_details import ActionDetails
from acumen.web.diff import Piece, words_changed
from acumen.web.page import Visit, page
from acumen.web.pages.memories import memory_filter
from acumen.web.pages.review_queue import review_query
from acumen.web.words import DONE_WORDS
from acumen_client.wire.review import MemoryChanges
from acumen_client.wire.shapes import Role

MOST_AT_ONCE = 1_000
SNOOZE_DAYS = (30, 7, 90)
# Fields of an edit form.
EDITABLE = ("content", "trigger", "rationale", "pitfall")
# Actions with pages of their own, or not on a memory.
OTHER_ACTIONS = frozenset({ActionKind.UNDO, ActionKind.CONFIGURE, ActionKind.SETTLE_CONFLICT, ActionKind.UNDO_CHANGE})
LONGEST_REASON = 1_000
TITLES_SHOWN = 8


class Preview(Struct, frozen=True):
    request: ActionRequest
    action: Action
    details: ActionDetails
    pieces: Sequence[Piece]

    @property
    def changed(self) -> list[ActionItem]:
        return [item for item in self.action.items if item.changed]

    @property
    def unchanged(self) -> list[ActionItem]:
        return [item for item in self.action.items if not item.changed]

    @property
    def sent(self) -> list[Target]:
        """The targets to confirm: memories that change; for a merge also the memory to keep."""
        changed = {item.ref for item in self.changed}
        every = self.request.doing is ActionKind.MERGE
        return [target for target in self.request.targets if every or target.ref in changed]


@page("/actions/preview", Role.REVIEWER, "POST")
async def preview(visit: Visit) -> Response:
    """What would change; first a form for what the action needs and the request does not have."""
    targets, kind = await _targets(visit), _kind(visit)
    if kind is ActionKind.SUPERSEDE_BY and not _successor(visit):
        return await _choose(
            visit, kind, targets, "successor", choices=await action_details.successors(targets, visit.deps)
        )
    if kind is ActionKind.EDIT and not _changes(visit):
        return await _choose(visit, kind, targets, "tags", tags=await action_details.tags(targets, visit.deps))
    if kind is ActionKind.CHANGE_SCOPE and not visit.form.get("scope"):
        return await _choose(visit, kind, targets, "scope")
    if kind is ActionKind.MERGE and len(targets) < 2 and not visit.form.get("successor"):
        raise BadInput("Select at least two memories to merge.")
    shown = await _preview(visit, _request(visit, kind, targets))
    return visit.html("preview.html", choose="", preview=shown, kind=kind, snooze_days=SNOOZE_DAYS)


async def _choose(visit: Visit, kind: ActionKind, targets: Sequence[Target], choose: str, **values: Any) -> Response:
    titles = await memory_list.titles([target.ref for target in targets[:TITLES_SHOWN]], visit.deps)
    return visit.html("preview.html", choose=choose, targets=targets, titles=titles, kind=kind, **values)


async def _preview(visit: Visit, request: ActionRequest) -> Preview:
    confirmed = replace(request, confirm=f"delete {len(request.targets)}")
    action = await actions.preview(confirmed, await _flagged(visit, request), visit.deps)
    details = await action_details.details(request, action, visit.deps)
    return Preview(request, action, details, _diff(request, details))


def _diff(request: ActionRequest, details: ActionDetails) -> Sequence[Piece]:
    if details.text is None or not request.changes.keys() & set(EDITABLE):
        return ()
    texts = (request.changes.get(name) for name in ("trigger", "content", "pitfall"))
    return words_changed(details.text, "\n".join(str(text) for text in texts if text))


async def _flagged(visit: Visit, request: ActionRequest) -> actions.Flagged:
    """A dismissal records the current numbers."""
    if request.doing is not ActionKind.DISMISS:
        return {}
    return await queue.flagged([target.ref for target in request.targets], visit.deps)


@page("/actions", Role.REVIEWER, "POST")
async def confirm(visit: Visit) -> Response:
    request = _request(visit, _kind(visit), await _targets(visit))
    return done(visit, await actions.confirm(request, await _flagged(visit, request), visit.deps))


@page("/actions/{id}/undo", Role.REVIEWER, "POST")
async def undo(visit: Visit) -> Response:
    return done(visit, await undo_action.undo(ActionId(visit.path_id), visit.caller, visit.deps))


def done(visit: Visit, action: Action) -> Response:
    """A message with an Undo button; a browser without scripts is redirected to the audit log."""
    visit.app.forget_config(visit.deps.org)  # an undo may have changed the thresholds
    return visit.done(
        _message(action), "/audit", action.id if action.doing is not ActionKind.DELETE else "", action.changed
    )


def _message(action: Action) -> str:
    if action.changed:
        return f"{action.changed:,} {'memory' if action.changed == 1 else 'memories'} {DONE_WORDS[action.doing]}."
    if action.doing is ActionKind.SETTLE_CONFLICT:
        return "Both memories kept."
    return "Undone." if action.id else "Nothing changed."


# --- the form ------------------------------------------------------------------------------------------------------


def _kind(visit: Visit) -> ActionKind:
    name = visit.form.get("action")
    if name not in set(ActionKind) - OTHER_ACTIONS:
        raise BadInput(f"{name[:40]!r} is not an action on memories.")
    return ActionKind(name)


def _request(visit: Visit, kind: ActionKind, targets: Sequence[Target]) -> ActionRequest:
    days = visit.form.get("days", str(SNOOZE_DAYS[0]))
    if days not in {str(choice) for choice in SNOOZE_DAYS}:
        raise BadInput("Snooze for 7, 30 or 90 days.")
    if kind is ActionKind.DELETE and len(targets) > 1:
        DELETE_SEVERAL.require(visit.caller.role)
    successor = _successor(visit) or (targets[0].ref.id if kind is ActionKind.MERGE else None)
    return ActionRequest(
        doing=kind,
        targets=targets,
        actor=visit.caller.actor,
        reason=visit.form.get("reason")[:LONGEST_REASON],
        changes=_changes(visit),
        successor=successor if kind in (ActionKind.MERGE, ActionKind.SUPERSEDE_BY) else None,
        until=Millis(visit.deps.now() + int(days) * DAY_MS) if kind is ActionKind.SNOOZE else None,
        confirm=visit.form.get("confirm"),
        reach=_scope(visit) if kind is ActionKind.CHANGE_SCOPE else ActionScope(),
    )


def _scope(visit: Visit) -> ActionScope:
    if visit.form.get("scope") == "everyone":
        return ActionScope(everyone=True)
    return ActionScope(agent_version=visit.form.get("agent_version").strip()[:1_000])


def _changes(visit: Visit) -> dict[str, Any]:
    """Text fields as typed; tags separated by commas."""
    changes: dict[str, Any] = {name: visit.form.get(name) for name in EDITABLE if visit.form.all(name)}
    if not visit.form.all("tags"):
        return changes
    tags = [tag.strip() for tag in visit.form.get("tags").split(",") if tag.strip()]
    try:
        return {**changes, "tags": MemoryChanges(tags=tags).tags}
    except ValidationError:
        raise BadInput("Enter a few short tags, separated by commas.") from None


def _successor(visit: Visit) -> str:
    """A typed id wins over a suggested one."""
    return visit.form.get("other") or visit.form.get("successor")


async def _targets(visit: Visit) -> list[Target]:
    """The selected rows, or everything that the filters of the page match."""
    if visit.form.get("every") == "review":
        candidates = (await queue.candidates(review_query(visit), MOST_AT_ONCE, 0, visit.deps)).candidates
        targets = [Target(candidate.ref, candidate.version) for candidate in candidates]
    elif visit.form.get("every") == "memories":
        entries = await memory_list.entries(await memory_filter(visit), MOST_AT_ONCE, visit.deps)
        targets = [Target(entry.ref, entry.version) for entry in entries]
    else:
        targets = list({target.ref: target for target in map(_target, visit.form.all("item"))}.values())
    if not targets:
        raise BadInput("Select at least one memory.")
    return targets[:MOST_AT_ONCE]


def _target(item: str) -> Target:
    """From `kind:version:id`."""
    kind, _, version_and_id = item.partition(":")
    version, _, memory_id = version_and_id.partition(":")
    if kind not in set(Kind) or not memory_id or not (version.isdecimal() and len(version) < 10):
        raise BadInput("The selection is invalid. Reload the page.")
    return Target(MemoryRef(Kind(kind), memory_id), int(version))
