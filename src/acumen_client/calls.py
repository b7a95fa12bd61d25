"""Every endpoint of the API, described once: the server routes by this table, the clients call by it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast
from urllib.parse import quote

from pydantic import BaseModel

from acumen_client.wire import (
    aggregation,
    alerts,
    evaluations,
    experiments,
    failures,
    learn,
    memories,
    meter,
    observe,
    operations,
    recall,
    review,
    system,
    verdicts,
)
from acumen_client.wire.config import Config, ConfigUpdate, SetConfigResponse
from acumen_client.wire.shapes import InQuery, Nothing, Role

P = ParamSpec("P")
A = TypeVar("A", bound=BaseModel)

Method = Literal["GET", "POST", "PUT", "DELETE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[P, A]):
    """One endpoint. `request` builds the request, and so lends its parameters to the clients' method."""

    name: str
    method: Method
    path: str
    request: Callable[P, BaseModel]
    answer_model: type[A]
    role: Role
    summary: str
    # The shape of the request, where `request` is not itself that shape.
    shape: type[BaseModel] | None = None
    # Where the parameters travel; fields marked `InQuery` always go in the query string.
    where: Literal["body", "query"] = "body"
    # Whether the reply leaves null fields out.
    exclude_none: bool = True
    # Whether sending it twice is the same as sending it once.
    repeatable: bool = True
    # What a success is answered with: 202 where the work is only begun.
    status: Literal[200, 202] = 200

    @property
    def request_model(self) -> type[BaseModel]:
        return self.shape or cast("type[BaseModel]", self.request)

    @property
    def takes_nothing(self) -> bool:
        return self.request_model is Nothing

    @property
    def reads_body(self) -> bool:
        return self.where == "body" and not self.takes_nothing

    @property
    def path_fields(self) -> frozenset[str]:
        """Names of the fields that stand in the path, as `{name}`."""
        return _in_path(self.path)

    @property
    def query_fields(self) -> frozenset[str]:
        """Names of the fields that travel in the query string."""
        marked = self.request_model.model_fields if self.where == "query" else _in_query(self.request_model)
        return frozenset(marked) - self.path_fields

    def path_of(self, request: BaseModel) -> str:
        """The path of a request, with the fields that stand in it."""
        said = {name: quote(str(getattr(request, name)), safe="") for name in self.path_fields}
        return self.path.format_map(said)

    def query_of(self, request: BaseModel) -> dict[str, Any]:
        """The query parameters of a request: only what was set, for a server has the same defaults."""
        said = request.model_dump(mode="json", include=set(self.query_fields), exclude_defaults=True, exclude_none=True)
        return {name: str(value).lower() if isinstance(value, bool) else value for name, value in said.items()}

    def body_of(self, request: BaseModel) -> Any:
        """The JSON body of a request, or None where it has none."""
        if self.where == "query" or self.takes_nothing:
            return None
        return request.model_dump(mode="json", exclude=set(self.query_fields))

    def parse(self, query: Mapping[str, str], body: Any, path: Mapping[str, str] | None = None) -> BaseModel:
        """The request that a server received. Raises pydantic's `ValidationError`.

        Query parameters that this endpoint does not have are refused where it reads the query, ignored where it
        reads the body. A body that it does not have is refused: whoever sends one to `delete_all_…` means fewer.
        """
        if self.takes_nothing:
            return Nothing.model_validate({} if body is None else body)
        if self.where == "query":
            Nothing.model_validate({} if body is None else body)
            return self.request_model.model_validate({**query, **(path or {})})
        marked = {name: query[name] for name in self.query_fields if name in query}
        return self.request_model.model_validate({**body, **marked} if marked and isinstance(body, dict) else body)

    def dump(self, answer: BaseModel) -> bytes:
        """The reply as JSON."""
        return answer.model_dump_json(exclude_none=self.exclude_none, by_alias=True).encode()


@cache
def _in_path(path: str) -> frozenset[str]:
    return frozenset(re.findall(r"\{(\w+)\}", path))


@cache
def _in_query(shape: type[BaseModel]) -> frozenset[str]:
    marked = (name for name, field in shape.model_fields.items() if any(isinstance(m, InQuery) for m in field.metadata))
    return frozenset(marked)


# --- observe -------------------------------------------------------------------------------------------------------

