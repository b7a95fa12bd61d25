"""The labelled set is what its README claims, and its labels can be met."""

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from bench.learning import cases
from bench.learning.cases import Conversation, Expected, Past, Turn
from bench.learning.matching import NAMED, Matcher, occur, occurs, pattern
from bench.learning.play import publishes
from bench.learning.score import Memory, Share, Verdict, figures, score

SET = {part: cases.read(part) for part in cases.PARTS}
ALL = [conversation for part in cases.PARTS for conversation in SET[part]]
LATER = {part: cases.read(part) for part in cases.LATER}
each_conversation = pytest.mark.parametrize("conversation", ALL, ids=lambda one: one.id)
# What others wrote later is held to the form; of parts that are not read a failure may tell no more than the name.
each_of_any_part = pytest.mark.parametrize("conversations", [*SET.values(), *LATER.values()], ids=[*SET, *LATER])


def user_turns(conversations: list[Conversation]) -> list[Turn]:
    return [turn for conversation in conversations for turn in conversation.turns if turn.by_user]


def expected_of(conversations: list[Conversation]) -> list[Expected]:
    return [expected for conversation in conversations for expected in conversation.expected]


def matchers(conversation: Conversation) -> Iterator[Matcher]:
    yield from (label.matcher for label in (*conversation.expected, *past(conversation)))
    yield from (*conversation.absent, *conversation.acceptable)


def past(conversation: Conversation) -> tuple[Past, ...]:
    return (*conversation.superseded, *conversation.forgotten)


def said_until(turn: int, conversation: Conversation) -> str:
    return "\n".join(told.content for told in conversation.turns[: turn + 1])


# --- how much there is --------------------------------------------------------------------------------------------


def test_a_third_of_the_user_turns_is_held_back():
    counts = {part: len(user_turns(SET[part])) for part in cases.PARTS}

    assert counts["open"] + counts["held"] >= 240
    assert 0.3 <= counts["held"] / sum(counts.values()) <= 0.36


@pytest.mark.parametrize("part", cases.PARTS)
def test_the_five_domains_are_even(part):
    counts = [
        len(user_turns([conversation for conversation in SET[part] if conversation.domain == domain]))
        for domain in cases.DOMAINS
    ]

    assert max(counts) <= 1.25 * min(counts)


@pytest.mark.parametrize("part", cases.PARTS)
def test_half_of_the_user_turns_have_nothing_to_learn(part):
    turns = user_turns(SET[part])

    share = sum(bool(turn.nothing) for turn in turns) / len(turns)

    assert 0.45 <= share <= 0.55


def test_every_way_of_saying_nothing_occurs_in_both_parts():
    for part in cases.PARTS:
        assert {turn.nothing for turn in user_turns(SET[part]) if turn.nothing} == set(cases.NOTHING)


def test_contradictions_forget_requests_and_limited_times_are_as_many_as_claimed():
    limited = [expected for expected in expected_of(ALL) if expected.ends]

    assert sum(len(conversation.superseded) for conversation in ALL) >= 30
    assert sum(len(conversation.forgotten) for conversation in ALL) >= 15
    assert len(limited) >= 25


def test_the_readme_counts_right():
    told = " ".join((cases.FOLDER / "README.md").read_text(encoding="utf-8").split())
    limited = [expected for expected in expected_of(ALL) if expected.ends]

    assert f"{len(user_turns(ALL))} user turns in {len(ALL)} conversations" in told
    assert f"{sum(len(conversation.superseded) for conversation in ALL)} contradictions" in told
    assert f"{sum(len(conversation.forgotten) for conversation in ALL)} requests to forget" in told
    assert f"{len(limited)} statements that end by themselves" in told
    for conversations in LATER.values():
        assert f"({len(user_turns(conversations))} user turns in {len(conversations)} conversations" in told


@pytest.mark.parametrize("part", cases.PARTS)
def test_every_part_has_every_kind_of_statement_and_every_task(part):
    expected = expected_of(SET[part])

    assert {one.says for one in expected} == set(cases.SAYS)
    assert any(one.pitfall for one in expected)
    assert any(one.ends for one in expected)
    assert any(conversation.superseded for conversation in SET[part])
    assert any(conversation.forgotten for conversation in SET[part])


def test_some_contradictions_cross_sessions_and_some_do_not():
    crossing = [
        conversation.turns[past.turn].session_id != conversation.turns[past.by].session_id
        for conversation in ALL
        for past in conversation.superseded
    ]

    assert set(crossing) == {True, False}


