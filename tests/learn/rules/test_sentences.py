"""A turn is cut into what its writer said, and each piece knows where it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.learn.rules.sentences import MAX_CHARACTERS, sentences


def said(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


def test_sentences_end_at_stops_line_breaks_and_semicolons():
    text = "I live in Oslo. Really!\nCall me Kim; thanks"

    assert said(text) == ["I live in Oslo.", "Really!", "Call me Kim;", "thanks"]


def test_abbreviations_and_numbers_do_not_end_a_sentence():
    text = "I see Dr. Ito at 3.30 p.m. daily, e.g. for v1.2.3 of my plan."

    assert said(text) == [text]


def test_bullets_and_numbering_are_no_part_of_what_is_said():
    text = "Rules:\n- never force push\n* always squash\n2) ask first"

    assert said(text) == ["Rules:", "never force push", "always squash", "ask first"]


@pytest.mark.parametrize(
    "foreign",
    [
        "```python\nalways = use(this)\n```",
        "~~~\nNever say this.\n~~~",
        "> You should always use tabs.",
        "| never | always |",
        "<log>\nWe never deploy here.\n</log>",
        "Traceback (most recent call last):",
        '  File "app.py", line 3, in always',
        "2024-05-01 12:00:00 ERROR we never got a reply",
        "ValueError: never use None",
        '{"rule": "always use tabs", "n": [1, 2]}',
        "const always = require('never');",
        "-----Original Message-----\nI always work from home.",
    ],
)
def test_code_logs_data_and_quoted_lines_are_not_said(foreign: str):
    text = f"Here it is.\n{foreign}"

    assert said(text) == ["Here it is."]


def test_a_conversation_pasted_in_is_not_said():
    text = "See this:\nAnna: I live in Rome.\nBob: I never sleep.\nAnna: I always eat late."

    assert said(text) == ["See this:"]


def test_an_open_fence_swallows_the_rest():
    assert said("Look\n```\nalways x\nnever y") == ["Look"]


def test_a_very_long_turn_is_read_at_its_ends():
    text = "I live in Oslo.\n" + "lorem ipsum dolor. " * 80_000 + "\nCall me Kim."

    found = sentences(text)

    assert len(text) > MAX_CHARACTERS
    assert found[0].text == "I live in Oslo."
    assert found[-1].text == "Call me Kim."
    assert text[found[-1].start : found[-1].end] == "Call me Kim."


@given(st.text(max_size=400))
def test_each_sentence_stands_where_it_says(text: str):
    for sentence in sentences(text):
        assert len(sentence.text) == sentence.end - sentence.start
        assert 0 <= sentence.start < sentence.end <= len(text)