publish_interaction = Endpoint(
    name="publish_interaction",
    method="POST",
    path="/api/publish_interaction",
    request=observe.PublishUserInteractionRequest,
    answer_model=observe.PublishUserInteractionResponse,
    role=Role.AGENT,
    summary="Store some turns of a session; success means they are on disk.",
)
finalize_session = Endpoint(
    name="finalize_session",
    method="POST",
    path="/api/finalize_session",
    request=observe.FinalizeSessionRequest,
    answer_model=observe.FinalizeSessionResponse,
    role=Role.AGENT,
    summary="End a session, so that what it taught is learned now.",
    exclude_none=False,
)
learning_status = Endpoint(
    name="learning_status",
    method="GET",
    path="/api/learning_status",
    request=observe.LearningStatusRequest,
    answer_model=observe.LearningStatusResponse,
    role=Role.READER,
    summary="Tell whether a published request has been learned from.",
    where="query",
)
get_requests = Endpoint(
    name="get_requests",
    method="POST",
    path="/api/get_requests",
    request=observe.GetRequestsRequest,
    answer_model=observe.GetRequestsResponse,
    role=Role.READER,
    summary="List sessions with their requests and turns, newest session first.",
)
get_interactions = Endpoint(
    name="get_interactions",
    method="POST",
    path="/api/get_interactions",
    request=observe.GetInteractionsRequest,
    answer_model=observe.GetInteractionsResponse,
    role=Role.READER,
    summary="List the turns of a user.",
)
get_all_interactions = Endpoint(
    name="get_all_interactions",
    method="GET",
    path="/api/get_all_interactions",
    request=observe.GetAllInteractionsRequest,
    answer_model=observe.GetInteractionsResponse,
    role=Role.READER,
    summary="List the latest turns of all users.",
    where="query",
)

# --- learn ---------------------------------------------------------------------------------------------------------

rerun_profile_generation = Endpoint(
    name="rerun_profile_generation",
    method="POST",
    path="/api/rerun_profile_generation",
    request=learn.RerunProfileGenerationRequest,
    answer_model=learn.RerunProfileGenerationResponse,
    role=Role.REVIEWER,
    summary="Make profiles anew from all that was said; they wait as pending.",
    repeatable=False,
)
rerun_playbook_generation = Endpoint(
    name="rerun_playbook_generation",
    method="POST",
    path="/api/rerun_playbook_generation",
    request=learn.RerunPlaybookGenerationRequest,
    answer_model=learn.RerunPlaybookGenerationResponse,
    role=Role.REVIEWER,
    summary="Make user playbooks anew from all that was said; they wait as pending.",
    repeatable=False,
)
manual_profile_generation = Endpoint(
    name="manual_profile_generation",
    method="POST",
    path="/api/manual_profile_generation",
    request=learn.ManualProfileGenerationRequest,
    answer_model=learn.ManualProfileGenerationResponse,
    role=Role.REVIEWER,
    summary="Read each user's last window for profiles now.",
    repeatable=False,
)
manual_playbook_generation = Endpoint(
    name="manual_playbook_generation",
    method="POST",
    path="/api/manual_playbook_generation",
    request=learn.ManualPlaybookGenerationRequest,
    answer_model=learn.ManualPlaybookGenerationResponse,
    role=Role.REVIEWER,
    summary="Read each user's last window for playbooks now.",
    repeatable=False,
)
upgrade_all_profiles = Endpoint(
    name="upgrade_all_profiles",
    method="POST",
    path="/api/upgrade_all_profiles",
    request=learn.UpgradeProfilesRequest,
    answer_model=learn.UpgradeProfilesResponse,
    role=Role.ADMIN,
    summary="Make pending profiles current, and archive the current ones.",
)
downgrade_all_profiles = Endpoint(
    name="downgrade_all_profiles",
    method="POST",
    path="/api/downgrade_all_profiles",
    request=learn.DowngradeProfilesRequest,
    answer_model=learn.DowngradeProfilesResponse,
    role=Role.ADMIN,
    summary="Go back to the archived profiles.",
    repeatable=False,
)
upgrade_all_user_playbooks = Endpoint(
    name="upgrade_all_user_playbooks",
    method="POST",
    path="/api/upgrade_all_user_playbooks",
    request=learn.UpgradeUserPlaybooksRequest,
    answer_model=learn.UpgradeUserPlaybooksResponse,
    role=Role.ADMIN,
    summary="Make pending user playbooks current, and archive the current ones.",
)
downgrade_all_user_playbooks = Endpoint(
    name="downgrade_all_user_playbooks",
    method="POST",
    path="/api/downgrade_all_user_playbooks",
    request=learn.DowngradeUserPlaybooksRequest,
    answer_model=learn.DowngradeUserPlaybooksResponse,
    role=Role.ADMIN,
    summary="Go back to the archived user playbooks.",
    repeatable=False,
)
get_operation_status = Endpoint(
    name="get_operation_status",
    method="GET",
    path="/api/get_operation_status",
    request=learn.GetOperationStatusRequest,
    answer_model=learn.GetOperationStatusResponse,
    role=Role.READER,
    summary="Tell how far the last run of a service is.",
    where="query",
)
cancel_operation = Endpoint(
    name="cancel_operation",
    method="POST",
    path="/api/cancel_operation",
    request=learn.CancelOperationRequest,
    answer_model=learn.CancelOperationResponse,
    role=Role.REVIEWER,
    summary="Stop what runs, at its next window.",
)
get_learning_provenance = Endpoint(
    name="get_learning_provenance",
    method="POST",
    path="/api/get_learning_provenance",
    request=learn.GetLearningProvenanceRequest,
    answer_model=learn.LearningProvenanceViewResponse,
    role=Role.READER,
    summary="Tell from which words a memory was learned.",
)
read_learning_provenance = Endpoint(
    name="read_learning_provenance",
    method="GET",
    path="/api/get_learning_provenance",
    request=learn.GetLearningProvenanceRequest,
    answer_model=learn.LearningProvenanceViewResponse,
    role=Role.READER,
    summary="The same, to be asked by address.",
    where="query",
)
profile_change_log = Endpoint(
    name="profile_change_log",
    method="GET",
    path="/api/profile_change_log",
    request=learn.ProfileChangeLogRequest,
    answer_model=learn.ProfileChangeLogViewResponse,
    role=Role.READER,
    summary="List what was added, removed and mentioned again, and why.",
    where="query",
    exclude_none=False,
)

