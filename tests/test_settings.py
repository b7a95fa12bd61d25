"""Settings are read from the environment, long names and short ones."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from acumen import settings as settings_module
from acumen.errors import BadSettings
from acumen.llm.providers import ModelRole
from acumen.settings import Settings, load


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
    with pytest.raises(BadSettings, match="either ACUMEN_LLM__URL or ACUMEN_LLM, not both"):
        load({"ACUMEN_LLM": "openai", "ACUMEN_LLM__URL": "http://127.0.0.1:1/v1"})


def test_something_reads_every_setting():
    source = Path(settings_module.__file__).parent
    texts = [path.read_text() for path in source.rglob("*.py") if path.name != "settings.py"]
    read = {node.attr for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    read |= {f"{role}_model" for role in ModelRole}  # by the name of the role, in llm/providers.py

    assert [name for name in _names(Settings) if name not in read] == []


def _names(section: type[BaseModel]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _names(inner)
        else:
            yield name
