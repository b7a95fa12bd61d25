"""Counts are those of cl100k, for any text."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.llm.tokens import count_tokens, fits, truncate


@pytest.mark.parametrize(
    "text,count",
    [
        ("", 0),
        (" ", 1),
        ("hello world", 2),
        ("Hello, world!", 4),
        ("don't they'LL", 5),
        ("1234567890", 4),
        ("\n\n\n\t  x", 3),
        ("a" * 1000, 125),
        ("The user prefers metric units and dates written day first.", 11),
        ("def add(a, b):\n    return a + b\n", 12),
        ("Grüße aus Köln", 6),
        ("我想在周末去北京看长城。", 13),
        ("東京で寿司を食べたい", 14),
        ("👩‍💻 shipped it 🚀", 12),
    ],
)
def test_counts_are_those_of_the_original_encoder(text: str, count: int) -> None:
    assert count_tokens(text) == count


@pytest.mark.parametrize("text,count", [("<|endoftext|>", 7), ("<|im_start|>user<|im_end|>", 13)])
def test_what_looks_like_a_control_token_counts_as_plain_text(text: str, count: int) -> None:
    assert count_tokens(text) == count


def test_half_a_surrogate_pair_counts_and_does_not_raise() -> None:
    assert count_tokens("cut \ud83d") == count_tokens("cut ?")


def test_many_threads_count_alike() -> None:
    texts = ["hello world", "Grüße aus Köln", "東京で寿司を食べたい"] * 200

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(count_tokens, texts))

    assert counts == [2, 6, 14] * 200


@given(st.text(max_size=80), st.integers(min_value=0, max_value=400))
def test_a_text_fits_exactly_when_its_count_does(text: str, budget: int) -> None:
    assert fits(text, budget) == (count_tokens(text) <= budget)


@given(st.text(max_size=80), st.integers(min_value=0, max_value=40))
def test_a_truncated_text_is_a_beginning_that_fits(text: str, budget: int) -> None:
    beginning = truncate(text, budget)

    assert text.startswith(beginning)
    assert count_tokens(beginning) <= budget


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert truncate("hello world", 2) == "hello world"


def test_truncation_keeps_what_the_budget_allows() -> None:
    assert truncate("one two three four five", 3) == "one two three"


def test_truncation_never_leaves_half_a_character() -> None:
    beginnings = [truncate("🚀" * 5, budget) for budget in range(16)]

    assert all(set(beginning) <= {"🚀"} for beginning in beginnings)
    assert beginnings[-1] == "🚀" * 5
