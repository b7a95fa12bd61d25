"""Text of memories and turns, made safe to stand inside a context: one line, no tag, no handle, no hidden character."""

import html
import re
import unicodedata
from functools import cache, lru_cache

from acumen.model.lazy_regex import lazy_regex

# Memories are rendered again and again; what is longer is not worth its memory.
SHORT = 1_000
REMEMBERED = 4_096

# Characters that steer how text is shown or hide in it: controls, format characters, bidi marks, line and paragraph
# separators, half surrogates, tag characters, and letters that are blank. The joiners (200c, 200d) are apart.
_HIDDEN = lazy_regex(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff"
    r"\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# Persian, Indic scripts and emoji need joiners; next to ASCII they only hide.
_LOOSE_JOINER = lazy_regex(r"(?<![^\x00-\x7f])[\u200c\u200d]+|[\u200c\u200d]+(?![^\x00-\x7f])")
_HANDLE = lazy_regex(r"\[(\s*[mt]\d{1,12}(?:\s*[,;]\s*[mt]\d{1,12})*\s*)\]", re.IGNORECASE)
# The tag's name, with any characters between its letters and words. Text without the name is not the tag.
_LETTERS = "acumencontext"
_NAME = lazy_regex(r"[\W_]{0,3}".join("acumen") + r"[\W_]{0,12}" + r"[\W_]{0,3}".join("context"), re.IGNORECASE)
_NO_NAME = "(tag)"

# How a character can be written without it: HTML entities (also of entities), percent and backslash escapes.
_WRITTEN = (
    r"&(?:amp;){0,3}(?:#x?[0-9a-f]{1,8}|[a-z][a-z0-9]{1,30});?|(?:%[0-9a-f]{2}){1,4}|\\+u\{?[0-9a-f]{2,6}\}?"
    r"|\\+x[0-9a-f]{2}"
)
_UNIT = lazy_regex(rf"{_WRITTEN}|.", re.IGNORECASE | re.DOTALL)
_ESCAPED = lazy_regex(_WRITTEN, re.IGNORECASE)
_NOT_LETTERS = lazy_regex(r"[\W_]+")
# Letters of other scripts that look like those of the name; compatibility forms and accents are folded before.
_LOOKS = {
    "a": "аαɑᴀаꭺᗅ⍺", "c": "сϲᴄⅽꮯϹСᑕ", "u": "υսᴜцʋᥙꞟ", "m": "мᴍⅿꮇΜМ", "e": "еεҽᴇ℮ꬲЕΕєԑɛ", "n": "пոɴηņΝᥒ",
    "o": "оοσօᴏዐ०0ОΟ", "t": "тτᴛТΤꓔ", "x": "хχⅹꭓ×ХΧ᙮",
}  # fmt: skip


def one_line(text: str) -> str:
    """The text as one line that cannot end, open or imitate a part of the context around it."""
    return _lined(text) if len(text) <= SHORT else _lined.__wrapped__(text)


@lru_cache(REMEMBERED)
def _lined(text: str) -> str:
    text = _LOOSE_JOINER.sub("", _HIDDEN.sub(" ", text) if _HIDDEN.search(text) else text)
    text = " ".join(_nameless(text).split())
    return _HANDLE.sub(r"(\1)", text) if "[" in text else text


def _nameless(text: str) -> str:
    """Without the name of the context's tag, in any spelling."""
    if not _ESCAPED.search(text):
        if text.isascii():
            return _NAME.sub(_NO_NAME, text)
        # Most text has no such name, and this check is fifty times faster than `_folded`.
        if _LETTERS not in _letters_of(unicodedata.normalize("NFKD", text).translate(_looks()).lower()):
            return text
    folded, places = _folded(text)
    if _LETTERS not in _letters_of(folded):
        return text
    for match in reversed(list(_NAME.finditer(folded))):
        start, end = places[match.start()][0], places[match.end() - 1][1]
        text = f"{text[:start]}{_NO_NAME}{text[end:]}"
    return text


def _letters_of(text: str) -> str:
    return _NOT_LETTERS.sub("", text)


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """As plain lower-case letters, and the position of each in the text."""
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    for unit in _UNIT.finditer(text):
        for letter in _plain(unit.group()):
            letters.append(letter)
            places.append(unit.span())
    return "".join(letters), places


def _plain(unit: str) -> str:
    """What a character, or the writing of one, looks like; nothing for marks and for what is not seen."""
    if len(unit) > 1:
        unit = _decoded(unit)
    elif unit.isascii():
        return unit.lower()
    decomposed = unicodedata.normalize("NFKD", unit)
    seen = (letter for letter in decomposed if unicodedata.category(letter) not in ("Mn", "Me", "Cf", "Cc"))
    return "".join(seen).translate(_looks()).lower()


def _decoded(unit: str) -> str:
    if unit[0] == "&":
        for _ in range(4):
            unit = html.unescape(unit)
        return unit
    if unit[0] == "%":
        return bytes.fromhex(unit.replace("%", "")).decode(errors="ignore")
    number = int(re.sub(r"[^0-9a-f]", "", unit.lower().lstrip("\\").lstrip("ux")) or "0", 16)
    return chr(number) if number <= 0x10FFFF else ""


@cache
def _looks() -> dict[int, str]:
    return {ord(letter): plain for plain, letters in _LOOKS.items() for letter in letters}
