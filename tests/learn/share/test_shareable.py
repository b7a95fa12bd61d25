"""What can be a lesson for all: an instruction about something, and nobody's private matter."""

import pytest

from acumen.learn.share.shareable import shareable


@pytest.mark.parametrize(
    "content",
    [
        "Always use us-west-2 for deployments, never us-east-1.",
        "Use uv.",
        "No emojis.",
        "Answer in German.",
        "Test, then commit.",
        "Never deploy on Fridays.",
        "Tests must be run before each commit.",
        "Functions need type hints.",
        "Ask me before restarting a service.",
        "When deploying, run the tests first.",
        "Don't push until I approve the diff.",
        "I prefer short answers.",
        "We manage packages with poetry.",
        "Check it twice before you send the invoice.",
        "In an outage, page whoever is on call first.",
        "Thanks! Please use `pnpm` instead of npm.",
    ],
)
def test_an_instruction_can_be_shared(content: str):
    assert shareable(content)


@pytest.mark.parametrize(
    "content",
    [
        "It is frustrating.",
        "Do it again.",
        "Fix that.",
        "Don't do that.",
        "Never do that again.",
        "Always do this.",
        "Make it better.",
        "Try again.",
        "Remember that.",
        "It should work.",
        "That is wrong.",
        "You did it wrong.",
        "No, wait.",
        "and the other one",
        "this one",
        "Ok",
        "",
        "What is the capital of France?",
        "Can you run the tests?",
        "The weather is nice today.",
        "The Louvre is always so crowded.",
        "They never came to the meeting.",
        "Fresh Earth is changing the food market.",
        "We moved the database to Tallinn last October.",
        "I live in Paris.",
        "I work at Acme.",
        "My wife is allergic to nuts.",
        "Always call my wife on Fridays.",
        "Book my dentist.",
        "I have two kids, keep answers short.",
    ],
)
def test_what_no_reviewer_could_approve_is_not_proposed(content: str):
    assert not shareable(content)
