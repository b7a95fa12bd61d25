"""Two configurations into one: what a caller changed, and what was masked."""

from typing import Any

import pytest
from pydantic import ValidationError

from acumen.api.config_merge import MASK, agreed, masked, shown, unmasked, updated
from acumen_client.wire.config import Config, ConfigUpdate

PROMPT = "Note what matters."


def config(**fields: Any) -> Config:
    return Config.model_validate({"storage_config": None, **fields})


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"extraction_definition_prompt": PROMPT, "extractor_name": name, **more}


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

    first = updated(stored, ConfigUpdate.model_validate({"profile_extractor_config": named("c")}))
    every = updated(stored, ConfigUpdate.model_validate({"profile_extractor_configs": [named("d")]}))

    assert [one.extractor_name for one in first.profile_extractor_configs or ()] == ["c", "b"]
    assert [one.extractor_name for one in every.profile_extractor_configs or ()] == ["d"]


def test_a_reader_is_shown_many_only_where_there_are_many():
    one, two = config(), config(profile_extractor_configs=[named("a"), named("b")])

    assert "profile_extractor_configs" not in shown(one).model_dump()
    assert len(shown(two).model_dump()["profile_extractor_configs"]) == 2
    assert Config.model_validate(shown(two).model_dump()) == two


def test_an_update_replaces_only_what_it_names():
    before = config(agent_context_prompt="We sell tea.", window_size=20)

    after = updated(before, ConfigUpdate.model_validate({"batch_interval": 2}))

    assert (after.agent_context_prompt, after.window_size, after.stride_size) == ("We sell tea.", 20, 2)


def test_an_update_to_a_preset_sets_window_and_stride():
    after = updated(config(window_size=40), ConfigUpdate.model_validate({"extraction_preset": "quick_chat"}))

    assert (after.window_size, after.stride_size) == (5, 3)


def test_an_update_is_checked_as_a_whole():
    with pytest.raises(ValidationError, match="stride_size"):
        updated(config(stride_size=3), ConfigUpdate.model_validate({"window_size": 2}))


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
