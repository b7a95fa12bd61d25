"""Recall, over REST."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from acumen.api.call import Call, answers
from acumen.api.views import agent_playbook, before, millis, playbooks_like, profile, turn, user, user_playbook
from acumen.model.ids import Kind, UserId
from acumen.model.memories.playbook import AgentPlaybook, Approval, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.memories.search import Filter, RankingMode
from acumen.recall.context import Shares
from acumen.recall.parts import ContextScope
from acumen.recall.reformulate import standalone
from acumen.recall.search import Ask, AskTurns, Recalled
from acumen_client.calls import Calls
from acumen_client.wire import recall as wire
from acumen_client.wire.shapes import ExperimentArm, ExperimentAssignment, MemoryKind

# Turns come in twos and threes around what they are about, so more of them make one answer.
TURNS_BY_DEFAULT = 10
# More than any scope holds.
ALL = 1_000_000


@answers(Calls.search)
async def search(asked: wire.UnifiedSearchRequest, call: Call) -> wire.UnifiedSearchViewResponse:
    rewritten = await _rewritten(asked, call)
    filters = _unified_filters(asked, call)
    ask = Ask(
        query=rewritten or asked.query,
        top_k=asked.top_k,
        filters=filters,
        mode=RankingMode(asked.search_mode),
        threshold=asked.threshold,
        user_id=user(asked.user_id),
        session_id=asked.session_id,
        request_id=asked.request_id,
        caller_type=asked.caller_type,
        max_tokens=asked.max_tokens,
        agent_version=asked.agent_version,
        show_unapproved=bool(asked.agent_playbook_status_filter),
        context=_scope(asked, filters),
        shares=Shares(**asked.context.model_dump()) if asked.context else Shares(),
        cite=asked.cite,
    )
    recalled = await call.app.search.memories(ask, call.deps)
    call.app.count(recalled, call.deps.org)
    return wire.UnifiedSearchViewResponse(
        **_told(recalled),
        msg=_counted(recalled),
        reformulated_query=rewritten,
        profiles=[profile(*hit) for hit in recalled.of(Profile)],
        user_playbooks=[user_playbook(*hit) for hit in recalled.of(UserPlaybook)],
        agent_playbooks=[agent_playbook(*hit) for hit in recalled.of(AgentPlaybook)],
        context=recalled.context.text,
        context_tokens=recalled.context.tokens,
        standing=recalled.context.standing,
        left_out=[
            wire.LeftOut(
                kind=MemoryKind(line.ref.kind), id=line.ref.id, tokens=line.tokens, reason=line.left_out_because
            )
            for line in recalled.context.left_out
        ],
    )


async def _rewritten(asked: wire.UnifiedSearchRequest, call: Call) -> str | None:
    """The question put to stand by itself, where the caller wants that and a model is there to do it."""
    if not asked.enable_reformulation:
        return None
    history = [(turn.role, turn.content) for turn in asked.conversation_history or ()]
    return await standalone(asked.query, history, user(asked.user_id), call.deps)


def _unified_filters(asked: wire.UnifiedSearchRequest, call: Call) -> dict[Kind, Filter]:
    """Nobody's own memories are looked through unless it is said whose."""
    now, tags = call.deps.now(), tuple(asked.tags or ()) or None
    owner = user(asked.user_id)
    version = asked.agent_version if asked.agent_version_only else None
    filters: dict[Kind, Filter] = {}
    if owner and _wanted(asked, "profiles"):
        filters[Kind.PROFILE] = Filter(user_id=owner, source=asked.source, tags=tags, unexpired_at=now)
    if owner and _wanted(asked, "user_playbooks"):
        filters[Kind.USER_PLAYBOOK] = Filter(
            user_id=owner,
            source=asked.source,
            agent_version=version,
            asking_version=asked.agent_version or "",
            name=asked.playbook_name,
            tags=tags,
            unexpired_at=now,
        )
    if _wanted(asked, "agent_playbooks"):
        filters[Kind.AGENT_PLAYBOOK] = Filter(
            agent_version=version,
            asking_version=asked.agent_version or "",
            name=asked.playbook_name,
            tags=tags,
            approvals=_approvals(asked.agent_playbook_status_filter),
        )
    return filters


def _scope(asked: wire.UnifiedSearchRequest, filters: Mapping[Kind, Filter]) -> ContextScope | None:
    """Nobody is quoted without a user, nor to callers who look only for lessons or for tagged memories."""
    owner = user(asked.user_id)
    if owner is None:
        return None
    return ContextScope(
        user_id=owner,
        filters=filters,
        source=asked.source,
        agent_version=asked.agent_version if asked.agent_version_only else None,
        quotes=_is_quoted(asked),
    )


def _is_quoted(asked: wire.UnifiedSearchRequest) -> bool:
    unwanted = asked.context is not None and not asked.context.quoted
    return _wanted(asked, "profiles") and not (asked.tags or asked.playbook_name or unwanted)


def _wanted(asked: wire.UnifiedSearchRequest, kind: str) -> bool:
    return not asked.entity_types or kind in asked.entity_types


def _approvals(asked: object) -> tuple[Approval, ...]:
    """Rejected lessons are shown only to who asks for them."""
    given = tuple(Approval(one) for one in asked) if isinstance(asked, list) else ()
    return given or (Approval.APPROVED, Approval.PENDING)


