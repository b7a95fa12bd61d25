"""What people tell about themselves is written down in the third person; what they merely say is not."""

import pytest

from acumen.model.profile import TimeToLive
from tests.learn.talk import facts, only_fact


@pytest.mark.parametrize(
    "said, fact",
    [
        # who they are
        ("My name is Katarzyna.", "User's name is Katarzyna."),
        ("I go by Alex.", "User goes by Alex."),
        ("I only fly direct.", "User only flies direct."),
        ("Hi, I'm Priya, a cardiologist at Mercy Hospital.", "User is Priya, a cardiologist at Mercy Hospital."),
        ("I'm a pediatric nurse in Chicago.", "User is a pediatric nurse in Chicago."),
        ("I work as a data analyst at Zalando.", "User works as a data analyst at Zalando."),
        ("I was born in Nairobi.", "User was born in Nairobi."),
        ("Just turned 40!", "User turned 40."),
        ("I'm based in Lisbon.", "User is based in Lisbon."),
        ("I am on the platform team.", "User is on the platform team."),
        # code and operations
        ("I work in TypeScript and Node.js.", "User works in TypeScript and Node.js."),
        ("Our backend is written in Go.", "User's backend is written in Go."),
        ("We run Kubernetes on GKE.", "User runs Kubernetes on GKE."),
        ("fyi our staging cluster lives in eu-central-1", "User's staging cluster lives in eu-central-1."),
        ("We deploy every Tuesday.", "User deploys every Tuesday."),
        ("Our SLA is 99.9%.", "User's SLA is 99.9%."),
        ("We switched from MySQL to Postgres last month.", "User switched from MySQL to Postgres last month."),
        # health
        ("I'm allergic to penicillin.", "User is allergic to penicillin."),
        ("I can't eat shellfish.", "User cannot eat shellfish."),
        ("I take metformin twice a day.", "User takes metformin twice a day."),
        ("I was diagnosed with ADHD last year.", "User was diagnosed with ADHD last year."),
        ("I've been diabetic since 2015.", "User has been diabetic since 2015."),
        ("Gluten makes me sick.", "Gluten makes the user sick."),
        ("I quit smoking two years ago.", "User quit smoking two years ago."),
        # money
        ("My monthly budget is $3,000.", "User's monthly budget is $3,000."),
        ("As a freelancer, I invoice in dollars.", "As a freelancer, the user invoices in dollars."),
        ("Our fiscal year starts in April.", "User's fiscal year starts in April."),
        ("We bill clients on the first of each month.", "User bills clients on the first of each month."),
        # tastes and habits
        ("I prefer phone calls over email.", "User prefers phone calls over email."),
        ("I hate spicy food.", "User hates spicy food."),
        ("not a fan of mushrooms", "User is not a fan of mushrooms."),
        ("I usually work from 7 to 3.", "User usually works from 7 to 3."),
        ("Mornings work best for me.", "Mornings work best for the user."),
        ("I drink tea when I work late.", "User drinks tea when they work late."),
        # family and things
        ("My daughter's name is Ella.", "User's daughter's name is Ella."),
        ("I have two kids.", "User has two kids."),
        ("I drive a 2016 Honda Civic.", "User drives a 2016 Honda Civic."),
        ("We're a team of eight.", "User is part of a team of eight."),
        ("Thursday is my day off.", "Thursday is the user's day off."),
        ("I can only meet on Tuesdays.", "User can only meet on Tuesdays."),
        ("I used to live in Oslo.", "User used to live in Oslo."),
        ("Our office is closed on Mondays.", "User's office is closed on Mondays."),
        ("I can't stand small talk.", "User cannot stand small talk."),
        ("We process around 2,000 orders a day.", "User processes around 2,000 orders a day."),
        ("My husband and I split expenses.", "User splits expenses."),
        # spelling as it comes
        ("btw im vegan", "User is vegan."),
        ("i dont eat gluten", "User does not eat gluten."),
        ("I’m left handed", "User is left handed."),
    ],
)
def test_a_statement_about_oneself_becomes_a_fact(said: str, fact: str):
    assert facts(said) == [fact]


@pytest.mark.parametrize(
    "said, fact",
    [
        ("Good morning. I live in Paris. Thanks!", "lives in Paris"),
        ("Hello, I work as a nurse.", "nurse"),
        ("Hi! I'm allergic to nuts, by the way. What's the weather?", "allergic to nuts"),
        ("ok. my birthday is 3 May. bye", "birthday is 3 May"),
        ("Thanks. We deploy on Fridays.", "deploys on Fridays"),
        ("Hi, I'm Yael.", "Yael"),
        ("My name is Priya and I am 34.", "Priya"),
        ("I've got the Brevano 500 now, which descaler goes with it?", "Brevano 500"),
        ("I must take back what I said: it's 205 square metres, not 250.", "205"),
    ],
)
def test_a_plain_statement_is_found_among_greetings_and_questions(said: str, fact: str):
    assert fact in only_fact(said).content


