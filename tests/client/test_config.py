"""The configuration: its older names, its presets, its secrets."""

from typing import Any

import pytest
from pydantic import ValidationError

from acumen_client.wire.config import MASK, Config, ConfigUpdate, agreed, masked, shown, unmasked
from acumen_client.wire.sections import MEASURED_SIMILARITY, StorageConfigPostgres

PROMPT = "Note what matters."


def config(**fields: Any) -> Config:
    return Config.model_validate({"storage_config": None, **fields})


def test_an_unknown_field_is_refused_at_any_depth():
    with pytest.raises(ValidationError, match=r"retrieval_floor\.pool"):
        config(retrieval_floor={"pool": 3})


@pytest.mark.parametrize(
    "older, newer",
    [
        ({"batch_size": 20}, {"window_size": 20}),
        ({"extraction_window_stride": 4}, {"stride_size": 4}),
        (
            {"profile_extractor_configs": [{"profile_content_definition_prompt": PROMPT}]},
            {"profile_extractor_config": {"extraction_definition_prompt": PROMPT}},
        ),
        (
            {"profile_extractor_config": [{"extraction_definition_prompt": PROMPT}]},
            {"profile_extractor_configs": {"extraction_definition_prompt": PROMPT}},
        ),
        (
            {"playbook_configs": [{"playbook_definition_prompt": PROMPT, "feedback_name": "a"}]},
            {"user_playbook_extractor_configs": [{"extraction_definition_prompt": PROMPT, "extractor_name": "a"}]},
        ),
        (
            {"profile_extractor_config": {"extraction_definition_prompt": PROMPT, "batch_size_override": 4}},
            {"profile_extractor_config": {"extraction_definition_prompt": PROMPT, "window_size_override": 4}},
        ),
        (
            {
                "agent_feedback_configs": [
                    {
                        "feedback_definition_prompt": PROMPT,
                        "feedback_aggregator_config": {"min_feedback_threshold": 3, "refresh_count": 4},
                    }
                ]
            },
            {
                "user_playbook_extractor_config": {
                    "extraction_definition_prompt": PROMPT,
                    "aggregation_config": {"min_cluster_size": 3, "reaggregation_trigger_count": 4},
                }
            },
        ),
        ({"agent_success_configs": []}, {"agent_success_config": None}),
    ],
)
def test_older_names_mean_the_same(older: dict[str, Any], newer: dict[str, Any]):
    assert config(**older) == config(**newer)


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"extraction_definition_prompt": PROMPT, "extractor_name": name, **more}


def test_many_extractors_are_kept_and_the_first_is_the_one():
    read = config(profile_extractor_configs=[named("a"), named("b")], agent_feedback_configs=[])

    assert [one.extractor_name for one in read.profile_extractor_configs or ()] == ["a", "b"]
    assert read.profile_extractor_config
    assert read.profile_extractor_config.extractor_name == "a"
    assert (read.user_playbook_extractor_config, read.user_playbook_extractor_configs) == (None, [])


def test_one_extractor_is_also_a_list_of_one():
    read = config(profile_extractor_config=named("a"))

    assert read.profile_extractor_configs == [read.profile_extractor_config]


def test_two_extractors_of_one_name_are_refused():
    with pytest.raises(ValidationError, match="profile_extractor_configs: two extractors are called 'a'"):
        config(profile_extractor_configs=[named("a"), named("a")])


@pytest.mark.parametrize(
    "sent, after",
    [
        ({"profile_extractor_config": named("c")}, ["c", "b"]),
        ({"profile_extractor_config": named("c"), "profile_extractor_configs": None}, ["c", "b"]),
        ({"profile_extractor_config": None}, []),
        ({"profile_extractor_configs": [named("c")]}, ["c"]),
        ({"profile_extractor_config": named("c"), "profile_extractor_configs": [named("a"), named("b")]}, ["c", "b"]),
        ({"profile_extractor_config": named("a"), "profile_extractor_configs": [named("d")]}, ["d"]),
        ({"profile_extractor_config": None, "profile_extractor_configs": [named("a"), named("b")]}, []),
    ],
)
def test_whoever_changes_one_or_many_is_understood(sent: dict[str, Any], after: list[str]):
    stored = config(profile_extractor_configs=[named("a"), named("b")])

    whole = agreed(config(**sent), stored)

    names = [one.extractor_name for one in whole.profile_extractor_configs or ()]
    assert names == after
    assert (whole.profile_extractor_config.extractor_name if whole.profile_extractor_config else None) == (
        after[0] if after else None
    )


def test_one_and_many_that_contradict_each_other_are_refused():
    stored = config(profile_extractor_configs=[named("a"), named("b")])

    with pytest.raises(ValueError, match="profile_extractor_config and the first of profile_extractor_configs differ"):
        agreed(config(profile_extractor_config=named("c"), profile_extractor_configs=[named("d")]), stored)


def test_an_update_of_the_one_keeps_the_others_and_an_update_of_many_replaces_all():
    stored = config(profile_extractor_configs=[named("a"), named("b")])

    first = ConfigUpdate.model_validate({"profile_extractor_config": named("c")}).applied_to(stored)
    every = ConfigUpdate.model_validate({"profile_extractor_configs": [named("d")]}).applied_to(stored)

    assert [one.extractor_name for one in first.profile_extractor_configs or ()] == ["c", "b"]
    assert [one.extractor_name for one in every.profile_extractor_configs or ()] == ["d"]