# --- operations ----------------------------------------------------------------------------------------------------

record_operations = Endpoint(
    name="record_operations",
    method="POST",
    path="/api/record_operations",
    request=operations.RecordOperationsRequest,
    answer_model=operations.RecordOperationsResponse,
    role=Role.AGENT,
    summary="Store what agents did, up to a thousand at once; each is told to be on disk, or why not.",
)
event = Endpoint(
    name="event",
    method="POST",
    path="/event",
    request=operations.EventRequest,
    answer_model=operations.EventResponse,
    role=Role.AGENT,
    summary="Store one operation in the shape of the earlier observer.",
    repeatable=False,
)
stats = Endpoint(
    name="stats",
    method="GET",
    path="/stats",
    request=Nothing,
    answer_model=operations.StatsResponse,
    role=Role.READER,
    summary="Count operations by source, and show the latest.",
)
get_operations = Endpoint(
    name="get_operations",
    method="POST",
    path="/api/get_operations",
    request=operations.GetOperationsRequest,
    answer_model=operations.GetOperationsResponse,
    role=Role.READER,
    summary="List operations, or follow them as they come.",
)
export_outcomes = Endpoint(
    name="export_outcomes",
    method="GET",
    path="/api/export_outcomes",
    request=operations.ExportOutcomesRequest,
    answer_model=operations.GetOperationsResponse,
    role=Role.READER,
    summary="Read outcomes, verdicts and evaluations page by page, oldest first.",
    where="query",
)
record_verdict = Endpoint(
    name="record_verdict",
    method="POST",
    path="/api/record_verdict",
    request=verdicts.RecordVerdictRequest,
    answer_model=verdicts.RecordVerdictResponse,
    role=Role.AGENT,
    summary="Store an auditor's verdict on a subject, and tell how often its findings were found elsewhere.",
)
verdict_history = Endpoint(
    name="verdict_history",
    method="GET",
    path="/api/verdict_history",
    request=verdicts.VerdictHistoryRequest,
    answer_model=verdicts.VerdictHistoryResponse,
    role=Role.READER,
    summary="What was found at a subject, or where a signature was found.",
    where="query",
)
get_failures = Endpoint(
    name="get_failures",
    method="POST",
    path="/api/get_failures",
    request=failures.GetFailuresRequest,
    answer_model=failures.GetFailuresResponse,
    role=Role.READER,
    summary="List groups of failures, the latest first.",
)
get_failure = Endpoint(
    name="get_failure",
    method="GET",
    path="/api/failures/{group_id}",
    request=failures.GetFailureRequest,
    answer_model=failures.FailureResponse,
    role=Role.READER,
    summary="Tell all about one group of failures: its course, examples, analyses and proposed lesson.",
    where="query",
)
change_failure = Endpoint(
    name="change_failure",
    method="POST",
    path="/api/change_failure",
    request=failures.ChangeFailureRequest,
    answer_model=failures.ChangeFailureResponse,
    role=Role.REVIEWER,
    summary="Merge groups of failures, take a merge back, resolve, archive or reopen one.",
)
get_proposals = Endpoint(
    name="get_proposals",
    method="POST",
    path="/api/get_proposals",
    request=failures.GetProposalsRequest,
    answer_model=failures.GetProposalsResponse,
    role=Role.READER,
    summary="List the lessons that operations suggest, with what they rest on.",
)
decide_proposal = Endpoint(
    name="decide_proposal",
    method="POST",
    path="/api/decide_proposal",
    request=failures.DecideProposalRequest,
    answer_model=failures.DecideProposalResponse,
    role=Role.REVIEWER,
    summary="Approve, edit or reject a proposed lesson.",
)
lesson_effect = Endpoint(
    name="lesson_effect",
    method="GET",
    path="/api/lesson_effect",
    request=failures.LessonEffectRequest,
    answer_model=failures.LessonEffectResponse,
    role=Role.READER,
    summary="Tell whether sessions that were shown a lesson fail less in the way it is about.",
    where="query",
)
get_alerts = Endpoint(
    name="get_alerts",
    method="POST",
    path="/api/get_alerts",
    request=alerts.GetAlertsRequest,
    answer_model=alerts.GetAlertsResponse,
    role=Role.READER,
    summary="List what is wrong: sources gone silent, failures that escalate, analysis that fails.",
)
purge_operations = Endpoint(
    name="purge_operations",
    method="POST",
    path="/api/purge_operations",
    request=operations.PurgeOperationsRequest,
    answer_model=operations.PurgeOperationsResponse,
    role=Role.ADMIN,
    summary="Remove everything derived from one operation, one session or one source.",
)