# --- that it is well formed ---------------------------------------------------------------------------------------


@each_of_any_part
def test_ids_users_and_sessions_are_unique(conversations):
    sessions = [session for one in conversations for session in dict.fromkeys(turn.session_id for turn in one.turns)]

    for names in ([one.id for one in conversations], [one.user_id for one in conversations], sessions):
        assert not [name for name, times in Counter(names).items() if times > 1]


@each_conversation
def test_a_session_has_two_to_twelve_turns(conversation):
    lengths = Counter(turn.session_id for turn in conversation.turns)

    assert all(2 <= length <= 12 for length in lengths.values())
    assert len(lengths) <= 3


@each_of_any_part
def test_roles_alternate_and_nothing_is_empty(conversations):
    for one in conversations:
        for before, after in itertools.pairwise(one.turns):
            assert before.role != after.role or before.session_id != after.session_id, one.id
        assert all(turn.content.strip() and turn.role in {"user", "assistant"} for turn in one.turns), one.id


@each_of_any_part
def test_labels_use_the_words_of_the_readme(conversations):
    for one in conversations:
        assert {turn.nothing for turn in one.turns} <= {"", *cases.NOTHING}, one.id
        assert {expected.says for expected in one.expected} <= set(cases.SAYS), one.id
        assert all(expected.ttl <= cases.TIMES_TO_LIVE for expected in one.expected), one.id


def test_the_first_parts_keep_to_the_five_domains():
    assert {one.domain for one in ALL} == set(cases.DOMAINS)


@each_conversation
def test_a_user_turn_either_has_something_to_learn_or_says_why_not(conversation):
    telling = {label.turn for label in (*conversation.expected, *past(conversation))}
    telling |= {label.by for label in past(conversation)}

    for place, turn in enumerate(conversation.turns):
        assert (place in telling) != bool(turn.nothing) or not turn.by_user
        assert turn.by_user or (place not in telling and not turn.nothing)


@each_conversation
def test_what_replaces_something_is_itself_expected_from_the_turn_that_replaces(conversation):
    names = [expected.about for expected in conversation.expected]

    assert len(names) == len(set(names))
    for past in conversation.superseded:
        assert past.turn < past.by
        assert not past.now or conversation.named(past.now).turn == past.by


# --- that it can be met -------------------------------------------------------------------------------------------


@each_of_any_part
def test_matchers_compile_and_ask_for_something(conversations):
    for one in conversations:
        for matcher in matchers(one):
            assert matcher.must, one.id
            for alternatives in (*matcher.must, matcher.must_not):
                assert all(pattern(phrase) for phrase in alternatives), one.id
            assert all(matcher.must), one.id


@each_of_any_part
def test_what_a_memory_must_say_was_said_by_then(conversations):
    for one in conversations:
        for expected in one.expected:
            said = said_until(expected.turn, one)
            missing = [words for words in (*expected.matcher.must, *expected.pitfall) if not occur((words,), said)]
            assert not missing, one.id


@each_conversation
def test_what_is_past_was_said_once(conversation):
    for label in past(conversation):
        said = said_until(label.turn, conversation)
        assert occur(label.matcher.must, said), label.about


@each_conversation
def test_no_exception_of_a_label_excuses_the_very_words_it_is_about(conversation):
    for label in (*conversation.expected, *past(conversation)):
        assert not label.matcher.excepts(conversation.turns[label.turn].content), label.about


@each_conversation
def test_what_is_acceptable_or_a_trap_was_said_somewhere(conversation):
    everything = said_until(len(conversation.turns), conversation)

    for matcher in (*conversation.absent, *conversation.acceptable):
        assert occur(matcher.must, everything)


# --- matching -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "phrase, text",
    [
        ("go", "User mostly writes Go."),
        ("renew*", "auto-renewal is off"),
        ("back porch", "the back\nporch"),
        ("don't", "don’t"),
        ("she/her", "pronouns: She/Her"),
        ("@not", "User does not eat pork"),
    ],
)
def test_a_phrase_occurs(phrase, text):
    assert occurs(phrase, text)


@pytest.mark.parametrize("phrase, text", [("go", "Django"), ("5", "55"), ("10", "110"), ("@not", "User notes things")])
def test_a_part_of_a_word_is_not_the_word(phrase, text):
    assert not occurs(phrase, text)