@answers(Calls.search_profiles)
async def search_profiles(asked: wire.SearchUserProfileRequest, call: Call) -> wire.SearchProfilesViewResponse:
    wanted = Filter(
        user_id=UserId(asked.user_id),
        source=asked.source,
        tags=tuple(asked.tags or ()) or None,
        request_id=asked.generated_from_request_id,
        extractor=asked.extractor_name,
        since=millis(asked.start_time),
        until=before(asked.end_time),
        unexpired_at=call.deps.now(),
    )
    # Features are no part of what search ranks by, so they are looked for in all that it finds.
    most = ALL if asked.custom_feature else asked.top_k
    recalled = await _one_kind(Kind.PROFILE, wanted, asked, most, call)
    found = [hit for hit in recalled.of(Profile) if _has_feature(hit[0], asked.custom_feature)]
    views = [profile(*hit) for hit in found[: asked.top_k]]
    return wire.SearchProfilesViewResponse(
        **_told(recalled), user_profiles=views, msg=f"Found {len(views)} matching profile(s)"
    )


def _has_feature(memory: Profile, feature: str | None) -> bool:
    return not feature or feature.casefold() in str(memory.custom_features or "").casefold()


def _any_version(asked: wire.SearchUserPlaybookRequest | wire.SearchAgentPlaybookRequest) -> Filter:
    """Of every agent version unless only one is asked for; never what a person scoped to another."""
    wanted = replace(playbooks_like(asked), asking_version=asked.agent_version or "")
    return wanted if asked.agent_version_only else replace(wanted, agent_version=None)


@answers(Calls.search_user_playbooks)
async def search_user_playbooks(
    asked: wire.SearchUserPlaybookRequest, call: Call
) -> wire.SearchUserPlaybooksViewResponse:
    wanted = replace(_any_version(asked), user_id=user(asked.user_id), source=asked.source)
    recalled = await _one_kind(Kind.USER_PLAYBOOK, wanted, asked, asked.top_k, call)
    views = [user_playbook(*hit) for hit in recalled.of(UserPlaybook)]
    return wire.SearchUserPlaybooksViewResponse(
        **_told(recalled), user_playbooks=views, msg=f"Found {len(views)} user playbook(s)"
    )


@answers(Calls.search_agent_playbooks)
async def search_agent_playbooks(
    asked: wire.SearchAgentPlaybookRequest, call: Call
) -> wire.SearchAgentPlaybooksViewResponse:
    wanted = replace(_any_version(asked), approvals=_approvals(asked.playbook_status_filter))
    recalled = await _one_kind(Kind.AGENT_PLAYBOOK, wanted, asked, asked.top_k, call)
    views = [agent_playbook(*hit) for hit in recalled.of(AgentPlaybook)]
    return wire.SearchAgentPlaybooksViewResponse(
        **_told(recalled), agent_playbooks=views, msg=f"Found {len(views)} agent playbook(s)"
    )


@answers(Calls.search_interactions)
async def search_interactions(asked: wire.SearchInteractionRequest, call: Call) -> wire.SearchInteractionsViewResponse:
    owner = UserId(asked.user_id)
    wanted = Filter(
        user_id=owner,
        request_id=asked.request_id,
        since=millis(asked.start_time),
        until=before(asked.end_time),
        by_creation=True,
    )
    top_k = asked.top_k or asked.most_recent_k or TURNS_BY_DEFAULT
    ask = AskTurns(
        owner, asked.query, top_k, wanted, asked.most_recent_k, RankingMode(asked.search_mode), asked.threshold
    )
    answer = await call.app.search.turns(ask, call.deps)
    return wire.SearchInteractionsViewResponse(
        interactions=[turn(hit.turn, hit.found) for hit in answer.hits],
        msg=f"Found {len(answer.hits)} interaction(s)",
        injection_id=answer.injection_id,
        degraded=answer.degraded is not None,
        search_mode_effective=answer.mode,
    )


async def _one_kind(kind: Kind, wanted: Filter, asked: wire.SearchOneKind, top_k: int, call: Call) -> Recalled:
    owner = user(getattr(asked, "user_id", None))
    query = asked.query if asked.enable_reformulation else None
    rewritten = await standalone(query, (), owner, call.deps) if query else None
    ask = Ask(
        query=rewritten or asked.query,
        top_k=top_k,
        filters={kind: wanted},
        user_id=owner,
        mode=RankingMode(asked.search_mode),
        threshold=asked.threshold,
        session_id=asked.session_id,
        request_id=asked.request_id,
        caller_type=asked.caller_type,
        max_tokens=0,
        agent_version=getattr(asked, "agent_version", None),
    )
    return await call.app.search.memories(ask, call.deps)


def _told(recalled: Recalled) -> dict[str, Any]:
    return {
        "injection_id": recalled.injection_id,
        "degraded": recalled.degraded is not None,
        "search_mode_effective": str(recalled.mode),
        "experiment": recalled.assignment
        and ExperimentAssignment(
            experiment_id=recalled.assignment.experiment_id, arm=ExperimentArm(recalled.assignment.arm)
        ),
    }


def _counted(recalled: Recalled) -> str:
    if recalled.withheld and recalled.assignment:
        return f"Nothing is shown: this user is in the holdout of experiment {recalled.assignment.experiment_id!r}."
    if not recalled.hits:
        return "Nothing relevant is known."
    found = f"Found {len(recalled.hits)} memory(ies)"
    return f"{found}; {recalled.degraded}" if recalled.degraded else found
