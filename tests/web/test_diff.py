"""What changed between two texts."""

from hypothesis import given
from hypothesis import strategies as st

from acumen.web.diff import MOST_WORDS, Piece, words_changed


def test_a_word_that_was_replaced_is_told_as_gone_and_new():
    pieces = words_changed("Use us-east-1 always.", "Use us-west-1 always.")

    assert pieces == [
        Piece("same", "Use us-"),
        Piece("gone", "east"),
        Piece("new", "west"),
        Piece("same", "-1 always."),
    ]


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_pieces_hold_both_texts(before: str, after: str):
    pieces = words_changed(before, after)

    assert "".join(piece.text for piece in pieces if piece.how != "new") == before
    assert "".join(piece.text for piece in pieces if piece.how != "gone") == after


def test_texts_too_long_to_compare_are_told_one_after_the_other():
    long = "word " * MOST_WORDS

    assert [piece.how for piece in words_changed(long, long + "more")] == ["gone", "new"]
