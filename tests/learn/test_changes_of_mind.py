"""What people say later replaces what they said before, or is to be forgotten; and nothing else goes with it."""

import pytest
from msgspec.structs import replace

from acumen.learn import questions
from acumen.learn.extract_rules import playbook_notes, profile_notes
from acumen.model.ids import SessionId
from acumen.model.memory import Status
from acumen.model.playbook import Lesson, UserPlaybook
from acumen.model.profile import Profile
from tests.learn.talk import (
    current,
    facts,
    lessons,
    merged_playbooks,
    merged_profiles,
    only_lesson,
    playbooks_after,
    profiles_after,
    read,
    taught,
    turn,
    window,
)


def known_after(*turns: str) -> tuple[list[Profile], list[UserPlaybook]]:
    """Facts and lessons as they stand when each turn has been read by itself, one after the other."""
    profiles: list[Profile] = []
    playbooks: list[UserPlaybook] = []
    for number, line in enumerate(turns, 1):
        seen = replace(window(), turns=(turn(number, line),))
        said = questions.told(seen)
        facts, lessons = profile_notes(seen, read), playbook_notes(seen, read)
        profiles = profiles_after(profiles, merged_profiles(profiles, facts, turns=said))
        playbooks = playbooks_after(playbooks, merged_playbooks(playbooks, lessons, said))
    return profiles, playbooks


def facts_after(*turns: str) -> list[str]:
    return current(known_after(*turns)[0])


@pytest.mark.parametrize(
    "before, after, old, new",
    [
        ("I smoke.", "I quit smoking.", "smokes", "quit"),
        ("I smoke about ten a day.", "I gave up smoking in March.", "smokes", "gave up"),
        ("I live in Graz.", "We moved to Linz last month.", "Graz", "Linz"),
        ("I work at Siemens.", "I work at Bosch now.", "Siemens", "Bosch"),
        ("My rent is 700.", "The landlord raised the rent to 760.", "700", "760"),
        ("The exam is on June 12.", "The exam was moved to the 19th.", "June 12", "19th"),
        ("I'm a vegetarian.", "I eat meat again these days.", "vegetarian", "meat"),
        ("My limit for eating out is 150.", "My limit for eating out is 220 now.", "150", "220"),
        ("I prefer aisle seats.", "Since the surgery I prefer window seats.", "aisle", "window"),
    ],
)
def test_the_newer_of_two_rival_facts_wins(before: str, after: str, old: str, new: str):
    profiles, _ = known_after(before, after)

    assert not any(old in fact for fact in current(profiles) if new not in fact)
    assert any(new in fact for fact in current(profiles))
    assert any(old in profile.content for profile in profiles if profile.status is Status.SUPERSEDED)


def test_words_that_end_a_fact_are_kept_as_one_even_where_they_bid():
    told = facts_after("Production runs in us-east-1.", "Always deploy production to eu-central-1, us-east-1 is gone.")

    assert any("eu-central-1" in fact for fact in told)
    assert not any(fact == "Production runs in us-east-1." for fact in told)


def test_what_follows_a_wish_to_forget_is_not_wished_away_itself():
    told = facts_after("The theme of our site is blue.", "Drop the red theme, we went with blue.")

    assert any("blue" in fact for fact in told)


@pytest.mark.parametrize(
    "before, after, expected",
    [
        ("My B2 exam is on 12 December.", "They changed my exam. It is on 9 January now.", "B2 exam is on 9 January"),
        (
            "Our stack is Go and Postgres 14.",
            "We did it this weekend! Postgres 16 runs everywhere.",
            "Postgres 16",
        ),
    ],
)
def test_the_sentence_before_tells_what_a_new_value_is_of(before: str, after: str, expected: str):
    told = facts_after(before, after)

    assert any(expected in fact for fact in told)
    assert not any("12 December" in fact or "Postgres 14" in fact for fact in told)


@pytest.mark.parametrize(
    "before, after, rest",
    [
        ("We do an app for dentists, CI is jenkins, three devs.", "Jenkins is gone.", "for dentists, three devs."),
        ("The exam is on 14 February, the professor is Kästner.", "They moved the exam to 2 March.", "Kästner"),
        ("My dad has dialysis on Mondays, my sister drives him.", "Dialysis was moved to Thursdays.", "drives him"),
    ],
)
def test_of_several_facts_only_the_one_that_changed_ends(before: str, after: str, rest: str):
    told = facts_after(before, after)

    assert any(rest in fact for fact in told)
    assert not any(old in fact for fact in told for old in ("CI is jenkins", "14 February", "Mondays"))


def test_a_wish_to_forget_ends_what_it_names_and_leaves_what_lies_near():
    told = facts_after(
        "My pension is 1,480 a month.",
        "My life insurance has the policy number PN-2210.",
        "You can throw that policy number away.",
    )

    assert told == ["User's pension is 1,480 a month."]


