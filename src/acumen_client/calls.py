"""Every endpoint of the API, described once: the server routes by this table, the clients have it as their methods."""

from typing import Any

from acumen_client.endpoint import Endpoint, get, post
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
    """What both clients can do: each method's name, the endpoint it calls, who may, what for, and the two shapes."""

    # --- observe ---------------------------------------------------------------------------------------------------

    publish = post("publish_interaction", AGENT, "Store some turns of a session; success means they are on disk.")(
        observe.PublishUserInteractionRequest, observe.PublishUserInteractionResponse
    )
    finalize_session = post(
        "finalize_session", AGENT, "End a session, so that what it taught is learned now.", exclude_none=False
    )(observe.FinalizeSessionRequest, observe.FinalizeSessionResponse)
    learning_status = get("learning_status", READER, "Tell whether a published request has been learned from.")(
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
        "Make profiles anew from all that was said; they wait as pending.",
        repeatable=False,
    )(learn.RerunProfileGenerationRequest, learn.RerunProfileGenerationResponse)
    rerun_playbooks = post(
        "rerun_playbook_generation",
        REVIEWER,
        "Make user playbooks anew from all that was said; they wait as pending.",
        repeatable=False,
    )(learn.RerunPlaybookGenerationRequest, learn.RerunPlaybookGenerationResponse)
    generate_profiles = post(
        "manual_profile_generation", REVIEWER, "Read each user's last window for profiles now.", repeatable=False
    )(learn.ManualProfileGenerationRequest, learn.ManualProfileGenerationResponse)
    generate_playbooks = post(
        "manual_playbook_generation", REVIEWER, "Read each user's last window for playbooks now.", repeatable=False
    )(learn.ManualPlaybookGenerationRequest, learn.ManualPlaybookGenerationResponse)
    upgrade_profiles = post(
        "upgrade_all_profiles", ADMIN, "Make pending profiles current, and archive the current ones."
    )(learn.UpgradeProfilesRequest, learn.UpgradeProfilesResponse)
    downgrade_profiles = post("downgrade_all_profiles", ADMIN, "Go back to the archived profiles.", repeatable=False)(
        learn.DowngradeProfilesRequest, learn.DowngradeProfilesResponse
    )
    upgrade_user_playbooks = post(
        "upgrade_all_user_playbooks", ADMIN, "Make pending user playbooks current, and archive the current ones."
    )(learn.UpgradeUserPlaybooksRequest, learn.UpgradeUserPlaybooksResponse)
    downgrade_user_playbooks = post(
        "downgrade_all_user_playbooks", ADMIN, "Go back to the archived user playbooks.", repeatable=False
    )(learn.DowngradeUserPlaybooksRequest, learn.DowngradeUserPlaybooksResponse)
    operation_status = get("get_operation_status", READER, "Tell how far the last run of a service is.")(
        learn.GetOperationStatusRequest, learn.GetOperationStatusResponse
    )
    cancel_operation = post("cancel_operation", REVIEWER, "Stop what runs, at its next window.")(
        learn.CancelOperationRequest, learn.CancelOperationResponse
    )
    provenance = post("get_learning_provenance", READER, "Tell from which words a memory was learned.")(
        learn.GetLearningProvenanceRequest, learn.LearningProvenanceViewResponse
    )
    provenance_by_address = get(
        "read_learning_provenance", READER, "The same, to be asked by address.", path="/api/get_learning_provenance"
    )(learn.GetLearningProvenanceRequest, learn.LearningProvenanceViewResponse)
    profile_change_log = get(
        "profile_change_log", READER, "List what was added, removed and mentioned again, and why.", exclude_none=False
    )(learn.ProfileChangeLogRequest, learn.ProfileChangeLogViewResponse)

    # --- operations ------------------------------------------------------------------------------------------------

    record_operations = post(
        "record_operations",
        AGENT,
        "Store what agents did, up to a thousand at once; each is told to be on disk, or why not.",
    )(operation_shapes.RecordOperationsRequest, operation_shapes.RecordOperationsResponse)
    event = post(
        "event", AGENT, "Store one operation in the shape of the earlier observer.", path="/event", repeatable=False
    )(operation_shapes.EventRequest, operation_shapes.EventResponse)
    stats = get("stats", READER, "Count operations by source, and show the latest.", path="/stats")(
        Nothing, operation_shapes.StatsResponse
    )
    operations = post("get_operations", READER, "List operations, or follow them as they come.")(
        operation_shapes.GetOperationsRequest, operation_shapes.GetOperationsResponse
    )
    export_outcomes = get(
        "export_outcomes", READER, "Read outcomes, verdicts and evaluations page by page, oldest first."
    )(operation_shapes.ExportOutcomesRequest, operation_shapes.GetOperationsResponse)
    record_verdict = post(
        "record_verdict",
        AGENT,
        "Store an auditor's verdict on a subject, and tell how often its findings were found elsewhere.",
    )(verdicts.RecordVerdictRequest, verdicts.RecordVerdictResponse)
    verdict_history = get("verdict_history", READER, "What was found at a subject, or where a signature was found.")(
        verdicts.VerdictHistoryRequest, verdicts.VerdictHistoryResponse
    )
    failures = post("get_failures", READER, "List groups of failures, the latest first.")(
        failure_shapes.GetFailuresRequest, failure_shapes.GetFailuresResponse
    )
    failure = get(
        "get_failure",
        READER,
        "Tell all about one group of failures: its course, examples, analyses and proposed lesson.",
        path="/api/failures/{group_id}",
    )(failure_shapes.GetFailureRequest, failure_shapes.FailureResponse)
    change_failure = post(
        "change_failure", REVIEWER, "Merge groups of failures, take a merge back, resolve, archive or reopen one."
    )(failure_shapes.ChangeFailureRequest, failure_shapes.ChangeFailureResponse)
    proposals = post("get_proposals", READER, "List the lessons that operations suggest, with what they rest on.")(
        failure_shapes.GetProposalsRequest, failure_shapes.GetProposalsResponse
    )
    decide_proposal = post("decide_proposal", REVIEWER, "Approve, edit or reject a proposed lesson.")(
        failure_shapes.DecideProposalRequest, failure_shapes.DecideProposalResponse
    )
    lesson_effect = get(
        "lesson_effect", READER, "Tell whether sessions that were shown a lesson fail less in the way it is about."
    )(failure_shapes.LessonEffectRequest, failure_shapes.LessonEffectResponse)
    alerts = post(
        "get_alerts", READER, "List what is wrong: sources gone silent, failures that escalate, analysis that fails."
    )(alert_shapes.GetAlertsRequest, alert_shapes.GetAlertsResponse)
    purge_operations = post(
        "purge_operations", ADMIN, "Remove everything derived from one operation, one session or one source."
    )(operation_shapes.PurgeOperationsRequest, operation_shapes.PurgeOperationsResponse)

    # --- recall ----------------------------------------------------------------------------------------------------

    search = post("search", READER, "Find memories of all kinds, and the text to put before a model.")(
        recall.UnifiedSearchRequest, recall.UnifiedSearchViewResponse
    )
    search_profiles = post("search_profiles", READER, "Find profiles of a user.")(
        recall.SearchUserProfileRequest, recall.SearchProfilesViewResponse
    )
    search_user_playbooks = post("search_user_playbooks", READER, "Find playbooks learned from users.")(
        recall.SearchUserPlaybookRequest, recall.SearchUserPlaybooksViewResponse
    )
    search_agent_playbooks = post("search_agent_playbooks", READER, "Find playbooks shared by all users.")(
        recall.SearchAgentPlaybookRequest, recall.SearchAgentPlaybooksViewResponse
    )
    search_interactions = post("search_interactions", READER, "Find turns of a user.")(
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
    user_playbooks = post("get_user_playbooks", READER, "List playbooks learned from users.")(
        memories.GetUserPlaybooksRequest, memories.GetUserPlaybooksResponse
    )
    agent_playbooks = post("get_agent_playbooks", READER, "List playbooks shared by all users.")(
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
    update_profile = post("update_user_profile", REVIEWER, "Change a profile.", method="PUT")(
        memories.UpdateUserProfileRequest, memories.UpdatedResponse
    )
    update_user_playbook = post("update_user_playbook", REVIEWER, "Change a user playbook.", method="PUT")(
        memories.UpdateUserPlaybookRequest, memories.UpdatedResponse
    )
    update_agent_playbook = post("update_agent_playbook", REVIEWER, "Change an agent playbook.", method="PUT")(
        memories.UpdateAgentPlaybookRequest, memories.UpdatedResponse
    )
    update_agent_playbook_status = post(
        "update_agent_playbook_status", REVIEWER, "Approve or reject an agent playbook.", method="PUT"
    )(memories.UpdatePlaybookStatusRequest, memories.UpdatedResponse)
    delete_profile = post(
        "delete_profile", REVIEWER, "Delete a profile, or the profiles of a user that match a query.", method="DELETE"
    )(erasure.DeleteUserProfileRequest, erasure.DeletedResponse)
    delete_interaction = post("delete_interaction", REVIEWER, "Delete a turn.", method="DELETE")(
        erasure.DeleteUserInteractionRequest, erasure.DeletedResponse
    )
    delete_request = post("delete_request", REVIEWER, "Delete a request with its turns.", method="DELETE")(
        erasure.DeleteRequestRequest, erasure.DeletedResponse
    )
    delete_session = post("delete_session", REVIEWER, "Delete a session with its requests and turns.", method="DELETE")(
        erasure.DeleteSessionRequest, erasure.DeleteSessionResponse
    )
    delete_agent_playbook = post("delete_agent_playbook", REVIEWER, "Delete an agent playbook.", method="DELETE")(
        erasure.DeleteAgentPlaybookRequest, erasure.DeletedResponse
    )
    delete_user_playbook = post("delete_user_playbook", REVIEWER, "Delete a user playbook.", method="DELETE")(
        erasure.DeleteUserPlaybookRequest, erasure.DeletedResponse
    )
    delete_requests = post(
        "delete_requests_by_ids", REVIEWER, "Delete several requests with their turns.", method="DELETE"
    )(erasure.DeleteRequestsByIdsRequest, erasure.BulkDeleteResponse)
    delete_profiles = post("delete_profiles_by_ids", REVIEWER, "Delete several profiles.", method="DELETE")(
        erasure.DeleteProfilesByIdsRequest, erasure.BulkDeleteResponse
    )
    delete_agent_playbooks = post(
        "delete_agent_playbooks_by_ids", REVIEWER, "Delete several agent playbooks.", method="DELETE"
    )(erasure.DeleteAgentPlaybooksByIdsRequest, erasure.BulkDeleteResponse)
    delete_user_playbooks = post(
        "delete_user_playbooks_by_ids", REVIEWER, "Delete several user playbooks.", method="DELETE"
    )(erasure.DeleteUserPlaybooksByIdsRequest, erasure.BulkDeleteResponse)
    delete_all_interactions = post("delete_all_interactions", ADMIN, "Delete every request and turn.", method="DELETE")(
        Nothing, erasure.BulkDeleteResponse
    )
    delete_all_profiles = post("delete_all_profiles", ADMIN, "Delete every profile.", method="DELETE")(
        Nothing, erasure.BulkDeleteResponse
    )
    delete_all_playbooks = post(
        "delete_all_playbooks", ADMIN, "Delete every user and agent playbook.", method="DELETE"
    )(Nothing, erasure.BulkDeleteResponse)
    delete_all_user_playbooks = post(
        "delete_all_user_playbooks", ADMIN, "Delete every user playbook.", method="DELETE"
    )(Nothing, erasure.BulkDeleteResponse)
    delete_all_agent_playbooks = post(
        "delete_all_agent_playbooks", ADMIN, "Delete every agent playbook.", method="DELETE"
    )(Nothing, erasure.BulkDeleteResponse)
    clear_user_data = post("clear_user_data", ADMIN, "Erase everything known of a user.")(
        erasure.ClearUserDataRequest, erasure.ClearUserDataResponse
    )
    storage_stats = get("storage_stats", READER, "Count the memories of a user.")(
        memories.StorageStatsRequest, memories.StorageStatsResponse
    )

    # --- lessons shared by all users -------------------------------------------------------------------------------

    run_playbook_aggregation = post(
        "run_playbook_aggregation",
        REVIEWER,
        "Make one shared playbook of user playbooks that say the same, and wait for it.",
    )(aggregation.RunPlaybookAggregationRequest, aggregation.RunPlaybookAggregationResponse)
    submit_playbook_aggregation = post(
        "submit_playbook_aggregation",
        REVIEWER,
        "The same in the background; sent twice under one request_id, it is one.",
        path="/api/playbook_aggregation_operations",
        exclude_none=False,
        status=202,
    )(aggregation.SubmitPlaybookAggregationRequest, aggregation.PlaybookAggregationOperation)
    playbook_aggregation_operation = get(
        "get_playbook_aggregation_operation",
        READER,
        "Tell how far an aggregation is.",
        path="/api/playbook_aggregation_operations/{operation_id}",
        exclude_none=False,
    )(aggregation.GetPlaybookAggregationOperationRequest, aggregation.PlaybookAggregationOperation)
    playbook_aggregation_changes = get(
        "playbook_aggregation_change_logs",
        READER,
        "List what aggregations added, updated and removed, as it was then.",
        exclude_none=False,
    )(aggregation.PlaybookAggregationChangeLogRequest, aggregation.PlaybookAggregationChangeLogResponse)

    # --- meter and review ------------------------------------------------------------------------------------------

    injection_stats = post("get_injection_stats", READER, "Tell how often each memory was shown, and what that cost.")(
        meter.GetInjectionStatsRequest, meter.GetInjectionStatsResponse
    )
    memory_review = post(
        "get_memory_review", READER, "List the memories that deserve a person's look, and why.", exclude_none=False
    )(review.GetMemoryReviewRequest, review.GetMemoryReviewResponse)

    # --- how sessions end ------------------------------------------------------------------------------------------

    state_outcome = post("session_outcome", AGENT, "State how a session ended; it goes before any judge's guess.")(
        evaluations.SetSessionOutcomeRequest, evaluations.SetSessionOutcomeResponse
    )
    session_outcomes = post(
        "get_session_outcomes", READER, "List how sessions ended, as their callers stated it, the latest first."
    )(evaluations.GetSessionOutcomesRequest, evaluations.GetSessionOutcomesResponse)
    evaluation_results = post(
        "get_agent_success_evaluation_results", READER, "List how sessions ended and why, newest first."
    )(evaluations.GetAgentSuccessEvaluationResultsRequest, evaluations.GetEvaluationResultsViewResponse)
    grade_on_demand = post(
        "grade_on_demand",
        AGENT,
        "Judge a session now.",
        path="/api/evaluations/grade_on_demand",
        exclude_none=False,
    )(evaluations.GradeOnDemandRequest, evaluations.GradeOnDemandResponse)
    regenerate_evaluations = post(
        "regenerate_evaluations",
        REVIEWER,
        "Judge the sessions of some time anew, in the background.",
        path="/api/evaluations/regenerate",
        repeatable=False,
    )(evaluations.RegenerateRequest, evaluations.RegenerateStartResponse)
    evaluation_regeneration = get(
        "get_evaluation_regeneration",
        READER,
        "Tell how far a regeneration is.",
        path="/api/evaluations/regenerate/{job_id}",
        exclude_none=False,
    )(evaluations.RegenerationRequest, evaluations.RegenerateStatusResponse)
    cancel_evaluation_regeneration = post(
        "cancel_evaluation_regeneration",
        REVIEWER,
        "Stop a regeneration before its next session.",
        path="/api/evaluations/regenerate/{job_id}",
        method="DELETE",
        where="query",
    )(evaluations.RegenerationRequest, evaluations.CancelRegenerationResponse)
    recent_shadow_comparisons = get(
        "recent_shadow_comparisons",
        READER,
        "List answers that were compared with their shadows, newest first.",
        path="/api/evaluations/shadow_comparisons/recent",
        exclude_none=False,
    )(evaluations.RecentShadowComparisonsRequest, evaluations.GetRecentShadowComparisonsResponse)
    evaluation_overview = post(
        "get_evaluation_overview",
        READER,
        "Add up how sessions ended, against the time before, and by the memories that were cited.",
        exclude_none=False,
    )(overview.GetEvaluationOverviewRequest, overview.GetEvaluationOverviewResponse)
    dashboard_stats = post("get_dashboard_stats", READER, "Add up what was said, learned and judged, day by day.")(
        overview.GetDashboardStatsRequest, overview.GetDashboardStatsResponse
    )

    # --- review and meter, in full ---------------------------------------------------------------------------------

    review_memories = post(
        "review_memories",
        REVIEWER,
        "Act on memories, or see what an action would change; what was done can be undone.",
        path="/api/memory_review/actions",
        repeatable=False,
    )(review.ReviewMemoriesRequest, review.ReviewMemoriesResponse)
    undo_review = post(
        "undo_review",
        REVIEWER,
        "Take an action back, unless a newer change stands in the way.",
        path="/api/memory_review/undo",
        repeatable=False,
    )(review.UndoReviewRequest, review.ReviewMemoriesResponse)
    review_actions = get(
        "get_review_actions",
        READER,
        "List who did what to memories, with what they were before and after.",
        path="/api/memory_review/actions",
    )(review.GetReviewActionsRequest, review.GetReviewActionsResponse)
    memory_changes = post(
        "get_memory_changes",
        READER,
        "List what was learned, refined, superseded, put in conflict, forgotten or expired, and the words behind it.",
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
    memory_duplicates = post("get_memory_duplicates", READER, "List memories that say nearly the same.")(
        review.GetDuplicatesRequest, review.GetDuplicatesResponse
    )
    cite = post("cite", AGENT, "Count memories as cited, by handle or id.")(meter.CiteRequest, meter.CiteResponse)
    playbook_application_stats = post(
        "get_playbook_application_stats", READER, "Tell how often agents cited each memory."
    )(meter.GetPlaybookApplicationStatsRequest, meter.GetPlaybookApplicationStatsResponse)
    memory_costs = post("get_memory_costs", READER, "Put a price tag on memories, users, agent versions or days.")(
        meter.GetMemoryCostsRequest, meter.GetMemoryCostsResponse
    )
    memory_lift = post(
        "get_memory_lift",
        READER,
        "Compare sessions with a memory to those without it, and after it to before.",
        exclude_none=False,
    )(meter.GetMemoryLiftRequest, meter.GetMemoryLiftResponse)
    injection = post("get_injection", READER, "Show a past search again: what was asked, found and rendered.")(
        meter.GetInjectionRequest, meter.GetInjectionResponse
    )
    compare_injection = post(
        "compare_injection", READER, "Ask a past search's question of the memories as they were at two moments."
    )(meter.CompareInjectionRequest, meter.CompareInjectionResponse)

    # --- experiments -----------------------------------------------------------------------------------------------

    retrieval_experiments = get(
        "list_retrieval_experiments",
        READER,
        "List holdout experiments.",
        path="/api/retrieval_experiments",
        exclude_none=False,
    )(Nothing, experiments.RetrievalExperimentListResponse)
    start_retrieval_experiment = post(
        "start_retrieval_experiment",
        ADMIN,
        "Start a holdout: so many percent of the users are shown no memories.",
        path="/api/retrieval_experiments",
        exclude_none=False,
        repeatable=False,
    )(experiments.StartRetrievalExperimentRequest, experiments.RetrievalExperimentListResponse)
    stop_retrieval_experiment = post(
        "stop_retrieval_experiment",
        ADMIN,
        "Stop the holdout that runs.",
        path="/api/retrieval_experiments/stop",
        exclude_none=False,
        repeatable=False,
    )(experiments.StopRetrievalExperimentRequest, experiments.RetrievalExperimentListResponse)
    retrieval_experiment_results = get(
        "get_retrieval_experiment_results",
        READER,
        "Compare the users who are shown memories with those who are not.",
        path="/api/retrieval_experiments/{experiment_id}/results",
        exclude_none=False,
    )(experiments.GetRetrievalExperimentResultsRequest, experiments.RetrievalExperimentResultsResponse)

    # --- configuration ---------------------------------------------------------------------------------------------

    config = get("get_config", READER, "Read the configuration; secrets are masked.", exclude_none=False)(
        Nothing, Config
    )
    set_config = post(
        "set_config",
        ADMIN,
        "Replace the configuration; a masked secret stays as it is.",
        shape=Config,
        exclude_none=False,
    )(_whole, SetConfigResponse)
    update_config = post(
        "update_config", ADMIN, "Replace some fields of the configuration.", shape=ConfigUpdate, exclude_none=False
    )(_some, SetConfigResponse)

    # --- system ----------------------------------------------------------------------------------------------------

    whoami = get("whoami", READER, "Tell whose key this is and where its data lives.")(Nothing, system.WhoamiResponse)
    my_config = get("my_config", ADMIN, "Show where this org's data is stored.")(Nothing, system.MyConfigResponse)
    status = get("status", READER, "Show jobs, dead letters, store, embedder, counts and coverage.")(
        Nothing, system.StatusResponse
    )
    keys = get("list_keys", ADMIN, "List keys, without their secrets.", path="/api/keys")(
        Nothing, system.ListKeysResponse
    )
    create_key = post("create_key", ADMIN, "Make a key; its secret is shown once.", path="/api/keys", repeatable=False)(
        system.CreateKeyRequest, system.CreateKeyResponse
    )
    revoke_key = post(
        "revoke_key", ADMIN, "Revoke a key; it stops working at once.", path="/api/keys", method="DELETE"
    )(system.RevokeKeyRequest, system.RevokeKeyResponse)
    version = get("version", PUBLIC, "Tell the versions of server and API.", path="/meta/version", exclude_none=False)(
        Nothing, system.VersionResponse
    )
    welcome = get("welcome", PUBLIC, "Say hello.", path="/")(Nothing, system.WelcomeResponse)
    health = get("health", PUBLIC, "Tell whether everything required works.", path="/health")(
        Nothing, system.ReadinessResponse
    )
    health_live = get("health_live", PUBLIC, "Tell that the process runs.", path="/health/live")(
        Nothing, system.AliveResponse
    )
    health_ready = get("health_ready", PUBLIC, "Tell whether requests can be served.", path="/health/ready")(
        Nothing, system.ReadinessResponse
    )
    healthz = get("healthz", PUBLIC, "Tell that the process runs, under the name some probes expect.", path="/healthz")(
        Nothing, system.AliveResponse
    )


ENDPOINTS: tuple[Endpoint[..., Any], ...] = tuple(
    endpoint for endpoint in vars(Calls).values() if isinstance(endpoint, Endpoint)
)
