"""A turn, cut into the sentences its writer said: code, logs, quoted lines and pasted documents are left out."""

import re
from collections.abc import Iterator

from msgspec import Struct

from acumen.model.lazy_regex import lazy_regex
from acumen.model.text import ends_with_abbreviation

# Longer "sentences" are pasted material, not speech.
MAX_SENTENCE = 700
# A turn with more than this is a document; its own words are at the beginning and the end.
MAX_CHARACTERS = 200_000
MAX_SENTENCES = 1200


class Sentence(Struct, frozen=True):
    """Characters `start` to `end` of a turn; `text` has the same length, with straight quotes."""

    start: int
    end: int
    text: str


# One character each, so that offsets keep pointing into the original text.
_STRAIGHT = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "\u00a0": " ", "\r": "\n", "\t": " "}
)

_FENCE = lazy_regex(r"^[ ]{0,3}(```|~~~)", re.MULTILINE)
_TAG = lazy_regex(r"<(/?)([A-Za-z][\w-]{0,40})(?:\s[^<>\n]{0,300})?>")
_FORWARDED = lazy_regex(
    r"^(?:-{3,} ?(?:original|forwarded) message|begin forwarded message|on .{5,80} wrote:\s*$|from: .{1,200}\n(?:sent|"
    r"date|to|subject): )",
    re.MULTILINE | re.IGNORECASE,
)
# A letter that is shown: from a greeting on a line of its own to the line after "Best regards,", or, further down in
# a turn, to its end.
_GREETING = r"(?:dear|hi|hello|to whom it may concern)\b[^\n.!?]{0,60},?[ \t]*\n"
_SIGNED = r"(?:best|kind|warm|regards|cheers|sincerely|many thanks|thanks|yours)\b[^\n]{0,30},?[ \t]*\n[^\n]{0,40}"
_LETTER = lazy_regex(
    rf"^{_GREETING}(?:[^\n]*\n){{1,60}}?{_SIGNED}$|(?<=\n)dear\b[^\n.!?]{{0,60}},[ \t]*\n[\s\S]*",
    re.MULTILINE | re.IGNORECASE,
)
_CODE_LINE = lazy_regex(
    r"(?:\$ |# ?include|import \w+\s*$|from [\w.]+ import |def \w+\(|class \w+[:({]|function \w*\(|return\b.*;|"
    r"(?:const|let|var) \w+ ?=|@\w+\(|//|/\*|\*/|#!|</?\w+|SELECT .* FROM |INSERT INTO |at [\w.$<>]+\(.*\)|"
    r"File \".*\", line \d+|Traceback \(|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d\b|"
    r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b[\]: ]|\w*(?:Error|Exception): |"
    r"\w+ ?= ?\w+\(.*\)\s*$|[+-]{3} [ab]/|@@ -\d|[\[{]\s*[\"{\[]|[{}\[\]();,]+\s*$|\"[\w-]+\" ?: )"
)
_CODE_MARK = lazy_regex(r"[{}\[\]();=<>|\\$_*^~]")
# Where a sentence ends: a full stop before a space, a line break, a semicolon. Quotes and inline code are stepped over.
_STEP = lazy_regex(
    r'`[^`\n]{1,300}`|"[^"\n]{1,400}"|(?<!\w)\'[^\'\n]{2,300}\'(?!\w)'
    r"|(?P<end>[.!?…]+[)\"']?(?=\s|$)|\n+|;(?=\s)|[。！？।]|[.!?]+(?=[A-Z][a-z]))"
)
_NUMBER_OF = lazy_regex(r"(?:^|[\s(])(?:no|nr|art|sec|p|pp)\.$", re.IGNORECASE)
# "Anna: hello" on several lines is a conversation pasted in, numbers on several lines a table.
_SPEAKER = lazy_regex(r"\s*[A-Z][\w .-]{0,24}:\s+\S")
MIN_TRANSCRIPT = 3
_BULLET = lazy_regex(r"^\s*(?:[-*•–]|\d{1,2}[.)]|[a-z][.)])\s+")


