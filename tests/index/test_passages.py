"""Passages: short, in order, from the beginning."""

from hypothesis import given
from hypothesis import strategies as st

from acumen.index.passages import LENGTH, MOST, MOST_OF_AGENT, of_turn, passages


def test_a_short_text_is_one_passage() -> None:
    assert passages(" I like tea. And you? ") == ["I like tea. And you?"]


def test_an_empty_text_is_one_empty_passage() -> None:
    assert passages(" \n ") == [""]


def test_a_passage_ends_where_a_sentence_does() -> None:
    sentence = "A sentence of some fifty characters, more or less."

    found = passages(" ".join([sentence] * 12))

    assert len(found) > 1
    assert all(passage.startswith("A sentence") and passage.endswith("less.") for passage in found)


def test_a_long_sentence_is_cut_between_words() -> None:
    found = passages("word " * 100)

    assert len(found) > 1
    assert all(passage.split() == ["word"] * len(passage.split()) for passage in found)


def test_full_stops_of_scripts_without_spaces_end_sentences() -> None:
    found = passages("私は緑茶が好きです。" * 50)

    assert all(passage.endswith("。") for passage in found)


def test_people_are_heard_out_and_agents_are_heard_at_the_beginning() -> None:
    text = "A sentence of some fifty characters, more or less. " * 40

    assert len(of_turn("user", text)) == len(of_turn("Caroline", text)) == MOST
    assert of_turn("Assistant", text) == of_turn("user", text)[:MOST_OF_AGENT]


@given(st.text(max_size=3000))
def test_passages_are_few_and_short_and_begin_at_the_beginning(text: str) -> None:
    found = passages(text)

    assert 1 <= len(found) <= MOST
    assert all(len(passage) <= LENGTH for passage in found)
    assert "".join(text.split()).startswith("".join("".join(found).split()))
