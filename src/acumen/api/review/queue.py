"""Endpoints of the review queue: candidates, actions, conflicts, duplicates."""

from collections.abc import Mapping
from typing import Any

from acumen.api.call import Call, answers
from acumen.api.views import maybe_seconds, millis, seconds, shaped
from acumen.auth.roles import DELETE_SEVERAL
from acumen.model.ids import Kind, MemoryRef, Millis, UserId
from acumen.model.memories.conflict import ConflictSide, Keep, OpenConflict
from acumen.model.memories.memory import searchable, title
from acumen.model.plural import counted
from acumen.model.review.action import Action, ActionId, ActionItem, ActionKind, ActionRequest, ActionScope, Target
from acumen.model.times import DAY_MS
from acumen.review import actions, audit_log, conflicts, duplicate_clusters, duplicate_scan, queue, undo_action
from acumen.review.duplicate_clusters import DuplicateCluster, Member
from acumen.review.queue import Candidate, CandidatePage, ReviewQuery
from acumen_client.calls import Calls
from acumen_client.wire import review as wire

SNOOZE_DAYS = 30
# Of an action on many memories, the log lists this many.
ITEMS_SHOWN = 100
# What every change changes; a reader of the log wants to know the rest.
_UNTOLD = frozenset({"version", "updated_at"})


@answers(Calls.memory_review)
async def get_memory_review(request: wire.GetMemoryReviewRequest, call: Call) -> wire.GetMemoryReviewResponse:
    await call.app.flush_usage()
    being_counted = await duplicate_scan.scan_pending(call.deps)
    user = None if request.include_all_users else UserId(request.user_id or "")
    signals = None if request.signal_filter is None else [str(signal) for signal in request.signal_filter]
    query = ReviewQuery(user, request.days_back, signals, by_waste=request.sort is wire.ReviewOrder.WASTED_TOKENS)
    page = await queue.candidates(query, request.limit, request.offset, call.deps)
    return shaped(
        wire.GetMemoryReviewResponse,
        page,
        request,
        candidates=[_candidate(candidate) for candidate in page.candidates],
        signal_counts=page.by_signal,
        saving_tokens_per_day=round(page.saving, 1),
        covered_since=maybe_seconds(page.covered_since),
        insufficient_history=not page.enough_history,
        being_counted=being_counted,
        msg=_message(page, request.days_back, being_counted),
    )


def _message(page: CandidatePage, days_back: int, being_counted: int) -> str:
    summary = "No memories need review"
    if page.total:
        summary = f"{counted(page.total, 'memory', 'memories')} {'needs' if page.total == 1 else 'need'} review"
    if being_counted:
        summary += f"; {being_counted} more are being scanned; ask again shortly"
    if page.enough_history:
        return summary
    return (
        f"insufficient_history: usage has been metered for less than {days_back} days, so nothing is stale yet; "
        f"{summary}"
    )


def _candidate(candidate: Candidate) -> wire.MemoryReviewCandidate:
    use, signals = candidate.use, candidate.signals
    return shaped(
        wire.MemoryReviewCandidate,
        candidate,
        use,
        entity_type=candidate.ref.kind,
        entity_id=candidate.ref.id,
        signals=[signal.name for signal in signals],
        reasons={signal.name: signal.why for signal in signals},
        since={signal.name: seconds(signal.since) for signal in signals if signal.since is not None},
        injection_count=use.shown,
        citation_count=use.citations,
        cited_injection_count=use.cited_shown,
        echoed_injection_count=use.echoed_shown,
        total_prompt_tokens=use.tokens,
        saving_tokens_per_day=round(candidate.saving, 1),
        related_ids=candidate.related,
        conflict_ids=[pair.conflict.id for pair in candidate.conflicts],
        last_injected_at=maybe_seconds(use.last_at),
        last_modified_at=seconds(candidate.modified_at),
    )


# --- acting --------------------------------------------------------------------------------------------------------


@answers(Calls.review_memories)
async def review_memories(request: wire.ReviewMemoriesRequest, call: Call) -> wire.ReviewMemoriesResponse:
    action_request = _action_request(request, call)
    if action_request.doing is ActionKind.DELETE and len(action_request.targets) > 1:
        DELETE_SEVERAL.require(call.caller.role)
    # What is dismissed are the numbers of this moment, so they are made ready first.
    flagged: actions.Flagged = {}
    if action_request.doing is ActionKind.DISMISS:
        await call.app.flush_usage()
        flagged = await queue.flagged([target.ref for target in action_request.targets], call.deps)
    done = await (actions.preview if request.dry_run else actions.confirm)(action_request, flagged, call.deps)
    return _response(done, dry_run=request.dry_run)


def _action_request(request: wire.ReviewMemoriesRequest, call: Call) -> ActionRequest:
    until = millis(request.until)
    if request.action is wire.ReviewAction.SNOOZE and until is None:
        until = Millis(call.deps.now() + SNOOZE_DAYS * DAY_MS)
    return ActionRequest(
        doing=ActionKind(request.action),
        targets=[Target(MemoryRef(Kind(item.kind), item.id), item.version) for item in request.items],
        actor=call.caller.actor,
        reason=request.reason,
        changes=_changes(request.changes),
        successor=request.into if request.action is wire.ReviewAction.MERGE else request.superseded_by,
        until=until,
        confirm=request.confirm,
        reach=ActionScope(**request.scope.model_dump()) if request.scope else ActionScope(),
    )


