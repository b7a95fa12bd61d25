"""Without a model: what is kept of ordinary sentences, verbatim, and what is not."""

import pytest

from acumen.learn.extract.by_rules import distinct, extract, is_urgent
from acumen.model.ids import Kind
from acumen.model.memories.base import Category
from tests.learn.talk import contents, days, notes

FACTS = {
    "By the way, my sister Clara works at the harbour in Porto.": "My sister Clara works at the harbour in Porto.",
    "I just finished a pottery course in Leeds, do you know any studios there?": (
        "I just finished a pottery course in Leeds."
    ),
    "We have two cats and a parrot called Olive.": "We have two cats and a parrot called Olive.",
    "Hi! I'm a nurse on the night shift.": "I'm a nurse on the night shift.",
    "I usually catch the 9:15 train to work.": "I usually catch the 9:15 train to work.",
    "I've been taking piano lessons since January, and I'm wondering how to practise.": (
        "I've been taking piano lessons since January."
    ),
}
NOTHING = [
    "Can you book my dentist for Thursday?",
    "book my dentist",
    "Run the tests again and make the summary shorter.",
    "Write it in French.",
    "Thanks, that's really helpful!",
    "I love that idea, I'll definitely try it.",
    "I'm looking for a good recipe for lentil soup.",
    "What do you know about Porto?",
    "If I were a nurse, what would I earn?",
    "I think you are right.",
    "I have a quick question about my invoice.",
    "Forget it, let's move on.",
    "Never mind!",
    "Never heard of it.",
    "I see.",
    "Remember the milk",
    "Use Python for the script.",
    "Write in French",
    "The total is 45.",
    "Call me Monday",
    "I actually just submitted a few more last week!",
    "> I live in Madrid.",
    "```\nI live in Madrid.\n```",
    "My password is hunter2trombone.",
]


@pytest.mark.parametrize("sentence, kept", FACTS.items(), ids=list(FACTS))
def test_a_fact_is_kept_in_the_users_own_words(sentence: str, kept: str):
    (note,) = notes(sentence)

    assert (note.kind, note.lesson.content) == (Kind.PROFILE, kept)
    assert note.evidence.text in sentence


@pytest.mark.parametrize("sentence", NOTHING)
def test_requests_questions_small_talk_and_pasted_text_make_nothing(sentence: str):
    extraction = extract(days("My dentist is Dr. Molar.", "agent: Noted.", sentence))

    assert [note.lesson.content for note in extraction.notes] == ["My dentist is Dr. Molar."]
    assert extraction.endings == []


def test_a_brief_for_a_text_is_material_and_not_about_the_user():
    brief = (
        "Write a cover letter for this person. I am a pilot with ten years of experience. " + "I live in Lima. " * 12
    )

    assert contents(brief) == []


def test_a_list_that_the_user_introduces_as_their_own_is_read():
    assert contents("My rules:\n- always use tabs\n- I'm allergic to nuts") == [
        "Always use tabs",
        "I'm allergic to nuts",
    ]


def test_an_answer_without_its_question_is_not_kept():
    assert contents("What is the capital?", "agent: Sydney.", "No, it's Canberra.") == []


@pytest.mark.parametrize(
    "sentence, statements",
    [
        (
            "hey so im vegetarian and my wife is allergic to shellfish, any dinner ideas?",
            ["I'm vegetarian", "My wife is allergic to shellfish."],
        ),
        (
            "Remember that I'm allergic to nuts, and that my sister Ola is a vet.",
            ["I'm allergic to nuts", "My sister Ola is a vet."],
        ),
        ("I moved to Porto and I'm allergic to nuts.", ["I moved to Porto", "I'm allergic to nuts."]),
        ("um, I'm allergic to nuts", ["I'm allergic to nuts"]),
        ("When I cook, I use olive oil.", []),
        ("I'm a vegan who is allergic to soy.", ["I'm a vegan who is allergic to soy."]),
    ],
)
def test_a_sentence_is_cut_into_its_statements(sentence: str, statements: list[str]):
    assert contents(sentence) == statements


@pytest.mark.parametrize(
    "sentence",
    [
        "I'm at the hospital today with my son Tom, he has leukemia.",
        "I'm on sick leave this week because I have epilepsy.",
        "I lived in Rome until 7 May.",
    ],
)
def test_what_happened_or_says_more_than_what_ends_does_not_expire(sentence: str):
    (note,) = notes(sentence)

    assert note.expires_at is None


def test_one_sentence_makes_one_memory_whatever_it_says():
    (note,) = notes("Always answer in German, because I live in Vienna.")

    assert (note.kind, note.category) == (Kind.USER_PLAYBOOK, Category.RULE)


def test_a_correction_has_the_request_as_its_trigger_and_what_the_agent_did_as_its_pitfall():
    (note,) = notes(
        "Roll out version 4.", "agent: Rolling out to eu-north-1.", "No, never use eu-north-1, always take eu-west-3."
    )

    assert note.lesson.content == "Never use eu-north-1, always take eu-west-3."
    assert note.lesson.trigger == "Roll out version 4"
    assert note.lesson.pitfall == "Rolling out to eu-north-1."


def test_a_pitfall_never_repeats_its_instruction():
    (note,) = notes("Deploy it.", "agent: Never use eu-north-1.", "No, never use eu-north-1, always take eu-west-3.")

    assert note.lesson.pitfall is None
    assert not distinct("Always use tabs", "always use tabs.")


