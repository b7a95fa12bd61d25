"""One clause, said three ways: as a fact about the user, as an instruction, and as the name of an act."""

from collections.abc import Iterable, Sequence

from acumen.learn.rules import verbs
from acumen.learn.rules.clauses import ADVERBS, AUXILIARIES, DETERMINERS, FIRST, PREPOSITIONS, Frame, Person
from acumen.learn.rules.words import Word, joined

# How the speaker is called in a fact, and in an instruction to the agent.
_OF_USER = dict(
    pair.split("=")
    for pair in (
        "i=they,me=them,my=their,mine=theirs,myself=themselves,we=they,us=them,our=their,ours=theirs,ourselves=themselves,"
        "you=the agent,your=the agent's,yours=the agent's"
    ).split(",")
)
_FOR_AGENT = dict.fromkeys("i me myself we us ourselves".split(), "the user") | dict.fromkeys(
    "my mine our ours".split(), "the user's"
)
# Adverbs that carry tone, not meaning.
_TONE = frozenset(
    "please kindly just simply literally honestly basically then so actually really very also all now "
    "absolutely definitely".split()
)
# "We are a team of eight": the user is not the team.
_GROUPS = frozenset(
    "team company startup group agency firm shop nonprofit family couple practice business clinic school studio store "
    "restaurant bank hospital department organization organisation charity".split()
)
_DANGLING = frozenset("and but so or then , ; : - – — too also please instead".split())


def fact(frame: Frame) -> str:
    """'I live in Berlin' → 'User lives in Berlin'."""
    if frame.person is Person.FIRST:
        part = ["part", "of"] if frame.verb == "be" and any(word.low in _GROUPS for word in frame.rest[:4]) else []
        return sentence(["User", *_finite(frame), *(part if frame.subject[0].low == "we" else []), *_theirs(frame)])
    if frame.person is Person.MINE:
        return sentence(["User's", *of_user(frame.subject[1:]), *of_user(_verbal(frame)), *_theirs(frame)])
    return sentence(for_agent(frame.words))


def _verbal(frame: Frame) -> list[Word]:
    """Auxiliaries, adverbs and the verb."""
    return [*frame.chain, *([frame.verb_word] if frame.verb_word else ()), *frame.trail]


def _finite(frame: Frame) -> list[str]:
    """The same, the first verb of them agreeing with 'User'; an adverb before the subject moves behind it."""
    moved = (
        frame.words[: frame.words.index(frame.subject[0])] if frame.subject and frame.subject[0] in frame.words else ()
    )
    result = [word.low for word in moved if word.low in ADVERBS and word.low not in _TONE]
    agreed = False
    for word in _verbal(frame):
        if word.low in _TONE:
            continue
        if agreed or word.low in ADVERBS or word.low in ("not", "no", "longer"):
            result.append(word.text)
        else:
            result.append(word.low if frame.past and word is frame.verb_word else agreeing(word.low))
            agreed = True
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
    verb = frame.verb_word.low if frame.verb_word else ""
    helped = bool(frame.modal) or any(word.low in AUXILIARIES for word in frame.chain)
    agrees = frame.person is Person.FIRST and verbs.is_base(verb) and not helped
    renamed = []
    for place, word in enumerate(frame.rest):
        if agrees and place and _continues(frame.rest, place):
            renamed.append(verbs.third_person(word.low))
        elif place and frame.rest[place - 1].low in FIRST:
            renamed.append(_after_they(word))
        else:
            renamed += of_user([word])
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
    """The clause as a command: 'we never deploy on Fridays' → 'Never deploy on Fridays'."""
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
