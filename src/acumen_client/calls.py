"""Every endpoint of the API, described once: the server routes by this table, the clients expose it as methods."""

from typing import Any

from acumen_client import legacy
from acumen_client.endpoint import Endpoint, delete, get, post, put
from acumen_client.wire import (
    aggregation,
    changes,
    erasure,
    evaluations,
    experiments,
    learn,
    memories,
    meter,
    observe,
    overview,
    recall,
    review,
    system,
    verdicts,
)
from acumen_client.wire import alerts as alert_shapes
from acumen_client.wire import failures as failure_shapes
from acumen_client.wire import operations as operation_shapes
from acumen_client.wire.config import Config, ConfigUpdate, SetConfigResponse
from acumen_client.wire.shapes import Nothing, Role

PUBLIC, READER, AGENT, REVIEWER, ADMIN = Role


def _whole(config: Config) -> Config:
    return config


def _some(**fields: Any) -> ConfigUpdate:
    return ConfigUpdate.model_validate(fields)


class Calls:
    """The methods of both clients: endpoint, role, summary, then the models of request and answer."""

    # --- observe ---------------------------------------------------------------------------------------------------

    publish = post("publish_interaction", AGENT, "Publish turns of a session. Returns once they are stored on disk.")(
        observe.PublishUserInteractionRequest, observe.PublishUserInteractionResponse
    )
    finalize_session = post("finalize_session", AGENT, "End a session, so that it is learned from now.")(
        observe.FinalizeSessionRequest, observe.FinalizeSessionResponse
    )
    learning_status = get("learning_status", READER, "Show whether a published request has been learned from.")(
        observe.LearningStatusRequest, observe.LearningStatusResponse
    )
    requests = post("get_requests", READER, "List sessions with their requests and turns, newest session first.")(
        observe.GetRequestsRequest, observe.GetRequestsResponse
    )
    interactions = post("get_interactions", READER, "List the turns of a user.")(
        observe.GetInteractionsRequest, observe.GetInteractionsResponse
    )
    all_interactions = get("get_all_interactions", READER, "List the latest turns of all users.")(
        observe.GetAllInteractionsRequest, observe.GetInteractionsResponse
    )

    # --- learn -----------------------------------------------------------------------------------------------------

    rerun_profiles = post(
        "rerun_profile_generation",
        REVIEWER,
        "Rebuild profiles from the conversation history, as pending versions.",
        repeatable=False,
    )(learn.RerunProfileGenerationRequest, learn.RerunProfileGenerationResponse)
    rerun_playbooks = post(
        "rerun_playbook_generation",
        REVIEWER,
        "Rebuild user playbooks from the conversation history, as pending versions.",
        repeatable=False,
    )(learn.RerunPlaybookGenerationRequest, learn.RerunPlaybookGenerationResponse)
    generate_profiles = post(
        "manual_profile_generation", REVIEWER, "Extract profiles from each user's latest window now.", repeatable=False
    )(learn.ManualProfileGenerationRequest, learn.ManualProfileGenerationResponse)
    generate_playbooks = post(
        "manual_playbook_generation",
        REVIEWER,
        "Extract playbooks from each user's latest window now.",
        repeatable=False,
    )(learn.ManualPlaybookGenerationRequest, learn.ManualPlaybookGenerationResponse)
    upgrade_profiles = post(
        "upgrade_all_profiles", ADMIN, "Make pending profiles current and archive the current ones."
    )(learn.UpgradeProfilesRequest, learn.UpgradeProfilesResponse)
    downgrade_profiles = post("downgrade_all_profiles", ADMIN, "Restore the archived profiles.", repeatable=False)(
        learn.DowngradeProfilesRequest, learn.DowngradeProfilesResponse
    )
    upgrade_user_playbooks = post(
        "upgrade_all_user_playbooks", ADMIN, "Make pending user playbooks current and archive the current ones."
    )(learn.UpgradeUserPlaybooksRequest, learn.UpgradeUserPlaybooksResponse)
    downgrade_user_playbooks = post(
        "downgrade_all_user_playbooks", ADMIN, "Restore the archived user playbooks.", repeatable=False
    )(learn.DowngradeUserPlaybooksRequest, learn.DowngradeUserPlaybooksResponse)
    operation_status = get("get_operation_status", READER, "Show the progress of the last run of a service.")(
        learn.GetOperationStatusRequest, learn.GetOperationStatusResponse
    )
    cancel_operation = post("cancel_operation", REVIEWER, "Cancel a run, or all runs, before the next window.")(
        learn.CancelOperationRequest, learn.CancelOperationResponse
    )
    provenance = post("get_learning_provenance", READER, "Show the turns that a memory was learned from.")(
        learn.GetLearningProvenanceRequest, learn.LearningProvenanceViewResponse
    )
    provenance_by_address = get(
        "read_learning_provenance",
        READER,
        "Show the turns that a memory was learned from, by GET.",
        path="/api/get_learning_provenance",
    )(learn.GetLearningProvenanceRequest, learn.LearningProvenanceViewResponse)
    profile_change_log = get(
        "profile_change_log", READER, "List profiles that were added, removed or mentioned again, and why."
    )(learn.ProfileChangeLogRequest, learn.ProfileChangeLogViewResponse)

    # --- operations ------------------------------------------------------------------------------------------------

    record_operations = post(
        "record_operations", AGENT, "Record up to 1,000 operations. Reports for each whether it was stored, or why not."
    )(operation_shapes.RecordOperationsRequest, operation_shapes.RecordOperationsResponse)
    event = post("event", AGENT, "Record one operation in the legacy format.", path="/event", repeatable=False)(
        legacy.EventRequest, legacy.EventResponse
    )
    stats = get("stats", READER, "Count operations by source and show the latest.", path="/stats")(
        Nothing, legacy.StatsResponse
    )
    operations = post("get_operations", READER, "List operations, or follow them live.")(
        operation_shapes.GetOperationsRequest, operation_shapes.GetOperationsResponse
    )
    export_outcomes = get(
        "export_outcomes", READER, "Export recorded outcomes, verdicts and evaluations page by page, oldest first."
    )(operation_shapes.ExportOutcomesRequest, operation_shapes.GetOperationsResponse)
    record_verdict = post(
        "record_verdict",
        AGENT,
        "Record an auditor's verdict on a subject, and count how often its findings occurred elsewhere.",
    )(verdicts.RecordVerdictRequest, verdicts.RecordVerdictResponse)
    verdict_history = get("verdict_history", READER, "List the findings on a subject, or the subjects with a finding.")(
        verdicts.VerdictHistoryRequest, verdicts.VerdictHistoryResponse
    )
    failures = post("get_failures", READER, "List failure groups, latest first.")(
        failure_shapes.GetFailuresRequest, failure_shapes.GetFailuresResponse
    )
    failure = get(
        "get_failure",
        READER,
        "Show one failure group: trend, examples, analyses and proposed lesson.",
        path="/api/failures/{group_id}",
    )(failure_shapes.GetFailureRequest, failure_shapes.FailureResponse)
    change_failure = post("change_failure", REVIEWER, "Merge, unmerge, resolve, archive or reopen failure groups.")(
        failure_shapes.ChangeFailureRequest, failure_shapes.ChangeFailureResponse
    )
    proposals = post("get_proposals", READER, "List the lessons proposed from operations, with their evidence.")(
        failure_shapes.GetProposalsRequest, failure_shapes.GetProposalsResponse
    )
    decide_proposal = post("decide_proposal", REVIEWER, "Approve, edit or reject a proposed lesson.")(
        failure_shapes.DecideProposalRequest, failure_shapes.DecideProposalResponse
    )
    lesson_effect = get("lesson_effect", READER, "Compare the failure rate of sessions with and without a lesson.")(
        failure_shapes.LessonEffectRequest, failure_shapes.LessonEffectResponse
    )
    alerts = post("get_alerts", READER, "List active alerts: silent sources, escalating failures, failing analysis.")(
        alert_shapes.GetAlertsRequest, alert_shapes.GetAlertsResponse
    )
    purge_operations = post(
        "purge_operations", ADMIN, "Delete everything derived from an operation, a session or a source."
    )(operation_shapes.PurgeOperationsRequest, operation_shapes.PurgeOperationsResponse)

    # --- recall ----------------------------------------------------------------------------------------------------

    search = post("search", READER, "Search memories of all kinds and render the context to add to a prompt.")(
        recall.UnifiedSearchRequest, recall.UnifiedSearchViewResponse
    )
    search_profiles = post("search_profiles", READER, "Search the profiles of a user.")(
        recall.SearchUserProfileRequest, recall.SearchProfilesViewResponse
    )
    search_user_playbooks = post("search_user_playbooks", READER, "Search user playbooks.")(
        recall.SearchUserPlaybookRequest, recall.SearchUserPlaybooksViewResponse
    )
    search_agent_playbooks = post("search_agent_playbooks", READER, "Search agent playbooks, which all users share.")(
        recall.SearchAgentPlaybookRequest, recall.SearchAgentPlaybooksViewResponse
    )
    search_interactions = post("search_interactions", READER, "Search the turns of a user.")(
        recall.SearchInteractionRequest, recall.SearchInteractionsViewResponse
    )

    # --- memories --------------------------------------------------------------------------------------------------

    profiles = post("get_profiles", READER, "List the profiles of a user.")(
        memories.GetUserProfilesRequest, memories.GetProfilesResponse
    )
    all_profiles = get("get_all_profiles", READER, "List the profiles of all users.")(
        memories.GetAllProfilesRequest, memories.GetProfilesResponse
    )
    profile_statistics = get("get_profile_statistics", READER, "Count profiles by status.")(
        Nothing, memories.GetProfileStatisticsResponse
    )
    user_playbooks = post("get_user_playbooks", READER, "List user playbooks.")(
        memories.GetUserPlaybooksRequest, memories.GetUserPlaybooksResponse
    )
    agent_playbooks = post("get_agent_playbooks", READER, "List agent playbooks, which all users share.")(
        memories.GetAgentPlaybooksRequest, memories.GetAgentPlaybooksResponse
    )
    add_profiles = post("add_user_profile", AGENT, "Add profiles by hand.", repeatable=False)(
        memories.AddUserProfileRequest, memories.AddedResponse
    )
    add_user_playbooks = post("add_user_playbook", AGENT, "Add user playbooks by hand.", repeatable=False)(
        memories.AddUserPlaybookRequest, memories.AddedResponse
    )
    add_agent_playbooks = post("add_agent_playbook", AGENT, "Add agent playbooks by hand.", repeatable=False)(
        memories.AddAgentPlaybookRequest, memories.AddedResponse
    )
    update_profile = put("update_user_profile", REVIEWER, "Change a profile.")(
        memories.UpdateUserProfileRequest, memories.UpdatedResponse
    )
    update_user_playbook = put("update_user_playbook", REVIEWER, "Change a user playbook.")(
        memories.UpdateUserPlaybookRequest, memories.UpdatedResponse
    )
    update_agent_playbook = put("update_agent_playbook", REVIEWER, "Change an agent playbook.")(
        memories.UpdateAgentPlaybookRequest, memories.UpdatedResponse
    )
    update_agent_playbook_status = put(
        "update_agent_playbook_status", REVIEWER, "Approve or reject an agent playbook."
    )(memories.UpdatePlaybookStatusRequest, memories.UpdatedResponse)
    delete_profile = delete(
        "delete_profile", REVIEWER, "Delete a profile, or (role admin) the profiles of a user that match a query."
    )(erasure.DeleteUserProfileRequest, erasure.DeletedResponse)
    delete_interaction = delete("delete_interaction", REVIEWER, "Delete a turn.")(
        erasure.DeleteUserInteractionRequest, erasure.DeletedResponse
    )
    delete_request = delete("delete_request", REVIEWER, "Delete a request with its turns.")(
        erasure.DeleteRequestRequest, erasure.DeletedResponse
    )
    delete_session = delete("delete_session", REVIEWER, "Delete a session with its requests and turns.")(
        erasure.DeleteSessionRequest, erasure.DeleteSessionResponse
    )
    delete_agent_playbook = delete("delete_agent_playbook", REVIEWER, "Delete an agent playbook.")(
        erasure.DeleteAgentPlaybookRequest, erasure.DeletedResponse
    )
    delete_user_playbook = delete("delete_user_playbook", REVIEWER, "Delete a user playbook.")(
        erasure.DeleteUserPlaybookRequest, erasure.DeletedResponse
    )
    delete_requests = delete("delete_requests_by_ids", ADMIN, "Delete several requests with their turns.")(
        erasure.DeleteRequestsByIdsRequest, erasure.BulkDeleteResponse
    )
    delete_profiles = delete("delete_profiles_by_ids", ADMIN, "Delete several profiles.")(
        erasure.DeleteProfilesByIdsRequest, erasure.BulkDeleteResponse
    )
    delete_agent_playbooks = delete("delete_agent_playbooks_by_ids", ADMIN, "Delete several agent playbooks.")(
        erasure.DeleteAgentPlaybooksByIdsRequest, erasure.BulkDeleteResponse
    )
    delete_user_playbooks = delete("delete_user_playbooks_by_ids", ADMIN, "Delete several user playbooks.")(
        erasure.DeleteUserPlaybooksByIdsRequest, erasure.BulkDeleteResponse
    )
    delete_all_interactions = delete("delete_all_interactions", ADMIN, "Delete every request and turn.")(
        Nothing, erasure.BulkDeleteResponse
    )
    delete_all_profiles = delete("delete_all_profiles", ADMIN, "Delete every profile.")(
        Nothing, erasure.BulkDeleteResponse
    )
    delete_all_playbooks = delete("delete_all_playbooks", ADMIN, "Delete every user and agent playbook.")(
        Nothing, erasure.BulkDeleteResponse
    )
    delete_all_user_playbooks = delete("delete_all_user_playbooks", ADMIN, "Delete every user playbook.")(
        Nothing, erasure.BulkDeleteResponse
    )
    delete_all_agent_playbooks = delete("delete_all_agent_playbooks", ADMIN, "Delete every agent playbook.")(
        Nothing, erasure.BulkDeleteResponse
    )
    clear_user_data = post("clear_user_data", ADMIN, "Erase all data of a user.")(
        erasure.ClearUserDataRequest, erasure.ClearUserDataResponse
    )
    storage_stats = get("storage_stats", READER, "Count the memories of a user.")(
        memories.StorageStatsRequest, memories.StorageStatsResponse
    )

    # --- aggregation -------------------------------------------------------------------------------------------------

    run_playbook_aggregation = post(
        "run_playbook_aggregation",
        REVIEWER,
        "Aggregate similar user playbooks into agent playbooks and wait for the result.",
    )(aggregation.RunPlaybookAggregationRequest, aggregation.RunPlaybookAggregationResponse)
    submit_playbook_aggregation = post(
        "submit_playbook_aggregation",
        REVIEWER,
        "Start an aggregation in the background. Idempotent per request_id.",
        path="/api/playbook_aggregation_operations",
        status=202,
    )(aggregation.SubmitPlaybookAggregationRequest, aggregation.PlaybookAggregationOperation)
    playbook_aggregation_operation = get(
        "get_playbook_aggregation_operation",
        READER,
        "Show the progress of an aggregation.",
        path="/api/playbook_aggregation_operations/{operation_id}",
    )(aggregation.GetPlaybookAggregationOperationRequest, aggregation.PlaybookAggregationOperation)
    playbook_aggregation_changes = get(
        "playbook_aggregation_change_logs",
        READER,
        "List the agent playbooks that aggregations added, updated and removed.",
    )(aggregation.PlaybookAggregationChangeLogRequest, aggregation.PlaybookAggregationChangeLogResponse)

    # --- meter and review ------------------------------------------------------------------------------------------

    injection_stats = post("get_injection_stats", READER, "Count injections and injected tokens per memory.")(
        meter.GetInjectionStatsRequest, meter.GetInjectionStatsResponse
    )
    memory_review = post("get_memory_review", READER, "List the memories that need review, and why.")(
        review.GetMemoryReviewRequest, review.GetMemoryReviewResponse
    )

    # --- outcomes and evaluation -------------------------------------------------------------------------------------

    state_outcome = post(
        "session_outcome", AGENT, "Report the outcome of a session. It takes precedence over evaluation."
    )(evaluations.SetSessionOutcomeRequest, evaluations.SetSessionOutcomeResponse)
    session_outcomes = post("get_session_outcomes", READER, "List reported session outcomes, latest first.")(
        evaluations.GetSessionOutcomesRequest, evaluations.GetSessionOutcomesResponse
    )
    evaluation_results = post(
        "get_agent_success_evaluation_results", READER, "List evaluated session outcomes with reasons, newest first."
    )(evaluations.GetAgentSuccessEvaluationResultsRequest, evaluations.GetEvaluationResultsViewResponse)
    grade_on_demand = post(
        "grade_on_demand", AGENT, "Evaluate a session now.", path="/api/evaluations/grade_on_demand"
    )(evaluations.GradeOnDemandRequest, evaluations.GradeOnDemandResponse)
    regenerate_evaluations = post(
        "regenerate_evaluations",
        REVIEWER,
        "Evaluate the sessions of a time range again, in the background.",
        path="/api/evaluations/regenerate",
        repeatable=False,
    )(evaluations.RegenerateRequest, evaluations.RegenerateStartResponse)
    evaluation_regeneration = get(
        "get_evaluation_regeneration",
        READER,
        "Show the progress of a regeneration.",
        path="/api/evaluations/regenerate/{job_id}",
    )(evaluations.RegenerationRequest, evaluations.RegenerateStatusResponse)
    cancel_evaluation_regeneration = delete(
        "cancel_evaluation_regeneration",
        REVIEWER,
        "Cancel a regeneration before its next session.",
        path="/api/evaluations/regenerate/{job_id}",
        where="query",
    )(evaluations.RegenerationRequest, evaluations.CancelRegenerationResponse)
    recent_shadow_comparisons = get(
        "recent_shadow_comparisons",
        READER,
        "List shadow comparisons, newest first.",
        path="/api/evaluations/shadow_comparisons/recent",
    )(evaluations.RecentShadowComparisonsRequest, evaluations.GetRecentShadowComparisonsResponse)
    evaluation_overview = post(
        "get_evaluation_overview",
        READER,
        "Summarize session outcomes, compared with the previous period and by cited memory.",
    )(overview.GetEvaluationOverviewRequest, overview.GetEvaluationOverviewResponse)
    dashboard_stats = post("get_dashboard_stats", READER, "Count interactions, memories and evaluations per day.")(
        overview.GetDashboardStatsRequest, overview.GetDashboardStatsResponse
    )

    # --- review and meter, in full ---------------------------------------------------------------------------------

    review_memories = post(
        "review_memories",
        REVIEWER,
        "Apply a review action to memories, or preview it. Actions can be undone.",
        path="/api/memory_review/actions",
        repeatable=False,
    )(review.ReviewMemoriesRequest, review.ReviewMemoriesResponse)
    undo_review = post(
        "undo_review",
        REVIEWER,
        "Undo a review action, unless the memory was changed again since.",
        path="/api/memory_review/undo",
        repeatable=False,
    )(review.UndoReviewRequest, review.ReviewMemoriesResponse)
    review_actions = get(
        "get_review_actions",
        READER,
        "List the audit log: who changed which memories, with before and after.",
        path="/api/memory_review/actions",
    )(review.GetReviewActionsRequest, review.GetReviewActionsResponse)
    memory_changes = post(
        "get_memory_changes",
        READER,
        "List memory changes (learned, refined, superseded, conflict, forgotten, expired) with their source turns.",
    )(changes.GetMemoryChangesRequest, changes.GetMemoryChangesResponse)
    undo_memory_change = post(
        "undo_memory_change",
        REVIEWER,
        "Undo one change of a memory, unless it was changed again since.",
        repeatable=False,
    )(changes.UndoMemoryChangeRequest, changes.UndoMemoryChangeResponse)
    memory_conflicts = post(
        "get_memory_conflicts", READER, "List open conflicts between memories, with both texts and dates."
    )(review.GetConflictsRequest, review.GetConflictsResponse)
    settle_conflict = post(
        "settle_conflict",
        REVIEWER,
        "Settle a conflict: keep the newer memory, the older one, or both; it can be undone.",
        repeatable=False,
    )(review.SettleConflictRequest, review.ReviewMemoriesResponse)
    memory_duplicates = post("get_memory_duplicates", READER, "List duplicate memories.")(
        review.GetDuplicatesRequest, review.GetDuplicatesResponse
    )
    cite = post("cite", AGENT, "Count memories as cited, by handle or id.")(meter.CiteRequest, meter.CiteResponse)
    playbook_application_stats = post("get_playbook_application_stats", READER, "Count citations per memory.")(
        meter.GetPlaybookApplicationStatsRequest, meter.GetPlaybookApplicationStatsResponse
    )
    memory_costs = post("get_memory_costs", READER, "Show the cost per memory, user, agent version or day.")(
        meter.GetMemoryCostsRequest, meter.GetMemoryCostsResponse
    )
    memory_lift = post(
        "get_memory_lift", READER, "Compare outcomes of sessions with and without a memory, and before and after it."
    )(meter.GetMemoryLiftRequest, meter.GetMemoryLiftResponse)
    injection = post("get_injection", READER, "Show a past injection: query, results and rendered context.")(
        meter.GetInjectionRequest, meter.GetInjectionResponse
    )
    compare_injection = post(
        "compare_injection", READER, "Replay a past search on the memories of two points in time."
    )(meter.CompareInjectionRequest, meter.CompareInjectionResponse)

    # --- experiments -----------------------------------------------------------------------------------------------

    retrieval_experiments = get(
        "list_retrieval_experiments", READER, "List holdout experiments.", path="/api/retrieval_experiments"
    )(Nothing, experiments.RetrievalExperimentListResponse)
    start_retrieval_experiment = post(
        "start_retrieval_experiment",
        ADMIN,
        "Start a holdout: the given percentage of users receives no memories.",
        path="/api/retrieval_experiments",
        repeatable=False,
    )(experiments.StartRetrievalExperimentRequest, experiments.RetrievalExperimentListResponse)
    stop_retrieval_experiment = post(
        "stop_retrieval_experiment",
        ADMIN,
        "Stop the running holdout.",
        path="/api/retrieval_experiments/stop",
        repeatable=False,
    )(experiments.StopRetrievalExperimentRequest, experiments.RetrievalExperimentListResponse)
    retrieval_experiment_results = get(
        "get_retrieval_experiment_results",
        READER,
        "Compare users who receive memories with the holdout.",
        path="/api/retrieval_experiments/{experiment_id}/results",
    )(experiments.GetRetrievalExperimentResultsRequest, experiments.RetrievalExperimentResultsResponse)

    # --- configuration ---------------------------------------------------------------------------------------------

    config = get("get_config", READER, "Read the configuration. Secrets are masked.")(Nothing, Config)
    set_config = post("set_config", ADMIN, "Replace the configuration. Masked secrets are kept.", shape=Config)(
        _whole, SetConfigResponse
    )
    update_config = post("update_config", ADMIN, "Change the given fields of the configuration.", shape=ConfigUpdate)(
        _some, SetConfigResponse
    )

    # --- system ----------------------------------------------------------------------------------------------------

    whoami = get("whoami", READER, "Show the org and role of the API key, and where its data is stored.")(
        Nothing, system.WhoamiResponse
    )
    my_config = get("my_config", ADMIN, "Show where this org's data is stored.")(Nothing, system.MyConfigResponse)
    status = get("status", READER, "Show jobs, dead letters, store, embedder, counts and coverage.")(
        Nothing, system.StatusResponse
    )
    keys = get("list_keys", ADMIN, "List API keys, without their secrets.", path="/api/keys")(
        Nothing, system.ListKeysResponse
    )
    create_key = post(
        "create_key", ADMIN, "Create an API key. Its secret is shown once.", path="/api/keys", repeatable=False
    )(system.CreateKeyRequest, system.CreateKeyResponse)
    revoke_key = delete("revoke_key", ADMIN, "Revoke an API key immediately.", path="/api/keys")(
        system.RevokeKeyRequest, system.RevokeKeyResponse
    )
    version = get("version", PUBLIC, "Show the versions of server and API.", path="/meta/version")(
        Nothing, system.VersionResponse
    )
    welcome = get("welcome", PUBLIC, "Show a welcome message.", path="/")(Nothing, system.WelcomeResponse)
    health = get("health", PUBLIC, "Check that all required services work.", path="/health")(
        Nothing, system.ReadinessResponse
    )
    health_live = get("health_live", PUBLIC, "Check that the process is running.", path="/health/live")(
        Nothing, system.AliveResponse
    )
    health_ready = get("health_ready", PUBLIC, "Check that requests can be served.", path="/health/ready")(
        Nothing, system.ReadinessResponse
    )
    healthz = get(
        "healthz", PUBLIC, "Check that the process is running (alias for Kubernetes-style probes).", path="/healthz"
    )(Nothing, system.AliveResponse)


ENDPOINTS: "tuple[Endpoint[..., Any], ...]" = tuple(
    endpoint for endpoint in vars(Calls).values() if isinstance(endpoint, Endpoint)
)
