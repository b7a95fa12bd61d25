"""What people ask for good becomes a lesson; what they ask for now does not."""

import pytest

from acumen.learn.rules.commands import instruction as as_instruction
from acumen.learn.rules.framing import bare
from acumen.learn.rules.words import words
from tests.learn.talk import facts, lessons, only_lesson


@pytest.mark.parametrize(
    "said, instruction",
    [
        # standing instructions
        ("Never push directly to main.", "Never push directly to main."),
        ("Going forward, round all amounts to two decimals.", "Round all amounts to two decimals."),
        ("From here on out keep your answers under 100 words.", "Keep your answers under 100 words."),
        ("Please stop adding emojis to commit messages.", "Do not add emojis to commit messages."),
        ("Next time, ask me before deleting files.", "Ask the user before deleting files."),
        ("As a rule, escalate anything involving legal threats.", "Escalate anything involving legal threats."),
        ("make sure to anonymize user data in every report", "Anonymize user data in every report."),
        ("don't forget to cc my manager on invoices", "Cc the user's manager on invoices."),
        ("Log every change in the runbook.", "Log every change in the runbook."),
        # in their situation
        ("Always run the test suite before you commit.", "Always run the test suite before committing."),
        (
            "When you summarize a meeting, start with the action items.",
            "Start with the action items when summarizing a meeting.",
        ),
        ("For SQL queries, use uppercase keywords.", "Use uppercase keywords for SQL queries."),
        ("After each deployment, run the smoke tests.", "Run the smoke tests after each deployment."),
        # polite
        ("Could you please always reply in French?", "Always reply in French."),
        ("Would you mind not using so much jargon?", "Do not use so much jargon."),
        ("I'd rather you didn't use bullet points.", "Do not use bullet points."),
        ("It'd be better if you grouped expenses by month.", "Group expenses by month."),
        # angry
        ("You keep using tabs instead of spaces.", "Use spaces, not tabs."),
        ("Your replies are too long.", "Your replies are too long."),
        ("Whatever you do, don't email the whole company.", "Do not email the whole company."),
        # rules
        (
            "Refunds over $200 need to be approved by a supervisor.",
            "Refunds over $200 need to be approved by a supervisor.",
        ),
        ("Nobody should merge without two approvals.", "Nobody should merge without two approvals."),
        ("You're not allowed to modify the billing module.", "Do not modify the billing module."),
        ("Under no circumstances should you restart the primary database.", "Do not restart the primary database."),
        ("We require two reviewers on every merge request.", "Require two reviewers on every merge request."),
        (
            "Reports go out on the last business day, never earlier.",
            "Reports go out on the last business day, never earlier.",
        ),
        (
            "Anything touching payments needs a second pair of eyes.",
            "Anything touching payments needs a second pair of eyes.",
        ),
        ("Do not, under any circumstances, quote prices without tax.", "Do not quote prices without tax."),
        ("Once a claim is overdue, send it to collections.", "Send it to collections once a claim is overdue."),
        ("I hate it when you repeat my question.", "Do not repeat the user's question."),
        ("You can skip the unit tests for prototypes.", "Skip the unit tests for prototypes."),
        # contrasts and fragments
        ("Use tabs, not spaces.", "Use tabs, not spaces."),
        ("Instead of yarn, use pnpm.", "Use pnpm, not yarn."),
        ("dont use var, use const", "Use const; do not use var."),
        ("No emojis please.", "No emojis."),
        ("no more tables", "No more tables."),
        # spelling as it comes
        ("alway use metric units plz", "Always use metric units."),
        ("nevr push to main", "Never push to main."),
        ("from now on, allways sign emails with my initials", "Always sign emails with the user's initials."),
    ],
)
def test_what_is_meant_to_last_becomes_an_instruction(said: str, instruction: str):
    assert lessons(said) == [instruction]


def test_what_should_have_been_done_is_what_to_do():
    assert as_instruction(bare(words("You should have asked me first."))).text == "Ask the user first."


