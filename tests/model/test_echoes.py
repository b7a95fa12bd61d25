"""Recognising our own words when they come back."""

from hypothesis import given
from hypothesis import strategies as st

from acumen.model.echoes import CONTEXT_CLOSE, CONTEXT_OPEN, RenderedMemory, without_echoes
from acumen.model.ids import Kind, MemoryRef

PARIS = MemoryRef(Kind.PROFILE, "paris")
CATS = MemoryRef(Kind.PROFILE, "cats")
SHOWN = [RenderedMemory(PARIS, "- User lives in Paris."), RenderedMemory(CATS, "- User has three cats.")]


def test_a_memory_that_comes_back_is_blanked_and_named():
    heard = without_echoes("Sure. User lives in Paris. Anything else?", SHOWN)

    assert heard.text == "Sure.                    . Anything else?"
    assert heard.echoed == (PARIS,)


def test_case_and_punctuation_do_not_hide_an_echo():
    heard = without_echoes("USER, lives — in: paris!", SHOWN)

    assert heard.echoed == (PARIS,)
    assert not any(character.isalpha() for character in heard.text)


def test_an_echo_said_twice_is_blanked_twice():
    heard = without_echoes("User lives in Paris, yes, User lives in Paris.", SHOWN)

    assert "Paris" not in heard.text
    assert "yes" in heard.text
    assert heard.echoed == (PARIS,)


def test_only_whole_words_in_order_are_an_echo():
    for text in ("A superuser lives in Paris", "User lives in Parisian flats", "In Paris lives user", "User lives in"):
        assert without_echoes(text, SHOWN).echoed == (), text


def test_few_words_may_come_back_by_chance():
    assert without_echoes("likes green tea", [RenderedMemory(PARIS, "- likes green tea")]).echoed == ()


def test_a_whole_context_is_blanked_even_where_nothing_is_remembered_of_it():
    heard = without_echoes(f"Hi {CONTEXT_OPEN}\n- anything at all\n{CONTEXT_CLOSE} and bye", [])

    assert heard.text.split() == ["Hi", "and", "bye"]


def test_a_context_cut_off_before_its_end_is_blanked_to_the_end():
    heard = without_echoes(f"Hi {CONTEXT_OPEN}\n- anything at al", [])

    assert heard.text.split() == ["Hi"]


def test_two_contexts_leave_what_stands_between_them():
    one = f"{CONTEXT_OPEN} a {CONTEXT_CLOSE}"

    assert without_echoes(f"{one} mine {one} too", []).text.split() == ["mine", "too"]


def test_memories_inside_a_context_are_named():
    heard = without_echoes(f"{CONTEXT_OPEN}\n- User lives in Paris.\n- User has three cats.\n{CONTEXT_CLOSE}", SHOWN)

    assert set(heard.echoed) == {PARIS, CATS}
    assert heard.text.strip() == ""


TEXT = st.text(st.sampled_from("ab .\n") | st.characters(), max_size=60) | st.sampled_from(
    [f"x {CONTEXT_OPEN} y", f"{CONTEXT_OPEN}{CONTEXT_CLOSE}", "User lives in Paris", "İ user lives in paris"]
)


@given(TEXT, st.lists(TEXT.map(lambda text: RenderedMemory(PARIS, text)), max_size=3))
def test_every_character_stays_in_its_place_or_becomes_a_space(text: str, shown: list[RenderedMemory]):
    heard = without_echoes(text, shown)

    assert len(heard.text) == len(text)
    assert all(after in {before, " "} for before, after in zip(text, heard.text, strict=True))


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "ε"]), min_size=4, max_size=8), TEXT, TEXT)
def test_what_was_shown_is_always_recognised(words: list[str], before: str, after: str):
    memory = " ".join(words)

    heard = without_echoes(f"{before} {memory} {after}", [RenderedMemory(PARIS, f"- {memory}.")])

    assert heard.echoed == (PARIS,)
