"""The words of a sentence made plain: fillers and framing taken off, asking and missing subjects resolved."""

import re
from collections.abc import Sequence
from dataclasses import replace

from acumen.learn.rules import verbs
from acumen.learn.rules.clauses import ADVERBS, DETERMINERS, FIRST, SECOND, WH
from acumen.learn.rules.cues import ASKING, FRAMING, Cue
from acumen.learn.rules.words import Word

_FILLERS = frozenset(
    "ok well hey hi hello hmm um uh oh ah so also anyway sorry thanks great perfect cool nice awesome alright "
    "right yes sure and but dear ugh argh lol haha again gotcha understood".split()
)
_DENYING = frozenset("no wait wrong incorrect nope false stop noo nooo".split())
_AFTER_NO = FIRST | SECOND | DETERMINERS | ADVERBS | WH | {"it", "do", "not", "no", "wait"}


def lift(heard: Sequence[Word], low: str) -> tuple[list[Word], set[Cue]]:
    """The words without the phrases that only frame them, and the cues those phrases gave."""
    cues: set[Cue] = set()
    gone: set[int] = set()
    for match in FRAMING.finditer(low):
        cues.add(Cue(match.lastgroup or ""))
        first = low.count(" ", 0, match.start())
        after = first + match[0].count(" ") + 1
        gone.update(range(first, after))
        if first and after < len(heard) and heard[first - 1].low == heard[after].low == ",":
            gone |= {first - 1, after}
    return _tidied([word for place, word in enumerate(heard) if place not in gone]), cues


def _tidied(kept: Sequence[Word]) -> list[Word]:
    """Without marks that now stand first or double."""
    result: list[Word] = []
    for word in kept:
        if not word.is_mark or word.low in ("(", "-") or (result and not result[-1].is_mark):
            result.append(word)
    return result


def without_fillers(kept: Sequence[Word]) -> list[Word]:
    at = 0
    while at < len(kept) and is_filler(kept[at]):
        at += 1
    return list(kept[at:])


def is_filler(word: Word) -> bool:
    return word.is_mark or word.low in _FILLERS


def without_denial(kept: list[Word]) -> tuple[list[Word], bool]:
    """The words after 'No, …', and whether there was such a denial."""
    if kept and kept[0].low in _DENYING and _denies(kept):
        return without_fillers(kept[1:]), True
    return kept, False


def _denies(kept: Sequence[Word]) -> bool:
    """'No, …' denies; 'No emojis' asks for none; 'stop adding' is a command."""
    if len(kept) == 1 or kept[1].is_mark:
        return True
    if kept[0].low == "stop":
        return False
    return kept[1].low in _AFTER_NO or (verbs.is_base(kept[1].low) and kept[0].low != "no")


def unasked(kept: list[Word]) -> tuple[list[Word], set[Cue]]:
    """The words after 'could you', 'I want you to', 'make sure' …, and what those openings were."""
    cues: set[Cue] = set()
    for _ in range(3):
        text = " ".join(word.low for word in kept) + " "
        cue, taken = next(
            ((cue, found[0].split()) for cue, asking in ASKING if (found := asking.match(text))), (None, [])
        )
        rest = kept[len(taken) :]
        if cue is None or not rest:
            break
        cues.add(cue)
        always = [word for word in kept[: len(taken)] if word.low in ("always", "only")]
        denied = "forget" not in taken and bool({"not", "never", "no"} & set(taken))
        kept = [*always, *(_negative(rest) if denied else rest)]
    if len(kept) > 1 and kept[0].low == "not" and (kept[1].low == "to" or verbs.base(kept[1].low)):
        kept = _negative(kept[2:] if kept[1].low == "to" else kept[1:])
    return kept, cues


def _negative(rest: list[Word]) -> list[Word]:
    spot = rest[0].start if rest else 0
    return [Word("do", "do", spot, spot), Word("not", "not", spot, spot), *rest]


def as_command(kept: list[Word], cues: set[Cue]) -> list[Word]:
    """After an asking, 'using' and 'used' are 'use'."""
    place = next((n for n, word in enumerate(kept) if word.low not in ADVERBS | {"not", "do"}), None)
    if place is None or not cues & {Cue.ASKED, Cue.WISHED}:
        return kept
    word = kept[place]
    base = verbs.base(word.low)
    if not base or base == word.low or not (verbs.is_gerund(word.low) or verbs.is_past(word.low)):
        return kept
    return [*kept[:place], replace(word, text=base, low=base), *_bare_verbs(kept[place + 1 :])]


def _bare_verbs(rest: Sequence[Word]) -> list[Word]:
    """'stopped guessing and asked me' → '… and ask me'."""
    result = list(rest)
    for place in range(1, len(result)):
        word = result[place]
        base = verbs.base(word.low)
        if base and result[place - 1].low == "and" and verbs.is_past(word.low):
            result[place] = replace(word, text=base, low=base)
    return result


_TOLD_OF_SELF = re.compile(
    r"(?P<be>(?:not )?(?:an? )?(?:big |huge |great )?(?:fan of|allergic to|based in|vegan|vegetarian|diabetic)\b)|"
    r"(?:just |recently )*(?:turned \d+|moved (?:to|in|from)|switched (?:to|from)|started (?:a|working|at)|quit my|"
    r"retired|got (?:married|engaged|promoted|divorced)|joined|graduated)\b"
)


def with_subject(kept: list[Word]) -> list[Word]:
    """'My husband and I' are we; 'just turned 40' and 'not a fan of mushrooms' are said of oneself."""
    paired = next((n for n in range(1, min(6, len(kept))) if kept[n].low == "i" and kept[n - 1].low == "and"), None)
    if paired and kept[0].low in ("my", "our"):
        return [replace(kept[paired], text="we", low="we"), *kept[paired + 1 :]]
    told = _TOLD_OF_SELF.match(" ".join(word.low for word in kept))
    if not told:
        return kept
    spot = kept[0].start
    said = ["I", "am"] if told["be"] else ["I"]
    return [*(Word(text, text.lower(), spot, spot) for text in said), *kept]