def test_a_reader_is_shown_many_only_where_there_are_many():
    one, two = config(), config(profile_extractor_configs=[named("a"), named("b")])

    assert "profile_extractor_configs" not in shown(one).model_dump()
    assert len(shown(two).model_dump()["profile_extractor_configs"]) == 2
    assert Config.model_validate(shown(two).model_dump()) == two


def test_todays_name_wins_over_an_older_one():
    assert config(batch_size=30, window_size=20).window_size == 20


def test_null_switches_an_extractor_off_and_leaves_a_number_at_its_default():
    read = config(profile_extractor_config=None, window_size=None, retrieval_floor=None)

    assert read.profile_extractor_config is None
    assert (read.window_size, read.retrieval_floor.pool_size) == (10, 30)


def test_numbers_stay_numbers_where_older_clients_cannot_read_null():
    read = config(
        retrieval_floor={"profile_floor": None},
        user_playbook_extractor_config={
            "extraction_definition_prompt": PROMPT,
            "aggregation_config": {"clustering_similarity": None},
        },
    ).model_dump(mode="json")

    assert read["retrieval_floor"]["profile_floor"] == -3.0
    assert read["user_playbook_extractor_config"]["aggregation_config"]["clustering_similarity"] == 0.4


def test_the_likeness_of_lessons_that_holds_is_the_one_that_is_shown():
    unsaid = config().user_playbook_extractor_config
    prompt = {"extraction_definition_prompt": PROMPT}
    older, own = (
        config(user_playbook_extractor_config={**prompt, "aggregation_config": {"clustering_similarity": given}})
        for given in (0.3, 0.55)
    )

    shown = [one.aggregation_config.clustering_similarity for one in (unsaid, older.user_playbook_extractor_config)]
    assert shown == [MEASURED_SIMILARITY] * 2
    assert own.user_playbook_extractor_config.aggregation_config.clustering_similarity == 0.55


def test_a_reflection_config_is_read_and_not_kept():
    assert "reflection_config" not in config(reflection_config={"enabled": False, "model": None}).model_dump()


def test_a_preset_fills_what_was_not_said():
    assert config(extraction_preset="long_form", stride_size=5).window_size == 25
    assert config(extraction_preset="long_form", stride_size=5).stride_size == 5


def test_a_stride_does_not_exceed_its_window():
    with pytest.raises(ValidationError, match="stride_size must not exceed window_size"):
        config(window_size=4, stride_size=5)


def test_a_prompt_loses_its_control_characters():
    read = config(profile_extractor_config={"extraction_definition_prompt": "Note\x1b[31m all.\n"})

    assert read.profile_extractor_config
    assert read.profile_extractor_config.extraction_definition_prompt == "Note[31m all."


def test_storage_is_told_apart_by_its_fields():
    read = config(storage_config={"db_url": "postgresql://x", "schema": "s"})

    assert isinstance(read.storage_config, StorageConfigPostgres)
    assert read.model_dump()["storage_config"]["schema"] == "s"


def test_a_storage_that_lacks_a_field_is_not_taken_for_another():
    with pytest.raises(ValidationError):
        config(storage_config={"url": "https://x", "key": "k"})


def test_an_update_replaces_only_what_it_names():
    before = config(agent_context_prompt="We sell tea.", window_size=20)

    after = ConfigUpdate.model_validate({"batch_interval": 2}).applied_to(before)

    assert (after.agent_context_prompt, after.window_size, after.stride_size) == ("We sell tea.", 20, 2)


def test_an_update_to_a_preset_sets_window_and_stride():
    after = ConfigUpdate.model_validate({"extraction_preset": "quick_chat"}).applied_to(config(window_size=40))

    assert (after.window_size, after.stride_size) == (5, 3)


def test_an_update_names_what_it_does_not_know():
    with pytest.raises(ValidationError, match="windowsize"):
        ConfigUpdate.model_validate({"windowsize": 3})


def test_an_update_is_checked_as_a_whole():
    with pytest.raises(ValidationError, match="stride_size"):
        ConfigUpdate.model_validate({"window_size": 2}).applied_to(config(stride_size=3))


SECRET = {
    "storage_config": {"db_url": "postgresql://ada:pw@host/db"},
    "api_key_config": {"openai": {"api_key": "sk-1"}, "custom_endpoint": None},
    "pending_tool_call_config": {"hmac_secrets": ["hush-1", "hush-2"]},
}


def test_masked_shows_no_secret():
    shown = masked(config(**SECRET)).model_dump_json()

    assert not any(secret in shown for secret in ("pw@host", "sk-1", "hush-1", "hush-2"))


def test_what_was_masked_returns_when_it_is_sent_back():
    stored = config(**SECRET)

    assert unmasked(masked(stored), stored) == stored


def test_a_new_secret_replaces_the_stored_one():
    stored = config(**SECRET)
    changed = masked(stored).model_dump()
    changed["api_key_config"]["openai"]["api_key"] = "sk-2"

    after = unmasked(Config.model_validate(changed), stored)

    assert after.api_key_config
    assert after.api_key_config.openai
    assert after.api_key_config.openai.api_key == "sk-2"


def test_a_mask_with_nothing_behind_it_stays():
    sent = config(api_key_config={"anthropic": {"api_key": MASK}})

    assert unmasked(sent, config()) == sent
