"""What a sentence tells about the user: who they are, what they use, have, like and do."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from acumen.learn.rules import keys, lifetimes, verbs, voice
from acumen.learn.rules.belongings import call_me, of_project, of_theirs
from acumen.learn.rules.clauses import FIRST, Clause, Frame, Person, frame
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.reading import Part, Reading, read
from acumen.learn.rules.sentences import sentences
from acumen.learn.rules.speaker import TASTES, of_speaker
from acumen.learn.rules.statements import Fact, stated
from acumen.model.ids import Millis
from acumen.model.profile import TimeToLive

_READERS: dict[Person, Callable[[Frame, Reading], Fact | None]] = {
    Person.FIRST: of_speaker,
    Person.MINE: of_theirs,
    Person.NOUN: of_project,
    Person.COMMAND: call_me,
}
# Adverbs that make a habit a policy.
_POLICY = frozenset("always never only".split())


def facts(reading: Reading, at: Millis, taught: Sequence[tuple[str, str]] = ()) -> list[Fact]:
    """The statements about the user in one sentence; `taught` are the keys of the lessons it also holds."""
    if reading.has(Cue.QUESTION) or any(_supposes(clause) for clause in reading.situations):
        return []
    found = [fact for part in reading.parts[:1] if (fact := _told_to_keep(part, reading))]
    for place, part in enumerate((*reading.parts, *_vouched(reading.reasons))):
        fact = _fact(part, reading)
        if fact and part.frame.adverbs & _POLICY and part.frame.person is Person.FIRST:
            fact = _whole_policy(fact, reading.parts[place + 1 :], taught)
        if fact:
            found.append(_timed(fact, part, reading, at))
    return list({(fact.subject, fact.value): fact for fact in found if fact.content and fact.subject}.values())


def keys_of(content: str) -> tuple[str, str]:
    """The keys of a fact that was written by hand: 'User lives in Paris' is read as 'I live in Paris'."""
    for sentence in sentences(content)[:1]:
        reading = read(sentence)
        found = facts(reading, Millis(0))
        if found:
            return found[0].subject, found[0].value
        return keys.keyed(reading.words, holds=not any(part.frame.negated for part in reading.parts))
    return "", ""


def _supposes(clause: Clause) -> bool:
    """'if I moved to Berlin' tells nothing."""
    return clause.marker == "if" and clause.words[0].low in FIRST


def _told_to_keep(part: Part, reading: Reading) -> Fact | None:
    """'my company won't pay more than 200 a night, remember that': kept as it stands, whatever it is."""
    framed = part.frame
    told = reading.has(Cue.KEPT) and framed.verb and framed.person in (Person.FIRST, Person.MINE, Person.NOUN)
    return stated(framed, 0.6) if told and _fact(part, reading) is None else None


def _vouched(reasons: Sequence[Clause]) -> list[Part]:
    """Reasons that are statements of their own: 'because I am vegan'. 'As I start' is a time, no reason."""
    own = [
        (clause.marker, Part(frame(clause.words))) for clause in reasons if clause.words[0].low in FIRST | {"my", "our"}
    ]
    return [
        part for marker, part in own if marker != "as" or part.frame.verb in ("be", "have") or part.frame.progressive
    ]


def _fact(part: Part, reading: Reading) -> Fact | None:
    framed = part.frame
    read_as = _READERS.get(framed.person)
    if read_as is None or not framed.verb or _is_generic(framed):
        return None
    return None if reading.has(Cue.OPINION) and framed.verb not in TASTES else read_as(framed, reading)


_GENERIC = frozenset("project something stuff thing task assignment lot bit way anything everything it".split())
_POINTING = frozenset("this these those it them yet".split())
_PERIODS = frozenset(
    "week month year morning afternoon evening weekend quarter semester summer winter spring fall autumn "
    "term season sprint day days coming".split()
)


def _is_generic(framed: Frame) -> bool:
    """'I am working on a project' and 'I like these' tell nothing to one who comes later."""
    said = set(keys.roots(framed.rest))
    opening = [word.low for word in framed.rest[:4]]
    pointing = any(
        low in _POINTING and after not in _PERIODS for low, after in zip(opening[:3], [*opening[1:], ""], strict=False)
    )
    return pointing or (bool(said) and said <= _GENERIC)


def _whole_policy(fact: Fact, following: Sequence[Part], taught: Sequence[tuple[str, str]]) -> Fact:
    """'we never X, always Y' is one policy: both halves make the fact, and its keys are the lesson's."""
    for part in following[:1]:
        framed = part.frame
        if framed.person is Person.COMMAND and framed.verb:
            said = sorted(framed.adverbs & _POLICY) or (["does", "not"] if framed.negated else [])
            verb = framed.verb if said[:1] == ["does"] else verbs.third_person(framed.verb)
            content = voice.sentence([fact.content.rstrip("."), "and", *said, verb, *voice.of_user(framed.rest)])
            fact = replace(fact, content=content, confidence=0.85)
    return replace(fact, subject=taught[0][0], value=taught[0][1]) if len(taught) == 1 else fact


# One may use, know and like many things of a kind at once …
_MANY = frozenset(
    "use know speak have own like love work code write play take eat drink enjoy build develop support "
    "maintain read study learn".split()
)
# … but has one of these at a time …
_SINGLE = frozenset("home employer role name nickname age team".split())
# … and the words may tell of a change.
_CHANGED_NOW = re.compile(r"\b(?:now|nowadays|these days|instead|currently|only|exclusively|not)\b")


def _timed(fact: Fact, part: Part, reading: Reading, at: Millis) -> Fact:
    """The fact with its end, which may stand in another clause of the sentence ('until Friday')."""
    framed = part.frame
    low = reading.low if len(reading.parts) == 1 else " ".join(word.low for word in framed.words)
    ttl = lifetimes.lifetime(low, at, perfect=framed.perfect or framed.past)
    if ttl is TimeToLive.INFINITY and framed.progressive and framed.verb not in ("live", "work", "use"):
        ttl = TimeToLive.ONE_QUARTER
    changed = _CHANGED_NOW.search(low) or reading.has(Cue.DENIAL, Cue.ANYMORE) or framed.adverbs & _POLICY
    exclusive = bool(changed) or framed.verb not in _MANY or fact.subject in _SINGLE or fact.subject.endswith(" number")
    return replace(fact, ttl=TimeToLive.INFINITY if reading.has(Cue.STANDING) else ttl, exclusive=exclusive)
