"""Endpoints of the change feed."""

from acumen.api.call import Call, answers
from acumen.api.views import millis, seconds, shaped, user
from acumen.model.ids import SessionId
from acumen.model.memories.change import ChangeFilter, ChangeKind
from acumen.review import changes
from acumen.review.changes import Change, OtherMemory
from acumen_client.calls import Calls
from acumen_client.wire import changes as wire


@answers(Calls.memory_changes)
async def get_memory_changes(request: wire.GetMemoryChangesRequest, call: Call) -> wire.GetMemoryChangesResponse:
    query = ChangeFilter(
        user=user(request.user_id),
        kinds=None if request.kinds is None else tuple(ChangeKind(kind) for kind in request.kinds),
        since=millis(request.since),
        until=millis(request.until),
        session=SessionId(request.session_id) if request.session_id else None,
    )
    page = await changes.page(query, request.limit, request.cursor, call.deps)
    return wire.GetMemoryChangesResponse(changes=[_change(change) for change in page.changes], next_cursor=page.next)


@answers(Calls.undo_memory_change)
async def undo_memory_change(request: wire.UndoMemoryChangeRequest, call: Call) -> wire.UndoMemoryChangeResponse:
    undone = await changes.undo(request.change_id, call.caller.actor, request.reason, call.deps)
    return wire.UndoMemoryChangeResponse(
        action_id=undone.action.id,
        change=_change(undone.change),
        successor=_other(undone.successor),
        conflict_id=undone.conflict_id,
        msg=changes.outcome(undone),
    )


def _change(change: Change) -> wire.MemoryChange:
    return shaped(
        wire.MemoryChange,
        change.ref,
        change,
        change_id=change.id,
        at=seconds(change.at),
        change=change.kind,
        other=_other(change.related),
        session_id=change.session[1] if change.session else None,
        interaction_id=change.turn,
        conflict_id=change.conflict and change.conflict.id,
        conflict_state=change.conflict and change.conflict.state,
        undoable=change.refusal is None,
    )


def _other(memory: OtherMemory | None) -> wire.RelatedMemoryView | None:
    return None if memory is None else shaped(wire.RelatedMemoryView, memory.ref, memory)
