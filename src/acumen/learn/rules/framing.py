"""Phrases that frame what is said without being part of it: taken off, what remains is easier to write down."""

from collections.abc import Sequence
from functools import lru_cache

from msgspec.structs import replace

from acumen.learn.rules import verbs
from acumen.learn.rules.cues import FILLERS
from acumen.learn.rules.words import Word
from acumen.model.patterns import later

Words = Sequence[Word]

_SAID = r"(?:said|told you|asked you|mentioned)"
_LIKED = r"(?:great|nice|helpful|good|better|best|awesome|appreciated|lovely|ideal|easier)"
_VITAL = r"(?:important|essential|critical|crucial|vital|imperative|necessary|mandatory)"
_WANT = r"(?:want|need|would like|expect|require|would love|ask|asked|told|would prefer|prefer|would rather)"
_WITH = r"(?:really|just|also|actually|only|do|did|would|not)"
_IF_YOU = r"if (?:you|we)(?: (?:could|would|can|just|always|never))*"

# Anywhere in a sentence, which arrives in lower case with contractions opened and words parted by single blanks.
_FRAMES = later(
    r"(?<![^ ])(?:"
    + "|".join(
        [
            (
                r"(?:starting |beginning )?from (?:now|here|today|this (?:point|moment|day))(?: on| onwards?|"
                r" forward| out)*(?! (?:to|until|through) )"
            ),
            r"(?:starting|beginning|effective) (?:now|today|immediately)|(?:going|moving) forwards?|henceforth",
            (
                r"(?:in|for) (?:the )?future(?: reference)?|as an? (?:general |iron |hard )?(?:rule|policy|"
                r"habit)(?: of thumb)?"
            ),
            r"under any circumstances|(?:the |for )?next time(?=(?: ,)? \w)|whatever (?:happens|you do)",
            (
                r"by the way|btw|fyi|for your information|(?:just )?so you (?:know|have it)|for the record|heads up|"
                r"for context"
            ),
            r"(?:please )?(?:take )?note that|please note :?|(?:please )?(?:keep|bear) in mind(?: that)?(?= \w)",
            r", (?:please )?(?:keep|bear) (?:that|this|it) in mind(?: (?:when|for) .*)?|, remember(?= \W*$)",
            (
                r"(?:please )?remember (?:that|this)(?: :)?|(?:just )?as a reminder|to be clear|to be honest|"
                r"one more thing"
            ),
            r"(?:i|we) (?:should|forgot to|want(?:ed)? to|need to) (?:also )?(?:mention|add|say|tell you)(?: that)?",
            (
                r"(?:like|as) i(?: have)?(?: already)? (?:said|told you|mentioned|asked)(?: before| earlier|"
                r" already| you)*"
            ),
            (
                rf"(?:i|we)(?: have)?(?: already| just| clearly)* {_SAID}(?: a hundred times| before| already)*"
                r"(?: that)?(?= (?:i|we|my|our|not|no|to) )"
            ),
            r"i (?:really |still |do |just )?(?:think|guess|believe|suppose|figure)(?: that)?(?= \w)",
            r"(?:hi|hey|hello) (?:there|all|everyone|team|folks|again)|good (?:morning|afternoon|evening|day)",
            r"as (?:you|we)(?: may| might| already| both| all| probably)* know(?: already)?|you know what",
            r"please|kindly|thank you(?: so much| very much)?|thanks(?: a lot| so much| in advance)?",
            r"for (?:god|heaven|pete|christ)'s sake|for crying out loud|i mean(?= ,)|you know(?= ,)|i am afraid ,",
        ]
    )
    + r")(?![^ ])"
)
# Openings that only ask; the words after them are what is asked.
_ASKING = later(
    "|".join(
        [
            r"(?:may|might|can|could) i (?:just |please )?ask you(?: not)? to ",
            r"(?:would|do) you mind (?=\w+ing|not)|let us (?:just |maybe )?(?!know|see)",
            r"(?:can|could|will|would|may) (?:you|we)(?: (?:maybe|perhaps|just|also|at least|possibly))* ",
            r"(?:under no circumstances|at no point) (?:should|must|may|can) (?:you|we|anyone)(?: ever)? ",
            rf"it is (?:\w+ )?{_VITAL}(?: (?:for|to) (?:me|us))? (?:(?:that )?(?:you|we) |for you to )",
            r"(?:there is |you have )?no need (?:for you )?to ",
            rf"(?:i|we)(?: {_WITH})* {_WANT}(?: for)? (?:that )?you(?: (?:always|never|not|only|just|to))* (?=\w)",
            rf"(?:i|we) (?:would|will) (?:really |much )*(?:appreciate|prefer|like|love)(?: it)? {_IF_YOU} ",
            rf"(?:it )?(?:would|will) be (?:\w+ )?{_LIKED}(?: for me)? {_IF_YOU} ",
            r"(?:make|be)(?: (?:very|absolutely))? (?:sure|certain)(?: (?:that|to|you|we))* ",
            r"(?:always )?(?:remember|try|be careful|take care)(?: always)?(?: not)? to ",
            r"(?:do not|never|not) forget (?:to |that you (?:should|must|need to) )|ensure (?:that )?(?:you )?(?=\w+ )",
            (
                r"you (?:must|should|have to|need to|are supposed to)(?: not)? |you (?:can|may) (?=skip|stop|ignore|"
                r"omit|leave)"
            ),
            r"you (?:forgot|missed|failed) to |you are not allowed to |you (?:can|may) not |not to (?=\w)",
            r"(?:i|we)(?: \w+)? (?:hate|dislike|do not like|can not stand) (?:it )?(?:when|that|how) you (?:always )?",
            r"why (?:do|did|must) you (?:always|keep|have to) ",
        ]
    )
)
_DENYING = later(r"(?:no|nope|nah|wait|wrong|incorrect)(?: no| wait)* (?:[,.!-]+ )?")