# --- recall --------------------------------------------------------------------------------------------------------

search = Endpoint(
    name="search",
    method="POST",
    path="/api/search",
    request=recall.UnifiedSearchRequest,
    answer_model=recall.UnifiedSearchViewResponse,
    role=Role.READER,
    summary="Find memories of all kinds, and the text to put before a model.",
)
search_profiles = Endpoint(
    name="search_profiles",
    method="POST",
    path="/api/search_profiles",
    request=recall.SearchUserProfileRequest,
    answer_model=recall.SearchProfilesViewResponse,
    role=Role.READER,
    summary="Find profiles of a user.",
)
search_user_playbooks = Endpoint(
    name="search_user_playbooks",
    method="POST",
    path="/api/search_user_playbooks",
    request=recall.SearchUserPlaybookRequest,
    answer_model=recall.SearchUserPlaybooksViewResponse,
    role=Role.READER,
    summary="Find playbooks learned from users.",
)
search_agent_playbooks = Endpoint(
    name="search_agent_playbooks",
    method="POST",
    path="/api/search_agent_playbooks",
    request=recall.SearchAgentPlaybookRequest,
    answer_model=recall.SearchAgentPlaybooksViewResponse,
    role=Role.READER,
    summary="Find playbooks shared by all users.",
)
search_interactions = Endpoint(
    name="search_interactions",
    method="POST",
    path="/api/search_interactions",
    request=recall.SearchInteractionRequest,
    answer_model=recall.SearchInteractionsViewResponse,
    role=Role.READER,
    summary="Find turns of a user.",
)

# --- memories ------------------------------------------------------------------------------------------------------