@pytest.mark.parametrize(
    "said",
    [
        "Please write me a poem.",
        "Can you deploy this now?",
        "Deploy the service to production.",
        "Fix the failing test in utils.py.",
        "Send it to the client.",
        "Delete the second paragraph.",
        "Give me three options.",
        "Use the attached file.",
        "Use a for loop here.",
        "Make sure this works on mobile.",
        "Please don't send it yet.",
        "Don't worry about it.",
        "No problem, take your time.",
        "No, thanks.",
        "Never mind.",
        "Stop.",
        "Could you stop the server?",
        "Let's use the second option.",
        "ok, go ahead and merge it",
        "Should I always use const?",
        "Do you always use the same model?",
        "It never works when I click the button.",
        "The app always crashes on startup.",
        "She never replies to my emails.",
        "Write a function that always returns true.",
        "Tell me a story about a knight who never sleeps.",
        "I think it's important to plan ahead.",
        'The docs say "always use HTTPS".',
        "Translate this sentence: never push to main.",
        "Do you have any tips on how to write better tests?",
    ],
)
def test_wishes_of_the_moment_and_talk_of_others_are_no_lessons(said: str):
    assert lessons(said) == []


def test_work_asked_for_now_does_not_make_its_details_a_rule():
    assert lessons("Write a script that reads the file. Use Python.") == []


def test_a_correction_takes_its_pitfall_from_what_the_agent_did():
    lesson = only_lesson(
        "run the migration", "agent: Running the migration without a backup.", "You forgot to take a backup."
    ).lesson

    assert lesson.content == "Take a backup."
    assert lesson.trigger == "Running the migration"
    assert lesson.pitfall == "Running the migration without a backup."


def test_a_short_correction_is_understood_from_the_conversation():
    lesson = only_lesson("write tests", "agent: I used unittest.", "pytest please, not unittest").lesson

    assert lesson.content == "Use pytest, not unittest."
    assert lesson.trigger == "Writing tests"
    assert lesson.pitfall == "Using unittest."


@pytest.mark.parametrize(
    "request_, done, said",
    [
        ("push it", "Pushed to main.", "hey, pushes to main go through a PR"),
        ("rename the column", "Renamed it to CustomerID.", "we do snake_case for columns"),
        ("format it", "Formatted with Black.", "we've standardized on ruff format"),
        ("post it", "Posted to #general.", "wrong channel, updates belong in #releases"),
    ],
)
def test_a_plain_remark_on_what_was_done_is_kept(request_: str, done: str, said: str):
    talk = (request_, f"agent: {done}", said)

    assert [*facts(*talk), *lessons(*talk)]


def test_an_answer_to_the_agents_question_is_no_correction():
    assert lessons("set up the project", "agent: Which database do you use?", "We use Postgres.") == []


def test_a_denial_in_one_sentence_makes_the_next_a_correction():
    told = lessons(
        "Refactor this.", "agent: I rewrote it using classes.", "I didn't ask for classes. Use plain functions."
    )

    assert told == ["Use plain functions."]


@pytest.mark.parametrize(
    "said", ["No, make it longer.", "That's wrong, try again.", "no, check again", "Are you sure?", "Thanks!"]
)
def test_a_correction_of_one_piece_of_work_is_no_lesson(said: str):
    assert lessons("write a poem", "agent: Roses are red.", said) == []


def test_a_fact_that_was_overlooked_is_a_lesson_too():
    lesson = only_lesson("Plan my meals", "agent: Monday: chicken curry.", "I told you I'm vegetarian!").lesson

    assert lesson.content == "Keep in mind: User is vegetarian."
    assert lesson.trigger == "Planning the user's meals"


def test_a_reason_is_kept_with_the_lesson():
    because = only_lesson("Always use UTC because our servers are spread out.").lesson
    so = only_lesson("I'm colorblind so don't rely on red and green.").lesson

    assert because.rationale == "The user's servers are spread out."
    assert so.rationale == "User is colorblind."


def test_the_situation_of_a_lesson_is_its_trigger():
    told = only_lesson("When you write tests, please use pytest.").lesson

    assert told.trigger == "When writing tests"


def test_advice_that_worked_is_a_lesson():
    lesson = only_lesson("my wifi drops", "agent: Try restarting the router.", "thanks, that worked!").lesson

    assert lesson.content == "Restart the router."
    assert lesson.trigger == "Asked: my wifi drops"


@pytest.mark.parametrize("said", ["Thanks!", "Great.", "That didn't work.", "It works but it is slow."])
def test_thanks_alone_confirm_nothing(said: str):
    assert lessons("my wifi drops", "agent: Try restarting the router.", said) == []


def test_the_agents_words_repeated_are_not_the_users():
    rule = "Always back up your data before you upgrade the system."

    assert lessons("hi", f"agent: {rule}", f"{rule} What do you mean by that?") == []


def test_a_policy_is_both_a_fact_and_a_lesson():
    said = "We never store card numbers in logs."

    assert facts(said) == ["User never stores card numbers in logs."]
    assert lessons(said) == ["Never store card numbers in logs."]
