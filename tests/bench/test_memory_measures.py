"""The parts of the bench lines about memory that need no server: keys, baselines, samples and scores."""

from pathlib import Path
from typing import Any

import pytest

from bench.memory import worth_reading
from bench.memory.answers import CONTEXT, SENTENCES, TURNS, Answer, describe_misses, shares
from bench.memory.baselines import Sentence, SentenceRanking, dated, pack, sentences
from bench.memory.everyday_requests import FACTS, REQUESTS, difference
from bench.memory.histories import ASSISTANT, USER, AnswerKey, History, Question, Session, Turn, parse_keys
from bench.memory.losses import SAMPLED_ENDINGS, sample, write_sample
from bench.memory.speed import ratio_of_rounds
from bench.memory.stale import freshness
from bench.memory.standing import PREFERENCES, PROMPTS, TALK, sessions, shown
from bench.memory.stored import Ending, Memory, is_ending

DAY = 86_400


def words(text: str) -> int:
    return len(text.split())


# --- keys ---------------------------------------------------------------------------------------------------------


def test_questions_that_ask_to_abstain_have_no_key() -> None:
    keys = parse_keys({"a": {"need": ["x"], "must_with": "y", "old": ["z"], "type": "t"}, "b": {"abstain": True}})

    assert keys == {"a": AnswerKey(("x",), "y", ("z",))}


@pytest.mark.parametrize(
    "context, bears",
    [
        ("She adopted a Puppy on the boat.", True),
        ("She adopted a puppy.", False),  # without what must be with it
        ("On the boat she was adopted.", False),  # one of two needs
    ],
)
def test_a_context_bears_the_answer_if_all_patterns_occur_in_any_case(context: str, bears: bool) -> None:
    assert AnswerKey(("adopt(ed|s)", r"\bpuppy"), "BOAT").met_by(context) is bears


# --- baselines ----------------------------------------------------------------------------------------------------


def history(*turns: Turn, roles: tuple[str, ...] = (USER,)) -> History:
    return History("set", "name", (Session("s", turns),), (), roles)


def test_sentences_are_those_of_the_people_who_talk() -> None:
    talk = (Turn(USER, "I moved. It was hard!\nThe end", 5), Turn(ASSISTANT, "Well done.", 6))

    assert [sentence.text for sentence in sentences(history(*talk))] == ["I moved.", "It was hard!", "The end"]
    assert "Well done." in [sentence.text for sentence in sentences(history(*talk, roles=(USER, ASSISTANT)))]


def test_rare_words_of_the_question_rank_a_sentence_first() -> None:
    corpus = [Sentence("The boat is red.", 1), Sentence("The boat is old.", 2), Sentence("The heron is old.", 3)]

    ranked = SentenceRanking(corpus).rank("Is there a heron on the boat?")

    assert ranked[0].text == "The heron is old."


def test_among_equal_sentences_the_newest_comes_first_and_unrelated_ones_not_at_all() -> None:
    corpus = [Sentence("A red boat.", 1), Sentence("A red boat.", 9), Sentence("Nothing else.", 10)]

    assert [sentence.at for sentence in SentenceRanking(corpus).rank("boats")] == [9, 1]


def test_packing_keeps_the_budget_and_leaves_out_what_does_not_fit() -> None:
    assert pack(["one two", "three four five six", "seven"], 4, words) == "one two\nseven"
    assert pack([], 4, words) == ""


def test_a_line_of_a_baseline_is_dated_and_single() -> None:
    assert dated(1_684_549_260, "Two\n lines") == "- 2023-05-20: Two lines"


# --- answers ------------------------------------------------------------------------------------------------------


def test_shares_are_counted_per_method_and_budget() -> None:
    question = Question("Which?", "kind", AnswerKey(("heron",)))
    answers = [
        Answer("h", question, CONTEXT, 300, "a heron"),
        Answer("i", question, CONTEXT, 300, "nothing"),
        Answer("h", question, CONTEXT, 1_000, "nothing"),
        Answer("h", question, TURNS, 300, "heron"),
    ]

    assert shares(answers, 300) == {CONTEXT: 0.5, TURNS: 1, SENTENCES: 0}


def test_misses_tell_which_baseline_bears_the_answer() -> None:
    question = Question("Which?", "kind", AnswerKey(("heron",)))
    answers = [Answer("h", question, CONTEXT, 300, "a duck"), Answer("h", question, TURNS, 300, "heron")]

    described = describe_misses(answers)

    assert "a duck" in described
    assert f"borne by: {TURNS}" in described
    assert describe_misses(answers[1:]) == ""


# --- stale --------------------------------------------------------------------------------------------------------

KEY = AnswerKey(("five tops",), "", ("three tops",))


@pytest.mark.parametrize(
    "context, newest, first, with_date",
    [
        ("- 2023-05-20: five tops\n- 2023-04-01: three tops", True, True, True),
        ("- five tops (user, 3 Oct 2026)", True, True, True),
        ("- bought five tops\n- 2023-04-01: hats", True, True, False),
        ("- 2023-04-01: three tops\n- May 20, 2023: five tops", True, False, True),
        ("- 2023-04-01: three tops", False, False, False),
    ],
)
def test_the_newest_value_counts_when_it_is_first_and_dated(
    context: str, newest: bool, first: bool, with_date: bool
) -> None:
    result = freshness(KEY, context)

    assert (result.newest, result.first, result.dated) == (newest, first, with_date)