def test_two_sentences_are_understood_like_one_with_a_comma():
    (note,) = notes("Never push to main. Always open a pull request.")

    assert note.lesson.content == "Never push to main. Always open a pull request."


def test_an_exception_is_no_situation():
    (note,) = notes("Never schedule meetings on Fridays unless I say so.")

    assert note.standing
    assert note.lesson.trigger is None


def test_a_sentence_that_says_what_to_do_instead_belongs_to_the_rule_before_it():
    assert contents("Never delete ledger rows. Archive them instead.") == [
        "Never delete ledger rows. Archive them instead."
    ]


def test_a_rule_names_the_situation_that_its_own_words_give():
    whenever, before = notes("When you write SQL, always use upper case.", "Always ask me before you delete a file.")

    assert (whenever.lesson.trigger, before.lesson.trigger) == ("When you write SQL", "Before you delete a file")
    assert not whenever.standing


@pytest.mark.parametrize(
    "sentence",
    [
        "I prefer metric units.",
        "Always answer in German.",
        "Please keep your answers short, I read them on my phone.",
        "Call me Robin.",
        "Everyone calls me Robin.",
        "Never use emojis when you write to me.",
        "I'm vegetarian.",
        "I live in Vienna.",
    ],
)
def test_who_the_user_is_and_how_they_want_things_is_standing(sentence: str):
    (note,) = notes(sentence)

    assert note.standing


@pytest.mark.parametrize(
    "sentence", ["I love hiking in the Alps.", "I bought a bike last week.", "Always close the door when you leave."]
)
def test_likes_events_and_rules_for_a_situation_are_not_standing(sentence: str):
    (note,) = notes(sentence)

    assert not note.standing


def test_what_the_user_asks_to_remember_is_kept_whatever_it_is():
    assert contents("Please remember that the spare key hangs in the shed.") == ["The spare key hangs in the shed."]


def test_relative_dates_are_resolved_against_the_day_of_the_turn():
    (note,) = notes("I visited the transport museum yesterday with Tom.")  # a Monday, 8 May 2023

    assert note.valid_from == 1_683_417_600_000  # 7 May 2023, midnight UTC


def test_a_rule_with_a_stated_end_ends_by_itself():
    (note,) = notes("Until Friday, always answer in Spanish.")

    assert note.kind is Kind.PROFILE
    assert note.expires_at == 1_683_935_999_999  # the end of Friday, 12 May 2023


def test_corrections_rules_and_requests_to_remember_are_urgent():
    urgent = [
        "No, use tabs instead of spaces.",
        "Remember that I am left-handed.",
        "Merk dir, dass ich Linkshänder bin.",
    ]

    assert all(map(is_urgent, urgent))
    assert not is_urgent("I went swimming with my cousin on Sunday.")


def test_a_name_before_the_text_is_no_part_of_the_memory():
    assert contents("Caroline: I joined a choir in Bristol last month.") == ["I joined a choir in Bristol last month."]


@pytest.mark.parametrize("request_text", ["Never use semicolons in this file.", "call me when it's done"])
def test_what_is_meant_for_the_task_at_hand_is_no_rule(request_text: str):
    assert contents(request_text) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Keep answers short.",
        "Always keep replies under 120 words.",
        "dont use emojis in your answers",
        "please don't call me buddy",
        "I hate when you apologize so much",
        "Could you always answer in Spanish?",
        "I'd prefer if you answered in Spanish from now on",
        "Use British spelling in all your answers.",
        "Treat me like a beginner.",
    ],
)
def test_wishes_about_answers_are_standing_rules(sentence: str):
    (note,) = notes(sentence)

    assert (note.kind, note.standing, note.category) == (Kind.USER_PLAYBOOK, True, Category.RULE)


def test_what_is_to_be_done_every_time_is_a_rule_for_that_situation():
    (note,) = notes("Answer in German when I write German.")

    assert (note.kind, note.lesson.trigger) == (Kind.USER_PLAYBOOK, "When I write German")


def test_a_correction_that_denies_twice_is_kept_without_its_denials():
    (note,) = notes("Ship it.", "agent: Pushing to main now.", "No! I told you, open a pull request instead.")

    assert (note.kind, note.lesson.content) == (Kind.USER_PLAYBOOK, "Open a pull request instead.")


def test_a_bare_no_before_the_sentence_makes_it_a_correction():
    (_, note) = notes(
        "I prefer short answers. Deploy the service.",
        "agent: Deploying to us-east-1.",
        "No. We never deploy to us-east-1, always use us-west-2.",
    )

    assert (note.lesson.trigger, note.lesson.pitfall) == ("Deploy the service", "Deploying to us-east-1.")


@pytest.mark.parametrize(
    "scene",
    ["Let's do a roleplay, you're an innkeeper.", "Pretend I'm a new customer.", "Please translate my next text."],
)
def test_what_is_said_within_a_scene_of_the_same_session_is_not_about_the_user(scene: str):
    assert notes(scene, "agent: Sure.", "My name is Arwen. I no longer eat fish.") == []


@pytest.mark.parametrize("brief", ["Can you check this text for typos?", "Make this sound better:", "Lyrics:"])
def test_what_follows_a_text_to_work_on_is_not_about_the_user(brief: str):
    assert notes(f"{brief} My name is Hugo. I live in Rome.") == []


@pytest.mark.parametrize("said", ["I act as treasurer of our club.", "I really enjoy role play."])
def test_words_of_a_scene_within_a_statement_set_none(said: str):
    assert "I live in Oslo." in [note.lesson.content for note in notes(said, "agent: Nice.", "I live in Oslo.")]