get_profiles = Endpoint(
    name="get_profiles",
    method="POST",
    path="/api/get_profiles",
    request=memories.GetUserProfilesRequest,
    answer_model=memories.GetProfilesResponse,
    role=Role.READER,
    summary="List the profiles of a user.",
)
get_all_profiles = Endpoint(
    name="get_all_profiles",
    method="GET",
    path="/api/get_all_profiles",
    request=memories.GetAllProfilesRequest,
    answer_model=memories.GetProfilesResponse,
    role=Role.READER,
    summary="List the profiles of all users.",
    where="query",
)
get_profile_statistics = Endpoint(
    name="get_profile_statistics",
    method="GET",
    path="/api/get_profile_statistics",
    request=Nothing,
    answer_model=memories.GetProfileStatisticsResponse,
    role=Role.READER,
    summary="Count profiles by status.",
)
get_user_playbooks = Endpoint(
    name="get_user_playbooks",
    method="POST",
    path="/api/get_user_playbooks",
    request=memories.GetUserPlaybooksRequest,
    answer_model=memories.GetUserPlaybooksResponse,
    role=Role.READER,
    summary="List playbooks learned from users.",
)
get_agent_playbooks = Endpoint(
    name="get_agent_playbooks",
    method="POST",
    path="/api/get_agent_playbooks",
    request=memories.GetAgentPlaybooksRequest,
    answer_model=memories.GetAgentPlaybooksResponse,
    role=Role.READER,
    summary="List playbooks shared by all users.",
)
add_user_profile = Endpoint(
    name="add_user_profile",
    method="POST",
    path="/api/add_user_profile",
    request=memories.AddUserProfileRequest,
    answer_model=memories.AddedResponse,
    role=Role.AGENT,
    summary="Add profiles by hand.",
    repeatable=False,
)
add_user_playbook = Endpoint(
    name="add_user_playbook",
    method="POST",
    path="/api/add_user_playbook",
    request=memories.AddUserPlaybookRequest,
    answer_model=memories.AddedResponse,
    role=Role.AGENT,
    summary="Add user playbooks by hand.",
    repeatable=False,
)
add_agent_playbook = Endpoint(
    name="add_agent_playbook",
    method="POST",
    path="/api/add_agent_playbook",
    request=memories.AddAgentPlaybookRequest,
    answer_model=memories.AddedResponse,
    role=Role.AGENT,
    summary="Add agent playbooks by hand.",
    repeatable=False,
)
update_user_profile = Endpoint(
    name="update_user_profile",
    method="PUT",
    path="/api/update_user_profile",
    request=memories.UpdateUserProfileRequest,
    answer_model=memories.UpdatedResponse,
    role=Role.REVIEWER,
    summary="Change a profile.",
)
update_user_playbook = Endpoint(
    name="update_user_playbook",
    method="PUT",
    path="/api/update_user_playbook",
    request=memories.UpdateUserPlaybookRequest,
    answer_model=memories.UpdatedResponse,
    role=Role.REVIEWER,
    summary="Change a user playbook.",
)
update_agent_playbook = Endpoint(
    name="update_agent_playbook",
    method="PUT",
    path="/api/update_agent_playbook",
    request=memories.UpdateAgentPlaybookRequest,
    answer_model=memories.UpdatedResponse,
    role=Role.REVIEWER,
    summary="Change an agent playbook.",
)
update_agent_playbook_status = Endpoint(
    name="update_agent_playbook_status",
    method="PUT",
    path="/api/update_agent_playbook_status",
    request=memories.UpdatePlaybookStatusRequest,
    answer_model=memories.UpdatedResponse,
    role=Role.REVIEWER,
    summary="Approve or reject an agent playbook.",
)
delete_profile = Endpoint(
    name="delete_profile",
    method="DELETE",
    path="/api/delete_profile",
    request=memories.DeleteUserProfileRequest,
    answer_model=memories.DeletedResponse,
    role=Role.REVIEWER,
    summary="Delete a profile, or the profiles of a user that match a query.",
)
delete_interaction = Endpoint(
    name="delete_interaction",
    method="DELETE",
    path="/api/delete_interaction",
    request=memories.DeleteUserInteractionRequest,
    answer_model=memories.DeletedResponse,
    role=Role.REVIEWER,
    summary="Delete a turn.",
)
delete_request = Endpoint(
    name="delete_request",
    method="DELETE",
    path="/api/delete_request",
    request=memories.DeleteRequestRequest,
    answer_model=memories.DeletedResponse,
    role=Role.REVIEWER,
    summary="Delete a request with its turns.",
)
delete_session = Endpoint(
    name="delete_session",
    method="DELETE",
    path="/api/delete_session",
    request=memories.DeleteSessionRequest,
    answer_model=memories.DeleteSessionResponse,
    role=Role.REVIEWER,
    summary="Delete a session with its requests and turns.",
)
delete_agent_playbook = Endpoint(
    name="delete_agent_playbook",
    method="DELETE",
    path="/api/delete_agent_playbook",
    request=memories.DeleteAgentPlaybookRequest,
    answer_model=memories.DeletedResponse,
    role=Role.REVIEWER,
    summary="Delete an agent playbook.",
)
delete_user_playbook = Endpoint(
    name="delete_user_playbook",
    method="DELETE",
    path="/api/delete_user_playbook",
    request=memories.DeleteUserPlaybookRequest,
    answer_model=memories.DeletedResponse,
    role=Role.REVIEWER,
    summary="Delete a user playbook.",
)
delete_requests_by_ids = Endpoint(
    name="delete_requests_by_ids",
    method="DELETE",
    path="/api/delete_requests_by_ids",
    request=memories.DeleteRequestsByIdsRequest,
    answer_model=memories.BulkDeleteResponse,
    role=Role.REVIEWER,
    summary="Delete several requests with their turns.",
)
delete_profiles_by_ids = Endpoint(
    name="delete_profiles_by_ids",
    method="DELETE",
    path="/api/delete_profiles_by_ids",
    request=memories.DeleteProfilesByIdsRequest,
    answer_model=memories.BulkDeleteResponse,
    role=Role.REVIEWER,
    summary="Delete several profiles.",
)
delete_agent_playbooks_by_ids = Endpoint(
    name="delete_agent_playbooks_by_ids",
    method="DELETE",
    path="/api/delete_agent_playbooks_by_ids",
    request=memories.DeleteAgentPlaybooksByIdsRequest,
    answer_model=memories.BulkDeleteResponse,
    role=Role.REVIEWER,
    summary="Delete several agent playbooks.",
)
delete_user_playbooks_by_ids = Endpoint(
    name="delete_user_playbooks_by_ids",
    method="DELETE",
    path="/api/delete_user_playbooks_by_ids",
    request=memories.DeleteUserPlaybooksByIdsRequest,
    answer_model=memories.BulkDeleteResponse,
    role=Role.REVIEWER,
    summary="Delete several user playbooks.",
)
delete_all_interactions = Endpoint(
    name="delete_all_interactions",
    method="DELETE",
    path="/api/delete_all_interactions",
    request=Nothing,
    answer_model=memories.BulkDeleteResponse,
    role=Role.ADMIN,
    summary="Delete every request and turn.",
)
delete_all_profiles = Endpoint(
    name="delete_all_profiles",
    method="DELETE",
    path="/api/delete_all_profiles",
    request=Nothing,
    answer_model=memories.BulkDeleteResponse,
    role=Role.ADMIN,
    summary="Delete every profile.",
)
delete_all_playbooks = Endpoint(
    name="delete_all_playbooks",
    method="DELETE",
    path="/api/delete_all_playbooks",
    request=Nothing,
    answer_model=memories.BulkDeleteResponse,
    role=Role.ADMIN,
    summary="Delete every user and agent playbook.",
)
delete_all_user_playbooks = Endpoint(
    name="delete_all_user_playbooks",
    method="DELETE",
    path="/api/delete_all_user_playbooks",
    request=Nothing,
    answer_model=memories.BulkDeleteResponse,
    role=Role.ADMIN,
    summary="Delete every user playbook.",
)
delete_all_agent_playbooks = Endpoint(
    name="delete_all_agent_playbooks",
    method="DELETE",
    path="/api/delete_all_agent_playbooks",
    request=Nothing,
    answer_model=memories.BulkDeleteResponse,
    role=Role.ADMIN,
    summary="Delete every agent playbook.",
)
clear_user_data = Endpoint(
    name="clear_user_data",
    method="POST",
    path="/api/clear_user_data",
    request=memories.ClearUserDataRequest,
    answer_model=memories.ClearUserDataResponse,
    role=Role.ADMIN,
    summary="Erase everything known of a user.",
)
storage_stats = Endpoint(
    name="storage_stats",
    method="GET",
    path="/api/storage_stats",
    request=memories.StorageStatsRequest,
    answer_model=memories.StorageStatsResponse,
    role=Role.READER,
    summary="Count the memories of a user.",
    where="query",
)

