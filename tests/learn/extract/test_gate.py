"""What is not worth a model's reading is not read by one."""

import pytest

from acumen.learn.extract.gate import says_something
from acumen.model.conversation import Window
from tests.learn.talk import turn, window


@pytest.mark.parametrize("text", ["", "   ", "/clear", "!ls -la", "/model gpt", "?", "\n"])
def test_commands_and_silence_say_nothing(text: str):
    assert not says_something(Window(window().user_id, (turn(1, text), turn(2, "agent: Hello, how can I help?"))))


@pytest.mark.parametrize(
    "text", ["Always use tabs.", "ok", "/home/ann is where I keep my projects, remember that for all scripts"]
)
def test_words_say_something(text: str):
    assert says_something(window(f"user: {text}"))


def test_a_tool_or_an_expert_says_something_too():
    assert says_something(Window(window().user_id, (turn(1, "agent: x", tools_used=({"tool_name": "t"},)),)))
    assert says_something(Window(window().user_id, (turn(1, "agent: x", expert_text="y"),)))


def test_what_was_read_before_says_nothing_new():
    assert not says_something(Window(window().user_id, (turn(1, "Always use tabs.", is_new=False),)))
