"""What can be published, in each form that it may be written."""

import json

import pytest

from acumen.cli.remote.input import parsed, turn_of
from acumen.errors import BadInput


@pytest.mark.parametrize(
    "text, role, content",
    [
        ("user: hello", "User", "hello"),
        ("Assistant:Done.", "Assistant", "Done."),
        ("hello there", "User", "hello there"),
        ("note: call her", "User", "note: call her"),
        ("user: one\ntwo", "User", "one\ntwo"),
        ("https://example.org", "User", "https://example.org"),
    ],
)
def test_only_a_known_speaker_before_the_colon_is_one(text: str, role: str, content: str):
    assert turn_of(text) == {"role": role, "content": content}


TURN = {"role": "User", "content": "hello"}
BODY = {"user_id": "ana", "interaction_data_list": [TURN]}


@pytest.mark.parametrize(
    "text, expected",
    [
        (json.dumps(TURN), [{"interaction_data_list": [TURN]}]),
        (json.dumps([TURN, TURN]), [{"interaction_data_list": [TURN, TURN]}]),
        (json.dumps(["user: hello"]), [{"interaction_data_list": [TURN]}]),
        (f"{json.dumps(TURN)}\n\n{json.dumps(TURN)}\n", [{"interaction_data_list": [TURN, TURN]}]),
        (json.dumps(BODY, indent=2), [BODY]),
        (f"{json.dumps(BODY)}\n{json.dumps(BODY)}", [BODY, BODY]),
        ("user: hello\n\n", [{"interaction_data_list": [TURN]}]),
    ],
    ids=["a turn", "turns", "words", "lines of turns", "a body", "lines of bodies", "plain lines"],
)
def test_each_form_is_read(text: str, expected: list[dict[str, object]]):
    assert parsed(text, "file") == expected


@pytest.mark.parametrize("text", ["", "  \n", "[1, 2]", '{"role": "User"', '[{"role"]'])
def test_what_cannot_be_read_names_where_it_came_from(text: str):
    with pytest.raises(BadInput, match=r"notes\.json"):
        parsed(text, "notes.json")
