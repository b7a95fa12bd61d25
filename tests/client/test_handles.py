"""The client and the server agree on what a handle is, though they share no code."""

import pytest

from acumen.model.handles import cited_handles, without_handles
from acumen_client import strip_handles
from acumen_client.handles import handles_in

TEXTS = [
    "Nothing to cite.",
    "Tea [m48217].",
    "Tea [m48217] and [m48217] again [t345].",
    "Both [m48217, t345;m00001 ; m2].",
    "[ m48217 ]\tTea\t[m1]\nnext line [t1]",
    "array[m1] and list [m1][m2], but not [m], [x12], [m12a], m48217 or [M48217]",
    "[m1234567890123] is too long; [m123456789012] is not",
    "[m1,] [,m1] [m1 m2] []",
]


@pytest.mark.parametrize("text", TEXTS)
def test_client_and_server_read_and_strip_the_same_handles(text: str):
    assert (handles_in(text), strip_handles(text)) == (cited_handles(text), without_handles(text))


def test_stripped_text_reads_as_if_nothing_had_been_cited():
    assert strip_handles("Three zebras [m48217], fed at noon [m00012, t3].") == "Three zebras, fed at noon."
