"""Every endpoint of the API, described once: the server routes by this table, the clients call by it."""

from typing import Any

from acumen_client.endpoint import Endpoint, get, post
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
from acumen_client.wire.shapes import Nothing, Role

# --- observe -------------------------------------------------------------------------------------------------------

publish_interaction = post(
    "publish_interaction",
    observe.PublishUserInteractionRequest,
    observe.PublishUserInteractionResponse,
    Role.AGENT,
    "Store some turns of a session; success means they are on disk.",
)
finalize_session = post(
    "finalize_session",
    observe.FinalizeSessionRequest,
    observe.FinalizeSessionResponse,
    Role.AGENT,
    "End a session, so that what it taught is learned now.",
    exclude_none=False,
)
learning_status = get(
    "learning_status",
    observe.LearningStatusRequest,
    observe.LearningStatusResponse,
    Role.READER,
    "Tell whether a published request has been learned from.",
)
get_requests = post(
    "get_requests",
    observe.GetRequestsRequest,
    observe.GetRequestsResponse,
    Role.READER,
    "List sessions with their requests and turns, newest session first.",
)
get_interactions = post(
    "get_interactions",
    observe.GetInteractionsRequest,
    observe.GetInteractionsResponse,
    Role.READER,
    "List the turns of a user.",
)
get_all_interactions = get(
    "get_all_interactions",
    observe.GetAllInteractionsRequest,
    observe.GetInteractionsResponse,
    Role.READER,
    "List the latest turns of all users.",
)

# --- learn ---------------------------------------------------------------------------------------------------------

rerun_profile_generation = post(
    "rerun_profile_generation",
    learn.RerunProfileGenerationRequest,
    learn.RerunProfileGenerationResponse,
    Role.REVIEWER,
    "Make profiles anew from all that was said; they wait as pending.",
    repeatable=False,
)
rerun_playbook_generation = post(
    "rerun_playbook_generation",
    learn.RerunPlaybookGenerationRequest,
    learn.RerunPlaybookGenerationResponse,
    Role.REVIEWER,
    "Make user playbooks anew from all that was said; they wait as pending.",
    repeatable=False,
)
manual_profile_generation = post(
    "manual_profile_generation",
    learn.ManualProfileGenerationRequest,
    learn.ManualProfileGenerationResponse,
    Role.REVIEWER,
    "Read each user's last window for profiles now.",
    repeatable=False,
)
manual_playbook_generation = post(
    "manual_playbook_generation",
    learn.ManualPlaybookGenerationRequest,
    learn.ManualPlaybookGenerationResponse,
    Role.REVIEWER,
    "Read each user's last window for playbooks now.",
    repeatable=False,
)
upgrade_all_profiles = post(
    "upgrade_all_profiles",
    learn.UpgradeProfilesRequest,
    learn.UpgradeProfilesResponse,
    Role.ADMIN,
    "Make pending profiles current, and archive the current ones.",
)
downgrade_all_profiles = post(
    "downgrade_all_profiles",
    learn.DowngradeProfilesRequest,
    learn.DowngradeProfilesResponse,
    Role.ADMIN,
    "Go back to the archived profiles.",
    repeatable=False,
)
upgrade_all_user_playbooks = post(
    "upgrade_all_user_playbooks",
    learn.UpgradeUserPlaybooksRequest,
    learn.UpgradeUserPlaybooksResponse,
    Role.ADMIN,
    "Make pending user playbooks current, and archive the current ones.",
)
downgrade_all_user_playbooks = post(
    "downgrade_all_user_playbooks",
    learn.DowngradeUserPlaybooksRequest,
    learn.DowngradeUserPlaybooksResponse,
    Role.ADMIN,
    "Go back to the archived user playbooks.",
    repeatable=False,
)
get_operation_status = get(
    "get_operation_status",
    learn.GetOperationStatusRequest,
    learn.GetOperationStatusResponse,
    Role.READER,
    "Tell how far the last run of a service is.",
)
cancel_operation = post(
    "cancel_operation",
    learn.CancelOperationRequest,
    learn.CancelOperationResponse,
    Role.REVIEWER,
    "Stop what runs, at its next window.",
)
get_learning_provenance = post(
    "get_learning_provenance",
    learn.GetLearningProvenanceRequest,
    learn.LearningProvenanceViewResponse,
    Role.READER,
    "Tell from which words a memory was learned.",
)
read_learning_provenance = get(
    "read_learning_provenance",
    learn.GetLearningProvenanceRequest,
    learn.LearningProvenanceViewResponse,
    Role.READER,
    "The same, to be asked by address.",
    path="/api/get_learning_provenance",
)
profile_change_log = get(
    "profile_change_log",
    learn.ProfileChangeLogRequest,
    learn.ProfileChangeLogViewResponse,
    Role.READER,
    "List what was added, removed and mentioned again, and why.",
    exclude_none=False,
)

