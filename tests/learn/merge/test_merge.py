"""Nothing ends on a guess: what notes and endings change."""

import pytest

from acumen.learn.extract.by_rules import extract
from acumen.learn.merge.changes import Changes
from acumen.learn.merge.merge import merge
from acumen.model.conversation import Window
from acumen.model.ids import Millis, UserId
from acumen.model.memories.base import Cause
from acumen.model.times import DAY_MS
from tests.learn.talk import MONDAY, changes, days


def texts(changed: Changes) -> list[str]:
    """What is current after the conversation."""
    ended = {change.target for change in changed.ended}
    return [added.note.lesson.content for added in changed.added if added.place not in ended]


EXPLICIT = [
    (("My dentist is Dr. Molar.", "My dentist is Dr. Chen now."), Cause.NEW_VALUE),
    (("Our staging port is 8080.", "Our staging port is 9090."), Cause.NEW_VALUE),
    (("I live in Paris.", "I live in Berlin now."), Cause.NEW_VALUE),
    (("I live in Paris.", "We just moved to Leeds, England."), Cause.NEW_VALUE),
    (("I live in Paris.", "I moved to Leeds last month, into a small house."), Cause.NEW_VALUE),
    (("I am 34.", "I just turned 35."), Cause.NEW_VALUE),
    (("I have two kids.", "I have three kids now."), Cause.NEW_VALUE),
    (("My address is 5 Elm Street.", "My address is 9 Oak Road."), Cause.NEW_VALUE),
    (("Our staging port is 80.", "Our staging port is 8080."), Cause.NEW_VALUE),
    (("Answer in French from now on.", "Stop answering in French."), Cause.RETRACTION),
    (("Always use tabs for indentation.", "Stop using tabs for indentation."), Cause.RETRACTION),
    (("My deadline is Friday.", "I meant Thursday, my deadline is Thursday."), Cause.CORRECTION),
    (("My brother is Tom.", "Sorry, my brother is Jim."), Cause.CORRECTION),
    (("My deadline is Friday.", "wait, no, the deadline is Monday"), Cause.CORRECTION),
    (("My manager is Priya.", "My new manager is Tom."), Cause.NEW_VALUE),
    (("I work at Siemens.", "I quit my job at Siemens."), Cause.RETRACTION),
    (("I live in Paris.", "I've just moved from Paris to Lyon."), Cause.CORRECTION),
    (("Always answer in French.", "From now on always answer in German."), Cause.NEW_VALUE),
    (("Always use tabs for indentation.", "From now on use spaces for indentation."), Cause.NEW_VALUE),
    (("We use Jenkins for the mobile app.", "We no longer use Jenkins."), Cause.RETRACTION),
    (("I eat meat every day.", "I don't eat meat anymore."), Cause.RETRACTION),
    (("We use Jenkins for the mobile app.", "We switched from Jenkins to Buildkite."), Cause.CORRECTION),
    (("My dentist is Dr. Molar.", "agent: Dr. Molar, yes.", "No, it's Dr. Chen, not Dr. Molar."), Cause.CORRECTION),
    (("My dentist is Dr. Molar.", "agent: Noted.", "No, it's Dr. Chen, not Dr. Molar."), Cause.CORRECTION),
    (("My dentist is Dr. Molar.", "My dentist is not Dr. Molar but Dr. Chen."), Cause.CORRECTION),
    (
        ("From now on, use us-west-2 for deploys, not us-east-1.", "From now on, use eu-west-1 for deploys."),
        Cause.NEW_VALUE,
    ),
    (("I'm vegetarian.", "I'm not a vegetarian anymore."), Cause.RETRACTION),
    (("Our standup is at 9:30.", "We moved our standup from 9:30 to 10:00."), Cause.CORRECTION),
]


@pytest.mark.parametrize("talk, cause", EXPLICIT, ids=lambda value: str(value)[:60])
def test_a_memory_ends_by_a_new_value_a_correction_or_a_retraction_with_its_reason_and_words(talk, cause):
    changed = changes(*talk)

    (ended,) = changed.ended
    assert (ended.target, ended.successor, ended.because.cause) == (0, 1, cause)
    assert ended.because.quote == talk[-1]
    assert changed.conflicts == ()


BOTH_HOLD = [
    ("My sister is a nurse.", "My sister is 30."),
    ("My brother is called Tom.", "I have a brother in Leeds."),
    ("I live in Paris.", "I visited Berlin last week."),
    ("I like tea in the morning.", "I like coffee after lunch."),
    ("I went to Rome in May.", "I went to Oslo in June."),
    ("We use Jenkins for the mobile app.", "I learned Jenkins at my first job in 2015."),
    ("Always use type hints in Python.", "Always use docstrings in Python."),
    ("My dog is called Rex.", "My cat is called Tom."),
]


