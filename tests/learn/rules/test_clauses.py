"""A memory of several facts comes apart into them, and what is left of it can stand by itself."""

import pytest

from acumen.learn.rules.clauses import clauses, without


@pytest.mark.parametrize(
    "text, parts",
    [
        ("We make apps, CI is jenkins, three devs.", ["We make apps", "CI is jenkins", "three devs"]),
        ("Physio is with Moses. It is for the knee.", ["Physio is with Moses", "It is for the knee"]),
        ("The rent is £48.50 a plot and concessions pay half.", ["The rent is £48.50 a plot", "concessions pay half"]),
        (
            "User looks after squads Atlas and Borealis, so you will hear of it.",
            ["User looks after squads Atlas and Borealis", "so you will hear of it"],
        ),
        (
            'Asked "Which pills, if any?", the user said: Ramipril 5mg, every morning.',
            [
                'Asked "Which pills, if any?", the user said: Ramipril 5mg',
                'Asked "Which pills, if any?", the user said: every morning',
            ],
        ),
        ("User lives in Berlin.", []),
        ("Well, user lives in Berlin.", []),
    ],
)
def test_parts_that_say_something_are_told_apart(text: str, parts: list[str]):
    assert clauses(text) == parts


@pytest.mark.parametrize(
    "text, ended, left",
    [
        ("We make apps, CI is jenkins, three devs.", ["CI is jenkins"], "We make apps, three devs."),
        ("Physio is with Moses. It is for the knee.", ["Physio is with Moses"], "It is for the knee."),
        ("The rent is £48 a plot, and concessions pay half.", ["concessions pay half"], "The rent is £48 a plot."),
        ("Well, user lives in Berlin.", ["user lives in Berlin"], ""),
        ("Kickoff is on the 19th, Mr Claes, French speaker.", ["Kickoff is on the 19th"], ""),
        (
            "For a limited time, the user asks: Tell Ada first, then send it to Bo.",
            [
                "For a limited time, the user asks: Tell Ada first",
                "For a limited time, the user asks: then send it to Bo",
            ],
            "",
        ),
    ],
)
def test_what_is_left_stands_by_itself(text: str, ended: list[str], left: str):
    assert without(text, ended) == left
