"""How one org wants to be learned from."""

import pytest

from acumen.model.config import FACTS, LESSONS, Config, Extractor, from_stored
from acumen_client.wire import config as wire


def test_an_org_that_has_set_nothing_reads_every_turn_at_once():
    assert from_stored(None) == Config(
        Extractor("profiles", 10, 1, definition=FACTS), Extractor("playbooks", 10, 1, definition=LESSONS), 21_600
    )


def test_the_defaults_of_the_wire_are_our_defaults():
    stored = wire.Config(storage_config=None).model_dump(mode="json")

    assert from_stored(stored) == from_stored(None)


def test_an_extractor_has_a_window_of_its_own_or_that_of_all():
    config = from_stored({"window_size": 20, "stride_size": 5, "profile_extractor_config": {"window_size_override": 4}})

    assert (config.profiles.window, config.profiles.stride) == (4, 5)
    assert (config.playbooks.window, config.playbooks.stride) == (20, 5)


@pytest.mark.parametrize("section", [None, {"manual_trigger": True}])
def test_an_extractor_that_is_null_or_by_hand_does_not_run_by_itself(section: dict | None):
    config = from_stored({"profile_extractor_config": section})

    assert [extractor.name for extractor in config.extractors] == ["playbooks"]


def test_an_extractor_reads_the_sources_it_is_given():
    assert from_stored({"profile_extractor_config": {"request_sources_enabled": ["a"]}}).profiles.sources == ("a",)
    assert from_stored({"profile_extractor_config": {"request_sources_enabled": []}}).profiles.sources is None


def test_an_idle_time_of_zero_is_a_time():
    assert from_stored({"extraction_idle_timeout_seconds": 0}).idle_seconds == 0