# --- operations ----------------------------------------------------------------------------------------------------

record_operations = post(
    "record_operations",
    operations.RecordOperationsRequest,
    operations.RecordOperationsResponse,
    Role.AGENT,
    "Store what agents did, up to a thousand at once; each is told to be on disk, or why not.",
)
event = post(
    "event",
    operations.EventRequest,
    operations.EventResponse,
    Role.AGENT,
    "Store one operation in the shape of the earlier observer.",
    path="/event",
    repeatable=False,
)
stats = get(
    "stats",
    Nothing,
    operations.StatsResponse,
    Role.READER,
    "Count operations by source, and show the latest.",
    path="/stats",
)
get_operations = post(
    "get_operations",
    operations.GetOperationsRequest,
    operations.GetOperationsResponse,
    Role.READER,
    "List operations, or follow them as they come.",
)
export_outcomes = get(
    "export_outcomes",
    operations.ExportOutcomesRequest,
    operations.GetOperationsResponse,
    Role.READER,
    "Read outcomes, verdicts and evaluations page by page, oldest first.",
)
record_verdict = post(
    "record_verdict",
    verdicts.RecordVerdictRequest,
    verdicts.RecordVerdictResponse,
    Role.AGENT,
    "Store an auditor's verdict on a subject, and tell how often its findings were found elsewhere.",
)
verdict_history = get(
    "verdict_history",
    verdicts.VerdictHistoryRequest,
    verdicts.VerdictHistoryResponse,
    Role.READER,
    "What was found at a subject, or where a signature was found.",
)
get_failures = post(
    "get_failures",
    failures.GetFailuresRequest,
    failures.GetFailuresResponse,
    Role.READER,
    "List groups of failures, the latest first.",
)
get_failure = get(
    "get_failure",
    failures.GetFailureRequest,
    failures.FailureResponse,
    Role.READER,
    "Tell all about one group of failures: its course, examples, analyses and proposed lesson.",
    path="/api/failures/{group_id}",
)
change_failure = post(
    "change_failure",
    failures.ChangeFailureRequest,
    failures.ChangeFailureResponse,
    Role.REVIEWER,
    "Merge groups of failures, take a merge back, resolve, archive or reopen one.",
)
get_proposals = post(
    "get_proposals",
    failures.GetProposalsRequest,
    failures.GetProposalsResponse,
    Role.READER,
    "List the lessons that operations suggest, with what they rest on.",
)
decide_proposal = post(
    "decide_proposal",
    failures.DecideProposalRequest,
    failures.DecideProposalResponse,
    Role.REVIEWER,
    "Approve, edit or reject a proposed lesson.",
)
lesson_effect = get(
    "lesson_effect",
    failures.LessonEffectRequest,
    failures.LessonEffectResponse,
    Role.READER,
    "Tell whether sessions that were shown a lesson fail less in the way it is about.",
)
get_alerts = post(
    "get_alerts",
    alerts.GetAlertsRequest,
    alerts.GetAlertsResponse,
    Role.READER,
    "List what is wrong: sources gone silent, failures that escalate, analysis that fails.",
)
purge_operations = post(
    "purge_operations",
    operations.PurgeOperationsRequest,
    operations.PurgeOperationsResponse,
    Role.ADMIN,
    "Remove everything derived from one operation, one session or one source.",
)

