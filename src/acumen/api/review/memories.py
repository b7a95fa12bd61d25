"""Endpoints that list, add and change memories."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from acumen.api.call import Call, answers
from acumen.api.views import agent_playbook, before, millis, playbooks_like, profile, statuses, user, user_playbook
from acumen.auth.authenticator import Caller
from acumen.auth.roles import DECIDE_NEW_LESSON
from acumen.errors import BadInput, NotAllowed
from acumen.learn.share import aggregate
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis, PlaybookId, ProfileId, RequestId, UserId, fresh_id
from acumen.model.memories.base import Category, Status
from acumen.model.memories.playbook import AgentPlaybook, Approval, Lesson, UserPlaybook
from acumen.model.memories.profile import Profile, TimeToLive
from acumen.model.memories.search import Filter
from acumen.model.plural import counted
from acumen.review import memories, memory_queries
from acumen.review.operations import proposals
from acumen_client.calls import Calls
from acumen_client.wire import memories as wire
from acumen_client.wire.shapes import NEVER, Nothing, PlaybookStatus

# Digits that always fit a 64-bit number.
LONGEST_ID = 19

# --- reading -----------------------------------------------------------------------------------------------------


@answers(Calls.profiles)
async def get_profiles(request: wire.GetUserProfilesRequest, call: Call) -> wire.GetProfilesResponse:
    query = Filter(
        user_id=UserId(request.user_id),
        ids=(request.profile_id,) if request.profile_id else None,
        statuses=statuses(request.status_filter),
        source=request.source,
        tags=tuple(request.tags or ()) or None,
        ttl=request.profile_time_to_live,
        text=request.query,
        since=millis(request.start_time),
        until=before(request.end_time),
        # A request for other than current profiles includes those that have expired.
        unexpired_at=None if request.status_filter else call.deps.now(),
    )
    return _profiles(await memory_queries.profiles(query, request.top_k, call.deps))


@answers(Calls.all_profiles)
async def get_all_profiles(request: wire.GetAllProfilesRequest, call: Call) -> wire.GetProfilesResponse:
    named = statuses([request.status_filter]) if request.status_filter else None
    query = Filter(
        user_id=user(request.user_id),
        ids=(request.profile_id,) if request.profile_id else None,
        statuses=named or (None if request.include_tombstones else _ALIVE),
        source=request.source,
        ttl=request.profile_time_to_live,
        text=request.query,
        since=millis(request.start_time),
        until=before(request.end_time),
        by_creation=request.date_field == "created_at",
    )
    return _profiles(await memory_queries.profiles(query, request.limit, call.deps))


# What still counts as a memory when all statuses are asked for.
_ALIVE = (Status.CURRENT, Status.PENDING, Status.ARCHIVED, Status.FORGOTTEN, Status.ARCHIVE_IN_PROGRESS)


def _profiles(profiles: list[Profile]) -> wire.GetProfilesResponse:
    return wire.GetProfilesResponse(
        user_profiles=[profile(memory) for memory in profiles], msg=f"Found {counted(len(profiles), 'profile')}"
    )


@answers(Calls.profile_statistics)
async def get_profile_statistics(_request: Nothing, call: Call) -> wire.GetProfileStatisticsResponse:
    counts = await memory_queries.count_profiles(call.deps)
    return wire.GetProfileStatisticsResponse(
        current_count=counts.current,
        pending_count=counts.pending,
        archived_count=counts.archived,
        expiring_soon_count=counts.expiring_soon,
    )


@answers(Calls.storage_stats)
async def storage_stats(request: wire.StorageStatsRequest, call: Call) -> wire.StorageStatsResponse:
    counts = await memory_queries.count_of_user(UserId(request.user_id), call.deps)
    return wire.StorageStatsResponse(
        profile_count=counts.profiles,
        playbook_count=counts.playbooks,
        oldest_profile_modified=_moment(counts.oldest),
        newest_profile_modified=_moment(counts.newest),
    )


def _moment(at: Millis | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


@answers(Calls.user_playbooks)
async def get_user_playbooks(request: wire.GetUserPlaybooksRequest, call: Call) -> wire.GetUserPlaybooksResponse:
    query = replace(
        playbooks_like(request),
        user_id=user(request.user_id),
        ids=(str(request.user_playbook_id),) if request.user_playbook_id else None,
        request_id=request.request_id,
        text=request.query,
    )
    playbooks = await memory_queries.user_playbooks(query, request.limit, call.deps)
    return wire.GetUserPlaybooksResponse(
        user_playbooks=[user_playbook(playbook) for playbook in playbooks],
        msg=f"Found {counted(len(playbooks), 'user playbook')}",
    )


@answers(Calls.agent_playbooks)
async def get_agent_playbooks(request: wire.GetAgentPlaybooksRequest, call: Call) -> wire.GetAgentPlaybooksResponse:
    query = replace(
        playbooks_like(request),
        ids=(str(request.agent_playbook_id),) if request.agent_playbook_id else None,
        approvals=tuple(Approval(status) for status in request.playbook_status_filter or ()) or None,
        text=request.query,
    )
    playbooks = await memory_queries.agent_playbooks(query, request.limit, call.deps)
    return wire.GetAgentPlaybooksResponse(
        agent_playbooks=[agent_playbook(playbook) for playbook in playbooks],
        msg=f"Found {counted(len(playbooks), 'agent playbook')}",
    )


# --- adding ------------------------------------------------------------------------------------------------------


@answers(Calls.add_profiles)
async def add_profiles(request: wire.AddUserProfileRequest, call: Call) -> wire.AddedResponse:
    now = call.deps.now()
    warning = await memories.add(Kind.PROFILE, [_new_profile(new, now) for new in request.user_profiles], call.deps)
    return _added(len(request.user_profiles), "profile", warning)


@answers(Calls.add_user_playbooks)
async def add_user_playbooks(request: wire.AddUserPlaybookRequest, call: Call) -> wire.AddedResponse:
    now = call.deps.now()
    added = [_new_user_playbook(new, now) for new in request.user_playbooks]
    warning = await memories.add(Kind.USER_PLAYBOOK, added, call.deps)
    await aggregate.add_due(call.deps, aggregate.PAUSE_MS)
    return _added(len(added), "item", warning)


@answers(Calls.add_agent_playbooks)
async def add_agent_playbooks(request: wire.AddAgentPlaybookRequest, call: Call) -> wire.AddedResponse:
    now = call.deps.now()
    _require_reviewer_to_decide(request.agent_playbooks, call.caller)
    added = [_new_agent_playbook(new, now) for new in request.agent_playbooks]
    return _added(len(added), "item", await memories.add(Kind.AGENT_PLAYBOOK, added, call.deps))


def _added(count: int, noun: str, warning: str | None) -> wire.AddedResponse:
    message = f"Added {counted(count, noun)}"
    return wire.AddedResponse(added_count=count, message=f"{message}; {warning}" if warning else message)


def _require_reviewer_to_decide(new: Sequence[wire.NewAgentPlaybook], caller: Caller) -> None:
    """An approved lesson reaches every user's context, so an agent may only suggest one."""
    decided = {playbook.playbook_status for playbook in new} - {PlaybookStatus.PENDING}
    if decided and not caller.role.allows(DECIDE_NEW_LESSON.role):
        raise NotAllowed(
            f"A key with the role {caller.role} adds shared lessons as pending only, not as {min(decided)}: send "
            'playbook_status "pending" or leave it out; a key with the role reviewer then approves the lesson.'
        )


