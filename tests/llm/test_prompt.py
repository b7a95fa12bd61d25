"""Prompts are files that render, that stay within their tokens, and that keep data apart from orders."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from acumen.llm.prompt import Prompt
from acumen.llm.tokens import count_tokens
from acumen.model.metering.llm_call import ModelRole

SOURCES = Path(__file__).parents[2] / "src" / "acumen"
FILES = sorted(SOURCES.rglob("prompts/*.md"))
# What models with a small window can take, the answer included.
MOST_TOKENS = 12_000


class Any(BaseModel):
    said: str = ""


def prompt_of(path: Path) -> Prompt[Any]:
    return Prompt(path.stem, path.read_text(), Any)


def places(prompt: Prompt[Any]) -> dict[str, int]:
    import re  # noqa: PLC0415 - only here

    return {name: int(most) for name, most in re.findall(r"\{\{(\w+):(\d+)", prompt.text)}


def filled(prompt: Prompt[Any], value: str):
    return prompt.question(dict.fromkeys(places(prompt), value))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_prompt_renders_with_nothing_left_open(path: Path):
    question = filled(prompt_of(path), "a value")

    assert question.role in ModelRole
    assert "{{" not in question.instructions + question.shown
    assert question.shown.strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_prompt_stays_within_its_tokens_whatever_fills_it(path: Path):
    prompt = prompt_of(path)

    question = filled(prompt, "lengthy words, and 漢字 in between; " * 5_000)

    assert count_tokens(question.instructions) + count_tokens(question.shown) <= prompt.reads
    assert prompt.reads + prompt.writes <= MOST_TOKENS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_prompt_says_what_json_it_wants(path: Path):
    assert "JSON" in prompt_of(path).text


SIMPLE = Prompt("simple", "---\nrole: gate\nwrites: 9\n---\nDo it {{how:5|plain}}.\n---\n{{talk:50}}\n", Any)


@given(st.text(max_size=300))
def test_whatever_is_shown_stands_between_two_fences(talk: str):
    question = SIMPLE.question({"how": "well", "talk": talk})

    first, *_, last = question.shown.split("\n")
    marker = first.removeprefix("<<").removesuffix(">")
    assert (first, last) == (f"<<{marker}>", f"<{marker}>>")
    assert question.shown.count(marker) == 2
    assert marker in question.instructions


def test_no_two_questions_have_the_same_fence():
    one, other = (SIMPLE.question({"how": "", "talk": "x"}) for _ in range(2))

    assert one.shown != other.shown
    assert one.prompt_hash == other.prompt_hash


def test_secrets_are_taken_out_of_every_value():
    question = SIMPLE.question({"how": "password: hunter22", "talk": "card 4111 1111 1111 1111"})

    assert "4111 1111" not in question.shown
    assert "hunter22" not in question.instructions


def test_a_prompt_with_other_words_or_another_shape_has_another_hash():
    class Other(BaseModel):
        else_: int = 0

    reworded = Prompt("simple", SIMPLE.text.replace("Do", "Try"), Any)
    reshaped = Prompt("simple", SIMPLE.text, Other)

    assert len({SIMPLE.hash, reworded.hash, reshaped.hash}) == 3


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(KeyError):
        SIMPLE.question({"talk": "x"})


@pytest.mark.parametrize("text", ["no head", "---\nrole: gate\nwrites: 9\n---\nno dashes after this"])
def test_a_file_that_is_no_prompt_is_refused(text: str):
    with pytest.raises(ValueError, match="head"):
        Prompt("broken", text, Any)
