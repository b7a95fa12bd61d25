"""Text that tries to do something, and text that only tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.model.prompt_injection import commands, detect, visible
from bench.failures.labelled import labelled
from tests.security.hostile import ALL, CARRIERS, COMMANDING


def test_there_are_two_hundred_hostile_strings():
    assert len(set(ALL)) >= 200


@pytest.mark.parametrize("text", COMMANDING)
def test_text_that_commands_is_recognised(text: str):
    assert commands(text), detect(text)


@pytest.mark.parametrize("text", CARRIERS)
def test_text_that_carries_something_is_recognised(text: str):
    assert detect(text)


def test_failures_that_only_tell_are_let_through():
    lines = [line.message for line in labelled(2000)]

    wrong = {line for line in lines if commands(line)}

    assert wrong == set()


@given(st.text())
def test_any_text_can_be_looked_at_and_made_visible(text: str):
    assert isinstance(detect(text), tuple)
    assert "\x1b" not in visible(text)