@pytest.mark.parametrize("talk", BOTH_HOLD, ids=lambda talk: talk[1][:50])
def test_what_does_not_exclude_each_other_is_kept_side_by_side(talk: tuple[str, str]):
    changed = changes(*talk)

    assert len(changed.added) == 2
    assert (changed.ended, changed.conflicts) == ((), ())


IN_CONFLICT = [
    ("My flight is at 5pm.", "My flight is at 7am."),
    ("I like coffee.", "I don't like coffee."),
    ("My brother is Tom.", "My brother is Jim."),
    ("I live in Leeds.", "I moved to Porto."),
    ("I live in Oslo.", "I don't live in Oslo."),
    ("i live in oslo", "i live in bergen now"),
    ("i work at lumen", "i work at acme now"),
    ("I live in Oslo with my wife Anna and our two kids.", "I live in Bergen now."),
    ("I like tea and coffee.", "I don't like tea anymore."),
    ("We use Jenkins for builds and Grafana for dashboards.", "We no longer use Jenkins."),
    ("I prefer short answers.", "I prefer long answers."),
    ("I work at Lumen.", "I work at Acme too."),
    ("Our staging port is 8080.", "Our staging port is probably 9090, not sure."),
    ("I work at Lumen.", "I no longer work at Lumen, I wish."),
    ("I live in Oslo with my cat Miso.", "I live in Bergen now."),
    ("Our port is 8080.", "Our port is 9090 on staging."),
    ("My manager is Lena.", "My manager is Paul's wife."),
    ("Our CI is GitHub Actions.", "We migrated from GitHub Actions to Buildkite."),
    ("My daughter Leo is allergic to peanuts.", "My daughter is called Lea, not Leo."),
]


@pytest.mark.parametrize("talk", IN_CONFLICT, ids=lambda talk: talk[1][:50])
def test_what_may_disagree_stays_current_and_is_linked(talk: tuple[str, str]):
    changed = changes(*talk)

    (conflict,) = changed.conflicts
    assert (conflict.older, conflict.newer, changed.ended) == (0, 1, ())
    assert conflict.because.quote == talk[1]


REQUESTS = [
    "book my dentist",
    "Please cancel the dentist on Tuesday.",
    "Move my dentist appointment to Friday.",
    "Find me a new dentist in Paris.",
    "Can you call my dentist?",
    "Show me how to use Buildkite instead of Jenkins.",
    "Translate 'I no longer live in Paris' into German.",
    "Delete the Jenkins job, please.",
    "Forget the tests for now and deploy to Paris.",
]


@pytest.mark.parametrize("request_text", REQUESTS)
def test_a_request_neither_makes_nor_ends_a_memory(request_text: str):
    facts = ("My dentist is Dr. Molar.", "I live in Paris.", "We use Jenkins for the mobile app.")

    changed = changes(*facts, request_text)

    assert texts(changed) == list(facts)
    assert (changed.ended, changed.conflicts) == ((), ())


def test_forget_ends_what_it_names_and_nothing_else():
    changed = changes(
        "My sister is allergic to nuts.", "My father is allergic to penicillin.", "delete what you know about my sister"
    )

    assert texts(changed) == ["My father is allergic to penicillin."]


def test_forgetting_everything_reaches_everything():
    assert texts(changes("I live in Paris.", "Always answer in French.", "Forget everything you know about me.")) == []


def test_what_was_just_said_is_forgotten_alone():
    changed = changes("I live in Paris.", "I have two cats at home.", "Please forget what I just told you.")

    assert texts(changed) == ["I live in Paris."]


def test_the_same_words_said_again_are_a_restatement():
    changed = changes("I live in Paris.", "I live in Paris!")

    assert (len(changed.added), len(changed.restated)) == (1, 1)


def test_an_older_value_that_arrives_late_does_not_replace_a_newer_one():
    talk = days("My dentist is Dr. Chen.", "My dentist is Dr. Molar.")
    extraction = extract(talk)
    dated = {talk.turns[0].id: MONDAY, talk.turns[1].id: MONDAY - 1000}

    changed = merge([], extraction.notes, extraction.endings, dated)

    assert texts(changed) == ["My dentist is Dr. Chen."]


@pytest.mark.parametrize(
    "pasted",
    [
        "Translate to French:\nI am a doctor.\nI live in Nice.",
        "Here is my friend's cover letter:\n\nI am a hard worker. I live in Ghent.\n\nmake it better",
        'My colleague said: "I hate Python and I live in Rome"',
        "I live in fear of Mondays",
        "I live in a small flat with a balcony.",
        "I live in Oslo's Grünerløkka district.",
    ],
)
def test_pasted_text_and_other_uses_of_the_same_words_end_nothing(pasted: str):
    assert changes("I live in Oslo.", pasted).ended == ()