# --- lessons shared by all users -----------------------------------------------------------------------------------

run_playbook_aggregation = Endpoint(
    name="run_playbook_aggregation",
    method="POST",
    path="/api/run_playbook_aggregation",
    request=aggregation.RunPlaybookAggregationRequest,
    answer_model=aggregation.RunPlaybookAggregationResponse,
    role=Role.REVIEWER,
    summary="Make one shared playbook of user playbooks that say the same, and wait for it.",
)
submit_playbook_aggregation = Endpoint(
    name="submit_playbook_aggregation",
    method="POST",
    path="/api/playbook_aggregation_operations",
    request=aggregation.SubmitPlaybookAggregationRequest,
    answer_model=aggregation.PlaybookAggregationOperation,
    role=Role.REVIEWER,
    summary="The same in the background; sent twice under one request_id, it is one.",
    exclude_none=False,
    status=202,
)
get_playbook_aggregation_operation = Endpoint(
    name="get_playbook_aggregation_operation",
    method="GET",
    path="/api/playbook_aggregation_operations/{operation_id}",
    request=aggregation.GetPlaybookAggregationOperationRequest,
    answer_model=aggregation.PlaybookAggregationOperation,
    role=Role.READER,
    summary="Tell how far an aggregation is.",
    where="query",
    exclude_none=False,
)
playbook_aggregation_change_logs = Endpoint(
    name="playbook_aggregation_change_logs",
    method="GET",
    path="/api/playbook_aggregation_change_logs",
    request=aggregation.PlaybookAggregationChangeLogRequest,
    answer_model=aggregation.PlaybookAggregationChangeLogResponse,
    role=Role.READER,
    summary="List what aggregations added, updated and removed, as it was then.",
    where="query",
)

# --- meter and review ----------------------------------------------------------------------------------------------

get_injection_stats = Endpoint(
    name="get_injection_stats",
    method="POST",
    path="/api/get_injection_stats",
    request=meter.GetInjectionStatsRequest,
    answer_model=meter.GetInjectionStatsResponse,
    role=Role.READER,
    summary="Tell how often each memory was shown, and what that cost.",
)
get_memory_review = Endpoint(
    name="get_memory_review",
    method="POST",
    path="/api/get_memory_review",
    request=review.GetMemoryReviewRequest,
    answer_model=review.GetMemoryReviewResponse,
    role=Role.READER,
    summary="List the memories that deserve a person's look, and why.",
)

# --- how sessions end ----------------------------------------------------------------------------------------------

session_outcome = Endpoint(
    name="session_outcome",
    method="POST",
    path="/api/session_outcome",
    request=evaluations.SetSessionOutcomeRequest,
    answer_model=evaluations.SetSessionOutcomeResponse,
    role=Role.AGENT,
    summary="State how a session ended; it goes before any judge's guess.",
)
get_session_outcomes = Endpoint(
    name="get_session_outcomes",
    method="POST",
    path="/api/get_session_outcomes",
    request=evaluations.GetSessionOutcomesRequest,
    answer_model=evaluations.GetSessionOutcomesResponse,
    role=Role.READER,
    summary="List how sessions ended, as their callers stated it, the latest first.",
)
get_agent_success_evaluation_results = Endpoint(
    name="get_agent_success_evaluation_results",
    method="POST",
    path="/api/get_agent_success_evaluation_results",
    request=evaluations.GetAgentSuccessEvaluationResultsRequest,
    answer_model=evaluations.GetEvaluationResultsViewResponse,
    role=Role.READER,
    summary="List how sessions ended and why, newest first.",
)
grade_on_demand = Endpoint(
    name="grade_on_demand",
    method="POST",
    path="/api/evaluations/grade_on_demand",
    request=evaluations.GradeOnDemandRequest,
    answer_model=evaluations.GradeOnDemandResponse,
    role=Role.AGENT,
    summary="Judge a session now.",
)
regenerate_evaluations = Endpoint(
    name="regenerate_evaluations",
    method="POST",
    path="/api/evaluations/regenerate",
    request=evaluations.RegenerateRequest,
    answer_model=evaluations.RegenerateStartResponse,
    role=Role.REVIEWER,
    summary="Judge the sessions of some time anew, in the background.",
    repeatable=False,
)
get_evaluation_regeneration = Endpoint(
    name="get_evaluation_regeneration",
    method="GET",
    path="/api/evaluations/regenerate/{job_id}",
    request=evaluations.RegenerationRequest,
    answer_model=evaluations.RegenerateStatusResponse,
    role=Role.READER,
    summary="Tell how far a regeneration is.",
    where="query",
    exclude_none=False,
)
cancel_evaluation_regeneration = Endpoint(
    name="cancel_evaluation_regeneration",
    method="DELETE",
    path="/api/evaluations/regenerate/{job_id}",
    request=evaluations.RegenerationRequest,
    answer_model=evaluations.CancelRegenerationResponse,
    role=Role.REVIEWER,
    summary="Stop a regeneration before its next session.",
    where="query",
)
recent_shadow_comparisons = Endpoint(
    name="recent_shadow_comparisons",
    method="GET",
    path="/api/evaluations/shadow_comparisons/recent",
    request=evaluations.RecentShadowComparisonsRequest,
    answer_model=evaluations.GetRecentShadowComparisonsResponse,
    role=Role.READER,
    summary="List answers that were compared with their shadows, newest first.",
    where="query",
)
get_evaluation_overview = Endpoint(
    name="get_evaluation_overview",
    method="POST",
    path="/api/get_evaluation_overview",
    request=evaluations.GetEvaluationOverviewRequest,
    answer_model=evaluations.GetEvaluationOverviewResponse,
    role=Role.READER,
    summary="Add up how sessions ended, against the time before, and by the memories that were cited.",
    exclude_none=False,
)
get_dashboard_stats = Endpoint(
    name="get_dashboard_stats",
    method="POST",
    path="/api/get_dashboard_stats",
    request=evaluations.GetDashboardStatsRequest,
    answer_model=evaluations.GetDashboardStatsResponse,
    role=Role.READER,
    summary="Add up what was said, learned and judged, day by day.",
)