# --- recall --------------------------------------------------------------------------------------------------------

search = post(
    "search",
    recall.UnifiedSearchRequest,
    recall.UnifiedSearchViewResponse,
    Role.READER,
    "Find memories of all kinds, and the text to put before a model.",
)
search_profiles = post(
    "search_profiles",
    recall.SearchUserProfileRequest,
    recall.SearchProfilesViewResponse,
    Role.READER,
    "Find profiles of a user.",
)
search_user_playbooks = post(
    "search_user_playbooks",
    recall.SearchUserPlaybookRequest,
    recall.SearchUserPlaybooksViewResponse,
    Role.READER,
    "Find playbooks learned from users.",
)
search_agent_playbooks = post(
    "search_agent_playbooks",
    recall.SearchAgentPlaybookRequest,
    recall.SearchAgentPlaybooksViewResponse,
    Role.READER,
    "Find playbooks shared by all users.",
)
search_interactions = post(
    "search_interactions",
    recall.SearchInteractionRequest,
    recall.SearchInteractionsViewResponse,
    Role.READER,
    "Find turns of a user.",
)

# --- memories ------------------------------------------------------------------------------------------------------

get_profiles = post(
    "get_profiles",
    memories.GetUserProfilesRequest,
    memories.GetProfilesResponse,
    Role.READER,
    "List the profiles of a user.",
)
get_all_profiles = get(
    "get_all_profiles",
    memories.GetAllProfilesRequest,
    memories.GetProfilesResponse,
    Role.READER,
    "List the profiles of all users.",
)
get_profile_statistics = get(
    "get_profile_statistics", Nothing, memories.GetProfileStatisticsResponse, Role.READER, "Count profiles by status."
)
get_user_playbooks = post(
    "get_user_playbooks",
    memories.GetUserPlaybooksRequest,
    memories.GetUserPlaybooksResponse,
    Role.READER,
    "List playbooks learned from users.",
)
get_agent_playbooks = post(
    "get_agent_playbooks",
    memories.GetAgentPlaybooksRequest,
    memories.GetAgentPlaybooksResponse,
    Role.READER,
    "List playbooks shared by all users.",
)
add_user_profile = post(
    "add_user_profile",
    memories.AddUserProfileRequest,
    memories.AddedResponse,
    Role.AGENT,
    "Add profiles by hand.",
    repeatable=False,
)
add_user_playbook = post(
    "add_user_playbook",
    memories.AddUserPlaybookRequest,
    memories.AddedResponse,
    Role.AGENT,
    "Add user playbooks by hand.",
    repeatable=False,
)
add_agent_playbook = post(
    "add_agent_playbook",
    memories.AddAgentPlaybookRequest,
    memories.AddedResponse,
    Role.AGENT,
    "Add agent playbooks by hand.",
    repeatable=False,
)
update_user_profile = post(
    "update_user_profile",
    memories.UpdateUserProfileRequest,
    memories.UpdatedResponse,
    Role.REVIEWER,
    "Change a profile.",
    method="PUT",
)
update_user_playbook = post(
    "update_user_playbook",
    memories.UpdateUserPlaybookRequest,
    memories.UpdatedResponse,
    Role.REVIEWER,
    "Change a user playbook.",
    method="PUT",
)
update_agent_playbook = post(
    "update_agent_playbook",
    memories.UpdateAgentPlaybookRequest,
    memories.UpdatedResponse,
    Role.REVIEWER,
    "Change an agent playbook.",
    method="PUT",
)
update_agent_playbook_status = post(
    "update_agent_playbook_status",
    memories.UpdatePlaybookStatusRequest,
    memories.UpdatedResponse,
    Role.REVIEWER,
    "Approve or reject an agent playbook.",
    method="PUT",
)
delete_profile = post(
    "delete_profile",
    memories.DeleteUserProfileRequest,
    memories.DeletedResponse,
    Role.REVIEWER,
    "Delete a profile, or the profiles of a user that match a query.",
    method="DELETE",
)
delete_interaction = post(
    "delete_interaction",
    memories.DeleteUserInteractionRequest,
    memories.DeletedResponse,
    Role.REVIEWER,
    "Delete a turn.",
    method="DELETE",
)
delete_request = post(
    "delete_request",
    memories.DeleteRequestRequest,
    memories.DeletedResponse,
    Role.REVIEWER,
    "Delete a request with its turns.",
    method="DELETE",
)
delete_session = post(
    "delete_session",
    memories.DeleteSessionRequest,
    memories.DeleteSessionResponse,
    Role.REVIEWER,
    "Delete a session with its requests and turns.",
    method="DELETE",
)
delete_agent_playbook = post(
    "delete_agent_playbook",
    memories.DeleteAgentPlaybookRequest,
    memories.DeletedResponse,
    Role.REVIEWER,
    "Delete an agent playbook.",
    method="DELETE",
)
delete_user_playbook = post(
    "delete_user_playbook",
    memories.DeleteUserPlaybookRequest,
    memories.DeletedResponse,
    Role.REVIEWER,
    "Delete a user playbook.",
    method="DELETE",
)
delete_requests_by_ids = post(
    "delete_requests_by_ids",
    memories.DeleteRequestsByIdsRequest,
    memories.BulkDeleteResponse,
    Role.REVIEWER,
    "Delete several requests with their turns.",
    method="DELETE",
)
delete_profiles_by_ids = post(
    "delete_profiles_by_ids",
    memories.DeleteProfilesByIdsRequest,
    memories.BulkDeleteResponse,
    Role.REVIEWER,
    "Delete several profiles.",
    method="DELETE",
)
delete_agent_playbooks_by_ids = post(
    "delete_agent_playbooks_by_ids",
    memories.DeleteAgentPlaybooksByIdsRequest,
    memories.BulkDeleteResponse,
    Role.REVIEWER,
    "Delete several agent playbooks.",
    method="DELETE",
)
delete_user_playbooks_by_ids = post(
    "delete_user_playbooks_by_ids",
    memories.DeleteUserPlaybooksByIdsRequest,
    memories.BulkDeleteResponse,
    Role.REVIEWER,
    "Delete several user playbooks.",
    method="DELETE",
)
delete_all_interactions = post(
    "delete_all_interactions",
    Nothing,
    memories.BulkDeleteResponse,
    Role.ADMIN,
    "Delete every request and turn.",
    method="DELETE",
)
delete_all_profiles = post(
    "delete_all_profiles", Nothing, memories.BulkDeleteResponse, Role.ADMIN, "Delete every profile.", method="DELETE"
)
delete_all_playbooks = post(
    "delete_all_playbooks",
    Nothing,
    memories.BulkDeleteResponse,
    Role.ADMIN,
    "Delete every user and agent playbook.",
    method="DELETE",
)
delete_all_user_playbooks = post(
    "delete_all_user_playbooks",
    Nothing,
    memories.BulkDeleteResponse,
    Role.ADMIN,
    "Delete every user playbook.",
    method="DELETE",
)
delete_all_agent_playbooks = post(
    "delete_all_agent_playbooks",
    Nothing,
    memories.BulkDeleteResponse,
    Role.ADMIN,
    "Delete every agent playbook.",
    method="DELETE",
)
clear_user_data = post(
    "clear_user_data",
    memories.ClearUserDataRequest,
    memories.ClearUserDataResponse,
    Role.ADMIN,
    "Erase everything known of a user.",
)
storage_stats = get(
    "storage_stats",
    memories.StorageStatsRequest,
    memories.StorageStatsResponse,
    Role.READER,
    "Count the memories of a user.",
)

