"""How pages write numbers, times and texts that others wrote."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen import loop
from acumen.model.times import DAY_MS, HOUR_MS
from acumen.web import words

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    "before,told",
    [
        (500, "just now"),
        (59_000, "59 seconds ago"),
        (3 * HOUR_MS, "3 hours ago"),
        (40 * DAY_MS, "1 month ago"),
        (-2 * DAY_MS, "in 2 days"),
    ],
)
def test_a_time_is_told_by_how_long_ago_it_was(before: int, told: str):
    assert words.ago(NOW - before, NOW) == told


@pytest.mark.parametrize(
    "value,told", [(0, "0"), (0.25, "0.2"), (9_999, "9,999"), (12_345, "12.3k"), (1_234_567, "1.23M"), (None, "–")]
)
def test_large_numbers_keep_three_digits(value: float | None, told: str):
    assert words.compact(value) == told


@pytest.mark.parametrize("share,told", [(0.0, "0%"), (1.0, "100%"), (0.999, "99.9%"), (0.034, "3.4%"), (0.41, "41%")])
def test_a_share_is_only_called_none_or_all_when_it_is(share: float, told: str):
    assert words.percent(share) == told


@pytest.mark.parametrize("value,told", [(None, "–"), (0.0, "$0.00"), (0.0004, "<$0.01"), (12.5, "$12.50")])
def test_an_unknown_price_is_not_zero(value: float | None, told: str):
    assert words.dollars(value) == told


def test_every_job_type_has_a_label():
    assert words.JOBS.keys() == loop.EVENTS.keys()


def test_names_in_backticks_are_code_and_the_text_around_them_is_escaped():
    assert words.code_spans("call `a<b` <i>once</i>") == "call <code>a&lt;b</code> &lt;i&gt;once&lt;/i&gt;"
    assert words.code_spans("a ` b") == "a ` b"


@pytest.mark.parametrize(
    "text,expected", [("change 3 was undone", "Change 3 was undone."), ("Done.", "Done."), ("", "")]
)
def test_a_reason_is_shown_as_a_sentence(text: str, expected: str):
    assert words.sentence(text) == expected


def test_counts_have_plurals():
    assert [words.count_of(count, "memory") for count in (0, 1, 2)] == ["0 memories", "1 memory", "2 memories"]
    assert [words.count_of(count, "session") for count in (1, 1_000)] == ["1 session", "1,000 sessions"]


def test_arguments_are_shown_as_json():
    assert words.json_text({"rows": None, "name": "Ä"}) == '{"rows": null, "name": "Ä"}'


def test_what_acts_instead_of_being_seen_is_named():
    assert words.plain("a\x1b[2J\u202eb\u200bc\nd\te") == "a⟨U+001B⟩[2J⟨U+202E⟩b⟨U+200B⟩c\nd\te"


@given(st.text())
def test_no_text_keeps_a_character_that_acts(text: str):
    assert words.plain(words.plain(text)) == words.plain(text)
    assert not any(sign in words.plain(text) for sign in "\x00\x1b\x7f\x9b\u202e\u2066\u200b\ufeff\r")


@given(st.text(min_size=1))
def test_no_cell_begins_as_a_formula(text: str):
    out = io.StringIO()
    csv.writer(out).writerow([words.cell(text)])

    (read,) = next(csv.reader(io.StringIO(out.getvalue(), newline="")))

    assert not read.lstrip().startswith(("=", "+", "-", "@", "|", "%"))


def test_a_number_in_a_cell_stays_a_number():
    assert words.cell(-3) == "-3"


def test_a_title_is_cut_at_a_word_with_its_lines_joined():
    assert words.shorten("one\n two   three", 9) == "one two…"