@pytest.mark.parametrize(
    "told, wish, rest, gone",
    [
        (
            "We are a team of five in Lyon, our CI is Jenkins and we deploy on Fridays.",
            "Forget about the Jenkins thing.",
            "team of five in Lyon",
            "Jenkins",
        ),
        (
            "I live in Bergen with my mother, and I take warfarin for my heart.",
            "Please forget that I take warfarin.",
            "lives in Bergen",
            "warfarin",
        ),
    ],
)
def test_of_several_facts_only_the_one_is_forgotten_that_is_meant(told: str, wish: str, rest: str, gone: str):
    known = facts_after(told, wish)

    assert any(rest in fact for fact in known)
    assert not any(gone in fact for fact in known)


def test_what_is_wiped_from_whatever_memory_there_is_is_what_was_named():
    told = facts_after("We deploy on Fridays.", "I live in Graz.", "Please wipe it from whatever memory you have.")

    assert any("Fridays" in fact for fact in told)


def test_a_task_that_names_a_number_may_be_a_new_limit():
    told = facts_after("150 is the max for eating out from now.", "150 was a dream. make the eating out thing 220")

    assert any("220" in fact for fact in told)
    assert not any("150 is the max" in fact for fact in told)


def test_a_dose_does_not_move_to_another_medicine():
    told = facts_after("I take amlodipine 10 mg.", "She took me off amlodipine, I am on candesartan 8 mg now.")

    assert any("candesartan 8 mg" in fact for fact in told)
    assert not any("amlodipine 8 mg" in fact for fact in told)


@pytest.mark.parametrize(
    "one, other",
    [
        ("Never push directly to main.", "Never push on Fridays."),
        ("Always sign commits.", "Don't squash commits."),
        ("Always write unit tests for new code.", "Stop adding comments to new code."),
        ("Please always write reports in English.", "Stop putting charts in reports."),
        ("Never call customers by phone.", "Stop sending customers PDFs."),
        ("Always cc finance on invoices.", "Don't round amounts on invoices."),
        ("Never email clients on weekends.", "Never email clients before 9am."),
        ("Run the linter before every commit.", "Run the tests before every push."),
    ],
)
def test_rules_about_one_thing_stand_beside_each_other(one: str, other: str):
    _, playbooks = known_after(one, other)

    assert [playbook.status for playbook in playbooks] == [Status.CURRENT, Status.CURRENT]


def test_a_wish_of_the_moment_lifts_no_rule():
    rule = "Never roll back the payment service before the on-call person has agreed."

    _, playbooks = known_after(rule, "Payment shows errors, roll it back.")

    assert current(playbooks) == [rule]


@pytest.mark.parametrize(
    "one, other",
    [
        ("I speak German.", "I also speak some Polish."),
        ("I work with Go.", "I also work with Rust."),
        ("We support Chrome.", "We support Firefox as well."),
        ("I'm free on Mondays.", "I'm free on Fridays too."),
        ("Our office is in Hamburg.", "We have another office in Berlin."),
        ("My daughter is 6.", "My son is 9."),
        ("I have ten years of Java.", "I'm new to Rust."),
        ("My dog is called Gravy.", "We have a second dog, Pudding."),
        ("The web app is written in Svelte.", "The api is written in Kotlin."),
        ("I'm allergic to hazelnuts.", "I'm allergic to kiwi too."),
        ("My rent is 700.", "I can save 200 a month."),
        ("I live in Graz.", "My parents live in Linz."),
        ("My flight is at 14:10.", "The hotel check-in is at three."),
    ],
)
def test_statements_about_other_things_stand_side_by_side(one: str, other: str):
    profiles, _ = known_after(one, other)

    assert len(profiles) == 2
    assert all(profile.status is Status.CURRENT for profile in profiles)


@pytest.mark.parametrize(
    "said",
    [
        "I have a question about my invoice",
        "Hello, I would like to ask for breakfast ideas",
        "I wonder what happened to the old dashboard",
        "I forgot my password",
        "I told you three times!",
        "Here's the mail I got:\n\n> You live in zone 4.\n> Always keep your receipt.",
        "Nov 14 02:11:09 web-3 kernel: always kill process 4411\nNov 14 02:11:09 web-3 init: I am restarting",
        "Suppose we moved to Lisbon. We never pay taxes there. What then?",
        "Write a function that never returns null.",
    ],
)
def test_what_is_only_asked_quoted_or_imagined_leaves_nothing(said: str):
    assert facts(said) + lessons(said) == []