def _new_profile(new: wire.NewProfile, now: Millis) -> Profile:
    at = millis(new.last_modified_timestamp) or now
    ttl = TimeToLive(new.profile_time_to_live)
    stated = millis(new.expiration_timestamp)
    expires = stated if stated is not None and new.expiration_timestamp != NEVER else ttl.expires(at)
    return Profile(
        id=ProfileId(new.profile_id or fresh_id("prof")),
        user_id=UserId(new.user_id),
        content=new.content,
        created_at=at,
        updated_at=at,
        request_id=RequestId(new.generated_from_request_id),
        ttl=ttl,
        expires_at=expires,
        status=Status(new.status or Status.CURRENT),
        source=new.source,
        extractors=new.extractor_names,
        tags=new.tags,
        custom_features=new.custom_features,
        interaction_ids=[InteractionId(interaction) for interaction in new.source_interaction_ids],
        source_span=new.source_span,
        notes=new.notes,
        said_at=millis(new.said_at),
        category=Category(new.category or Category.FACT),
        standing=new.standing,
    )


def _new_user_playbook(new: wire.NewUserPlaybook, now: Millis) -> UserPlaybook:
    at = millis(new.created_at) or now
    return UserPlaybook(
        id=PlaybookId(0),
        user_id=user(new.user_id),
        lesson=_lesson(new),
        created_at=at,
        updated_at=at,
        agent_version=new.agent_version,
        request_id=RequestId(new.request_id),
        name=new.playbook_name,
        status=Status(new.status or Status.CURRENT),
        source=new.source,
        tags=new.tags,
        interaction_ids=[InteractionId(interaction) for interaction in new.source_interaction_ids],
        source_span=new.source_span,
        notes=new.notes,
        metadata=new.playbook_metadata or {},
        said_at=millis(new.said_at),
        category=Category(new.category or Category.RULE),
        standing=new.standing,
    )