# --- lessons shared by all users -----------------------------------------------------------------------------------

run_playbook_aggregation = post(
    "run_playbook_aggregation",
    aggregation.RunPlaybookAggregationRequest,
    aggregation.RunPlaybookAggregationResponse,
    Role.REVIEWER,
    "Make one shared playbook of user playbooks that say the same, and wait for it.",
)
submit_playbook_aggregation = post(
    "submit_playbook_aggregation",
    aggregation.SubmitPlaybookAggregationRequest,
    aggregation.PlaybookAggregationOperation,
    Role.REVIEWER,
    "The same in the background; sent twice under one request_id, it is one.",
    path="/api/playbook_aggregation_operations",
    exclude_none=False,
    status=202,
)
get_playbook_aggregation_operation = get(
    "get_playbook_aggregation_operation",
    aggregation.GetPlaybookAggregationOperationRequest,
    aggregation.PlaybookAggregationOperation,
    Role.READER,
    "Tell how far an aggregation is.",
    path="/api/playbook_aggregation_operations/{operation_id}",
    exclude_none=False,
)
playbook_aggregation_change_logs = get(
    "playbook_aggregation_change_logs",
    aggregation.PlaybookAggregationChangeLogRequest,
    aggregation.PlaybookAggregationChangeLogResponse,
    Role.READER,
    "List what aggregations added, updated and removed, as it was then.",
)