def test_forgetting_a_thing_leaves_what_only_shares_its_word():
    changed = changes("My dog is called Rex.", "I have a dog walker named Sam.", "Forget my dog.")

    assert texts(changed) == ["I have a dog walker named Sam."]


def test_a_rule_of_two_parts_is_in_conflict_with_the_rule_that_takes_back_one_of_them():
    changed = changes(
        "We never deploy production to us-east-1, always use us-west-2.",
        "We no longer deploy production to us-west-2, always use eu-central-1.",
    )

    assert not changed.ended
    assert len(changed.conflicts) == 1


ENDS_NOTHING = [
    ("I live in Oslo.", "Vergiss alles über meinen Hund"),
    ("I live in Oslo.", "Oublie toutes mes adresses"),
    ("I live in Oslo.", "Olvida todo sobre mi perro"),
    ("I live in Oslo.", "Забудь всё о моей собаке"),
    ("I live in Oslo.", "忘记所有关于我的狗的事情"),
    ("Always answer in German.", "Never answer in French."),
    ("Always answer in German.", "Reply in French to my customers from now on."),
    ("I live in Oslo.", "We moved to Slack."),
    ("I live in Oslo.", "I moved to Vim last year."),
    ("I live in Oslo.", "We went from Oslo to Rome by train last week."),
    ("I live in Oslo.", "My sister moved from Oslo to Rome."),
    ("I live in Oslo.", "My sister no longer lives in Oslo."),
    ("I live in Oslo.", "I live in Rome in winter."),
    ("My sister works at Google.", "I no longer work at Google."),
    ("I have a Jenkins sticker on my laptop.", "We no longer use Jenkins."),
    ("I work at Lidl.", "I work at Aldi on weekends."),
    ("My name is Robin.", "Call me Monday"),
    ("My wife is Anna.", "My wife is Irish."),
    ("My sister is 30.", "My sister is 12 weeks pregnant."),
    ("My category is 12.", "Forget my cat"),
    ("I work for Care International.", "Forget my car"),
    ("My dog walker is Sam.", "Forget my dog"),
    ("My sister's address is 5 Elm Street.", "Forget my address"),
    ("My sister lives in Oslo.", "Forget that I live in Oslo"),
    ("My sister lives in Oslo.", "Forget where I live"),
    ("My dog is a beagle.", "Forget my dog's name"),
    ("I have a wife and two sons.", "I got divorced last month."),
    ("I keep 100 browser tabs open.", "Forget the rule about tabs."),
    ("Never store my credit card.", "Forget my credit card."),
    ("I'm allergic to nuts.", "Let's roleplay. You're a doctor. I'm not allergic to nuts anymore."),
    ("I'm allergic to nuts.", "Is this sentence correct? I'm not allergic to nuts anymore."),
    ("I live in Oslo.", "Cover letter please. Start with: My name is Otto. I live in Bergen."),
    ("I'm not allergic to nuts.", "Forget that I'm allergic to nuts"),
    ("I like tea and coffee.", "I like tea.", "Forget that I like tea"),
    ("I live in Oslo.", "We moved the server from Oslo to Frankfurt."),
    ("We use Jenkins for releases.", "I switched my side project from Jenkins to GitHub Actions."),
    ("We use Postgres 14 for billing.", "We upgraded analytics from Postgres 14 to 16."),
    ("I live in Oslo.", "I live in Slack all day"),
    ("I live in Oslo.", "I live in Bergen until June."),
    ("I'm allergic to nuts.", "Scenario: I'm not allergic to nuts anymore."),
    ("I live in Oslo.", "Check this.\n\nDear team,\nI live in Bergen now.\nRegards"),
    ("I'm allergic to penicillin.", "Turns out I'm not allergic to penicillin after all."),
]


@pytest.mark.parametrize("talk", ENDS_NOTHING, ids=" / ".join)
def test_a_statement_about_something_else_ends_nothing(talk: tuple[str, ...]):
    assert talk[0] in texts(changes(*talk))