def _new_agent_playbook(new: wire.NewAgentPlaybook, now: Millis) -> AgentPlaybook:
    at = millis(new.created_at) or now
    return AgentPlaybook(
        id=PlaybookId(0),
        lesson=_lesson(new),
        created_at=at,
        updated_at=at,
        agent_version=new.agent_version,
        name=new.playbook_name,
        approval=Approval(new.playbook_status),
        status=Status(new.status or Status.CURRENT),
        metadata=new.playbook_metadata,
        tags=new.tags,
    )


def _lesson(new: wire.NewPlaybook) -> Lesson:
    issue = new.blocking_issue.model_dump() if new.blocking_issue else None
    return Lesson(new.content, new.trigger, new.rationale, new.pitfall, issue)


# --- changing ----------------------------------------------------------------------------------------------------


@answers(Calls.update_profile)
async def update_profile(request: wire.UpdateUserProfileRequest, call: Call) -> wire.UpdatedResponse:
    changes = {
        "content": request.content,
        "custom_features": request.custom_features,
        "status": _status(request.status),
        "superseded_by": request.superseded_by and ProfileId(request.superseded_by),
    }
    ref = MemoryRef(Kind.PROFILE, request.profile_id)
    await memories.edit(ref, changes, call.deps, user=UserId(request.user_id), actor=call.caller.actor)
    return wire.UpdatedResponse(msg="Profile updated successfully")


@answers(Calls.update_user_playbook)
async def update_user_playbook(request: wire.UpdateUserPlaybookRequest, call: Call) -> wire.UpdatedResponse:
    changes = {**_playbook_changes(request), "metadata": request.playbook_metadata}
    successor = (request.playbook_metadata or {}).get("superseded_by")
    if successor is not None:
        changes["superseded_by"] = _successor(successor)
    ref = MemoryRef(Kind.USER_PLAYBOOK, str(request.user_playbook_id))
    await memories.edit(ref, changes, call.deps, actor=call.caller.actor)
    return wire.UpdatedResponse(msg="User playbook updated successfully")


def _successor(named: object) -> PlaybookId:
    """Metadata is free JSON, so the id may come as a number or as text."""
    digits = str(named)
    if not digits.isascii() or not digits.isdigit() or len(digits) >= LONGEST_ID:
        raise BadInput("playbook_metadata.superseded_by must be the id of a playbook.")
    return PlaybookId(int(digits))


@answers(Calls.update_agent_playbook)
async def update_agent_playbook(request: wire.UpdateAgentPlaybookRequest, call: Call) -> wire.UpdatedResponse:
    changes = {
        **_playbook_changes(request),
        "approval": request.playbook_status and Approval(request.playbook_status),
        "metadata": request.playbook_metadata,
    }
    ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(request.agent_playbook_id))
    await memories.edit(ref, changes, call.deps, actor=call.caller.actor)
    return wire.UpdatedResponse(msg="Agent playbook updated successfully")


_DECISIONS = {Approval.APPROVED: "approve", Approval.REJECTED: "reject"}


@answers(Calls.update_agent_playbook_status)
async def update_approval(request: wire.UpdatePlaybookStatusRequest, call: Call) -> wire.UpdatedResponse:
    ref = MemoryRef(Kind.AGENT_PLAYBOOK, str(request.agent_playbook_id))
    decision = _DECISIONS.get(Approval(request.playbook_status))
    if decision is not None and await proposals.exists(
        request.agent_playbook_id, call.deps
    ):  # no search finds it before it is approved
        await proposals.decide(request.agent_playbook_id, decision, {}, call.caller.actor, call.deps)
    else:
        await memories.edit(ref, {"approval": Approval(request.playbook_status)}, call.deps, actor=call.caller.actor)
    return wire.UpdatedResponse(msg=f"Agent playbook {request.playbook_status}")


def _playbook_changes(request: wire.UpdatePlaybook) -> dict[str, object]:
    return {
        "name": request.playbook_name,
        "content": request.content,
        "trigger": request.trigger,
        "rationale": request.rationale,
        "pitfall": request.pitfall,
        "status": _status(request.status),
        "superseded_by": None if request.superseded_by is None else PlaybookId(request.superseded_by),
    }


def _status(request: str | None) -> Status | None:
    return None if request is None else Status(request)
