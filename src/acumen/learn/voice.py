"""One clause, said three ways: as a fact about the user, as an instruction, and as the name of an act."""

from collections.abc import Iterable, Sequence

from acumen.learn import verbs
from acumen.learn.clauses import ADVERBS, AUXILIARIES, DETERMINERS, FIRST, PREPOSITIONS, Frame, Person
from acumen.learn.words import Word, joined

_OF_USER = {
    "i": "they", "me": "them", "my": "their", "mine": "theirs", "myself": "themselves", "we": "they", "us": "them", "our": "their",
    "ours": "theirs", "ourselves": "themselves", "you": "the agent", "your": "the agent's", "yours": "the agent's",
}  # fmt: skip
_FOR_AGENT = {
    "i": "the user", "me": "the user", "my": "the user's", "mine": "the user's", "myself": "the user", "we": "the user",
    "us": "the user", "our": "the user's", "ours": "the user's", "ourselves": "the user",
}  # fmt: skip
# Adverbs that carry tone, not meaning.
_TONE = frozenset(
    "please kindly just simply literally honestly basically then so actually really very also all now absolutely definitely".split()
)
_DANGLING = frozenset("and but so or then , ; : - – — too also please instead".split())


def fact(frame: Frame) -> str:
    """'I live in Berlin' → 'User lives in Berlin.'."""
    if frame.person is Person.FIRST:
        return sentence(["User", *_finite(frame), *_theirs(frame)])
    if frame.person is Person.MINE:
        return sentence(
            [
                "User's",
                *of_user(frame.subject[1:]),
                *of_user(_predicate(frame)[: -len(frame.rest) or None]),
                *_theirs(frame),
            ]
        )
    return sentence(_renamed(frame.words, _OF_USER))


def _predicate(frame: Frame) -> tuple[Word, ...]:
    return (*frame.chain, *([frame.verb_word] if frame.verb_word else ()), *frame.trail, *frame.rest)


def _finite(frame: Frame) -> list[str]:
    """Auxiliaries and verb, the first of them agreeing with 'User'."""
    early = [
        word for word in frame.words if word.low in frame.adverbs and word.low not in _TONE and word not in frame.chain
    ]
    said = [
        word
        for word in (*frame.chain, *([frame.verb_word] if frame.verb_word else ()), *frame.trail)
        if word.low not in _TONE
    ]
    result = [
        word.low for word in early if word.low in ADVERBS and frame.subject and word.start < frame.subject[0].start
    ]
    agreed = False
    for word in said:
        if frame.past and not agreed and word is frame.verb_word:
            result.append(word.low)
        elif not agreed and word.low not in ADVERBS and word.low not in ("not", "no", "longer"):
            result.append(agreeing(word.low))
            agreed = True
        else:
            result.append(word.text)
    return result


def agreeing(low: str) -> str:
    """A finite verb as it stands after 'User'."""
    if low in ("am", "are", "be"):
        return "is"
    if low == "were":
        return "was"
    return verbs.third_person(low) if verbs.is_base(low) and low not in verbs.MODALS else low


def _theirs(frame: Frame) -> list[str]:
    """The rest of the clause in the third person; verbs joined by 'and' agree too."""
    bare = (
        frame.verb_word is not None
        and verbs.is_base(frame.verb_word.low)
        and not frame.modal
        and frame.person is Person.FIRST
    )
    bare = bare and not any(word.low in AUXILIARIES for word in frame.chain)
    renamed = []
    for place, word in enumerate(frame.rest):
        if bare and place and _continues(frame.rest, place):
            renamed.append(verbs.third_person(word.low))
        else:
            renamed += (
                _renamed((word,), _OF_USER)
                if place == 0 or frame.rest[place - 1].low not in FIRST
                else [_after_they(word)]
            )
    return renamed


def _after_they(word: Word) -> str:
    return {"am": "are", "was": "were"}.get(word.low, word.text)


def _continues(rest: Sequence[Word], place: int) -> bool:
    """'and work at Siemens': a second verb of the same subject."""
    before, word = rest[place - 1].low, rest[place].low
    if before in ADVERBS and place > 1:
        before = rest[place - 2].low
    if before not in ("and", "but", "or") or not verbs.is_base(word):
        return False
    after = rest[place + 1].low if place + 1 < len(rest) else ""
    return after in PREPOSITIONS | DETERMINERS or (rest[place - 1].low in ADVERBS and bool(after))


def _renamed(words: Iterable[Word], names: dict[str, str]) -> list[str]:
    return [word.text if word.opaque else names.get(word.low, word.text) for word in words]


def of_user(words: Iterable[Word]) -> list[str]:
    """Words of the speaker about themselves, in the third person."""
    return _renamed(words, _OF_USER)


def instruction(frame: Frame, *, positive: bool | None = None) -> str:
    """The clause as a command: 'we never deploy on Fridays' → 'Never deploy on Fridays.'."""
    return sentence(command(frame, positive=positive))


def command(frame: Frame, *, positive: bool | None = None) -> list[str]:
    negative = frame.negated if positive is None else not positive
    kept = [
        word
        for word in ("only", "usually", "first", "strictly", "explicitly", "automatically")
        if word in frame.adverbs
    ]
    if negative:
        opening = ["never"] if {"never", "ever"} & frame.adverbs else ["do not"]
    else:
        opening = ["always"] if "always" in frame.adverbs else []
    return [*opening, *kept, frame.verb, *for_agent(frame.rest)]


def for_agent(words: Sequence[Word]) -> list[str]:
    """Words addressed to the agent: the speaker becomes 'the user', and verbs after it agree."""
    said = []
    for place, word in enumerate(words):
        after_speaker = place > 0 and words[place - 1].low in FIRST
        if after_speaker and (verbs.is_base(word.low) or word.low in ("am", "are")):
            said.append(agreeing(word.low))
        elif word.opaque:
            said.append(word.text)
        else:
            said.append(_FOR_AGENT.get(word.low, word.text))
    return said


def act(frame: Frame) -> str:
    """The clause as the name of an act: 'never deploy to us-east-1' → 'deploying to us-east-1'."""
    return phrase([verbs.gerund(frame.verb), *for_agent(frame.rest)])


def phrase(parts: Iterable[str]) -> str:
    """Words as running text, without dangling joints at its ends."""
    listed = list(parts)
    while (
        listed
        and (listed[-1].lower() in _DANGLING or not any(map(str.isalnum, listed[-1])))
        and listed[-1] not in (")", "%")
    ):
        if listed[-1].startswith(("`", '"')):
            break
        listed.pop()
    while listed and listed[0].lower() in _DANGLING:
        listed.pop(0)
    return joined([Word(part, part.lower(), 0, 0) for part in listed])


def sentence(parts: Iterable[str]) -> str:
    """A capital at the start, a full stop at the end."""
    text = phrase(parts).replace(" can not ", " cannot ")
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")