# --- review and meter, in full ---------------------------------------------------------------------------------------

review_memories = Endpoint(
    name="review_memories",
    method="POST",
    path="/api/memory_review/actions",
    request=review.ReviewMemoriesRequest,
    answer_model=review.ReviewMemoriesResponse,
    role=Role.REVIEWER,
    summary="Act on memories, or see what an action would change; what was done can be undone.",
    repeatable=False,
)
undo_review = Endpoint(
    name="undo_review",
    method="POST",
    path="/api/memory_review/undo",
    request=review.UndoReviewRequest,
    answer_model=review.ReviewMemoriesResponse,
    role=Role.REVIEWER,
    summary="Take an action back, unless a newer change stands in the way.",
    repeatable=False,
)
get_review_actions = Endpoint(
    name="get_review_actions",
    method="GET",
    path="/api/memory_review/actions",
    request=review.GetReviewActionsRequest,
    answer_model=review.GetReviewActionsResponse,
    role=Role.READER,
    summary="List who did what to memories, with what they were before and after.",
    where="query",
)
get_memory_duplicates = Endpoint(
    name="get_memory_duplicates",
    method="POST",
    path="/api/get_memory_duplicates",
    request=review.GetDuplicatesRequest,
    answer_model=review.GetDuplicatesResponse,
    role=Role.READER,
    summary="List memories that say nearly the same.",
)
get_playbook_application_stats = Endpoint(
    name="get_playbook_application_stats",
    method="POST",
    path="/api/get_playbook_application_stats",
    request=meter.GetPlaybookApplicationStatsRequest,
    answer_model=meter.GetPlaybookApplicationStatsResponse,
    role=Role.READER,
    summary="Tell how often agents named each memory as what they went by.",
)
get_memory_costs = Endpoint(
    name="get_memory_costs",
    method="POST",
    path="/api/get_memory_costs",
    request=meter.GetMemoryCostsRequest,
    answer_model=meter.GetMemoryCostsResponse,
    role=Role.READER,
    summary="Put a price tag on memories, users, agent versions or days.",
)
get_memory_lift = Endpoint(
    name="get_memory_lift",
    method="POST",
    path="/api/get_memory_lift",
    request=meter.GetMemoryLiftRequest,
    answer_model=meter.GetMemoryLiftResponse,
    role=Role.READER,
    summary="Compare sessions with a memory to those without it, and after it to before.",
    exclude_none=False,
)
get_injection = Endpoint(
    name="get_injection",
    method="POST",
    path="/api/get_injection",
    request=meter.GetInjectionRequest,
    answer_model=meter.GetInjectionResponse,
    role=Role.READER,
    summary="Show a past search again: what was asked, found and rendered.",
)
compare_injection = Endpoint(
    name="compare_injection",
    method="POST",
    path="/api/compare_injection",
    request=meter.CompareInjectionRequest,
    answer_model=meter.CompareInjectionResponse,
    role=Role.READER,
    summary="Ask a past search's question of the memories as they were at two moments.",
)

# --- experiments ---------------------------------------------------------------------------------------------------