# --- losses -------------------------------------------------------------------------------------------------------

BEFORE = {"status": "current", "content": "I live in Lund."}


@pytest.mark.parametrize(
    "op, before, after, ended",
    [
        ("add", None, BEFORE, False),
        ("superseded", BEFORE, {**BEFORE, "status": "superseded"}, True),
        ("delete", BEFORE, None, True),
        ("change", BEFORE, {**BEFORE, "content": "Book a table."}, True),
        ("change", BEFORE, {**BEFORE, "content": "I live in Lund. With two cats."}, False),
        ("current", {**BEFORE, "status": "superseded"}, BEFORE, False),
        ("change", {"lesson": {"content": "Be brief."}}, {"lesson": {"content": "Be loud."}}, True),
    ],
)
def test_a_memory_ends_when_it_is_not_current_or_its_words_are_replaced(
    op: str, before: Any, after: Any, ended: bool
) -> None:
    assert is_ending(op, before, after) is ended


def ending(number: int, cause: str = "") -> Ending:
    return Ending("profile", "user", f"old {number}", "a\tnew\nvalue", cause, "")


def test_only_the_causes_of_the_principles_are_explicit() -> None:
    causes = ("correction", "expired", "", "refined", "conflict")

    assert [ending(1, cause).is_explicit for cause in causes] == [True, True, False, False, False]


def test_the_sample_of_endings_is_the_same_each_time_and_one_line_each(tmp_path: Path) -> None:
    endings = [ending(number) for number in range(200)]

    write_sample(endings, tmp_path / "endings.tsv")

    assert sample(endings) == sample(endings)
    assert len(set(sample(endings))) == SAMPLED_ENDINGS
    assert sample(endings[:3]) == endings[:3]
    rows = (tmp_path / "endings.tsv").read_text().splitlines()
    assert len(rows) == 1 + SAMPLED_ENDINGS
    assert {row.count("\t") for row in rows} == {6}


# --- worth reading ------------------------------------------------------------------------------------------------


def memory(number: int) -> Memory:
    return Memory("profile", f"user-{number % 7}", f"text {number}", "a\tsentence\n", 1_684_549_260_000, "fact")


def test_the_sample_of_memories_does_not_depend_on_their_order() -> None:
    learned = [memory(number) for number in range(300)]

    sampled = worth_reading.sample(learned)

    assert sampled == worth_reading.sample(learned[::-1])
    assert len(set(sampled)) == worth_reading.SAMPLED


def test_a_filled_file_is_scored_by_the_share_of_each_verdict(tmp_path: Path) -> None:
    file = tmp_path / "worth-reading.tsv"
    worth_reading.write([memory(number) for number in range(5)], file)
    header, *rows = file.read_text().splitlines()
    verdicts = ["good", " Good", "junk", "ok", ""]
    file.write_text("\n".join([header, *(verdict + row for verdict, row in zip(verdicts, rows, strict=True))]))

    assert worth_reading.score(file) == {"good": 0.5, "ok": 0.25, "junk": 0.25}


def test_a_verdict_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "worth-reading.tsv"
    worth_reading.write([memory(1)], file)
    file.write_text(file.read_text().replace("\n\t", "\nfine\t"))

    with pytest.raises(ValueError, match="fine"):
        worth_reading.score(file)


# --- standing and requests ----------------------------------------------------------------------------------------


def test_each_preference_is_stated_once_by_the_user_and_in_no_prompt() -> None:
    stated = [turn.text for session in sessions(TALK, "u") for turn in session.turns if turn.role == USER]
    for name in PREFERENCES:
        assert sum(name in shown("", {"context": text}).preferences for text in stated) == 1, name
    assert not any(shown("", {"context": prompt}).preferences for prompt in PROMPTS)
    assert len(PREFERENCES) * len(set(PROMPTS)) == 100


def test_turns_of_later_sessions_are_later() -> None:
    times = [turn.at for session in sessions(TALK, "u", 0) for turn in session.turns]

    assert times == sorted(times)
    assert times[-1] >= (len(TALK) - 1) * DAY


def test_there_are_100_different_requests_and_none_states_a_fact() -> None:
    assert len(set(REQUESTS)) == 100
    assert not set(REQUESTS) & set(FACTS)


def test_a_memory_with_other_words_is_lost_and_one_with_a_new_id_is_made() -> None:
    before = {("profile", "1"): "a", ("profile", "2"): "b", ("playbook", "1"): "c"}

    changed = difference(before, {("profile", "1"): "x", ("playbook", "1"): "c", ("playbook", "2"): "d"})

    assert changed.lost == ["a", "b"]
    assert changed.made == ["d"]


def test_one_slow_round_hardly_moves_the_ratio_of_two_versions() -> None:
    ours, others = [[2.0, 2.0]] * 4 + [[90.0, 90.0]], [[2.0, 2.0]] * 5

    assert ratio_of_rounds(ours, others) == 1
