"""What an instruction wants and what it does not."""

import pytest

from acumen.learn.share.stance import agreed, opposed, shared_terms, stance


@pytest.mark.parametrize(
    "one, other",
    [
        ("Always use emojis.", "Never use emojis."),
        ("Use emojis.", "Please stop using emojis."),
        ("Add emojis to replies.", "Leave out emojis in replies."),
        ("Always run the tests before committing.", "Do not run the tests before committing; CI does it."),
        ("Never commit without running the tests.", "Skip the tests before commits."),
        ("Ask before restarting a service.", "Restart services without asking."),
        ("Never restart a service without asking.", "Just restart the service, no need to ask first."),
        ("Keep answers short.", "Give detailed answers."),
        ("Write formally.", "Keep a casual tone."),
        ("Answer in German.", "Answer in French."),
        ("Deploy to us-west-2.", "Deploy to us-east-1."),
        ("Retry three times.", "Retry 5 times."),
        ("Escalate refunds over $100.", "Escalate refunds over $500."),
        ("Write dates as YYYY-MM-DD.", "Write dates as MM/DD/YYYY."),
        ("Use uv instead of pip.", "Use pip instead of uv."),
        ("Greet the customer by name.", "No greetings; start with the answer."),
    ],
)
def test_nobody_can_follow_both(one: str, other: str):
    assert opposed(stance(one), stance(other))
    assert opposed(stance(other), stance(one))


@pytest.mark.parametrize(
    "one, other",
    [
        ("Always run the tests before committing.", "Never commit without running the tests first."),
        ("Look up the order before issuing a refund.", "Never issue refunds before you have looked up the order."),
        ("Ask before restarting a service.", "Never restart a service without asking."),
        ("Use the us-west-2 region instead of us-east-1.", "We never deploy to us-east-1, always use us-west-2."),
        ("Do not forget to run the tests.", "Run the tests."),
        ("Keep answers short.", "Give concise answers, no long essays."),
        ("Never put emojis in replies.", "Leave out emojis."),
        ("Use euros, not dollars.", "Show amounts in EUR."),
        ("Retry three times.", "Retry up to 3 times."),
        ("No refund until the order is found.", "Find the order before a refund."),
        ("Use bullet points.", "Run the linter."),
        ("", "Never do that."),
    ],
)
def test_both_can_be_followed(one: str, other: str):
    assert not opposed(stance(one), stance(other))
    assert not opposed(stance(other), stance(one))


def test_what_follows_before_only_says_when():
    read = stance("Run the tests before committing.")

    assert read.required == {"run", "test"}
    assert "commit" in read.terms
    assert "commit" not in read.required | read.forbidden


def test_a_situation_in_front_only_says_when():
    read = stance("Before committing, run the tests.")

    assert read.required == {"run", "test"}


def test_each_order_of_a_sentence_has_its_own_sign():
    read = stance("Never deploy to us-east-1, always use us-west-2; skip the greeting and answer.")

    assert "us-west-2" in read.required
    assert {"us-east-1", "greet"} <= read.forbidden
    assert "answer" in read.required


def test_a_value_is_known_by_any_of_its_names():
    assert agreed(stance("Show amounts in euros."), stance("Give prices in EUR."))
    assert agreed(stance("Try twice."), stance("Try 2 times."))


def test_words_of_the_situation_do_not_make_two_rules_alike():
    hints = stance("Add type hints to every function.", "writing a function")
    docs = stance("Add a docstring to every function.", "writing a function")

    assert shared_terms(hints, docs) == 0
    assert shared_terms(hints, stance("Functions need type hints.", "writing a function")) == 1


def test_an_instruction_that_is_all_situation_is_compared_by_it():
    assert shared_terms(stance("Run the tests.", "running tests"), stance("Run tests.", "tests")) == 1


def test_other_forms_of_a_word_are_the_same_word():
    assert shared_terms(stance("Needs a manager's approval."), stance("A manager must approve it.")) == 1


def test_nothing_is_shared_with_nothing():
    assert shared_terms(stance(""), stance("")) == 0
    assert not agreed(stance(""), stance("Answer in German."))
