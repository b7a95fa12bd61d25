"""A sentence is cut before what it asks or bids, and behind a wish to forget, and nowhere else."""

import pytest

from acumen.learn.rules.parts import segments
from acumen.learn.rules.sentences import sentences


@pytest.mark.parametrize(
    "text, found",
    [
        ("npm broke the lockfile, so always use pnpm.", ["npm broke the lockfile", "always use pnpm."]),
        ("I'm colorblind so don't rely on red.", ["I'm colorblind", "don't rely on red."]),
        ("My mother had it, is that a risk for me?", ["My mother had it", "is that a risk for me?"]),
        ("Also forget about nix, we are back to venvs.", ["Also forget about nix", "we are back to venvs."]),
        (
            "The porch is gone so forget the porch, parcels are left in the garage now.",
            ["The porch is gone", "forget the porch", "parcels are left in the garage now."],
        ),
        ("Forget my address, company policy.", ["Forget my address, company policy."]),
        ("I live in Berlin, work at Siemens and have a dog.", ["I live in Berlin, work at Siemens and have a dog."]),
        ("She is away so the desk is empty.", ["She is away so the desk is empty."]),
        ("It was so big, so so big.", ["It was so big, so so big."]),
        ("The third one, is it better?", ["The third one, is it better?"]),
    ],
)
def test_a_sentence_is_cut_where_it_turns_to_something_else(text: str, found: list[str]):
    (sentence,) = sentences(text)

    cut = segments(sentence)

    assert [one.text for one in cut] == found
    assert [text[one.start : one.end] for one in cut] == found
