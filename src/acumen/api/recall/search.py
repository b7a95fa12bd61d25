"""Endpoints of search."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from acumen.api.call import Call, answers
from acumen.api.views import agent_playbook, before, millis, playbooks_like, profile, shaped, turn, user, user_playbook
from acumen.model.ids import Kind, UserId
from acumen.model.memories.playbook import AgentPlaybook, Approval, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.memories.search import Filter, RankingMode
from acumen.model.plural import counted
from acumen.recall.context import Shares
from acumen.recall.parts import ContextScope
from acumen.recall.reformulate import standalone
from acumen.recall.search import Ask, AskTurns, Recalled, search_memories, search_turns
from acumen_client.calls import Calls
from acumen_client.wire import recall as wire
from acumen_client.wire.shapes import ExperimentAssignment

# Turns come in twos and threes around what they are about, so more of them make one answer.
TURNS_BY_DEFAULT = 10
# More than any scope holds.
ALL = 1_000_000


@answers(Calls.search)
async def search(request: wire.UnifiedSearchRequest, call: Call) -> wire.UnifiedSearchViewResponse:
    rewritten = await _rewritten(request, call)
    filters = _unified_filters(request, call)
    ask = Ask(
        query=rewritten or request.query,
        top_k=request.top_k,
        filters=filters,
        mode=RankingMode(request.search_mode),
        threshold=request.threshold,
        user_id=user(request.user_id),
        session_id=request.session_id,
        request_id=request.request_id,
        caller_type=request.caller_type,
        max_tokens=request.max_tokens,
        agent_version=request.agent_version,
        show_unapproved=bool(request.agent_playbook_status_filter),
        context=_scope(request, filters),
        shares=Shares(**request.context.model_dump()) if request.context else Shares(),
        cite=request.cite,
    )
    recalled = await search_memories(ask, call.deps)
    call.app.meter(recalled, call.deps.org)
    return wire.UnifiedSearchViewResponse(
        **_recall_fields(recalled),
        msg=_counted(recalled),
        reformulated_query=rewritten,
        profiles=[profile(*hit) for hit in recalled.of(Profile)],
        user_playbooks=[user_playbook(*hit) for hit in recalled.of(UserPlaybook)],
        agent_playbooks=[agent_playbook(*hit) for hit in recalled.of(AgentPlaybook)],
        context=recalled.context.text,
        context_tokens=recalled.context.tokens,
        standing=recalled.context.standing,
        left_out=[
            shaped(wire.LeftOut, line.ref, line, reason=line.left_out_because) for line in recalled.context.left_out
        ],
    )


async def _rewritten(request: wire.UnifiedSearchRequest, call: Call) -> str | None:
    """The reformulated query, where the caller asks for it and a model is configured."""
    if not request.enable_reformulation:
        return None
    history = [(turn.role, turn.content) for turn in request.conversation_history or ()]
    return await standalone(request.query, history, user(request.user_id), call.deps)


def _unified_filters(request: wire.UnifiedSearchRequest, call: Call) -> dict[Kind, Filter]:
    """Personal memories are searched only when a user is named."""
    now, tags = call.deps.now(), tuple(request.tags or ()) or None
    owner = user(request.user_id)
    version = request.agent_version if request.agent_version_only else None
    filters: dict[Kind, Filter] = {}
    if owner and _wanted(request, "profiles"):
        filters[Kind.PROFILE] = Filter(user_id=owner, source=request.source, tags=tags, unexpired_at=now)
    if owner and _wanted(request, "user_playbooks"):
        filters[Kind.USER_PLAYBOOK] = Filter(
            user_id=owner,
            source=request.source,
            agent_version=version,
            asking_version=request.agent_version or "",
            name=request.playbook_name,
            tags=tags,
            unexpired_at=now,
        )
    if _wanted(request, "agent_playbooks"):
        filters[Kind.AGENT_PLAYBOOK] = Filter(
            agent_version=version,
            asking_version=request.agent_version or "",
            name=request.playbook_name,
            tags=tags,
            approvals=_approvals(request.agent_playbook_status_filter),
        )
    return filters


def _scope(request: wire.UnifiedSearchRequest, filters: Mapping[Kind, Filter]) -> ContextScope | None:
    """No quotes without a user, nor for callers that look only for lessons or for tagged memories."""
    owner = user(request.user_id)
    if owner is None:
        return None
    return ContextScope(
        user_id=owner,
        filters=filters,
        source=request.source,
        agent_version=request.agent_version if request.agent_version_only else None,
        quotes=_is_quoted(request),
    )


def _is_quoted(request: wire.UnifiedSearchRequest) -> bool:
    unwanted = request.context is not None and not request.context.quoted
    return _wanted(request, "profiles") and not (request.tags or request.playbook_name or unwanted)


def _wanted(request: wire.UnifiedSearchRequest, kind: str) -> bool:
    return not request.entity_types or kind in request.entity_types


def _approvals(statuses: object) -> tuple[Approval, ...]:
    """Rejected lessons are included only on request."""
    approvals = tuple(Approval(status) for status in statuses) if isinstance(statuses, list) else ()
    return approvals or (Approval.APPROVED, Approval.PENDING)


@answers(Calls.search_profiles)
async def search_profiles(request: wire.SearchUserProfileRequest, call: Call) -> wire.SearchProfilesViewResponse:
    query = Filter(
        user_id=UserId(request.user_id),
        source=request.source,
        tags=tuple(request.tags or ()) or None,
        request_id=request.generated_from_request_id,
        extractor=request.extractor_name,
        since=millis(request.start_time),
        until=before(request.end_time),
        unexpired_at=call.deps.now(),
    )
    # Features are no part of what search ranks by, so they are looked for in all that it finds.
    most = ALL if request.custom_feature else request.top_k
    recalled = await _one_kind(Kind.PROFILE, query, request, most, call)
    hits = [hit for hit in recalled.of(Profile) if _has_feature(hit[0], request.custom_feature)]
    views = [profile(*hit) for hit in hits[: request.top_k]]
    return wire.SearchProfilesViewResponse(
        **_recall_fields(recalled), user_profiles=views, msg=f"Found {counted(len(views), 'matching profile')}"
    )


def _has_feature(memory: Profile, feature: str | None) -> bool:
    return not feature or feature.casefold() in str(memory.custom_features or "").casefold()


def _any_version(request: wire.SearchPlaybooks) -> Filter:
    """Of every agent version unless only one is asked for; never what a person scoped to another."""
    query = replace(playbooks_like(request), asking_version=request.agent_version or "")
    return query if request.agent_version_only else replace(query, agent_version=None)


@answers(Calls.search_user_playbooks)
async def search_user_playbooks(
    request: wire.SearchUserPlaybookRequest, call: Call
) -> wire.SearchUserPlaybooksViewResponse:
    query = replace(_any_version(request), user_id=user(request.user_id), source=request.source)
    recalled = await _one_kind(Kind.USER_PLAYBOOK, query, request, request.top_k, call)
    views = [user_playbook(*hit) for hit in recalled.of(UserPlaybook)]
    return wire.SearchUserPlaybooksViewResponse(
        **_recall_fields(recalled), user_playbooks=views, msg=f"Found {counted(len(views), 'user playbook')}"
    )


@answers(Calls.search_agent_playbooks)
async def search_agent_playbooks(
    request: wire.SearchAgentPlaybookRequest, call: Call
) -> wire.SearchAgentPlaybooksViewResponse:
    query = replace(_any_version(request), approvals=_approvals(request.playbook_status_filter))
    recalled = await _one_kind(Kind.AGENT_PLAYBOOK, query, request, request.top_k, call)
    views = [agent_playbook(*hit) for hit in recalled.of(AgentPlaybook)]
    return wire.SearchAgentPlaybooksViewResponse(
        **_recall_fields(recalled), agent_playbooks=views, msg=f"Found {counted(len(views), 'agent playbook')}"
    )


@answers(Calls.search_interactions)
async def search_interactions(
    request: wire.SearchInteractionRequest, call: Call
) -> wire.SearchInteractionsViewResponse:
    owner = UserId(request.user_id)
    query = Filter(
        user_id=owner,
        request_id=request.request_id,
        since=millis(request.start_time),
        until=before(request.end_time),
        by_creation=True,
    )
    top_k = request.top_k or request.most_recent_k or TURNS_BY_DEFAULT
    ask = AskTurns(
        owner, request.query, top_k, query, request.most_recent_k, RankingMode(request.search_mode), request.threshold
    )
    answer = await search_turns(ask, call.deps)
    return wire.SearchInteractionsViewResponse(
        interactions=[turn(hit.turn, hit.match) for hit in answer.hits],
        msg=f"Found {counted(len(answer.hits), 'interaction')}",
        injection_id=answer.injection_id,
        degraded=answer.degraded is not None,
        search_mode_effective=answer.mode,
    )


async def _one_kind(kind: Kind, memories: Filter, request: wire.SearchOneKind, top_k: int, call: Call) -> Recalled:
    owner = user(getattr(request, "user_id", None))
    query = request.query if request.enable_reformulation else None
    rewritten = await standalone(query, (), owner, call.deps) if query else None
    ask = Ask(
        query=rewritten or request.query,
        top_k=top_k,
        filters={kind: memories},
        user_id=owner,
        mode=RankingMode(request.search_mode),
        threshold=request.threshold,
        session_id=request.session_id,
        request_id=request.request_id,
        caller_type=request.caller_type,
        max_tokens=0,
        agent_version=getattr(request, "agent_version", None),
    )
    return await search_memories(ask, call.deps)


def _recall_fields(recalled: Recalled) -> dict[str, Any]:
    return {
        "injection_id": recalled.injection_id,
        "degraded": recalled.degraded is not None,
        "search_mode_effective": str(recalled.mode),
        "experiment": recalled.assignment and shaped(ExperimentAssignment, recalled.assignment),
    }


def _counted(recalled: Recalled) -> str:
    if recalled.withheld and recalled.assignment:
        return f"No memories: this user is in the holdout group of experiment {recalled.assignment.experiment_id!r}"
    summary = f"Found {_memories(len(recalled.hits))}" if recalled.hits else "No relevant memories found"
    injected = f"the context has {_memories(len(recalled.context.shown))}" if recalled.context.shown else None
    return "; ".join(filter(None, [summary, injected, recalled.degraded, recalled.warning]))


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")
