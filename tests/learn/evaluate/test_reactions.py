"""What one turn says of how a talk is going. None of these sentences stands in the labelled set."""

import pytest

from acumen.learn.evaluate.reactions import (
    Admission,
    Reaction,
    admission,
    leaves_open,
    only_asks,
    reaction,
    tool_failed,
)

ANSWER = "The invoice is dated 4 May and goes to the Hamburg office."


@pytest.mark.parametrize(
    "text,expected",
    [
        ("I want to speak to someone from your team", Reaction.ESCALATION),
        ("can you put me through to a supervisor?", Reaction.ESCALATION),
        ("oh never mind then", Reaction.GIVES_UP),
        ("I'll just do it by hand", Reaction.GIVES_UP),
        ("never mind, it works now", Reaction.SOLVED),
        ("No, it should go to Bremen.", Reaction.CORRECTION),
        ("Bremen, not Hamburg", Reaction.CORRECTION),
        ("I told you to send it to Bremen", Reaction.CORRECTION),
        ("you forgot the tax", Reaction.CORRECTION),
        ("You should have asked me first", Reaction.CORRECTION),
        ("Don't ever hand-roll retries", Reaction.CORRECTION),
        ("Actually we moved it", Reaction.CORRECTION),
        ("Actually that's great, thanks", Reaction.PLEASED),
        ("this isn't what I asked for", Reaction.CORRECTION),
        ("that deletes all my files", Reaction.CORRECTION),
        ("It still shows the old date", Reaction.COMPLAINT),
        ("it crashes on start", Reaction.COMPLAINT),
        ("didn't help at all", Reaction.COMPLAINT),
        ("ValueError: invalid date", Reaction.COMPLAINT),
        ("this is so frustrating", Reaction.COMPLAINT),
        ("Thanks, but it doesn't load", Reaction.COMPLAINT),
        ("that solved it", Reaction.SOLVED),
        ("ok now it compiles again", Reaction.SOLVED),
        ("Thank you so much!", Reaction.PLEASED),
        ("awesome", Reaction.PLEASED),
        ("👍", Reaction.PLEASED),
        ("ah, makes sense", Reaction.PLEASED),
        ("And which office gets the copy?", Reaction.NEUTRAL),
        ("no problem, take your time", Reaction.NEUTRAL),
        ("I am working on the Hamburg office's books", Reaction.NEUTRAL),
        ("Good morning, one more question", Reaction.NEUTRAL),
        ("Is the office still open?", Reaction.NEUTRAL),
    ],
)
def test_how_a_user_takes_an_answer(text: str, expected: Reaction):
    assert reaction(text, ANSWER) is expected


@pytest.mark.parametrize("text", ["No.", "no, only the first page", "nope", "It needs two pages"])
def test_a_no_that_answers_a_question_corrects_nothing(text: str):
    assert reaction(text, "Shall I print all pages?") not in (Reaction.CORRECTION, Reaction.GIVES_UP)


def test_pasted_text_is_not_what_the_user_says():
    pasted = "Here is the log:\n```\nno, that's wrong, give me a human\n```\nwhat does it mean?"

    assert reaction(pasted, ANSWER) is Reaction.NEUTRAL


@pytest.mark.parametrize(
    "text,expected",
    [
        ("I'm transferring you to one of our specialists.", Admission.HANDOVER),
        ("A colleague will contact you shortly.", Admission.HANDOVER),
        ("I could not find a booking under that name.", Admission.NOTHING_FOUND),
        ("The search returned no results for this.", Admission.NOTHING_FOUND),
        ("I'm unable to change the limit.", Admission.UNABLE),
        ("I don't have permission to see salaries.", Admission.UNABLE),
        ("The service is currently unavailable.", Admission.BROKEN),
        ("Something went wrong on our side.", Admission.BROKEN),
        ("The build failed because of a missing import. I added it, and all tests pass now.", None),
        ("The meeting is at nine.", None),
        ("Connect the red cable with the port on the left.", None),
    ],
)
def test_what_an_agent_owns_up_to(text: str, expected: Admission | None):
    assert admission(text) is expected


def test_a_turn_that_ends_with_a_wish_leaves_it_open():
    assert leaves_open("Thanks. And what about the copy?")
    assert leaves_open("Nice. Now add a test")
    assert not leaves_open("Is that so? Good to know.")


def test_a_question_back_is_nothing_but_questions():
    assert only_asks("Which office do you mean? The one in Hamburg?")
    assert not only_asks("It is the one in Hamburg. Anything else?")


@pytest.mark.parametrize(
    "tool,failed",
    [
        ({"status": "error"}, True),
        ({"status": "Timed out"}, True),
        ({"status": "503"}, True),
        ({"status": "success"}, False),
        ({"status": "200"}, False),
        ({"status": "", "tool_data": {"error": "no such file"}}, True),
        ({"status": "", "tool_data": {"error": None}}, False),
        ({}, False),
    ],
)
def test_whether_a_tool_failed(tool: dict, failed: bool):
    assert tool_failed(tool) is failed
