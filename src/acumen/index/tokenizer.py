"""The tokenizer: the terms of a text, the same for everything indexed and every query."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from acumen.model.lazy_regex import lazy_regex
from acumen.model.text import stem

# Longer tokens are blobs (base64, keys); their beginning identifies them well enough.
LONGEST = 64

# Recently seen tokens and their terms: text repeats itself, so this is most of the speed. Emptied when full.
MEMO_SIZE = 20_000

# Function words carry no subject. On LoCoMo and LongMemEval dropping them costs no recall, and it halves the postings.
STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are as at be because been before being below between both but by
    can could did do does doing done down during each either else ever few for from further get got had has have having
    he her here hers herself him himself his how however i if in into is it its itself just let like may me might more
    most much must my myself no nor not now of off on once only or other our ours ourselves out over own please really
    same shall she should since so some such than that the their theirs them themselves then there these they this
    those though through to too under until up upon us very was we were what when where whether which while who whom
    whose why will with would yes yet you your yours yourself yourselves
    """.split()
)

# English forms that no stemmer brings together: a question asks "when did I buy", a turn says "I bought".
_IRREGULAR = {
    form: forms.split()[0]
    for forms in """
    become became, begin began begun, bite bit bitten, blow blew blown, break broke broken, bring brought, build built,
    buy bought, catch caught, choose chose chosen, come came, deal dealt, dig dug, draw drew drawn, dream dreamt,
    drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought,
    find found, fly flew flown, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, give gave given,
    go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept, know knew known,
    lay laid, lead led, learn learnt, leave left, lend lent, lose lost, make made, mean meant, meet met, pay paid,
    ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought, sell sold,
    send sent, shake shook shaken, shine shone, shoot shot, show shown, sing sang sung, sink sank sunk, sit sat,
    sleep slept, speak spoke spoken, spend spent, stand stood, steal stole stolen, stick stuck, strike struck,
    swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken, teach taught, tear tore torn,
    tell told, think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn, win won,
    write wrote written, child children, person people, man men, woman women, foot feet, tooth teeth, mouse mice,
    wife wives, life lives, knife knives, leaf leaves, good better best, bad worse worst
    """.split(",")
    for form in forms.split()[1:]
}

# Words of asking rather than of what is asked about ("can you recommend", "the total number of"): they count less.
_ASKING = """
    advice amount ask chat conversation current currently different discuss help kind know look many mention name number
    previous recent recently recommend recommendation remember remind say sort specific suggest suggestion talk tell
    thing think tip total type various way wonder
    """.split()

