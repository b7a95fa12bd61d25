"""The whole reading of a window: the README's example, evidence, secrets, forgetting, tools and experts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from acumen.model.conversation import Window
from acumen.model.ids import UserId
from tests.learn.talk import facts, lessons, only_fact, only_lesson, taught, told, turn, window

RULE = "we never deploy production to us-east-1, always use us-west-2"
DEPLOY = ("Deploy the service to production.", "agent: Deploying to us-east-1 now.")


@pytest.mark.parametrize("talk", [(*DEPLOY, f"No, {RULE}."), (f"No, {RULE}.",), (RULE,), (f"Actually {RULE}!",)])
def test_the_readme_example_leaves_a_fact_and_a_lesson(talk: tuple[str, ...]):
    fact, lesson = only_fact(*talk), only_lesson(*talk)

    assert fact.content == "User never deploys production to us-east-1 and always uses us-west-2."
    assert lesson.lesson.content == "Always use us-west-2; never deploy production to us-east-1."
    assert lesson.lesson.trigger == "Deploying production: choosing the region"


def test_the_pitfall_is_what_the_agent_had_done():
    corrected, alone = only_lesson(*DEPLOY, f"No, {RULE}.").lesson, only_lesson(RULE).lesson

    assert corrected.pitfall == "Deploying to us-east-1."
    assert alone.pitfall == "Deploying production to us-east-1."


def test_only_new_turns_of_the_user_are_read():
    before, answer, after = turn(1, "I live in Oslo."), turn(2, "agent: I live in the cloud."), turn(3, "I go by Kim.")
    seen = Window(UserId("ann"), (replace(before, is_new=False), answer, after))

    assert [note.content for note in told(seen)] == ["User goes by Kim."]


def test_old_turns_still_tell_what_a_correction_is_about():
    asked, answer, said = turn(1, "write tests"), turn(2, "agent: I used unittest."), turn(3, "pytest, not unittest")
    seen = Window(UserId("ann"), (replace(asked, is_new=False), replace(answer, is_new=False), said))

    (note,) = taught(seen)

    assert note.lesson.trigger == "Writing tests"
    assert note.lesson.pitfall == "Using unittest."


def test_a_long_turn_with_code_gives_up_its_one_rule():
    code = "```python\n" + "def f(x):\n    return always(never(x))\n" * 200 + "```"

    said = f"The build is red.\n{code}\nPlease fix it. And from now on never commit without running mypy!\nThanks"

    assert lessons(said) == ["Never commit without running mypy."]


def test_evidence_is_the_sentence_and_its_place():
    said = "Morning!  I live in “Old Town”, really. By the way, never use tabs —  please."
    seen = window(said)

    for note in [*told(seen), *taught(seen)]:
        assert said[note.evidence.start : note.evidence.end] == note.evidence.text
        assert note.evidence.interaction_id == 1
    assert [note.evidence.text for note in taught(seen)] == ["By the way, never use tabs —  please."]


def test_confidence_is_higher_for_what_is_said_plainly():
    plain, weak = only_lesson("Never use tabs."), only_lesson("Use metric units.")

    assert plain.confidence > weak.confidence


# --- secrets


def test_a_fact_told_by_a_secret_is_not_kept():
    assert facts("My password is hunter2.") == []
    assert facts("My card number is 4111 1111 1111 1111.") == []


def test_a_lesson_keeps_its_point_and_loses_the_secret():
    note = only_lesson("Always use the token ghp_abcdefghijklmnopqrstuvwxyz0123 when pushing.")

    kept = f"{note} "
    assert note.lesson.content == "Always use the token [redacted key] when pushing."
    assert "ghp_" not in kept


def test_an_address_is_kept_as_it_was_written_without_its_password():
    (lesson,) = lessons("Always connect with postgres://admin:s3cr3tpw@db.example.com/main.")

    assert "postgres://admin:[redacted password]@db.example.com/main" in lesson


# --- forgetting


@pytest.mark.parametrize(
    "said, content",
    [
        ("Forget that I live in Berlin.", "Live Berlin."),
        ("You can forget that I'm vegan.", "Vegan."),
        ("Please delete my address from your memory.", "Address."),
        ("Please forget what I told you about my salary.", "Salary."),
        ("Stop remembering my location.", "Location."),
        ("Forget the rule about two approvals.", "Two approvals."),
        ("scrap what I said about the budget", "Budget."),
        ("My quota isn't something I want you to remember.", "Quota."),
        ("the rule about no calls, you can bin that", "Calls."),
        ("forget what I just sent", "What the user said last."),
        ("Delete everything you know about me.", "Everything about the user."),
    ],
)
def test_a_wish_to_forget_names_what_is_to_go(said: str, content: str):
    note = only_fact(said)

    assert note.forget
    assert note.content == content
    assert only_lesson(said).forget


@pytest.mark.parametrize(
    "said", ["Don't forget to run the tests.", "I forgot my password.", "Forget it.", "I always forget my keys."]
)
def test_other_forgetting_is_no_such_wish(said: str):
    seen = window(said)

    assert not any(note.forget for note in [*told(seen), *taught(seen)])


# --- tools and experts


def call(status: str, error: str = "", **arguments: object) -> dict[str, object]:
    return {"tool_name": "deploy", "status": status, "tool_data": {"input": arguments, "error": error}}


def test_a_tool_that_failed_and_recovered_teaches_what_changed():
    failed = turn(1, "agent: trying", tools_used=(call("error", "region not enabled", region="us-east-1", app="web"),))
    worked = turn(2, "agent: done", tools_used=(call("success", region="us-west-2", app="web"),))

    (note,) = taught(Window(UserId("ann"), (failed, worked)))

    assert note.lesson.content == "Call deploy with region=us-west-2, not with region=us-east-1."
    assert note.lesson.trigger == "Using the tool deploy"
    assert note.lesson.rationale == 'It failed with region=us-east-1: "region not enabled"'


def test_a_tool_that_recovers_with_the_same_arguments_teaches_nothing():
    failed = turn(1, "agent: trying", tools_used=(call("error", "timeout", app="web"),))
    worked = turn(2, "agent: done", tools_used=(call("success", app="web"),))

    assert taught(Window(UserId("ann"), (failed, worked))) == []


def test_a_tool_that_is_not_permitted_blocks():
    failed = turn(1, "agent: trying", tools_used=(call("failed", "403: permission denied", app="web"),))

    (note,) = taught(Window(UserId("ann"), (failed,)))

    assert note.lesson.blocking_issue == {"kind": "permission_denied", "details": "403: permission denied"}


def test_any_other_failure_teaches_nothing():
    failed = turn(1, "agent: trying", tools_used=(call("error", "connection reset"),))

    assert taught(Window(UserId("ann"), (failed,))) == []


def test_an_expert_teaches_what_the_agent_did_not_say():
    asked = turn(1, "My card was charged twice.")
    expert = "Sorry to hear that your card was charged twice. Open a dispute with the payments desk within two days."
    answered = turn(2, "agent: Sorry to hear that your card was charged twice.", expert_text=expert)

    (note,) = taught(Window(UserId("ann"), (asked, answered)))

    assert note.lesson.content == "Open a dispute with the payments desk within two days."
    assert note.lesson.trigger == "Asked: My card was charged twice."


def test_an_expert_who_agrees_teaches_nothing():
    asked, said = turn(1, "Where is my order?"), "Your order ships on Monday from our Leipzig warehouse."
    answered = turn(2, f"agent: {said}", expert_text=said)

    assert taught(Window(UserId("ann"), (asked, answered))) == []


@pytest.mark.parametrize(
    "used", [{}, {"tool_name": None}, {"tool_name": "x", "status": "error", "tool_data": [1]}, {"status": 3}]
)
def test_odd_tool_records_are_passed_over(used: dict[str, object]):
    assert taught(Window(UserId("ann"), (turn(1, "agent: hm", tools_used=(used,)),))) == []


# --- anything may be said

_PIECES = st.sampled_from(
    "I we you my our your the a never always don't not no use used using deploy please stop from now on when if "
    "because until Friday forget that said live in Berlin is are am was have to should must can , . ; : — ( ) ? ! - ` "
    "``` \" ' > us-east-1 $5 12 3% instead of rather than so and but or wait actually told every time next by".split()
)


@given(st.lists(_PIECES | st.just("\n"), max_size=40).map(" ".join), st.text(max_size=60))
def test_no_words_break_the_reading_and_evidence_is_exact(said: str, answer: str):
    seen = window("Deploy it.", f"agent: {answer}", said)

    for note in [*told(seen), *taught(seen)]:
        words = seen.turns[note.evidence.interaction_id - 1].text
        assert words[note.evidence.start : note.evidence.end] == note.evidence.text
        assert note.evidence.text


@given(st.text(max_size=300))
def test_no_characters_break_the_reading(said: str):
    seen = window(said, f"agent: {said}", said)

    assert told(seen) == told(seen)
    assert taught(seen) == taught(seen)


def test_a_command_after_blame_says_what_is_right():
    note = only_lesson("agent: SELECT * FROM users", "You keep using SELECT *. List the columns explicitly.")

    assert note.lesson.content == "Do not use SELECT *. List the columns explicitly."


def test_a_bare_number_answers_a_question():
    assert only_fact("agent: What's your hourly rate?", "75").content.endswith("the user said: 75.")