def lifted(heard: Words) -> list[Word]:
    """The words without the phrases that only frame them."""
    low = " ".join("…" if word.opaque else word.low for word in heard)
    gone: set[int] = set()
    for match in _FRAMES.finditer(low):
        first = low.count(" ", 0, match.start())
        after = first + match[0].count(" ") + 1
        gone.update(range(first, after))
        if first and after < len(heard) and heard[first - 1].low == heard[after].low == ",":
            gone.add(after)
    kept: list[Word] = []
    for place, word in enumerate(heard):
        if place not in gone and not (word.is_mark and word.low != "(" and (not kept or kept[-1].low == word.low)):
            kept.append(word)
    return kept


def bare(heard: Words) -> list[Word]:
    """The words without frames, and without fillers and a denial at the start."""
    return list(_bare(tuple(heard)))


@lru_cache(maxsize=256)  # asked several times of each sentence
def _bare(heard: tuple[Word, ...]) -> list[Word]:
    kept = unfilled(lifted(heard))
    low = " ".join(word.low for word in kept) + " "
    denial = _DENYING.match(low)
    if denial and len(kept) > denial[0].count(" ") and _denies(kept, denial[0]):
        kept = unfilled(kept[denial[0].count(" ") :])
    return kept


def _denies(kept: Words, said: str) -> bool:
    """'No, …' and 'no it is' deny; 'no emojis' and 'wrong number' do not."""
    after = kept[said.count(" ")].low
    return any(mark in said for mark in ",.!-") or after in _AFTER_NO


_AFTER_NO = frozenset(
    "i we you it that this the my our your do use not he she they there always never only what".split()
)


def unfilled(kept: Words) -> list[Word]:
    at = 0
    while at < len(kept) - 1 and (kept[at].is_mark or (kept[at].low in FILLERS and not _is_needed(kept, at))):
        at += 1
    return list(kept[at:])


def _is_needed(kept: Words, at: int) -> bool:
    """'right shoulder', 'good knives', 'again' …: a filler stands alone or before a mark, a subject or a verb."""
    if kept[at].low not in (
        "right",
        "good",
        "great",
        "nice",
        "perfect",
        "fine",
        "super",
        "cool",
        "look",
        "just",
        "dear",
        "well",
    ):
        return False
    return not (kept[at + 1].is_mark or kept[at + 1].low in _AFTER_NO | FILLERS or verbs.base(kept[at + 1].low))


def unasked(kept: Words) -> tuple[list[Word], bool]:
    """The words after 'could you', 'I want you to', 'make sure' …, and whether that opening forbids them.

    After such an opening 'using' and 'used' are 'use'.
    """
    said, forbids = list(kept), False
    for _ in range(3):
        found = _ASKING.match(" ".join(word.low for word in said) + " ")
        taken = found[0].split() if found else []
        if not taken or len(taken) >= len(said):
            break
        if "forget" not in taken:
            forbids ^= bool({"not", "no", "never", "hate", "dislike", "why"} & set(taken))
        always = [word for word in said[: len(taken)] if word.low in ("always", "only") and "why" not in taken]
        said = [*always, *_based(said[len(taken) :])]
    return said, forbids


def _based(said: list[Word]) -> list[Word]:
    place = 1 if said[0].low in ("not", "always", "never", "only") and len(said) > 1 else 0
    base = verbs.base(said[place].low)
    if not base or base == said[place].low or not (verbs.is_gerund(said[place].low) or verbs.is_past(said[place].low)):
        return said
    return [*said[:place], replace(said[place], text=base, low=base), *said[place + 1 :]]
