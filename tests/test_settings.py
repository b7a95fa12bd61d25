"""Settings are read from the environment, long names and short ones."""

import pytest

from acumen.errors import BadSettings
from acumen.settings import load


@pytest.mark.parametrize("name", ["ACUMEN_LLM__URL", "ACUMEN_LLM_URL"])
def test_a_model_is_named_in_one_line(name: str):
    assert load({name: "http://127.0.0.1:1/v1"}).llm.url == "http://127.0.0.1:1/v1"


def test_a_key_is_shown_neither_by_settings_nor_by_a_complaint_about_them():
    settings = load({"ACUMEN_LLM_API_KEY": "sk-canary-0001"})

    assert "sk-canary" not in repr(settings)
    with pytest.raises(BadSettings) as wrong:
        load({}, {"llm": {"api_key": ["sk-canary-0002"]}})
    assert "sk-canary" not in str(wrong.value)


def test_a_provider_that_does_not_exist_stops_the_start():
    with pytest.raises(BadSettings, match=r"llm\.provider"):
        load({"ACUMEN_LLM_PROVIDER": "nobody"})


def test_what_turns_the_client_off_is_no_setting_of_the_server():
    assert load({"ACUMEN_OBSERVE": "off", "ACUMEN_OBSERVE__KEEP_DAYS": "7"}).observe.keep_days == 7


def test_a_section_that_is_given_one_value_is_named():
    with pytest.raises(BadSettings, match="ACUMEN_LLM gives all of llm one value"):
        load({"ACUMEN_LLM": "openai", "ACUMEN_LLM__URL": "http://127.0.0.1:1/v1"})