FORGOTTEN = [
    (("My dog is called Rex.", "My dog is a beagle."), "Forget my dog's name"),
    (("I have a dog named Rex.", "My dog is a beagle."), "Forget my dog's name"),
    (("My sister's name is Ann.", "My sister lives in Rome."), "Forget what my sister is called"),
    (("I live in Oslo.", "My sister lives in Rome."), "Forget where I live"),
    (("I work at Lidl.", "I live in Oslo."), "Please forget where I work."),
    (("I am 34.", "My dog is 34 months old."), "Forget how old I am"),
    (("My address is 5 Elm Street.", "My sister's address is 9 Oak Road."), "Forget all my addresses"),
    (("My cat is called Tom.", "My category is 12."), "Forget my cat"),
    (("I have a small dog.", "I have a dog walker named Sam."), "Forget my dog"),
    (("I'm really allergic to nuts.", "My father is allergic to nuts."), "Forget that I'm allergic to nuts"),
    (("I'm allergic to nuts.", "My brother is vegan."), "Forget that I'm allergic to nuts, that was my brother."),
    (("Merk dir, dass mein Hund Rex heißt.", "I live in Oslo."), "Vergiss alles über meinen Hund"),
    (("Merk dir, dass ich allergisch gegen Nüsse bin.", "I live in Oslo."), "Vergiss das mit den Nüssen."),
    (("Ricorda che il mio cane si chiama Rex.", "I live in Oslo."), "Dimentica tutto sul mio cane"),
    (("Запомни, что мою собаку зовут Рекс.", "Запомни, что я живу в Москве."), "Забудь всё о моей собаке"),
    (("请记住我的狗叫雷克斯", "请记住我住在北京"), "忘记关于我的狗的一切"),
    (("私の犬の名前はレックスです、覚えて", "私は東京に住んでいます、覚えて"), "私の犬のことは忘れて"),
    (("Retiens que mon adresse est 5 rue Verte.", "I live in Oslo."), "Oublie toutes mes adresses"),
]


@pytest.mark.parametrize("known, request_text", FORGOTTEN, ids=lambda value: str(value)[-50:])
def test_forgetting_ends_the_attribute_or_thing_that_is_named_and_leaves_the_others(known, request_text):
    before = texts(changes(*known))

    assert texts(changes(*known, request_text)) == before[1:]


def test_a_correction_of_what_the_agent_did_ends_no_fact():
    changed = changes("I live in Oslo.", "Book a flight.", "agent: Booking a flight to Oslo.", "No, to Rome, not Oslo.")

    assert "I live in Oslo." in texts(changed)


def test_each_statement_of_a_sentence_ends_by_itself():
    known = ("I live in Oslo and I'm allergic to nuts.", "My email is a@x.com and my phone is 22334455.")

    changed = changes(*known, "Forget where I live", "My email is b@x.com")

    assert texts(changed) == ["I'm allergic to nuts.", "My phone is 22334455.", "My email is b@x.com"]


def test_what_is_stated_and_forgotten_in_one_window_is_stored_as_forgotten():
    changed = changes("My dog's name is Rex.", "Forget my dog's name.")

    assert len(changed.added) == 1
    assert [ended.forgotten for ended in changed.ended] == [True]


def test_an_older_statement_that_arrives_late_is_stored_as_superseded():
    late, early = days("I live in Bergen.", "I live in Oslo.").turns
    first, second = (extract(Window(UserId("ann"), (each,))) for each in (early, late))
    said_at = {early.id: Millis(MONDAY + 30 * DAY_MS), late.id: MONDAY}

    changed = merge([], [*first.notes, *second.notes], [], said_at)

    assert len(changed.added) == 2
    assert texts(changed) == ["I live in Oslo."]


def test_a_request_to_forget_leaves_what_was_said_after_it():
    later, request = days("I live in Oslo.", "Forget where I live.").turns
    known, asked = (extract(Window(UserId("ann"), (each,))) for each in (later, request))
    said_at = {later.id: Millis(MONDAY + 30 * DAY_MS), request.id: MONDAY}

    assert texts(merge([], known.notes, asked.endings, said_at)) == ["I live in Oslo."]


def test_a_lifted_prohibition_is_kept_and_linked_to_it():
    changed = changes("Never send me newsletters.", "Strike that, newsletters can come again.")

    assert texts(changed) == ["Never send me newsletters.", "Newsletters can come again."]
    assert len(changed.conflicts) == 1


@pytest.mark.parametrize("sentence", ["You don't have to cc Bob anymore.", "You no longer need to cc Bob on invoices."])
def test_a_rule_that_is_lifted_ends_and_leaves_nothing_in_its_place(sentence: str):
    changed = changes("Always cc Bob on invoices.", "My brother Bob lives in Bergen.", sentence)

    assert texts(changed) == ["My brother Bob lives in Bergen."]


def test_the_same_words_in_another_order_are_another_statement():
    assert len(changes("I prefer tea over coffee.", "I prefer coffee over tea.").added) == 2


def test_all_about_me_is_everything():
    assert texts(changes("I live in Paris.", "Always answer in French.", "forget all about me")) == []