# Letters that Unicode does not decompose, the curly apostrophe, and the invisible characters found inside words.
_SIMPLER = {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th"}
_SIMPLER |= {"æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ı": "i", "’": "'", "ʼ": "'", "‐": "-", "‑": "-"}
_SIMPLER |= {"\u00ad": "", "\u200b": " ", "\u200c": "", "\u200d": "", "\u2060": "", "\ufeff": ""}

_KANA_MARKS = "\u3099\u309a"

# Chinese, Japanese and Korean as they are usually written have nothing to fold.
_FOLDABLE = lazy_regex(r"[^\x00-\x7f\u3001-\u3029\u3030-\u3098\u309d-\u30fe\u4e00-\u9fff\uac00-\ud7a3]")

# \w misses the vowel signs of Indic, Thai, Lao, Tibetan, Myanmar and Khmer writing.
_LETTER = (
    r"\w\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f90-\u0fbc"
    r"\u102b-\u103e\u17b4-\u17d3"
)
# Writing without spaces: Thai, Lao, Myanmar, Khmer, kana, Bopomofo, Han. Hangul glues particles to its words.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Every pattern is a single class repeated, or classes that exclude each other: no input makes them retry.
_TOKEN = lazy_regex(rf"[{_LETTER}](?:[{_LETTER}.'/\\@:&+#\-]*[{_LETTER}])?(?:\+\+|\#)?")
_THOUSANDS = lazy_regex(r"(?<=\d),(?=\d\d\d)")
_OUTER = lazy_regex(r"[/\\@:#]+")
_INNER = lazy_regex(r"[._'&+\-]+")
_HUMP = lazy_regex(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_HUMPS = lazy_regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
_SCRIPTS = lazy_regex(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_UNSPACED_ANY = lazy_regex(rf"[{_UNSPACED}]")
_NUMBERED = lazy_regex(r"([a-z]{3,})\d+")
_ACRONYMS = lazy_regex(r"[A-Z]{2,}s")
_VERSION = lazy_regex(r"v\d")
# One to three capitalised words and a colon.
_PREFIX = lazy_regex(r"\s*([^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30}){0,2}):\s")
_CONTRACTION = lazy_regex(r"'(?:s|d|m|ll|re|ve)$")

_memo: dict[str, tuple[str, ...]] = {}


def terms(text: str) -> list[str]:
    """The terms of a text in order, repeats included. Linear in its length; any string is welcome."""
    terms: list[str] = []
    for token in _TOKEN.findall(_folded(text)):
        memoized = _memo.get(token)
        terms.extend(_analysed(token) if memoized is None else memoized)
    return terms


@cache
def asking_terms() -> frozenset[str]:
    """Terms that say that something is asked, and little of what."""
    return frozenset(term for word in _ASKING for term in terms(word))


def is_one_sign(term: str) -> bool:
    """Whether a term is a single character of a script without spaces, which texts hold within pairs."""
    return len(term) == 1 and _UNSPACED_ANY.match(term) is not None


def prefix_of(text: str) -> str:
    """The speaker that a text names: "Ann: I see" is Ann's. Empty if it names none."""
    match = _PREFIX.match(text)
    return match[1].casefold() if match else ""


def _folded(text: str) -> str:
    """The text without accents and compatibility forms; capitals stay, because CamelCase is read from them."""
    if not text.isascii() and _FOLDABLE.search(text):
        text = _unadorned(text)
    return _THOUSANDS.sub("", text) if "," in text else text


def _unadorned(text: str) -> str:
    # Sorting long runs of marks is what makes normalisation slow on hostile input, so these go first.
    decomposed = unicodedata.normalize("NFKD", _marks().sub("", text))
    composed = unicodedata.normalize("NFC", decomposed.translate(_letters()))
    # One sign can expand to a whole phrase; only text of nothing but such signs grows beyond this.
    return composed[: 2 * len(text) + LONGEST]


@cache
def _marks() -> re.Pattern[str]:
    """A run of combining marks that no word needs, and the two ligatures that stand for a whole phrase."""
    return lazy_regex(f"[{_KANA_MARKS}{''.join(_combining())}]{{8,}}|[\ufdfa\ufdfb]+")


@cache
def _letters() -> dict[int, str]:
    """Every combining mark goes; letters that Unicode does not decompose are written in simpler ones."""
    return {ord(mark): "" for mark in _combining()} | {ord(letter): simple for letter, simple in _SIMPLER.items()}


@cache
def _combining() -> list[str]:
    """The marks of all scripts except the two of kana, which distinguish か from が and are composed again."""
    marks = (chr(code) for code in range(0x300, 0x1F000) if unicodedata.combining(chr(code)))
    return [mark for mark in marks if mark not in _KANA_MARKS]


def _analysed(token: str) -> tuple[str, ...]:
    words = (term for term in _expanded(token) if term not in STOP_WORDS)
    stemmed = tuple(stem(_IRREGULAR.get(term, term)) if term.isascii() and term.isalpha() else term for term in words)
    if len(token) <= LONGEST:
        if len(_memo) >= MEMO_SIZE:
            _memo.clear()
        _memo[token] = stemmed
    return stemmed


def _expanded(token: str) -> Iterator[str]:
    """A token whole, then its pieces between slashes and the like, then their words."""
    pieces = [piece for piece in _OUTER.split(token) if piece]
    if len(pieces) > 1 or token.endswith("#"):
        yield token.casefold()[:LONGEST]
    for piece in pieces:
        yield from _piece(piece)


def _piece(piece: str) -> Iterator[str]:
    if piece.isascii() and piece.isalnum():
        yield from _plain(piece)
        return
    lowered = piece.casefold()
    if lowered.endswith("n't"):
        return  # don't, can't, won't: function words all
    lowered = _CONTRACTION.sub("", lowered)
    words = [word for word in _INNER.split(piece[: len(lowered)]) if word]
    if [word.casefold() for word in words] != [lowered]:
        yield lowered[:LONGEST]
        if _VERSION.match(lowered):
            yield lowered[1:LONGEST]
    for word in words:
        yield from _word(word)


def _word(word: str) -> Iterator[str]:
    if not word.isascii() and _UNSPACED_ANY.search(word):
        for run in _SCRIPTS.findall(word):
            yield from _bigrams(run) if _UNSPACED_ANY.match(run) else _plain(run)
    else:
        yield from _plain(word)


def _bigrams(run: str) -> Iterator[str]:
    """Without spaces, two characters are the unit that finds most and confuses least."""
    return map("".join, pairwise(run)) if len(run) > 1 else iter(run)


def _plain(word: str) -> Iterator[str]:
    word = word[:LONGEST]
    if _ACRONYMS.fullmatch(word):
        word = word[:-1]
    lowered = word.casefold()
    yield lowered
    if lowered != word and _HUMP.search(word):
        yield from (hump.casefold() for hump in _HUMPS.findall(word))
    elif numbered := _NUMBERED.fullmatch(lowered):
        yield numbered[1]  # python3 is also found by python
