"""What a publish accepts, leaves out and refuses."""

from typing import Any

import pytest
from pydantic import ValidationError

from acumen_client.errors import in_words
from acumen_client.wire.observe import InteractionData, PublishUserInteractionRequest


def publish(*turns: dict[str, Any], **options: Any) -> PublishUserInteractionRequest:
    body = {"user_id": "ada", "session_id": "s1", "interaction_data_list": list(turns), **options}
    return PublishUserInteractionRequest.model_validate(body)


def refusal(*turns: dict[str, Any], **options: Any) -> str:
    with pytest.raises(ValidationError) as wrong:
        publish(*turns, **options)
    return in_words(wrong.value)


def test_a_publish_has_an_id_from_the_start():
    one, other = publish({"content": "hi"}), publish({"content": "hi"}, request_id=None)

    assert one.request_id
    assert one.request_id != other.request_id


def test_a_callers_own_id_is_kept():
    assert publish({"content": "hi"}, request_id="mine").request_id == "mine"


def test_a_turn_without_a_time_stays_without_one_so_that_a_retry_is_the_same():
    assert publish({"content": "hi"}).interaction_data_list[0].created_at is None


def test_a_misspelt_field_is_left_out_and_reported():
    request = publish({"content": "hi", "tols_used": []}, forceExtraction=True)

    assert request.warnings() == [
        "Unknown field ignored: interaction_data_list[0].tols_used",
        "Unknown field ignored: forceExtraction",
    ]
    assert "tols_used" not in request.model_dump()["interaction_data_list"][0]


def test_a_misspelt_field_of_a_tool_is_reported_with_its_path():
    request = publish({"tools_used": [{"tool_name": "read"}, {"tool_name": "write", "stat": "ok"}]})

    assert request.warnings() == ["Unknown field ignored: interaction_data_list[0].tools_used[1].stat"]


def test_ids_repeated_on_a_turn_are_not_worth_a_warning():
    assert publish({"content": "hi", "user_id": "ada", "session_id": "s1"}).warnings() == []


def test_an_empty_turn_is_skipped_and_counted_by_its_place():
    request = publish({"content": "hi"}, {"content": "  "}, {"content": "bye"})

    assert [turn.content for turn in request.interaction_data_list] == ["hi", "bye"]
    assert request.warnings() == ["Empty turn skipped: interaction_data_list[1]"]


def test_a_publish_of_nothing_but_typos_says_which():
    assert refusal({"Content": "hi"}) == (
        "All turns are empty: set `content` on at least one. Unknown field ignored: interaction_data_list[0].Content."
    )


def test_warnings_stay_short_however_many_there_are():
    request = publish(*({"content": "hi", **{f"x{'y' * 500}{i}\n": 1 for i in range(50)}} for _ in range(200)))

    warnings = request.warnings()
    assert len(warnings) == 21
    assert all(warning.isprintable() and len(warning) < 500 for warning in warnings)


@pytest.mark.parametrize(
    "turn",
    [
        {"tools_used": [{"tool_name": "ls"}]},
        {"expert_content": "better"},
        {"image_encoding": "aGk="},
        {"user_action": "click", "user_action_description": "buy"},
    ],
)
def test_a_turn_may_carry_something_other_than_words(turn: dict[str, Any]):
    assert len(publish(turn).interaction_data_list) == 1


def test_an_action_needs_a_description():
    assert "user_action_description" in refusal({"user_action": "click"})


def test_an_image_is_given_once():
    assert "cannot both be set" in refusal({"interacted_image_url": "https://x.test/a.png", "image_encoding": "aGk="})


@pytest.mark.parametrize("turns", [[], [{"content": "hi"}] * 1_001])
def test_a_publish_has_one_to_a_thousand_turns(turns: list[dict[str, Any]]):
    assert "interaction_data_list" in refusal(*turns)


def test_a_publish_carries_at_most_a_thousand_learnings_over_all_turns():
    learned = [{"kind": "profile", "learning_id": str(i)} for i in range(600)]

    assert "at most 1000" in refusal(*[{"content": "hi", "retrieved_learnings": learned}] * 2)


def test_a_turn_longer_than_a_million_characters_is_refused():
    assert "interaction_data_list.0.content" in refusal({"content": "x" * 1_000_001})


def test_evaluation_only_excludes_forced_extraction():
    assert "cannot be combined" in refusal({"content": "hi"}, evaluation_only=True, force_extraction=True)


def test_an_experiment_is_named_with_its_arm():
    assert "given together" in refusal({"content": "hi"}, retrieval_experiment_id="e1")


@pytest.mark.parametrize("status", [None, 7, True, {"code": 1}, "x" * 1_000])
def test_a_tools_status_may_be_anything_and_becomes_a_short_text(status: object):
    turn = InteractionData.model_validate({"tools_used": [{"tool_name": "ls", "status": status}]})

    assert len(turn.tools_used[0].status) <= 100