# --- meter and review ----------------------------------------------------------------------------------------------

get_injection_stats = post(
    "get_injection_stats",
    meter.GetInjectionStatsRequest,
    meter.GetInjectionStatsResponse,
    Role.READER,
    "Tell how often each memory was shown, and what that cost.",
)
get_memory_review = post(
    "get_memory_review",
    review.GetMemoryReviewRequest,
    review.GetMemoryReviewResponse,
    Role.READER,
    "List the memories that deserve a person's look, and why.",
)

# --- how sessions end ----------------------------------------------------------------------------------------------

session_outcome = post(
    "session_outcome",
    evaluations.SetSessionOutcomeRequest,
    evaluations.SetSessionOutcomeResponse,
    Role.AGENT,
    "State how a session ended; it goes before any judge's guess.",
)
get_session_outcomes = post(
    "get_session_outcomes",
    evaluations.GetSessionOutcomesRequest,
    evaluations.GetSessionOutcomesResponse,
    Role.READER,
    "List how sessions ended, as their callers stated it, the latest first.",
)
get_agent_success_evaluation_results = post(
    "get_agent_success_evaluation_results",
    evaluations.GetAgentSuccessEvaluationResultsRequest,
    evaluations.GetEvaluationResultsViewResponse,
    Role.READER,
    "List how sessions ended and why, newest first.",
)
grade_on_demand = post(
    "grade_on_demand",
    evaluations.GradeOnDemandRequest,
    evaluations.GradeOnDemandResponse,
    Role.AGENT,
    "Judge a session now.",
    path="/api/evaluations/grade_on_demand",
)
regenerate_evaluations = post(
    "regenerate_evaluations",
    evaluations.RegenerateRequest,
    evaluations.RegenerateStartResponse,
    Role.REVIEWER,
    "Judge the sessions of some time anew, in the background.",
    path="/api/evaluations/regenerate",
    repeatable=False,
)
get_evaluation_regeneration = get(
    "get_evaluation_regeneration",
    evaluations.RegenerationRequest,
    evaluations.RegenerateStatusResponse,
    Role.READER,
    "Tell how far a regeneration is.",
    path="/api/evaluations/regenerate/{job_id}",
    exclude_none=False,
)
cancel_evaluation_regeneration = post(
    "cancel_evaluation_regeneration",
    evaluations.RegenerationRequest,
    evaluations.CancelRegenerationResponse,
    Role.REVIEWER,
    "Stop a regeneration before its next session.",
    path="/api/evaluations/regenerate/{job_id}",
    method="DELETE",
    where="query",
)
recent_shadow_comparisons = get(
    "recent_shadow_comparisons",
    evaluations.RecentShadowComparisonsRequest,
    evaluations.GetRecentShadowComparisonsResponse,
    Role.READER,
    "List answers that were compared with their shadows, newest first.",
    path="/api/evaluations/shadow_comparisons/recent",
)
get_evaluation_overview = post(
    "get_evaluation_overview",
    evaluations.GetEvaluationOverviewRequest,
    evaluations.GetEvaluationOverviewResponse,
    Role.READER,
    "Add up how sessions ended, against the time before, and by the memories that were cited.",
    exclude_none=False,
)
get_dashboard_stats = post(
    "get_dashboard_stats",
    evaluations.GetDashboardStatsRequest,
    evaluations.GetDashboardStatsResponse,
    Role.READER,
    "Add up what was said, learned and judged, day by day.",
)

