"""Endpoints of conversations: publish, follow the learning, read back."""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict, replace

from acumen.api.call import Call, answers
from acumen.api.views import before, millis, shaped, user
from acumen.api.views import request as request_view
from acumen.api.views import turn as turn_view
from acumen.model.conversation import AGENT_ROLES, USER_ROLES, Interaction, Request
from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId
from acumen.model.plural import counted
from acumen.observe import conversations
from acumen.observe.conversations import LearningProgress, RequestQuery, Session
from acumen_client.calls import Calls
from acumen_client.wire import observe as wire

# A caller waits this long at most; learning goes on without them.
LONGEST_WAIT_SECONDS = 60.0
# Most windows are learned at once, so the first polls are close together.
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 0.02, 0.25
# In the warning about unknown roles.
_ROLES_SHOWN, _ROLE_LENGTH = 3, 32


@answers(Calls.publish)
async def publish(body: wire.PublishUserInteractionRequest, call: Call) -> wire.PublishUserInteractionResponse:
    request = _request(body, call.deps.now())
    # Injections must be recorded before the turns are searched for echoes of them.
    await call.app.flush_usage()
    turns = _turns(body, request)
    accepted = await conversations.publish(request, turns, call.deps)
    call.app.wake_worker()
    learned = await _when_learned(request.id, call) if body.wait_for_response else None
    return wire.PublishUserInteractionResponse(
        message="Interaction published successfully",
        warnings=[*body.warnings(), *_role_warning(turns), *filter(None, [accepted.warning])],
        request_id=request.id,
        storage_type=call.app.store.database.name,
        storage_label=call.app.storage_label,
        learning_delay_seconds=call.app.learning_delay(call.deps.org),
        **(learned or {"learning_status": "deferred", "learning_reason": "queued"}),
    )


def _role_warning(turns: Sequence[Interaction]) -> list[str]:
    """Without a user turn nothing is learned; an unknown role may be a misspelt user role."""
    unknown = {turn.role for turn in turns if turn.role.strip().lower() not in AGENT_ROLES}
    if not unknown or any(turn.by_user for turn in turns):
        return []
    roles = ", ".join(repr(role[:_ROLE_LENGTH]) for role in sorted(unknown)[:_ROLES_SHOWN])
    users = ", ".join(sorted(USER_ROLES))
    return [f"No user turn found, so nothing is learned: {roles} is not a user role ({users})"]


async def _when_learned(request_id: RequestId, call: Call) -> dict[str, Any]:
    with call.app.traffic.aside():
        return await _learned(request_id, call)


async def _learned(request_id: RequestId, call: Call) -> dict[str, Any]:
    """Waits until learning from the request is done; returns its counts."""
    give_up_at, pause = time.monotonic() + LONGEST_WAIT_SECONDS, FIRST_LOOK_SECONDS
    progress = await _progress(request_id, call)
    while progress.status in ("pending", "processing") and progress.reason != "waiting_for_window":
        if time.monotonic() > give_up_at:
            progress = LearningProgress("deferred", "wait_timeout")
            break
        await asyncio.sleep(pause)
        pause = min(pause * 1.2, LAST_LOOK_SECONDS)
        progress = await _progress(request_id, call)
    return {
        "learning_status": "done" if progress.status == "done" else "deferred",
        "learning_reason": progress.reason,
        **asdict(await conversations.learned_from(request_id, call.deps)),
    }


async def _progress(request_id: RequestId, call: Call) -> LearningProgress:
    """Of the current extractors: another process may just have changed them."""
    call.app.forget_config(call.deps.org)
    return await conversations.progress(request_id, await call.app.deps_for(call.deps.org))


@answers(Calls.finalize_session)
async def finalize(body: wire.FinalizeSessionRequest, call: Call) -> wire.FinalizeSessionResponse:
    await conversations.finalize(UserId(body.user_id), SessionId(body.session_id), call.deps)
    call.app.wake_worker()
    return wire.FinalizeSessionResponse(accepted=True, message="Session finalized")


@answers(Calls.learning_status)
async def learning_status(body: wire.LearningStatusRequest, call: Call) -> wire.LearningStatusResponse:
    progress = await _progress(RequestId(body.request_id), call)
    return shaped(wire.LearningStatusResponse, progress)