def test_a_matcher_needs_one_of_each_list_and_none_of_the_exceptions():
    matcher = Matcher((("flat", "house"), ("annecy",)), ("rents",))

    assert matcher.fits("Owns a flat in Annecy")
    assert not matcher.fits("Owns a flat")
    assert not matcher.fits("Rents a flat in Annecy")


def test_a_transcript_is_not_a_memory():
    assert not Matcher((("annecy",),)).fits("Annecy " * 100)


def test_named_alternatives_are_never_names_themselves():
    assert not [phrase for phrases in NAMED.values() for phrase in phrases if phrase.startswith("@")]


# --- scoring ------------------------------------------------------------------------------------------------------

CITY = Expected(4, "lives in Leipzig", "fact", "profile", Matcher((("leipzig",),)), ttl=frozenset({"infinity"}))
FREEZE = Expected(4, "main is frozen", "fact", "profile", Matcher((("frozen",),)), True, frozenset({"one_week"}))
MOVED = Past(0, 4, "lives in Gdansk", Matcher((("gdansk",),), ("leipzig",)), now="lives in Leipzig")
WIDOW = Past(2, 4, "is a widow", Matcher((("widow",),)))
TALK = Conversation(
    id="talk",
    domain="support",
    user_id="ada",
    turns=(),
    expected=(CITY, FREEZE),
    superseded=(MOVED,),
    forgotten=(WIDOW,),
    absent=(Matcher((("sister",),)),),
    acceptable=(Matcher((("lamp",),)),),
)
OLD, NEW = Memory("profile", "Lives in Gdansk"), Memory("profile", "Moved from Gdansk to Leipzig")


def scored(*current: Memory, ever: tuple[Memory, ...] = ()) -> dict[str, Share]:
    return figures([score(TALK, current, (*ever, *current))])


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("User lives in Leipzig", Verdict.EXPECTED),
        ("User lives in Gdansk", Verdict.STALE),
        ("User is a widow", Verdict.STALE),
        ("User bought a lamp", Verdict.ACCEPTABLE),
        ("User's sister bought a lamp", Verdict.TRAP),
        ("User owes the agent one", Verdict.JUNK),
    ],
)
def test_a_memory_gets_its_verdict(text, verdict):
    found = score(TALK, [Memory("profile", text)], [])

    assert [given for _, given in found.verdicts] == [verdict]


def test_a_contradiction_is_resolved_when_the_new_is_there_and_the_old_is_not():
    assert scored(NEW, ever=(OLD,))["contradictions resolved"] == Share(1, 1)
    assert scored(OLD, NEW)["contradictions resolved"] == Share(0, 1)
    assert scored(ever=(OLD,))["contradictions resolved"] == Share(0, 1)


def test_what_was_never_known_counts_as_forgotten_but_not_as_once_known():
    told = Memory("profile", "Is a widow")

    assert scored()["forgotten"] == Share(1, 1)
    assert scored()["forgotten, once known"] == Share(0, 0)
    assert scored(ever=(told,))["forgotten, once known"] == Share(1, 1)
    assert scored(told)["forgotten"] == Share(0, 1)


def test_what_is_forgotten_may_not_live_on_in_a_trigger():
    lesson = Memory("playbook", "Write slowly", trigger="Asked: I am a widow")

    assert scored(lesson)["forgotten"] == Share(0, 1)


def test_a_lesson_cannot_end_in_time():
    assert scored(Memory("profile", "main is frozen", "one_week"))["time to live, limited"] == Share(1, 1)
    assert scored(Memory("playbook", "main is frozen"))["time to live, limited"] == Share(0, 1)


def test_the_wrong_kind_is_precise_but_not_found():
    lesson = Memory("playbook", "Lives in Leipzig")

    assert scored(lesson)["precision"] == Share(1, 1)
    assert scored(lesson)["recall"] == Share(0, 2)


def test_a_trigger_alone_says_nothing():
    assert scored(Memory("playbook", "Do that", trigger="When main is frozen"))["recall"] == Share(0, 2)


# --- playing ------------------------------------------------------------------------------------------------------


@each_of_any_part
def test_each_user_turn_is_published_with_what_the_agent_had_said_before_it(conversations):
    for one in conversations:
        sent = list(publishes(one.turns))

        assert [turn for turns in sent for turn in turns] == list(one.turns), one.id
        for turns in sent:
            assert len({turn.session_id for turn in turns}) == 1, one.id
            assert [turn.by_user for turn in turns] in ([True], [False, True], [False]), one.id