list_retrieval_experiments = Endpoint(
    name="list_retrieval_experiments",
    method="GET",
    path="/api/retrieval_experiments",
    request=Nothing,
    answer_model=experiments.RetrievalExperimentListResponse,
    role=Role.READER,
    summary="List holdout experiments.",
    exclude_none=False,
)
start_retrieval_experiment = Endpoint(
    name="start_retrieval_experiment",
    method="POST",
    path="/api/retrieval_experiments",
    request=experiments.StartRetrievalExperimentRequest,
    answer_model=experiments.RetrievalExperimentListResponse,
    role=Role.ADMIN,
    summary="Start a holdout: so many percent of the users are shown no memories.",
    exclude_none=False,
    repeatable=False,
)
stop_retrieval_experiment = Endpoint(
    name="stop_retrieval_experiment",
    method="POST",
    path="/api/retrieval_experiments/stop",
    request=experiments.StopRetrievalExperimentRequest,
    answer_model=experiments.RetrievalExperimentListResponse,
    role=Role.ADMIN,
    summary="Stop the holdout that runs.",
    exclude_none=False,
    repeatable=False,
)
get_retrieval_experiment_results = Endpoint(
    name="get_retrieval_experiment_results",
    method="GET",
    path="/api/retrieval_experiments/{experiment_id}/results",
    request=experiments.GetRetrievalExperimentResultsRequest,
    answer_model=experiments.RetrievalExperimentResultsResponse,
    role=Role.READER,
    summary="Compare the users who are shown memories with those who are not.",
    where="query",
    exclude_none=False,
)

# --- configuration -------------------------------------------------------------------------------------------------


def _whole(config: Config) -> Config:
    return config


def _some(**fields: Any) -> ConfigUpdate:
    return ConfigUpdate.model_validate(fields)


get_config = Endpoint(
    name="get_config",
    method="GET",
    path="/api/get_config",
    request=Nothing,
    answer_model=Config,
    role=Role.READER,
    summary="Read the configuration; secrets are masked.",
    exclude_none=False,
)
set_config = Endpoint(
    name="set_config",
    method="POST",
    path="/api/set_config",
    request=_whole,
    shape=Config,
    answer_model=SetConfigResponse,
    role=Role.ADMIN,
    summary="Replace the configuration; a masked secret stays as it is.",
    exclude_none=False,
)
update_config = Endpoint(
    name="update_config",
    method="POST",
    path="/api/update_config",
    request=_some,
    shape=ConfigUpdate,
    answer_model=SetConfigResponse,
    role=Role.ADMIN,
    summary="Replace some fields of the configuration.",
    exclude_none=False,
)

# --- system --------------------------------------------------------------------------------------------------------

whoami = Endpoint(
    name="whoami",
    method="GET",
    path="/api/whoami",
    request=Nothing,
    answer_model=system.WhoamiResponse,
    role=Role.READER,
    summary="Tell whose key this is and where its data lives.",
)
my_config = Endpoint(
    name="my_config",
    method="GET",
    path="/api/my_config",
    request=Nothing,
    answer_model=system.MyConfigResponse,
    role=Role.ADMIN,
    summary="Show where this org's data is stored.",
)
status = Endpoint(
    name="status",
    method="GET",
    path="/api/status",
    request=Nothing,
    answer_model=system.StatusResponse,
    role=Role.READER,
    summary="Show jobs, dead letters, store, embedder, counts and coverage.",
)
list_keys = Endpoint(
    name="list_keys",
    method="GET",
    path="/api/keys",
    request=Nothing,
    answer_model=system.ListKeysResponse,
    role=Role.ADMIN,
    summary="List keys, without their secrets.",
)
create_key = Endpoint(
    name="create_key",
    method="POST",
    path="/api/keys",
    request=system.CreateKeyRequest,
    answer_model=system.CreateKeyResponse,
    role=Role.ADMIN,
    summary="Make a key; its secret is shown once.",
    repeatable=False,
)
revoke_key = Endpoint(
    name="revoke_key",
    method="DELETE",
    path="/api/keys",
    request=system.RevokeKeyRequest,
    answer_model=system.RevokeKeyResponse,
    role=Role.ADMIN,
    summary="Revoke a key; it stops working at once.",
)
version = Endpoint(
    name="version",
    method="GET",
    path="/meta/version",
    request=Nothing,
    answer_model=system.VersionResponse,
    role=Role.PUBLIC,
    summary="Tell the versions of server and API.",
    exclude_none=False,
)
welcome = Endpoint(
    name="welcome",
    method="GET",
    path="/",
    request=Nothing,
    answer_model=system.WelcomeResponse,
    role=Role.PUBLIC,
    summary="Say hello.",
)
health = Endpoint(
    name="health",
    method="GET",
    path="/health",
    request=Nothing,
    answer_model=system.ReadinessResponse,
    role=Role.PUBLIC,
    summary="Tell whether everything required works.",
)
health_live = Endpoint(
    name="health_live",
    method="GET",
    path="/health/live",
    request=Nothing,
    answer_model=system.AliveResponse,
    role=Role.PUBLIC,
    summary="Tell that the process runs.",
)
health_ready = Endpoint(
    name="health_ready",
    method="GET",
    path="/health/ready",
    request=Nothing,
    answer_model=system.ReadinessResponse,
    role=Role.PUBLIC,
    summary="Tell whether requests can be served.",
)
healthz = Endpoint(
    name="healthz",
    method="GET",
    path="/healthz",
    request=Nothing,
    answer_model=system.AliveResponse,
    role=Role.PUBLIC,
    summary="Tell that the process runs, under the name some probes expect.",
)

ENDPOINTS: tuple[Endpoint[..., Any], ...] = tuple(
    endpoint for endpoint in list(globals().values()) if isinstance(endpoint, Endpoint)
)