def test_what_is_recalled_to_the_agent_is_learned_once():
    profiles, playbooks = known_after("As you know, I live in Graz.", "I live in Graz, as you know.")

    assert current(profiles) == ["User lives in Graz."]
    assert playbooks == []


@pytest.mark.parametrize(
    "told, wish",
    [
        ("My address is 14 Mill Lane.", "please forget my address"),
        ("I'm on a gluten-free diet.", "delete what you know about my diet"),
        ("I smoke.", "stop remembering that I smoke"),
        ("I'm allergic to kiwi.", "could you please delete what you know about my allergies?"),
        ("I live in Graz.", "hm wait, can you delete the bit about where I live?"),
        ("My salary is 3,150.", "I'd rather you didn't remember my salary"),
        ("My phone number is 555 0134.", "no need to keep my phone number"),
        ("I have type 1 diabetes.", "erase the thing about my diabetes from your memory"),
    ],
)
def test_a_wish_to_forget_is_understood_however_it_is_put(told: str, wish: str):
    assert facts_after(told)

    assert facts_after("My car is a Skoda.", told, wish) == ["User's car is a Skoda."]


@pytest.mark.parametrize(
    "said, names",
    [
        ("We never deploy production to us-east-1, always use us-west-2.", "us-east-1"),
        ("Use uv here, not pip.", "pip"),
        ("Please don't use docstrings on private functions, ever.", "docstrings"),
        ("Never call customers before nine.", "before nine"),
        ("npm broke the lockfile last time, so always use pnpm.", "npm"),
    ],
)
def test_a_pitfall_names_what_is_to_be_avoided(said: str, names: str):
    lesson = only_lesson(said).lesson

    assert names in (lesson.pitfall or "").lower()


def test_a_complaint_makes_the_agents_act_the_pitfall():
    lesson = only_lesson(
        "Book the invoice.", "agent: I booked it on account 4010.", "Wrong. Always book subcontractors on 4400."
    ).lesson

    assert lesson.pitfall == "Booking it on account 4010."


@pytest.mark.parametrize(
    "said, written",
    [
        ("we need more seats", []),
        ("I'm on Basic and have been since day one", ["User is on Basic and has been since day one."]),
        ("im on windows 11 w/ wsl2", ["User is on windows 11 with wsl2."]),
    ],
)
def test_facts_are_well_worded(said: str, written: list[str]):
    assert facts(said) == written


def test_an_answer_is_kept_with_its_question():
    assert facts("agent: What's your rent?", "1,020 warm") == ['Asked "What\'s your rent?", the user said: 1,020 warm.']


def test_what_is_asked_in_a_new_session_confirms_nothing_of_the_last_one():
    rolled_back = window("Payment shows errors, roll it back.", "agent: The on-call person has agreed; rolling back.")
    again = replace(turn(3, "Payment shows errors, roll it back."), session_id=SessionId("the next one"))

    assert taught(replace(rolled_back, turns=(*rolled_back.turns, again))) == []


@pytest.mark.parametrize(
    "rule, fact",
    [
        ("Leave out the charts, my boss hates them.", "We have a new boss and she loves charts."),
        ("Only book vegetarian restaurants for me.", "I eat meat again since the summer."),
    ],
)
def test_a_fact_ends_the_rule_that_it_leaves_no_room_for(rule: str, fact: str):
    assert current_lessons(rule) != []
    assert current_lessons(rule, fact) == []


def test_words_that_are_hardly_worth_keeping_end_a_rule_too():
    told = current_lessons("Send invoices by post, they have no email.", "They got an email address at last.")

    assert not any("by post" in lesson.content for lesson in told)


def test_a_fact_that_has_nothing_to_do_with_a_rule_leaves_it_alone():
    before = "Never call me before noon, I work nights."

    kept = [one.content for one in current_lessons(before, "My brother got a job at the harbour.")]

    assert any("noon" in content for content in kept)


def current_lessons(*turns: str) -> list[Lesson]:
    return [one.lesson for one in known_after(*turns)[1] if one.status is Status.CURRENT]


def test_what_is_short_is_held_against_what_is_known_together_with_what_it_answers():
    asked = questions.as_spoken("thursday", "", "Still the Tuesday slot?")
    said = questions.as_spoken(
        "The clinic gave us new places, it is thursdays and saturdays from the 3rd on.", "", "Ok?"
    )

    assert asked == "[Still the Tuesday slot?] thursday"
    assert said.startswith("The clinic")


def test_what_is_named_as_ended_is_not_kept_as_what_is_left():
    kept = facts_after(
        "We never deploy production to us-east-1, always use us-west-2.",
        "We no longer deploy production to us-west-2, always use eu-central-1.",
    )

    assert any("eu-central-1" in fact for fact in kept)
    assert not any("always uses us-west-2" in fact.lower() for fact in kept)