@answers(Calls.requests)
async def get_requests(body: wire.GetRequestsRequest, call: Call) -> wire.GetRequestsResponse:
    query = RequestQuery(
        user_id=user(body.user_id),
        session_id=SessionId(body.session_id) if body.session_id else None,
        request_id=RequestId(body.request_id) if body.request_id else None,
        source=body.source,
        since=millis(body.start_time),
        until=before(body.end_time),
    )
    sessions, more = await conversations.sessions(query, body.top_k, body.offset, call.deps)
    count = sum(len(session) for session in sessions)
    message = f"Found {counted(count, 'request')} in {counted(len(sessions), 'session')}"
    return wire.GetRequestsResponse(sessions=[_session(session) for session in sessions], has_more=more, msg=message)


@answers(Calls.interactions)
async def get_interactions(body: wire.GetInteractionsRequest, call: Call) -> wire.GetInteractionsResponse:
    since, until = millis(body.start_time), before(body.end_time)
    return _listed(await conversations.newest_turns(UserId(body.user_id), body.top_k, call.deps, since, until))


@answers(Calls.all_interactions)
async def get_all_interactions(body: wire.GetAllInteractionsRequest, call: Call) -> wire.GetInteractionsResponse:
    return _listed(await conversations.newest_turns(None, body.limit, call.deps))


def _listed(turns: list[Interaction]) -> wire.GetInteractionsResponse:
    return wire.GetInteractionsResponse(
        interactions=[turn_view(turn) for turn in turns], msg=f"Found {counted(len(turns), 'interaction')}"
    )


def _session(session: Session) -> wire.SessionView:
    return wire.SessionView(
        session_id=session[0][0].session_id,
        requests=[
            wire.RequestDataView(request=request_view(request), interactions=[turn_view(turn) for turn in turns])
            for request, turns in session
        ],
    )


def _request(body: wire.PublishUserInteractionRequest, at: Millis) -> Request:
    return Request(
        id=RequestId(body.request_id),
        user_id=UserId(body.user_id),
        session_id=SessionId(body.session_id),
        created_at=at,
        source=body.source,
        agent_version=body.agent_version,
        body_hash=_hash(body),
        session_finished=body.session_finished,
        force_extraction=body.force_extraction,
        evaluation_only=body.evaluation_only,
        skip_aggregation=body.skip_aggregation,
        experiment_id=body.retrieval_experiment_id,
        experiment_arm=body.retrieval_experiment_arm,
    )


# Not part of the content: the hash is stored under the id, and clients set a new time when they retry.
_NOT_HASHED: dict[str, Any] = {
    "request_id": True,
    "wait_for_response": True,
    "interaction_data_list": {"__all__": {"created_at": True}},
}


def _hash(body: wire.PublishUserInteractionRequest) -> str:
    """Equal for requests with the same content."""
    content = body.model_dump_json(exclude=_NOT_HASHED, exclude_defaults=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _turns(body: wire.PublishUserInteractionRequest, request: Request) -> list[Interaction]:
    """Citations of the request itself belong to the agent's last turn, or to the last turn if the agent has none."""
    turns = [_turn(data, request) for data in body.interaction_data_list]
    if body.citations:
        place = max((index for index, turn in enumerate(turns) if not turn.by_user), default=-1)
        cited = [citation.model_dump() for citation in body.citations]
        turns[place] = replace(turns[place], citations=[*turns[place].citations, *cited])
    return turns


def _turn(data: wire.InteractionData, request: Request) -> Interaction:
    return Interaction(
        id=InteractionId(0),
        user_id=request.user_id,
        session_id=request.session_id,
        request_id=request.id,
        created_at=millis(data.created_at) or request.created_at,
        role=data.role,
        content=data.content,
        shadow_content=data.shadow_content,
        expert_content=data.expert_content,
        user_action=str(data.user_action),
        user_action_description=data.user_action_description,
        image_url=data.interacted_image_url,
        image_encoding=data.image_encoding,
        tools_used=[tool.model_dump() for tool in data.tools_used],
        citations=[citation.model_dump() for citation in data.citations],
        retrieved_learnings=[learning.model_dump(exclude_none=True) for learning in data.retrieved_learnings],
    )