# --- review and meter, in full ---------------------------------------------------------------------------------------

review_memories = post(
    "review_memories",
    review.ReviewMemoriesRequest,
    review.ReviewMemoriesResponse,
    Role.REVIEWER,
    "Act on memories, or see what an action would change; what was done can be undone.",
    path="/api/memory_review/actions",
    repeatable=False,
)
undo_review = post(
    "undo_review",
    review.UndoReviewRequest,
    review.ReviewMemoriesResponse,
    Role.REVIEWER,
    "Take an action back, unless a newer change stands in the way.",
    path="/api/memory_review/undo",
    repeatable=False,
)
get_review_actions = get(
    "get_review_actions",
    review.GetReviewActionsRequest,
    review.GetReviewActionsResponse,
    Role.READER,
    "List who did what to memories, with what they were before and after.",
    path="/api/memory_review/actions",
)
get_memory_duplicates = post(
    "get_memory_duplicates",
    review.GetDuplicatesRequest,
    review.GetDuplicatesResponse,
    Role.READER,
    "List memories that say nearly the same.",
)
get_playbook_application_stats = post(
    "get_playbook_application_stats",
    meter.GetPlaybookApplicationStatsRequest,
    meter.GetPlaybookApplicationStatsResponse,
    Role.READER,
    "Tell how often agents named each memory as what they went by.",
)
get_memory_costs = post(
    "get_memory_costs",
    meter.GetMemoryCostsRequest,
    meter.GetMemoryCostsResponse,
    Role.READER,
    "Put a price tag on memories, users, agent versions or days.",
)
get_memory_lift = post(
    "get_memory_lift",
    meter.GetMemoryLiftRequest,
    meter.GetMemoryLiftResponse,
    Role.READER,
    "Compare sessions with a memory to those without it, and after it to before.",
    exclude_none=False,
)
get_injection = post(
    "get_injection",
    meter.GetInjectionRequest,
    meter.GetInjectionResponse,
    Role.READER,
    "Show a past search again: what was asked, found and rendered.",
)
compare_injection = post(
    "compare_injection",
    meter.CompareInjectionRequest,
    meter.CompareInjectionResponse,
    Role.READER,
    "Ask a past search's question of the memories as they were at two moments.",
)

# --- experiments ---------------------------------------------------------------------------------------------------