def _changes(changes: wire.MemoryChanges | None) -> dict[str, Any]:
    if changes is None:
        return {}
    fields = changes.model_dump(exclude_none=True)
    return {"name" if name == "playbook_name" else name: value for name, value in fields.items()}


@answers(Calls.undo_review)
async def undo_review(request: wire.UndoReviewRequest, call: Call) -> wire.ReviewMemoriesResponse:
    done = await undo_action.undo(ActionId(request.action_id), call.caller, call.deps)
    call.app.forget_config(call.deps.org)  # thresholds may be among what was put back
    return _response(done, dry_run=False)


@answers(Calls.review_actions)
async def get_review_actions(request: wire.GetReviewActionsRequest, call: Call) -> wire.GetReviewActionsResponse:
    ref = MemoryRef(Kind(request.kind), request.id) if request.kind and request.id else None
    actions, total = await audit_log.page(request.limit, request.offset, ref, call.deps)
    entries = [_entry(action) for action in actions]
    return shaped(wire.GetReviewActionsResponse, request, actions=entries, total=total)


def _response(done: Action, *, dry_run: bool) -> wire.ReviewMemoriesResponse:
    unchanged = len(done.items) - done.changed
    will, would_not = ("would change", "would not") if dry_run else ("changed", "did not")
    return wire.ReviewMemoriesResponse(
        action_id=done.id or None,
        action=done.doing,
        dry_run=dry_run,
        changed_count=done.changed,
        unchanged_count=unchanged,
        items=[_item(item) for item in done.items],
        msg=f"{done.doing}: {done.changed} {will}" + (f", {unchanged} {would_not}" if unchanged else ""),
    )


def _entry(done: Action) -> wire.ReviewActionEntry:
    return shaped(
        wire.ReviewActionEntry,
        done,
        action_id=done.id,
        action=done.doing,
        at=seconds(done.created_at),
        undoable=done.undone_by is None and done.doing is not ActionKind.DELETE,
        changed_count=done.changed,
        unchanged_count=len(done.items) - done.changed,
        items=[_item(item) for item in done.items[:ITEMS_SHOWN]],
    )


def _item(item: ActionItem) -> wire.ReviewedItem:
    changes = _difference(item.before or {}, item.after or {})
    return shaped(wire.ReviewedItem, item.ref, item, changes=changes)


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Field by field, what it was and what it is."""
    was: Mapping[str, Any] = before.get("memory") or before.get("mark") or {}
    now: Mapping[str, Any] = after.get("memory") or after.get("mark") or {}
    changed = (name for name in {**was, **now} if name not in _UNTOLD and was.get(name) != now.get(name))
    return {name: [was.get(name), now.get(name)] for name in sorted(changed)}


# --- conflicts -----------------------------------------------------------------------------------------------------


@answers(Calls.memory_conflicts)
async def get_memory_conflicts(request: wire.GetConflictsRequest, call: Call) -> wire.GetConflictsResponse:
    user = None if request.include_all_users else UserId(request.user_id or "")
    page, total = await conflicts.listed(user, request.limit, request.offset, call.deps)
    return shaped(wire.GetConflictsResponse, request, conflicts=[_conflict(pair) for pair in page], total=total)


@answers(Calls.settle_conflict)
async def settle_conflict(request: wire.SettleConflictRequest, call: Call) -> wire.ReviewMemoriesResponse:
    done = await conflicts.settle(request.conflict_id, Keep(request.keep), call.caller.actor, request.reason, call.deps)
    return _response(done, dry_run=False)


def _conflict(pair: OpenConflict) -> wire.MemoryConflict:
    link = pair.conflict
    since = seconds(link.created_at)
    sides = {"newer": _side(pair.newer), "older": _side(pair.older)}
    return shaped(wire.MemoryConflict, link, conflict_id=link.id, since=since, **sides)


def _side(side: ConflictSide) -> wire.ConflictSideView:
    return shaped(wire.ConflictSideView, side.ref, side, at=seconds(side.at))


# --- duplicates ----------------------------------------------------------------------------------------------------


@answers(Calls.memory_duplicates)
async def get_memory_duplicates(request: wire.GetDuplicatesRequest, call: Call) -> wire.GetDuplicatesResponse:
    being_counted = await duplicate_scan.scan_pending(call.deps)
    user = None if request.include_all_users else UserId(request.user_id or "")
    clusters, total = await duplicate_clusters.pairs(user, request.limit, request.offset, call.deps)
    pairs = [_pair(cluster) for cluster in clusters]
    return shaped(wire.GetDuplicatesResponse, request, pairs=pairs, total=total, being_counted=being_counted)


def _pair(cluster: DuplicateCluster) -> wire.DuplicatePair:
    (pair,) = cluster.pairs
    sides = {"left": _brief(cluster.member(pair.left)), "right": _brief(cluster.member(pair.right))}
    return shaped(wire.DuplicatePair, pair, since=seconds(pair.since), **sides)


def _brief(member: Member) -> wire.MemoryBrief:
    memory = member.memory
    texts = {"title": title(memory), "content": searchable(memory)}
    return shaped(wire.MemoryBrief, member, memory, **texts, injection_count=member.shown)
