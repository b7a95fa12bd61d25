"""A sentence as words: contractions opened, chat spelling and common typos mended, quotes and code kept whole."""

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct


class Word(Struct, frozen=True):
    """One word: `text` as it should be printed, `low` as it is compared, and its place in the sentence."""

    text: str
    low: str
    start: int
    end: int
    opaque: bool = False  # a quotation or code: shown, never read

    @property
    def is_mark(self) -> bool:
        return not (self.low[0].isalnum() or self.opaque or any(map(str.isalnum, self.low)))


_TOKEN = re.compile(
    r"(?P<opaque>`[^`]{1,300}`|\"[^\"]{1,400}\"|(?<!\w)'[^']{2,300}'(?!\w))"
    r"|(?P<word>[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s`\"\']*[^\s`\"\'.,;:!?)]|[$€£]\d[\d,.]*\w*|w/o?(?=\s)|\d[\d,.:/]*\d[\w%]*(?:-\w+)*|[@#/~.]?\w+(?:(?:[-.'/@_:&]|\+\+)\w+)*(?:\+\+|[#@](?!\w)|%)?)"
    r"|(?P<mark>\.{2,}|--+|[^\w\s])"
)

# A contraction, with or without its apostrophe, and the words it stands for.
_OPENED = {
    short: tuple(full.split())
    for short, full in (
        pair.split("=")
        for pair in (
            "cannot=can not,won't=will not,can't=can not,shan't=shall not,ain't=is not,let's=let us,wanna=want to,"
            "gonna=going to,gotta=have to,gimme=give me,lemme=let me,dunno=do not know,im=i am,ive=i have,"
            "youre=you are,thats=that is,whats=what is,theres=there is,wont=will not,cant=can not,youve=you have,"
            "weve=we have,theyre=they are,shouldve=should have"
        ).split(",")
    )
}
_OPENED |= {
    f"{aux}{tail}": (aux, "not")
    for aux in "do does did is are was were have has had should would could must need".split()
    for tail in ("n't", "nt")
}
_TAILS = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will", "'d": "would"}
_IS_AFTER = frozenset("it that he she there here what who how where this everything name".split())

_CHAT = dict(
    pair.split("=")
    for pair in (
        "u=you ur=your r=are pls=please plz=please plse=please bc=because cuz=because cos=because coz=because "
        "becuase=because thx=thanks ty=thanks tho=though ya=you yea=yes yeah=yes yep=yes yup=yes nope=no nah=no "
        "w/o=without w/=with abt=about rn=now tmrw=tomorrow tmr=tomorrow tonite=tonight ppl=people prod=production "
        "k=ok okay=ok favourite=favorite wich=which teh=the thier=their recieve=receive definately=definitely "
        "til=until till=until"
    ).split()
)

# "Nooo", "yesss".
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")
# Names that would read as pronouns.
_CAPITALS = {"US": "usa", "IT": "information-technology"}

# Words a reading hangs on; one slip in any of them (a letter lost, doubled or swapped) is mended.
_KEYWORDS = """
always never please prefer instead remember should because every forget forward usually actually correct wrong
language whenever before without again future until allergic favorite stop avoid ensure
""".split()
# Words that look like a slip of a keyword and are words of their own.
_REAL = frozenset(
    """
ever fever lever sever newer refer before pleas pease leas place bead shoulder could would corrects tops sop top step
shop stops stoop after gain against untie lease plead prefers forgets avid ensue forge forget forgot forwards very wring
strop
""".split()
)


def _slips(word: str) -> set[str]:
    """What one slip of the finger makes of a word; its first letter is kept, as fingers mostly do."""
    spots = range(1, len(word))
    lost = {word[:i] + word[i + 1 :] for i in spots}
    doubled = {word[:i] + word[i - 1] + word[i:] for i in range(1, len(word) + 1)}
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in spots[:-1]}
    vowels = {word[:i] + vowel + word[i + 1 :] for i in spots if word[i] in "aeiou" for vowel in "aeiou"}
    return lost | doubled | swapped | vowels


_MENDED = {
    slip: word
    for word in _KEYWORDS
    if len(word) > 4
    for slip in _slips(word)
    if slip not in _REAL and slip not in _KEYWORDS
}


def words(sentence: str) -> list[Word]:
    """The words and marks of a sentence, in order; one that is shouted is read as if it were said."""
    return list(_words(sentence))


@lru_cache(maxsize=256)
def _words(sentence: str) -> tuple[Word, ...]:
    """Remembered, for what was just read is written down, and what is written down is compared."""
    if sentence.isupper() and len(sentence.split()) > 1 and not any(map(str.isdigit, sentence)):
        sentence = sentence.capitalize()
    found: list[Word] = []
    for match in _TOKEN.finditer(sentence):
        text, start = match[0], match.start()
        if match["opaque"]:
            found.append(Word(text, text.lower(), start, match.end(), opaque=True))
        elif match["mark"]:
            found.append(Word(text, text, start, match.end()))
        else:
            found += _opened(text, start, "has" if _PARTICIPLE.match(sentence, match.end()) else "is")
    return tuple(found)


# "He's put us off", "it's been years".
_PARTICIPLE = re.compile(r"\s+(?:been|got|had|put|become|come|taken|moved|switched|started|stopped)\b", re.IGNORECASE)


def _opened(text: str, start: int, tailed: str) -> list[Word]:
    """A word, or the words that a contraction stands for; `tailed` is what a tail of 's stands for after a pronoun."""
    low = text.lower()
    end = start + len(text)
    if low in _OPENED:
        return _parts(text, _OPENED[low], start, end)
    stem, apostrophe, tail = low.rpartition("'")
    if apostrophe and stem:
        if "'" + tail in _TAILS and not (tail == "d" and stem not in _PRONOUNS):
            return _parts(text, (stem, _TAILS["'" + tail]), start, end)
        if tail == "s" and stem in _IS_AFTER:
            return _parts(text, (stem, tailed), start, end)
    if text in _CAPITALS:
        return [Word(text, _CAPITALS[text], start, end)]
    low = _DRAWN_OUT.sub(r"\1", low)
    # A lone capital is a name (the language R), not chat.
    mended = low if text.isupper() else _CHAT.get(low) or _MENDED.get(low, low)
    shown = text if mended == text.lower() else mended if text.islower() or len(text) < 2 else mended.capitalize()
    return [Word(shown, mended, start, end)]


_PRONOUNS = frozenset("i you we they he she it who that there".split())


def _parts(text: str, parts: tuple[str, ...], start: int, end: int) -> list[Word]:
    """A contraction as its words; each points at the whole of it."""
    first = parts[0].capitalize() if text[0].isupper() or parts[0] == "i" else parts[0]
    return [Word(first if n == 0 else part, part, start, end) for n, part in enumerate(parts)]


# Printed without a space before, or after.
_CLINGS = frozenset(",.;:!?)%")


def joined(pieces: Iterable[Word]) -> str:
    """Words as running text."""
    text = ""
    for piece in pieces:
        spaced = text and piece.text not in _CLINGS and not text.endswith(("(", "/"))
        text += f" {piece.text}" if spaced else piece.text
    return text
