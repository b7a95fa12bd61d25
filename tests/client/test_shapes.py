"""What every request keeps out, and what it lets pass."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from acumen_client.errors import in_words
from acumen_client.wire.memories import (
    GetAllProfilesRequest,
    GetUserPlaybooksRequest,
    NewProfile,
    ProfileView,
    UpdateUserPlaybookRequest,
)
from acumen_client.wire.observe import FinalizeSessionRequest, GetRequestsRequest, InteractionData, ToolUsed
from acumen_client.wire.recall import UnifiedSearchRequest
from acumen_client.wire.shapes import LATEST_SECOND, MemoryStatus, Role
from acumen_client.wire.system import CreateKeyRequest


def test_an_unknown_field_is_named():
    with pytest.raises(ValidationError) as wrong:
        UnifiedSearchRequest.model_validate({"query": "tea", "topk": 3})

    assert in_words(wrong.value) == "Unknown field `topk`."
    assert in_words(wrong.value, shape=UnifiedSearchRequest) == "Unknown field `topk`; did you mean `top_k`?"


def test_null_means_the_default():
    request = UnifiedSearchRequest.model_validate({"query": "tea", "top_k": None, "search_mode": None, "tags": None})

    assert request == UnifiedSearchRequest(query="tea")


def test_null_for_a_required_field_is_refused():
    with pytest.raises(ValidationError, match="session_id"):
        FinalizeSessionRequest.model_validate({"user_id": "ada", "session_id": None})


@pytest.mark.parametrize(
    "text, why",
    [("a\x00b", "NUL characters (one is at position 1)"), ("ab\ud800", "a lone surrogate is at position 2")],
)
def test_text_that_no_database_keeps_is_refused_with_its_place(text: str, why: str):
    with pytest.raises(ValidationError) as wrong:
        UnifiedSearchRequest(query=text)

    assert why in in_words(wrong.value)


@pytest.mark.parametrize("data", [{"a": ["\x00"]}, {"\ud800": 1}, {"a": {"b": "\udfff"}}])
def test_such_text_is_found_deep_inside_tool_data_too(data: dict[str, object]):
    with pytest.raises(ValidationError, match="tool_data"):
        ToolUsed(tool_name="read", tool_data=data)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**301])
def test_a_number_that_json_readers_disagree_on_is_refused(number: float):
    with pytest.raises(ValidationError, match="tool_data"):
        ToolUsed(tool_name="add", tool_data={"sum": number})


def test_json_nested_without_end_is_refused():
    data: dict[str, object] = {}
    for _ in range(100_000):
        data = {"in": data}

    with pytest.raises(ValidationError, match="nested deeper than 64"):
        ToolUsed(tool_name="nest", tool_data=data)


def test_what_is_not_json_is_refused():
    with pytest.raises(ValidationError, match="plain JSON, and set is not"):
        ToolUsed(tool_name="group", tool_data={"members": {"ada"}})


def test_an_error_message_is_safe_to_print_and_send():
    with pytest.raises(ValidationError) as wrong:
        UnifiedSearchRequest.model_validate({"query": "tea", "bad\n\x1b[31m" + "x" * 1_000: 1})

    said = in_words(wrong.value)
    assert said.isprintable()
    assert len(said) <= 300


def test_an_error_message_names_a_few_faults_and_counts_the_rest():
    with pytest.raises(ValidationError) as wrong:
        UnifiedSearchRequest.model_validate({f"f{i}": 1 for i in range(9)} | {"query": "tea"})

    assert in_words(wrong.value).endswith(" And 4 more.")


def test_an_id_is_stripped():
    request = FinalizeSessionRequest(user_id="  ada ", session_id="s1")

    assert request.user_id == "ada"


@pytest.mark.parametrize("user_id", ["", "   ", "x" * 256])
def test_an_id_is_neither_blank_nor_endless(user_id: str):
    with pytest.raises(ValidationError, match="user_id"):
        FinalizeSessionRequest(user_id=user_id, session_id="s1")


def test_a_blank_optional_id_is_none():
    assert UnifiedSearchRequest(query="tea", user_id="  ").user_id is None


@pytest.mark.parametrize("source", ["", "cli", "claude-code:2.1", "0._:-"])
def test_a_source_is_a_short_lower_case_label_or_nothing(source: str):
    assert GetRequestsRequest(source=source).source == source


@pytest.mark.parametrize("source", ["Web App", "-x", "ü", "a\n", "x" * 129])
def test_another_source_is_refused(source: str):
    with pytest.raises(ValidationError, match="source"):
        GetRequestsRequest(source=source)


@pytest.mark.parametrize("row_id", [0, -1, 2**63, 10**400])
def test_an_id_that_no_column_holds_is_refused(row_id: int):
    with pytest.raises(ValidationError, match="user_playbook_id"):
        GetUserPlaybooksRequest(user_playbook_id=row_id)


def test_milliseconds_sent_as_seconds_are_refused():
    with pytest.raises(ValidationError, match=str(LATEST_SECOND)):
        InteractionData(content="hi", created_at=1_700_000_000_000)


def test_a_time_without_a_zone_is_utc():
    request = GetRequestsRequest.model_validate({"start_time": "2025-03-01T12:00:00"})

    assert request.start_time == datetime(2025, 3, 1, 12, tzinfo=UTC)


def test_times_of_different_zones_are_compared_as_moments():
    ends_first = {"start_time": "2025-03-01T12:00:00+05:00", "end_time": "2025-03-01T06:59:59"}

    with pytest.raises(ValidationError, match="end_time must be after start_time"):
        GetRequestsRequest.model_validate(ends_first)


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_a_moment_beyond_the_calendar_is_refused(when: str):
    with pytest.raises(ValidationError, match="outside the years"):
        GetRequestsRequest.model_validate({"start_time": when})


def test_a_range_of_seconds_must_end_after_it_starts():
    with pytest.raises(ValidationError, match="end_time must be after start_time"):
        GetAllProfilesRequest(start_time=20, end_time=20)


def test_current_has_three_spellings_in_a_filter():
    request = GetUserPlaybooksRequest.model_validate({"status_filter": [None, "None", "current", "archived"]})

    assert request.status_filter == [
        MemoryStatus.CURRENT,
        MemoryStatus.CURRENT,
        MemoryStatus.CURRENT,
        MemoryStatus.ARCHIVED,
    ]


@pytest.mark.parametrize("status", [None, ""])
def test_an_update_without_a_status_leaves_it_as_it_is(status: str | None):
    request = UpdateUserPlaybookRequest.model_validate({"user_playbook_id": 1, "status": status})

    assert request.status is None


@pytest.mark.parametrize("status", ["current", "None"])
def test_an_update_may_make_a_memory_current_again(status: str):
    request = UpdateUserPlaybookRequest.model_validate({"user_playbook_id": 1, "status": status})

    assert request.status is MemoryStatus.CURRENT


@pytest.mark.parametrize("metadata", [{"superseded_by": 7}, '{"superseded_by": 7}'])
def test_metadata_is_an_object_also_when_it_arrives_as_text(metadata: object):
    request = UpdateUserPlaybookRequest.model_validate({"user_playbook_id": 1, "playbook_metadata": metadata})

    assert request.playbook_metadata == {"superseded_by": 7}


@pytest.mark.parametrize("metadata", ["[1]", "oops", '{"a": NaN}', "[" * 100_000])
def test_metadata_that_is_no_object_is_refused(metadata: str):
    with pytest.raises(ValidationError, match="playbook_metadata"):
        UpdateUserPlaybookRequest.model_validate({"user_playbook_id": 1, "playbook_metadata": metadata})


def test_a_current_memory_is_shown_without_a_status():
    view = ProfileView(
        profile_id="p", user_id="ada", content="c", last_modified_timestamp=1, status=MemoryStatus.CURRENT
    )

    assert "status" not in view.model_dump(exclude_none=True)


def test_an_empty_query_parameter_is_no_filter():
    request = GetAllProfilesRequest.model_validate({"status_filter": "", "limit": "5"})

    assert (request.status_filter, request.limit) == (None, 5)


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "https://metadata.google.internal/", "file:///etc"])
def test_an_image_does_not_lead_to_the_machine_behind(url: str):
    with pytest.raises(ValidationError, match="interacted_image_url"):
        InteractionData(content="look", interacted_image_url=url)


def test_a_profile_without_words_is_refused():
    with pytest.raises(ValidationError, match="content must not be empty"):
        NewProfile(user_id="ada", content="  ")


def test_each_role_may_do_what_lower_ones_may():
    assert Role.ADMIN.allows(Role.REVIEWER)
    assert Role.AGENT.allows(Role.AGENT)
    assert not Role.READER.allows(Role.AGENT)


def test_nobody_holds_a_public_key():
    with pytest.raises(ValidationError, match="public needs no key"):
        CreateKeyRequest(name="ci", role=Role.PUBLIC)


@pytest.mark.parametrize(
    "body, told",
    [
        ([], "The body must be a JSON object."),
        ({}, "`query` is required."),
        ({"query": ""}, "`query` must not be empty."),
        ({"query": "tea", "user": "ada"}, "Unknown field `user`; did you mean `user_id`?"),
        ({"query": "tea", "zzz": 1}, "Unknown field `zzz`."),
        (
            {"query": "tea", "context": {"standng": 1}},
            "Unknown field `context.standng`; did you mean `context.standing`?",
        ),
        ({"query": "tea", "context": 7}, "`context` must be a JSON object."),
        ({"query": "tea", "top_k": 0}, "`top_k` must be greater than 0."),
    ],
)
def test_what_is_wrong_is_a_sentence(body: object, told: str):
    with pytest.raises(ValidationError) as wrong:
        UnifiedSearchRequest.model_validate(body)

    assert in_words(wrong.value, shape=UnifiedSearchRequest) == told
