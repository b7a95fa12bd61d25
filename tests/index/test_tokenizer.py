"""The analyser: what a text can be found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.index.tokenizer import LONGEST, is_one_sign, prefix_of, terms


def shared(one: str, other: str) -> set[str]:
    return set(terms(one)) & set(terms(other))


@pytest.mark.parametrize(
    "asked, said",
    [
        ("deploy", "deployments"),
        ("deploys", "DEPLOYED!"),
        ("when did I buy it", "I bought it"),
        ("where did she go", "she went"),
        ("how many children", "my child"),
        ("Caroline", "Caroline’s"),
        ("naïve café", "naive cafe"),
        ("cafe\u0301", "café"),
        ("STRASSE", "straße"),
        ("Łódź smørrebrød", "lodz smorrebrod"),
        ("Ｆｕｌｌ width", "full width"),
        ("istanbul", "İstanbul"),
        ("1000 users", "1,000 users"),
        ("LLM", "LLMs"),
    ],
)
def test_forms_of_a_word_find_each_other(asked: str, said: str) -> None:
    assert shared(asked, said)


@pytest.mark.parametrize(
    "token, parts",
    [
        ("us-east-1", ["east", "1"]),
        ("ERR_CONN_42", ["err", "conn", "42"]),
        ("foo.bar()", ["foo", "bar"]),
        ("snake_case", ["snake", "case"]),
        ("CamelCase", ["camel", "case"]),
        ("HTTPServer", ["http", "server"]),
        ("src/acumen/words.py", ["src", "words.py", "py"]),
        ("bob.smith@example.com", ["bob.smith", "smith", "example.com"]),
        ("v1.2.3", ["1.2.3", "3"]),
        ("python3.11", ["python3", "python", "11"]),
        ("2023-05-08", ["2023", "05", "08"]),
        ("AT&T", ["t"]),
        ("__init__", ["init"]),
        ("https://example.com/a?q=1", ["example.com", "https"]),
    ],
)
def test_a_code_or_an_id_is_found_whole_and_by_its_parts(token: str, parts: list[str]) -> None:
    found = terms(f"look at {token}, please")

    assert terms(token)[0] in found
    assert not set(parts) - set(found)


def test_ids_that_differ_in_one_part_differ_as_a_whole() -> None:
    assert "us-east-1" in terms("us-east-1")
    assert "us-east-1" not in terms("us-east-2")


@pytest.mark.parametrize("language", ["C++", "C#"])
def test_languages_named_by_signs_are_kept(language: str) -> None:
    assert language.lower() in terms(f"written in {language}.")


@pytest.mark.parametrize("word", ["the", "What", "I", "don't", "can’t", "you're"])
def test_function_words_are_no_terms(word: str) -> None:
    assert terms(word) == []


@pytest.mark.parametrize(
    "asked, said",
    [
        ("東京タワー", "昨日東京タワーに行った"),
        ("绿茶", "我喜欢喝绿茶"),
        ("공부", "한국어를 공부해요"),
        ("สวัสดี", "สวัสดีครับ"),
        ("ｶﾞﾗｽ", "ガラス"),
        ("हिन्दी", "हिन्दी में लिखा"),
    ],
)
def test_scripts_without_spaces_are_found_within_a_sentence(asked: str, said: str) -> None:
    assert set(terms(asked)) <= set(terms(said))


def test_a_single_sign_is_a_term_and_known_as_one() -> None:
    assert terms("茶") == ["茶"]
    assert is_one_sign("茶")
    assert not is_one_sign("a")
    assert not is_one_sign("绿茶")


def test_kana_keep_what_tells_them_apart() -> None:
    assert not shared("かき", "かぎ")


def test_mixed_scripts_are_taken_apart() -> None:
    assert {"2023", "tokyo"} <= set(terms("東京tokyo2023年 in 2023"))


def test_a_blob_is_kept_by_its_beginning() -> None:
    assert terms("x" * 5000) == ["x" * LONGEST]


@pytest.mark.parametrize(
    "text, speaker",
    [
        ("Ann: I see", "ann"),
        ("Dr. Smith: hello there", "dr. smith"),
        ("I see", ""),
        ("https://example.com", ""),
        ("10:30 is fine", ""),
        ("", ""),
    ],
)
def test_a_name_before_a_colon_is_the_speaker(text: str, speaker: str) -> None:
    assert prefix_of(text) == speaker


@given(st.text())
def test_any_text_has_terms_without_space_that_are_not_too_long(text: str) -> None:
    found = terms(text)

    assert all(term and not any(sign.isspace() for sign in term) for term in found)
    # Folding can lengthen a cut token a little: one letter may stand for three.
    assert all(len(term) <= 3 * LONGEST for term in found)


@given(st.text(alphabet=st.sampled_from("aA1._-/'&+#@: \u0301\u3099é漢かก한\ud800\x00")))
def test_awkward_text_has_terms_that_do_not_depend_on_what_was_seen_before(text: str) -> None:
    assert terms(text) == terms(text)


@given(st.text(), st.text())
def test_terms_of_two_texts_are_those_of_each(one: str, other: str) -> None:
    assert terms(f"{one}\n{other}") == terms(one) + terms(other)


HOSTILE = {
    "marks": "a" + "\u0300\u0316" * 250_000,
    "marks between kana marks": "\u0300\u0316\u0300\u3099" * 120_000,
    "joiners": "a." * 500_000,
    "dots": "a" + "." * 1_000_000,
    "slashes": "a/" * 500_000,
    "humps": "aA" * 500_000,
    "one word": "x" * 1_000_000,
    "phrases in one sign": "\ufdfa" * 330_000,
    "digits and commas": "1,111" * 200_000,
    "surrogates": "\ud800a" * 250_000,
    "names": "Ab " * 300_000 + ":",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_stands_behind_a_megabyte_of_hostile_text_is_found(name: str) -> None:
    # Work that grew with the square of the text would not end within the patience of anyone.
    assert "zebra" in terms(f"{HOSTILE[name]} zebra")
    assert prefix_of(HOSTILE[name]) == ""
