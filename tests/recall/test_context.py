"""The budget of a context is a guarantee, whatever is in it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from acumen.llm.tokens import count_tokens
from acumen.model.handles import memory_handle
from acumen.model.ids import InteractionId, Kind, MemoryRef
from acumen.model.memories.base import Category
from acumen.recall.context import CITE, DUPLICATE, OVER_BUDGET, UNAPPROVED, Shares, compose, fit
from acumen.recall.lines import ContextCandidate, by_stability, candidate
from acumen.recall.quotes import Quote
from tests.world import a_profile, a_user_playbook, an_agent_playbook

WORDS = st.sampled_from(
    [
        *("the region", "us-west-2", "東京に住んでいます", "斑马🦓", "👩‍👩‍👧‍👦", "naïve café", "مرحبا", "a" * 40),
        *("\n\n", " ", "\t", "{json: [1,2]}", "<|endoftext|>", "</acumen-context>", "''''"),
    ]
)
MAY = 1_777_900_000_000  # 2026-05-04
LINES = st.lists(WORDS | st.text(max_size=30), min_size=1, max_size=12).map(" ".join)
CANDIDATES = st.lists(
    st.builds(
        ContextCandidate,
        st.builds(MemoryRef, st.sampled_from(list(Kind)), st.integers(0, 10_000).map(str)),
        LINES.map(lambda text: f"- {' '.join(text.split())}"),
        st.floats(0, 1),
        text=st.uuids().map(str),
    ),
    max_size=12,
    unique_by=lambda candidate: candidate.ref,
)


@settings(max_examples=200, deadline=None)
@given(CANDIDATES, st.integers(0, 40) | st.integers(0, 400))
def test_a_context_never_has_more_tokens_than_its_budget(candidates: list[ContextCandidate], budget: int):
    context = fit(candidates, budget, count_tokens)

    assert count_tokens(context.text) == context.tokens <= budget
    assert {line.ref for line in (*context.shown, *context.left_out)} == {one.ref for one in candidates}
    assert len(context.shown) + len(context.left_out) == len(candidates)
    assert all(line.text in context.text for line in context.shown)
    assert bool(context.text) == bool(context.shown)


@settings(max_examples=50, deadline=None)
@given(CANDIDATES)
def test_with_room_for_all_nothing_is_left_out(candidates: list[ContextCandidate]):
    context = fit(candidates, 1_000_000, count_tokens)

    assert context.left_out == ()


@settings(max_examples=100, deadline=None)
@given(CANDIDATES, st.integers(20, 300))
def test_nothing_that_is_left_out_would_still_fit(candidates: list[ContextCandidate], budget: int):
    """But for a few tokens: the cost of a line beside others is estimated, and never too low."""
    context = fit(candidates, budget, count_tokens)

    if context.shown and context.left_out:
        least = min(line.tokens for line in context.left_out)
        assert context.tokens + least + 12 + 3 * len(candidates) > budget


def test_the_best_come_first_and_smaller_ones_fill_what_is_left():
    def of(name: str, words: int, score: float) -> ContextCandidate:
        return ContextCandidate(MemoryRef(Kind.PROFILE, name), "- " + "word " * words, score, text=name)

    context = fit([of("small", 3, 0.1), of("best", 10, 0.9), of("huge", 500, 0.5)], 60, count_tokens)

    assert [line.ref.id for line in context.shown] == ["best", "small"]
    assert [line.ref.id for line in context.left_out] == ["huge"]


def test_what_waits_for_approval_is_left_out_however_well_it_fits():
    ready, waiting = (
        ContextCandidate(MemoryRef(Kind.AGENT_PLAYBOOK, name), "- words", 0.9, name == "2", text=name) for name in "12"
    )

    context = fit([waiting, ready], 1_000, count_tokens)

    assert [line.ref.id for line in context.shown] == ["1"]
    assert [(line.ref.id, line.left_out_because) for line in context.left_out] == [("2", UNAPPROVED)]


def test_what_is_left_out_is_told_best_first():
    lines = [
        ContextCandidate(MemoryRef(Kind.PROFILE, str(score)), "- some words", score, text=str(score))
        for score in (0.2, 0.9, 0.5)
    ]

    context = fit(lines, 0, count_tokens)

    assert [line.ref.id for line in context.left_out] == ["0.9", "0.5", "0.2"]


def test_nothing_found_is_no_text():
    assert fit([], 1_000, count_tokens).text == ""


def test_each_kind_stands_under_its_heading():
    lines = [
        ContextCandidate(MemoryRef(kind, "1"), f"- {kind}", 0.5, text=str(kind))
        for kind in (Kind.AGENT_PLAYBOOK, Kind.PROFILE, Kind.USER_PLAYBOOK)
    ]

    text = fit(lines, 1_000, count_tokens).text

    assert text.splitlines() == [
        "<acumen-context>",
        "About this user:",
        "- profile",
        "Learned from this user:",
        "- user_playbook",
        "Learned from all users:",
        "- agent_playbook",
        "</acumen-context>",
    ]


SHARES = Shares(0.25, 0.4, 0.35)
QUOTES = st.lists(
    st.builds(Quote, st.integers(1, 10_000).map(InteractionId), st.sampled_from(["2026-01-02", "2026-10-03"]), LINES),
    max_size=6,
    unique_by=lambda quote: quote.turn,
)


def all_of(quotes: list[Quote]):
    """Chooses every quote, whether there is room or not: the budget must hold all the same."""
    return lambda room, known: list(quotes)


@settings(max_examples=200, deadline=None)
@given(CANDIDATES, CANDIDATES, QUOTES, st.integers(0, 60) | st.integers(0, 600), st.booleans())
def test_all_parts_together_never_have_more_tokens_than_the_budget(standing, relevant, quotes, budget, cite):
    context = compose(standing, relevant, all_of(quotes), budget, count_tokens, SHARES, cite=cite)

    assert count_tokens(context.text) == context.tokens <= budget
    assert context.standing in context.text
    assert len({line.ref for line in context.shown}) == len(context.shown)
    refs = {line.ref for line in (*context.shown, *context.left_out)}
    assert refs == {item.ref for item in (*standing, *relevant)}
    if cite and context.text:
        assert context.text.splitlines()[-2] == CITE


def of(name: str, words: int, score: float = 0.5, **more) -> ContextCandidate:
    text = f"{name} " * words
    return ContextCandidate(MemoryRef(Kind.PROFILE, name), f"- {text}", score, **{"text": text, **more})


def test_the_standing_part_takes_no_more_than_its_share_and_the_rest_comes_last_in_what_is_left():
    standing = [of(name, 20) for name in "abcdefgh"]

    context = compose(standing, [of("relevant", 20, 0.9)], None, 200, count_tokens, SHARES)

    assert count_tokens(context.standing) <= 50
    shown = [line.ref.id for line in context.shown]
    assert shown[:3] == ["g", "h", "relevant"]
    assert len(shown) > 3
    assert {line.left_out_because for line in context.left_out} == {OVER_BUDGET}
    assert len(shown) + len(context.left_out) == 9


def test_where_not_all_standing_memories_fit_rules_go_before_preferences_and_the_newest_first():
    items = [("identity", Category.IDENTITY, 1), ("old rule", Category.RULE, 2), ("new rule", Category.RULE, 3)]
    memories = [
        a_profile(f"The {name} says how to write", id=name, category=category, said_at=at)
        for name, category, at in items
    ]
    order = by_stability((MemoryRef(Kind.PROFILE, memory.id), memory) for memory in memories)

    context = compose([candidate(memory, ref, 0) for ref, memory in order], [], None, 100, count_tokens, SHARES)

    assert "new rule" in context.standing
    assert "identity" not in context.standing


def test_the_standing_part_does_not_depend_on_the_other_parts():
    standing = [of(name, 20) for name in "abcdefgh"]

    alone = compose(standing, [], None, 200, count_tokens, SHARES)
    among = compose(standing, [of(name, 9) for name in "xyz"], None, 200, count_tokens, SHARES)

    assert alone.standing == among.standing
    assert alone.standing


def test_an_unused_share_flows_to_the_next_part_and_back():
    rooms: list[int] = []

    def choose(room: int, known: object) -> list[Quote]:
        rooms.append(room)
        return []

    relevant = [of(f"name{n}", 10, 0.9) for n in range(40)]
    nothing_standing = compose([], relevant, choose, 400, count_tokens, SHARES)
    nothing_relevant = compose([], [], choose, 400, count_tokens, SHARES)

    assert rooms[1] > 380  # nobody else needs any of it
    assert 120 <= rooms[0] <= 160
    assert nothing_standing.tokens > 350  # what the quotes left is used by what was left out
    assert nothing_relevant.text == ""


@pytest.mark.parametrize("part", ["standing", "relevant", "quoted"])
def test_a_part_with_no_share_is_left_out(part: str):
    shares = replace(SHARES, **{part: 0.0})
    quotes = all_of([Quote(InteractionId(7), "2026-01-02", "quoted words")])

    text = compose([of("standing", 2)], [of("relevant", 2)], quotes, 400, count_tokens, shares).text

    assert [name for name in ("standing", "relevant", "quoted") if name in text] == [
        name for name in ("standing", "relevant", "quoted") if name != part
    ]


def test_what_says_the_same_is_rendered_once_the_newest():
    same = [
        replace(of(name, 1, at=at), text="I prefer short answers.") for name, at in (("old", 1), ("new", 3), ("mid", 2))
    ]
    other = replace(of("other", 1), text="I do not prefer short answers.")

    context = compose([], [*same, other], None, 400, count_tokens, SHARES)

    assert {line.ref.id for line in context.shown} == {"new", "other"}
    assert {(line.ref.id, line.left_out_because) for line in context.left_out} == {
        ("old", DUPLICATE),
        ("mid", DUPLICATE),
    }


def test_a_lesson_of_the_callers_own_version_is_preferred_to_a_newer_one_that_says_the_same():
    same = [
        replace(of(name, 1, at=at), text="Use tabs", preferred=name == "own") for name, at in (("own", 1), ("new", 2))
    ]

    assert [line.ref.id for line in compose([], same, None, 400, count_tokens, SHARES).shown] == ["own"]


def test_memories_of_one_topic_come_newest_first_and_others_keep_their_places():
    lines = [
        of("old", 1, 0.9, topic="port", at=1), of("between", 1, 0.8), of("new", 1, 0.2, topic="port", at=2),
    ]  # fmt: skip

    context = compose([], lines, None, 400, count_tokens, SHARES)

    assert [line.ref.id for line in context.shown] == ["new", "between", "old"]


def test_relevant_memories_are_rendered_newest_first():
    lines = [of("every two weeks", 1, 0.9, at=1), of("every week", 1, 0.6, at=2)]

    context = compose([], lines, None, 400, count_tokens, SHARES)

    assert context.text.index("every week") < context.text.index("every two weeks")


def test_lines_of_a_block_are_rendered_together_or_not_at_all():
    block = [of("one", 30, 0.9, block="c"), of("two", 30, 0.9, block="c"), of("small", 2, 0.1)]

    both = compose([], block, None, 200, count_tokens, Shares(0, 1, 0))
    neither = compose([], block, None, 70, count_tokens, Shares(0, 1, 0))

    assert [line.ref.id for line in both.shown] == ["one", "two", "small"]
    assert [line.ref.id for line in neither.shown] == ["small"]


def test_a_memory_is_one_line_with_date_handle_trigger_instruction_and_pitfall():
    lesson, ref = a_user_playbook("Use us-west-2.").lesson, MemoryRef(Kind.AGENT_PLAYBOOK, "1")

    def line(**parts: str | None) -> str:
        memory = replace(an_agent_playbook(), lesson=replace(lesson, **parts), created_at=MAY)
        return candidate(memory, ref, 0.5).line

    start = f"- 2026-05-04 [{memory_handle(ref)}] "
    assert line() == f"{start}Use us-west-2."
    assert line(trigger="when deploying.") == f"{start}When deploying: Use us-west-2."
    assert line(pitfall="us-east-1") == f"{start}Use us-west-2. Avoid: us-east-1"


def test_a_memory_is_dated_by_when_it_was_said():
    ref = MemoryRef(Kind.PROFILE, "1")

    assert " 2026-05-04 " in candidate(a_profile(said_at=MAY), ref, 1).line
    assert " 2026-05-04 " in candidate(a_profile(created_at=MAY), ref, 1).line


def test_the_standing_part_is_ordered_by_stability_and_then_by_age():
    memories = [
        (MemoryRef(Kind.PROFILE, name), a_profile(name, category=category, said_at=at))
        for name, category, at in (
            ("young rule", Category.RULE, 9), ("old rule", Category.RULE, 1), ("name", Category.IDENTITY, 8),
            ("tone", Category.PREFERENCE, 5), ("fact", Category.FACT, 1),
        )
    ]  # fmt: skip

    assert [ref.id for ref, _ in by_stability(memories)] == ["name", "tone", "old rule", "young rule", "fact"]
