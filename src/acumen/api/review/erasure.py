"""Endpoints that delete memories, turns and users."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from acumen.api.call import Call, answers
from acumen.auth.roles import DELETE_MATCHES
from acumen.jobs.retry_on_conflict import retry_on_conflict
from acumen.learn.share import erase_from_shared
from acumen.learn.share.erase_from_shared import SharedErasure
from acumen.model.ids import InteractionId, Kind, MemoryRef, PlaybookId, RequestId, SessionId, UserId
from acumen.model.plural import counted
from acumen.review import erasure, memories, memory_queries
from acumen.review.erasure import Erased
from acumen_client.calls import Calls
from acumen_client.wire import erasure as wire
from acumen_client.wire.shapes import Nothing

# More often than this shared lessons are not changed under our hands by chance.
OVERTAKEN = 5
SCRUB_PENDING = "scrub pending: a reader of the database needs the bytes; they are overwritten when it has ended"


@answers(Calls.delete_profile)
async def delete_profile(request: wire.DeleteUserProfileRequest, call: Call) -> wire.DeletedResponse:
    owner = UserId(request.user_id)
    if request.profile_id.strip():
        await memories.delete_one(MemoryRef(Kind.PROFILE, request.profile_id.strip()), call.deps, user=owner)
        return _deleted()
    DELETE_MATCHES.require(call.caller.role)
    ids = await memory_queries.profiles_containing(request.search_query, owner, call.deps)
    return _deleted(await memories.delete(Kind.PROFILE, ids, call.deps, user=owner))


@answers(Calls.delete_user_playbook)
async def delete_user_playbook(request: wire.DeleteUserPlaybookRequest, call: Call) -> wire.DeletedResponse:
    ref = MemoryRef(Kind.USER_PLAYBOOK, str(request.user_playbook_id))
    gone = PlaybookId(request.user_playbook_id)
    await _unsharing(
        lambda: erase_from_shared.erase_from_shared([gone], call.deps),
        lambda unshared: memories.delete_one(ref, call.deps, also=unshared.apply),
    )
    return _deleted()


@answers(Calls.delete_agent_playbook)
async def delete_agent_playbook(request: wire.DeleteAgentPlaybookRequest, call: Call) -> wire.DeletedResponse:
    await memories.delete_one(MemoryRef(Kind.AGENT_PLAYBOOK, str(request.agent_playbook_id)), call.deps)
    return _deleted()


@answers(Calls.delete_profiles)
async def delete_profiles(request: wire.DeleteProfilesByIdsRequest, call: Call) -> wire.BulkDeleteResponse:
    return _bulk(await memories.delete(Kind.PROFILE, request.profile_ids, call.deps))


@answers(Calls.delete_user_playbooks)
async def delete_user_playbooks(request: wire.DeleteUserPlaybooksByIdsRequest, call: Call) -> wire.BulkDeleteResponse:
    ids = [PlaybookId(playbook_id) for playbook_id in request.user_playbook_ids]
    count, _ = await _unsharing(
        lambda: erase_from_shared.erase_from_shared(ids, call.deps),
        lambda unshared: memories.delete(
            Kind.USER_PLAYBOOK, [str(playbook_id) for playbook_id in ids], call.deps, also=unshared.apply
        ),
    )
    return _bulk(count)


@answers(Calls.delete_agent_playbooks)
async def delete_agent_playbooks(request: wire.DeleteAgentPlaybooksByIdsRequest, call: Call) -> wire.BulkDeleteResponse:
    return _bulk(
        await memories.delete(
            Kind.AGENT_PLAYBOOK, [str(playbook_id) for playbook_id in request.agent_playbook_ids], call.deps
        )
    )


@answers(Calls.delete_all_profiles)
async def delete_all_profiles(_request: Nothing, call: Call) -> wire.BulkDeleteResponse:
    return _bulk(await memories.delete_all([Kind.PROFILE], call.deps))


@answers(Calls.delete_all_user_playbooks)
async def delete_all_user_playbooks(_request: Nothing, call: Call) -> wire.BulkDeleteResponse:
    count, _ = await _unsharing(
        lambda: erase_from_shared.erase_all_from_shared(call.deps),
        lambda unshared: memories.delete_all([Kind.USER_PLAYBOOK], call.deps, also=unshared.apply),
    )
    return _bulk(count)


@answers(Calls.delete_all_agent_playbooks)
async def delete_all_agent_playbooks(_request: Nothing, call: Call) -> wire.BulkDeleteResponse:
    return _bulk(await memories.delete_all([Kind.AGENT_PLAYBOOK], call.deps))


@answers(Calls.delete_all_playbooks)
async def delete_all_playbooks(_request: Nothing, call: Call) -> wire.BulkDeleteResponse:
    return _bulk(await memories.delete_all([Kind.USER_PLAYBOOK, Kind.AGENT_PLAYBOOK], call.deps))


@answers(Calls.delete_all_interactions)
async def delete_all_interactions(_request: Nothing, call: Call) -> wire.BulkDeleteResponse:
    return _bulk(await erasure.delete_all_turns(call.deps))


@answers(Calls.delete_interaction)
async def delete_interaction(request: wire.DeleteUserInteractionRequest, call: Call) -> wire.DeletedResponse:
    await erasure.delete_turn(UserId(request.user_id), InteractionId(request.interaction_id), call.deps)
    return _deleted()


@answers(Calls.delete_request)
async def delete_request(request: wire.DeleteRequestRequest, call: Call) -> wire.DeletedResponse:
    await erasure.delete_request(RequestId(request.request_id), call.deps)
    return _deleted()


@answers(Calls.delete_requests)
async def delete_requests(request: wire.DeleteRequestsByIdsRequest, call: Call) -> wire.BulkDeleteResponse:
    return _bulk(
        await erasure.delete_requests([RequestId(request_id) for request_id in request.request_ids], call.deps)
    )


@answers(Calls.delete_session)
async def delete_session(request: wire.DeleteSessionRequest, call: Call) -> wire.DeleteSessionResponse:
    count = await erasure.delete_session(SessionId(request.session_id), call.deps)
    return wire.DeleteSessionResponse(message="Deleted successfully", deleted_requests_count=count)


@answers(Calls.clear_user_data)
async def clear_user_data(request: wire.ClearUserDataRequest, call: Call) -> wire.ClearUserDataResponse:
    await call.app.flush_usage()  # what was shown to others is searched for the user's words
    owner = UserId(request.user_id)
    erased, unshared = await _unsharing(
        lambda: erase_from_shared.erase_user_from_shared(owner, call.deps),
        lambda unshared: erasure.clear_user(owner, call.deps, also=unshared.apply),
    )
    return wire.ClearUserDataResponse(
        deleted_counts=erased.counts,
        deleted_ids=erased.ids,
        rewritten_agent_playbooks=list(unshared.rewritten),
        retired_agent_playbooks=list(unshared.retired),
        scrub_pending=erased.scrub_pending,
        message=_message(erased),
    )


def _message(erased: Erased) -> str:
    deleted = f"Deleted {counted(sum(erased.counts.values()), 'item')}"
    return f"{deleted}; {SCRUB_PENDING}" if erased.scrub_pending else deleted


T = TypeVar("T")


async def _unsharing(
    plan: Callable[[], Awaitable[SharedErasure]], carry_out: Callable[[SharedErasure], Awaitable[T]]
) -> tuple[T, SharedErasure]:
    """Erases what users taught together with what shared lessons owe to it; again when those were changed meanwhile."""

    async def erase_planned() -> tuple[T, SharedErasure]:
        unshared = await plan()
        return await carry_out(unshared), unshared

    return await retry_on_conflict(erase_planned, OVERTAKEN)


def _deleted(count: int | None = None) -> wire.DeletedResponse:
    return wire.DeletedResponse(
        message="Deleted successfully" if count is None else f"Deleted {counted(count, 'item')}"
    )


def _bulk(count: int) -> wire.BulkDeleteResponse:
    return wire.BulkDeleteResponse(deleted_count=count, message=f"Deleted {counted(count, 'item')}")