def sentences(text: str) -> list[Sentence]:
    """The writer's own sentences in order, with their places in `text`."""
    pieces = list(_cut(_own_words(_ends(text).translate(_STRAIGHT))))
    if len(pieces) > MAX_SENTENCES:
        pieces = pieces[: MAX_SENTENCES // 2] + pieces[-MAX_SENTENCES // 2 :]
    return pieces


def _ends(text: str) -> str:
    """The text at the same length, with the middle of a long one left blank."""
    half = MAX_CHARACTERS // 2
    return text if len(text) <= MAX_CHARACTERS else text[:half] + _gap(len(text) - 2 * half) + text[-half:]


def _gap(length: int) -> str:
    """A blank of a given length that no sentence reaches across."""
    return "\n" + " " * (length - 2) + "\n" if length > 1 else "\n" * length


def _own_words(text: str) -> str:
    """The text at the same length, with all that its writer did not say left blank."""
    text = _without_fences(text)
    text = _without_elements(text)
    text = _LETTER.sub(lambda letter: _gap(len(letter[0])), text)
    forwarded = _FORWARDED.search(text)
    if forwarded:
        text = text[: forwarded.start()] + _gap(len(text) - forwarded.start())
    lines = text.split("\n")
    for shown in (_SPEAKER.match, _is_row):
        if sum(bool(shown(line)) for line in lines) >= MIN_TRANSCRIPT:
            lines = [_gap(len(line)) if shown(line) else line for line in lines]
    return "\n".join(_gap(len(line)) if _foreign(line) else line for line in lines)


def _is_row(line: str) -> bool:
    """'02.03 SPOTIFY 10,99': of a table, where most of it is numbers and capitals; several make one."""
    cells = line.split()
    dense = sum(cell.isupper() or any(map(str.isdigit, cell)) for cell in cells)
    return len(cells) > 1 and dense * 3 >= len(cells) * 2


def _without_fences(text: str) -> str:
    marks = [match.start() for match in _FENCE.finditer(text)]
    parts, at = [], 0
    for opening, closing in zip(marks[::2], [*marks[1::2], len(text)], strict=False):
        end = text.find("\n", closing)
        end = len(text) if end < 0 else end
        parts += [text[at:opening], _gap(end - opening)]
        at = end
    return "".join([*parts, text[at:]])


def _without_elements(text: str) -> str:
    """Marked-up blocks (<log>…</log>) are removed: text in tags is quoted, not said."""
    open_at: dict[str, int] = {}
    parts, at = [], 0
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1]:
            open_at.setdefault(name, tag.start())
        elif name in open_at:
            start = open_at.pop(name)
            if start >= at:
                parts += [text[at:start], _gap(tag.end() - start)]
                at = tag.end()
                open_at.clear()
    return "".join([*parts, text[at:]])


def _foreign(line: str) -> bool:
    """Whether a line is a quotation, code, a log line or data, rather than something said."""
    stripped = line.strip()
    if not stripped:
        return False
    sample = stripped[:400]
    if stripped.startswith((">", "|")) or _CODE_LINE.match(sample):
        return True
    if line.startswith("    ") and not _BULLET.match(line[:400]) and _CODE_MARK.search(sample):
        return True
    return len(sample) > 12 and len(_CODE_MARK.findall(sample)) * 8 > len(sample)


def _cut(text: str) -> Iterator[Sentence]:
    start = 0
    for step in _STEP.finditer(text):
        if (step["end"] is None and not _ends_quoted(text, step)) or _is_abbreviation(text, start, step):
            continue
        yield from _sentence(text, start, step.end())
        start = step.end()
    yield from _sentence(text, start, len(text))


def _ends_quoted(text: str, step: re.Match[str]) -> bool:
    """'… "like this." Then': the sentence ends with its quotation."""
    return step[0][-2:-1] in ".!?" and text[step.end() : step.end() + 2].strip(" \n")[:1].isupper()


def _is_abbreviation(text: str, start: int, stop: re.Match[str]) -> bool:
    if stop["end"] != ".":
        return False
    tail = text[max(start, stop.start() - 8) : stop.end()]
    bullet = text[start : stop.end()].strip()
    numbered = _NUMBER_OF.search(tail) and text[stop.end() : stop.end() + 2].strip()[:1].isdigit()
    return bool(ends_with_abbreviation(tail) or numbered) or (len(bullet) <= 3 and bullet[:-1].isdigit())


def _sentence(text: str, start: int, end: int) -> Iterator[Sentence]:
    """The piece without its bullet and surrounding blanks, if anything is left and it is not too long."""
    if end - start > MAX_SENTENCE:
        return
    piece = text[start:end]
    bullet = _BULLET.match(piece)
    start += bullet.end() if bullet else len(piece) - len(piece.lstrip())
    stripped = text[start:end].rstrip()
    if any(map(str.isalnum, stripped)):
        yield Sentence(start, start + len(stripped), stripped)
