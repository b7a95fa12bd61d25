"""Words that are claimed to have been said are looked for where they are claimed to stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.learn.extract.evidence import evidence, names, span
from tests.learn.talk import turn

SAID = "Hi there. Please always answer in French, even when I write English!\nThanks  a lot."


@pytest.mark.parametrize(
    "quote,found",
    [
        ("always answer in French", "always answer in French"),
        ("ALWAYS  answer\nin french", "always answer in French"),
        ("Thanks a lot.", "Thanks  a lot."),
        ("please always answer only in French, even if I write English", "Please always answer in French, even when I"),
    ],
)
def test_a_quote_is_found_whatever_its_spaces_and_capitals_or_nearly_so(quote: str, found: str):
    place = span(quote, SAID)

    assert place is not None
    assert SAID[place[0] : place[1]].startswith(found)


@pytest.mark.parametrize("quote", ["", "   ", "I live in Paris", "always use tabs", "French fries", "x"])
def test_words_that_were_not_said_are_not_found(quote: str):
    assert span(quote, SAID) is None


@pytest.mark.parametrize(
    "quote,sentence",
    [
        ("我对花生严重过敏", "我对花生过敏。"),
        ("色はカラーコードで書いて", "色は必ずカラーコードで書いてください。"),
    ],
)
def test_a_quote_without_spaces_is_found_when_it_was_nearly_copied(quote: str, sentence: str):
    text = f"你好！{sentence}谢谢。"

    place = span(quote, text)

    assert place is not None
    assert text[place[0] : place[1]] == sentence
    assert span("我住在巴黎的郊区", text) is None


@pytest.mark.parametrize(
    "left,right,shared",
    [
        ("Forget my sister.", "The user's sisters live in Oslo.", True),
        ("Forget my sister.", "The user's father is allergic to nuts.", False),
        ("我妹妹的地址", "用户的妹妹住在北京", True),
        ("port 5432", "The port is 5433", True),
        ("it is on", "it is on", False),
        ("The user is Ann.", "The user likes tea.", False),
    ],
)
def test_texts_about_the_same_thing_share_names(left: str, right: str, shared: bool):
    assert bool(names(left) & names(right)) is shared


@given(st.text(min_size=1, max_size=200), st.integers(0, 50), st.integers(1, 50))
def test_every_part_of_a_text_that_has_words_is_found_in_it(text: str, start: int, length: int):
    part = text[start : start + length]

    place = span(part, text)

    assert (place is not None) or not part.split()


def test_evidence_is_the_span_of_the_turn_with_its_secrets_hidden():
    said = turn(7, "My token is ghp_abcdefghijklmnopqrstuvwxyz012345 for the repo")

    found = evidence("token is ghp_abcdefghijklmnopqrstuvwxyz012345", said)

    assert found is not None
    assert (found.interaction_id, said.text[found.start : found.end].startswith("token is")) == (7, True)
    assert "abcdefghij" not in found.text


def test_what_a_tool_returned_or_an_expert_wrote_is_evidence_of_the_whole_turn():
    said = turn(3, "agent: Done.", expert_text="Refund to the original card, never as a voucher.")

    found = evidence("Refund to the original card", said)

    assert found is not None
    assert (found.start, found.end) == (0, len("Done."))
