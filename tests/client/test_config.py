"""The configuration: its older names, its presets, its secrets."""

from typing import Any

import pytest
from pydantic import ValidationError

from acumen_client.legacy import StorageConfigPostgres
from acumen_client.wire.config import MEASURED_SIMILARITY, Config, ConfigUpdate

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


def test_an_update_names_what_it_does_not_know():
    with pytest.raises(ValidationError, match="windowsize"):
        ConfigUpdate.model_validate({"windowsize": 3})