def test_a_sentence_that_tells_several_things_is_kept_whole():
    told = facts("I live in Berlin and work at Siemens, and my team has 12 people.")

    assert told == ["User lives in Berlin and works at Siemens, and their team has 12 people."]


def test_a_reason_is_a_statement_too():
    assert facts("Skip the steak places because I'm vegetarian.") == [
        "Skip the steak places because the user is vegetarian."
    ]


@pytest.mark.parametrize(
    "said",
    [
        "What's the capital of France?",
        "Do I live in Berlin?",
        "Is it true that we never deploy on Fridays?",
        "I'm trying to log in but it fails.",
        "I'm getting an error when I run the script.",
        "I don't understand what you mean.",
        "My build is failing.",
        "My package hasn't arrived.",
        "My printer keeps jamming.",
        "I need help with my taxes.",
        "I want to book a flight to Rome.",
        "I'd like two tickets for Saturday.",
        "I need this by Friday.",
        "When I open the app, I see a blank screen.",
        "I'm so confused right now.",
        "I'm sorry, I misread that.",
        "I just installed the update, what next?",
        "I like these ideas.",
        "If I lived in Paris, I would eat more cheese.",
        "Suppose I have $500 in my account.",
        "The weather is nice today.",
        "He always forgets his keys.",
        "I hope you're well.",
    ],
)
def test_questions_wishes_troubles_and_moods_are_no_facts(said: str):
    assert facts(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "Translate: I live in Paris and I love cheese.",
        "Please proofread this:\nI live in Paris. I have two kids.",
        "Here's the letter I got:\nMy name is Ivan and I work at the bank.",
        'The form says "I live in Paris".',
        "```\nMy name is Ada\n```",
        "> I live in Paris.",
        "Act as a chef. I am a vegan and I live in Rome.",
    ],
)
def test_words_that_are_shown_rather_than_said_are_no_facts(said: str):
    assert facts(said) == []


@pytest.mark.parametrize(
    "said, ttl",
    [
        ("I'm working from home today.", TimeToLive.ONE_DAY),
        ("I'm out of office until Friday.", TimeToLive.ONE_WEEK),
        ("I'll be travelling this week.", TimeToLive.ONE_WEEK),
        ("We have a code freeze for the next three weeks.", TimeToLive.ONE_MONTH),
        ("This month I'm covering for Luis.", TimeToLive.ONE_MONTH),
        ("I'm on parental leave until the end of December.", TimeToLive.ONE_QUARTER),
        ("My wife is pregnant.", TimeToLive.ONE_YEAR),
        ("I live in Berlin.", TimeToLive.INFINITY),
        ("I have worked at Zalando for three years.", TimeToLive.INFINITY),
        ("We deploy every Friday.", TimeToLive.INFINITY),
    ],
)
def test_a_statement_that_ends_by_itself_says_when(said: str, ttl: TimeToLive):
    assert only_fact(said).ttl is ttl


def test_an_instruction_for_a_limited_time_is_a_passing_fact():
    note = only_fact("Until Friday, always deploy to staging.")

    assert note.ttl is TimeToLive.ONE_WEEK
    assert note.content == "For a limited time, the user asks: Until Friday, always deploy to staging."


@pytest.mark.parametrize(
    "agent, said, fact",
    [
        ("Which test runner do you use?", "vitest", 'Asked "Which test runner do you use?", the user said: Vitest.'),
        ("It comes to Adebayo Close 9?", "yes", 'Asked "It comes to Adebayo Close 9?", the user said: Yes.'),
        ("You said the deadline is the 14th.", "24th", 'To "You said the deadline is the 14th.", the user said: 24th.'),
    ],
)
def test_a_few_words_are_kept_with_what_they_answer(agent: str, said: str, fact: str):
    assert facts(f"agent: {agent}", said) == [fact]


@pytest.mark.parametrize(
    "agent, said",
    [("Should I print the left or the right page?", "the left one"), ("Shall I send it to Anna now?", "yes")],
)
def test_a_choice_or_a_go_ahead_is_no_fact(agent: str, said: str):
    assert facts(f"agent: {agent}", said) == []


def test_what_follows_from_a_fact_is_kept_with_it():
    said = "Kyle is on the inhaler for the next fortnight, so it has to go in the weekend bag."

    assert facts(said) == ["Kyle is on the inhaler for the next fortnight, so it has to go in the weekend bag."]


def test_a_table_is_no_fact():
    assert facts("01.03 REWE 42,10\n02.03 SPOTIFY 10,99\n03.03 MIETE 870,00") == []