list_retrieval_experiments = get(
    "list_retrieval_experiments",
    Nothing,
    experiments.RetrievalExperimentListResponse,
    Role.READER,
    "List holdout experiments.",
    path="/api/retrieval_experiments",
    exclude_none=False,
)
start_retrieval_experiment = post(
    "start_retrieval_experiment",
    experiments.StartRetrievalExperimentRequest,
    experiments.RetrievalExperimentListResponse,
    Role.ADMIN,
    "Start a holdout: so many percent of the users are shown no memories.",
    path="/api/retrieval_experiments",
    exclude_none=False,
    repeatable=False,
)
stop_retrieval_experiment = post(
    "stop_retrieval_experiment",
    experiments.StopRetrievalExperimentRequest,
    experiments.RetrievalExperimentListResponse,
    Role.ADMIN,
    "Stop the holdout that runs.",
    path="/api/retrieval_experiments/stop",
    exclude_none=False,
    repeatable=False,
)
get_retrieval_experiment_results = get(
    "get_retrieval_experiment_results",
    experiments.GetRetrievalExperimentResultsRequest,
    experiments.RetrievalExperimentResultsResponse,
    Role.READER,
    "Compare the users who are shown memories with those who are not.",
    path="/api/retrieval_experiments/{experiment_id}/results",
    exclude_none=False,
)

# --- configuration -------------------------------------------------------------------------------------------------


def _whole(config: Config) -> Config:
    return config


def _some(**fields: Any) -> ConfigUpdate:
    return ConfigUpdate.model_validate(fields)


get_config = get(
    "get_config", Nothing, Config, Role.READER, "Read the configuration; secrets are masked.", exclude_none=False
)
set_config = post(
    "set_config",
    _whole,
    SetConfigResponse,
    Role.ADMIN,
    "Replace the configuration; a masked secret stays as it is.",
    shape=Config,
    exclude_none=False,
)
update_config = post(
    "update_config",
    _some,
    SetConfigResponse,
    Role.ADMIN,
    "Replace some fields of the configuration.",
    shape=ConfigUpdate,
    exclude_none=False,
)

# --- system --------------------------------------------------------------------------------------------------------

whoami = get("whoami", Nothing, system.WhoamiResponse, Role.READER, "Tell whose key this is and where its data lives.")
my_config = get("my_config", Nothing, system.MyConfigResponse, Role.ADMIN, "Show where this org's data is stored.")
status = get(
    "status",
    Nothing,
    system.StatusResponse,
    Role.READER,
    "Show jobs, dead letters, store, embedder, counts and coverage.",
)
list_keys = get(
    "list_keys", Nothing, system.ListKeysResponse, Role.ADMIN, "List keys, without their secrets.", path="/api/keys"
)
create_key = post(
    "create_key",
    system.CreateKeyRequest,
    system.CreateKeyResponse,
    Role.ADMIN,
    "Make a key; its secret is shown once.",
    path="/api/keys",
    repeatable=False,
)
revoke_key = post(
    "revoke_key",
    system.RevokeKeyRequest,
    system.RevokeKeyResponse,
    Role.ADMIN,
    "Revoke a key; it stops working at once.",
    path="/api/keys",
    method="DELETE",
)
version = get(
    "version",
    Nothing,
    system.VersionResponse,
    Role.PUBLIC,
    "Tell the versions of server and API.",
    path="/meta/version",
    exclude_none=False,
)
welcome = get("welcome", Nothing, system.WelcomeResponse, Role.PUBLIC, "Say hello.", path="/")
health = get(
    "health", Nothing, system.ReadinessResponse, Role.PUBLIC, "Tell whether everything required works.", path="/health"
)
health_live = get(
    "health_live", Nothing, system.AliveResponse, Role.PUBLIC, "Tell that the process runs.", path="/health/live"
)
health_ready = get(
    "health_ready",
    Nothing,
    system.ReadinessResponse,
    Role.PUBLIC,
    "Tell whether requests can be served.",
    path="/health/ready",
)
healthz = get(
    "healthz",
    Nothing,
    system.AliveResponse,
    Role.PUBLIC,
    "Tell that the process runs, under the name some probes expect.",
    path="/healthz",
)

ENDPOINTS: tuple[Endpoint[..., Any], ...] = tuple(
    endpoint for endpoint in list(globals().values()) if isinstance(endpoint, Endpoint)
)
