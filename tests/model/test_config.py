"""How one org wants to be learned from."""

from typing import Any

import pytest

from acumen.model.config import PLAYBOOKS, PROFILES, OrgConfig, from_stored
from acumen_client.wire import config as wire


def stored(**fields: Any) -> dict[str, Any]:
    """As it is stored when a caller has set these fields."""
    return wire.Config.model_validate({"storage_config": None, **fields}).model_dump(mode="json")


def test_an_org_that_has_set_nothing_reads_every_turn_at_once():
    config = from_stored(None)

    assert config == OrgConfig((PROFILES,), (PLAYBOOKS,), 21_600)
    assert [(one.name, one.bookmark, one.window, one.stride) for one in config.extractors] == [
        ("profiles", "profiles", 10, 1),
        ("playbooks", "playbooks", 10, 1),
    ]


def test_the_defaults_of_the_wire_are_our_defaults():
    assert from_stored(stored()) == from_stored(None)


def test_an_extractor_has_a_window_of_its_own_or_that_of_all():
    config = from_stored({"window_size": 20, "stride_size": 5, "profile_extractor_config": {"window_size_override": 6}})

    (profiles,), (playbooks,) = config.profile_extractors, config.playbook_extractors
    assert (profiles.window, profiles.stride) == (6, 5)
    assert (playbooks.window, playbooks.stride) == (20, 5)


def test_a_stride_is_never_longer_than_its_window():
    config = from_stored({"stride_size": 8, "profile_extractor_config": {"window_size_override": 4}})

    (only,) = config.profile_extractors
    assert (only.window, only.stride) == (4, 4)


def test_an_extractor_that_is_null_does_not_read():
    config = from_stored({"profile_extractor_config": None})

    assert config.profile_extractors == ()
    assert [extractor.name for extractor in config.extractors] == ["playbooks"]


def test_an_extractor_by_hand_is_there_and_does_not_read_by_itself():
    config = from_stored({"profile_extractor_config": {"manual_trigger": True}})

    assert [extractor.name for extractor in config.profile_extractors] == ["profiles"]
    assert [extractor.name for extractor in config.extractors] == ["playbooks"]


def test_an_extractor_reads_the_sources_it_is_given():
    (only,) = from_stored({"profile_extractor_config": {"request_sources_enabled": ["a"]}}).profile_extractors
    (any_source,) = from_stored({"profile_extractor_config": {"request_sources_enabled": []}}).profile_extractors

    assert only.sources == ("a",)
    assert any_source.sources is None


def test_an_org_may_have_many_extractors_each_with_its_own_bookmark():
    many = [
        {"extraction_definition_prompt": "all"},
        {"extraction_definition_prompt": "money", "extractor_name": "billing", "context_prompt": "A shop."},
        {"extraction_definition_prompt": "more", "tagging_definition_prompt": "by team"},
    ]

    config = from_stored(stored(profile_extractor_configs=many, user_playbook_extractor_configs=[many[1]]))

    assert [(one.name, one.bookmark, one.definition) for one in config.profile_extractors] == [
        ("profiles", "profiles", "all"),
        ("billing", "profiles/billing", "money"),
        ("profiles-2", "profiles/profiles-2", "more"),
    ]
    assert (config.profile_extractors[1].context, config.profile_extractors[2].tagging) == ("A shop.", "by team")
    assert [one.bookmark for one in config.playbook_extractors] == ["playbooks/billing"]


@pytest.mark.parametrize("many", [[], None])
def test_an_empty_list_switches_off_and_a_null_one_says_nothing(many: list[Any] | None):
    config = from_stored(stored(profile_extractor_configs=many))

    assert len(config.profile_extractors) == (0 if many == [] else 1)


def test_an_idle_time_of_zero_is_a_time():
    assert from_stored({"extraction_idle_timeout_seconds": 0}).idle_seconds == 0
