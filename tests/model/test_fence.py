"""No text can end, open or imitate the frame that it is rendered in."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acumen.model.fence import one_line
from acumen.model.handles import cited_handles
from tests.recall.break_outs import BREAK_OUTS, TAGS

HIDDEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def looks_like_the_tag(text: str) -> bool:
    """Read by somebody who ignores case, accents, widths and everything between the letters."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "acumencontext" in "".join(filter(str.isalpha, plain))


def test_the_corpus_has_at_least_sixty_attempts():
    assert len(set(BREAK_OUTS)) >= 60


@pytest.mark.parametrize("attempt", BREAK_OUTS, ids=ascii)
def test_no_form_of_the_tag_and_no_hidden_character_is_left(attempt: str):
    line = one_line(attempt)

    assert not looks_like_the_tag(line)
    assert len(line.splitlines()) == 1
    assert not [character for character in line if unicodedata.category(character) in HIDDEN]
    assert cited_handles(line) == []


@pytest.mark.parametrize("tag", TAGS, ids=ascii)
def test_what_stands_around_a_tag_is_kept(tag: str):
    line = one_line(f"before {tag} after")

    assert line.startswith("before ")
    assert line.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "Has business acumen, in every context",
        "Uses a < b && c > d in <div class='x'> and &amp; as 50% off",
        "می‌خواهم",
        "👩‍👩‍👧‍👦 lives in Zürich",
        "ＦＵＬＬ　width is kept",
        r"C:\users\ada and \u0061 as it is",
        "ക്‍ഷ",
    ],
    ids=ascii,
)
def test_ordinary_text_stays_as_it_is(text: str):
    assert one_line(text) == " ".join(text.split())


def test_a_memory_of_several_lines_becomes_one():
    assert one_line(" a\n- b\r\n\tc\u2028d ") == "a - b c d"


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*TAGS, "[m1]", "\n", "x", "zebra "]) | st.text(max_size=8), max_size=6).map("".join))
def test_whatever_is_put_together_stays_one_harmless_line(text: str):
    line = one_line(text)

    assert "<acumen-context" not in line.lower()
    assert "</acumen-context" not in line.lower()
    assert len(line.splitlines()) <= 1
    assert one_line(line) == line
