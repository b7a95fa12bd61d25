"""Learning without a model: facts and lessons read from the words of the user, sentence by sentence.

A small classifier tells what each sentence is (`rules/weighing.py`); what is worth keeping is written down here, in the
third person, as close to the user's own words as can be.
"""

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock

from msgspec.structs import replace

from acumen.learn.rules import keys, voice
from acumen.learn.rules.agent_lessons import agent_notes
from acumen.learn.rules.classifier import likeliest
from acumen.learn.rules.clauses import FOR_SOME_TIME, SAID
from acumen.learn.rules.confirming import affirms
from acumen.learn.rules.cues import Surface
from acumen.learn.rules.forgetting import LAST, discards, wished
from acumen.learn.rules.framing import bare, unasked
from acumen.learn.rules.lessons import (
    BROKE,
    WORKED,
    advice,
    as_act,
    is_proposal,
    proposed,
    request_named,
    shortened,
    taught,
)
from acumen.learn.rules.said import Said, turns
from acumen.learn.rules.weighing import POINTED, Read, judge, points_back, settled, undecided
from acumen.learn.rules.words import Word, words
from acumen.model.conversation import Window
from acumen.model.patterns import later
from acumen.model.playbook import Lesson, PlaybookNote
from acumen.model.profile import ProfileNote, TimeToLive
from acumen.model.secrets import redact

# Windows read a moment ago, of many users at once.
REMEMBERED_WINDOWS = 64
# A second reading of the same sentence is kept too from this share of the first on.
SECOND = 0.45
# What corrects the agent is a lesson too from less on: "suppliers use the side gate".
HARDLY = 0.25
# What looks like a command ("jump host changed …") is a fact from this share on.
SURELY = 0.8
# What points at something and says no more of it than this many words is nothing without it.
MOST_THAT_POINT = 3
# What worked is told in so many characters at most.
MOST = 300
# A statement that asks for something may tell something too.
FAINTLY = 0.12


def said_in(window: Window, read: Read | None = None) -> list[Said]:
    """What is worth keeping of the new user turns. Facts and lessons are read from one window soon after each other."""
    key = (read is None, *((turn.id, turn.is_new, turn.at, turn.text) for turn in window.turns))
    with _LOCK:
        known = _READ.get(key)
    if known is None:
        said = list(turns(window))
        judge(said, read)
        known = [one for turn in said for one in (*settled(turn), *undecided(turn))]
        with _LOCK:
            _READ[key] = known
            while len(_READ) > REMEMBERED_WINDOWS:
                _READ.popitem(last=False)
    return known


_READ: OrderedDict[object, list[Said]] = OrderedDict()
_LOCK = Lock()


def profile_notes(window: Window, read: Read | None = None) -> list[ProfileNote]:
    """What the new user turns tell about the user, in the order it was said."""
    return [note for said in said_in(window, read) for note in _profile_notes(said)]


def playbook_notes(window: Window, read: Read | None = None) -> list[PlaybookNote]:
    """What the new turns teach the agent: the user's words in order, then the agent's tools and experts."""
    return [*(note for said in said_in(window, read) for note in _playbook_notes(said)), *agent_notes(window)]


def _profile_notes(said: Said) -> Iterator[ProfileNote]:
    if wish := _wish(said):
        subject, last = " ".join(sorted(keys.content_roots(wish))), str(said.previous or "")
        yield ProfileNote(
            *(wish, subject, last, said.evidence, said.turn.request_id),
            forget=True,
            faint=not said.label,
            confidence=said.confidence,
        )
    elif not said.label:
        yield from (replace(note, faint=True) for content in _facts(said) for note in _profile_note(said, content))
    elif said.label == "confirmation" and affirms(said):
        yield from _profile_note(said, _spoken_into(said) + voice.fact(said.seen.heard))
    elif _tells(said):
        for content in _facts(said):
            yield from _profile_note(said, content)
    elif _asks(said) and said.ttl is not TimeToLive.INFINITY:
        lesson = _lesson(said)
        reason = f" {lesson.rationale}" if said.because and lesson.rationale else ""
        yield from _profile_note(said, f"{FOR_SOME_TIME}{lesson.content}{reason}")
    elif _asks(said):
        yield from (replace(note, denies=True) for note in _profile_note(said, _lesson(said).content))


def _wish(said: Said) -> str:
    """What is to be forgotten. 'Out with it' is said of what was named before, by the user or by the agent."""
    if not said.label:
        return said.sentence.text if discards(said.seen) else ""
    wish = (wished(said.seen, said.chances["forget"]) or "") if said.label == "forget" else ""
    named = said.context.sentence.text if said.context else said.setting.asked
    return f"{named} {said.sentence.text}" if wish == LAST and keys.telling(words(named)) else wish


def _profile_note(said: Said, content: str) -> Iterator[ProfileNote]:
    """A fact that is told by a secret, or by pointing at what nobody sees any more, is not kept at all."""
    if content and not _points(content) and redact(content) == content and not _garbles_secret(said, content):
        subject, value = keys.of_text(content)
        yield ProfileNote(
            *(content, subject, value, said.evidence, said.turn.request_id, said.ttl),
            confidence=said.confidence,
        )


def _garbles_secret(said: Said, content: str) -> bool:
    """Whether a secret was said that is no longer recognised in what was written down of it."""
    return redact(said.sentence.text) != said.sentence.text and redact(content) == content


# So few words that end by pointing say nothing by themselves: "User hates that."
_POINTING = frozenset("that this those these them it".split())
_FEW = 5


def _points(content: str) -> bool:
    said = content.rstrip(".!").lower().split()
    return 0 < len(said) <= _FEW and said[-1] in _POINTING


def _leans(said: Said, one: Sequence[str], other: Sequence[str]) -> float:
    first, second = (sum(said.chances[label] for label in labels) for labels in (one, other))
    return first / (first + second) if first + second else 0.5


def _tells(said: Said) -> bool:
    """Whether the sentence says how things are."""
    if _REASON.search(said.seen.low):
        return True
    if said.label in ("confirmation", "fact"):
        return said.label == "fact"
    if said.label == "preference":
        return said.seen.has("prefers", "first_person")
    leans = _leans(said, ("fact",), ("instruction",))
    if not _declares(said):
        return said.label == "correction" and leans > SURELY and not said.seen.has("wants_you", "please")
    if said.label == "correction":
        return leans > SECOND or said.seen.has("first_person", "number")
    return said.chances["fact"] >= FAINTLY or _of_self(said.seen)


# "Skip the steak places because I am vegetarian."
_REASON = later(r"\b(?:because|since|as) (?:i am|i have|we are|we have|my|our)\b")


def _asks(said: Said) -> bool:
    """Whether the sentence tells the agent what to do; a policy of 'we' tells and asks."""
    seen = said.seen
    if said.label == "fact":
        return _is_policy(seen)
    if said.label == "confirmation":
        return False
    own = (_of_self(seen) and _declares(said)) or (said.label == "preference" and seen.has("first_person"))
    if own and not _is_policy(seen):
        return seen.has("wants_you", "wants", "you", "your", "please")
    if said.label == "correction" and not _is_policy(seen):
        return not (_declares(said) or _tells(said)) or _leans(said, ("instruction",), ("fact",)) > HARDLY
    return True


def _of_self(seen: Surface) -> bool:
    """'I moved', 'my knee hurts', 'moved to Oslo'."""
    return seen.has("starts_i", "starts_my") or voice.drops_subject(bare(seen.heard))


def _declares(said: Said) -> bool:
    """A statement rather than a command."""
    forbids = said.seen.core[:1] and said.seen.core[0] in ("do", "never", "always", "stop", "quit", "only")
    asked = unasked(bare(said.seen.heard))[0] != bare(said.seen.heard)
    fragment = (said.seen.has("no_verb") and said.seen.has("contrast")) or said.seen.core[:2] in (
        ("instead", "of"),
        ("rather", "than"),
    )
    return (
        not forbids
        and not asked
        and not fragment
        and not said.seen.has("starts_verb", "asks_you", "wants_you", "please", "no_noun")
    )


def _is_policy(seen: Surface) -> bool:
    """'We never …', 'we always …': how things are done, and how they are to be done."""
    return bool(_POLICY.search(seen.low)) or (seen.has("contrast") and bool(_CUSTOM.search(seen.low)))


_STATES = r"(?!live|have|need|want|know|like|own|work|get|understand|remember|see|think|be|got|had|been)\w"
_POLICY = re.compile(rf"\bwe (?:always|never|only|do not|no longer|require|must) {_STATES}")
# "We use uv here, not pip."
_CUSTOM = re.compile(r"\bwe (?:use|run|write|call|book|deploy|ship|pin|quote|name|put|test|sign|send|pay|round)\b")


def _facts(said: Said) -> list[str]:
    """The sentence in the third person; an answer names what was asked."""
    heard = bare(said.seen.heard)
    told = [voice.fact(heard)] if heard else []
    if said.more and told:
        told[-1] = " ".join([told[-1], *(voice.fact(bare(one.seen.heard)) for one in said.more)])
    told = [one for one in told if keys.telling(words(one))]
    if told and said.context and (points_back(said.seen) or (said.seen.has("no_verb") and not said.context.label)):
        return [f"{voice.fact(bare(said.context.seen.heard))} {told[0]}", *told[1:]]
    if len(told) == 1 and _answers(said):
        return [_spoken_into(said) + told[0]]
    return [_with_reason(said, one) for one in told]


def _with_reason(said: Said, told: str) -> str:
    """'…, so it goes in the bag' is said of what stands before the 'so', 'fit things round that' of what was told."""
    if POINTED.isdisjoint(said.seen.core):
        return told
    if said.because is None:
        few = len(keys.telling(said.seen.heard)) <= MOST_THAT_POINT
        return f"{voice.fact(bare(said.context.seen.heard))} {told}" if said.context and few else told
    reason = voice.fact(bare(said.because.seen.heard)).rstrip(".!")
    return f"{reason}, so {told if told[:2].isupper() else told[:1].lower() + told[1:]}"


def _answers(said: Said) -> bool:
    """A few words that say something only beside the words they answer."""
    seen = said.seen
    whole = seen.has("first_person") or any(low in _FINITE for low in seen.core)
    if not said.setting.asked:
        return said.label == "correction" and seen.has("no_verb") and not (whole or seen.has("contrast", "please"))
    return seen.has("no_verb") or (len(seen.core) <= FEW and not whole)


def _spoken_into(said: Said) -> str:
    """'Asked "How many seats?", the user said: ', before what is nothing without it."""
    if said.setting.asked:
        return f'Asked "{said.setting.asked}"{SAID}'
    return f'To "{shortened(advice(said.setting.agent, said.seen.heard))}"{SAID}'


FEW = 6
_FINITE = frozenset("is are was were has have had does do can will should must".split())


# --- playbooks


def _playbook_notes(said: Said) -> Iterator[PlaybookNote]:
    if wish := _wish(said):
        subject, last = " ".join(sorted(keys.content_roots(wish))), str(said.previous or "")
        yield PlaybookNote(
            *(Lesson(wish), subject, last, said.evidence, said.turn.request_id),
            forget=True,
            faint=not said.label,
            confidence=said.confidence,
        )
    elif not said.label:
        if likeliest(said.chances) != "task":  # "Payment shows errors, roll it back" lifts no rule about rolling back
            yield from (replace(note, faint=True) for note in _playbook_note(said, _lesson(said)))
    elif said.label == "confirmation":
        yield from _playbook_note(said, None if affirms(said) else _confirmed(said))
    elif _asks(said) and said.ttl is TimeToLive.INFINITY:
        yield from _playbook_note(said, _lesson(said))
    elif _tells(said):
        for content in _facts(said):
            yield from (replace(note, denies=True) for note in _playbook_note(said, Lesson(content)))


def _lesson(said: Said) -> Lesson:
    lesson = taught(bare(said.seen.heard), said.setting, said.fault.seen.heard if said.fault else ())
    if said.seen.has("told_before") and said.seen.has("first_person"):
        lesson = replace(lesson, content=f"Keep in mind: {voice.fact(bare(said.seen.heard))}")
    if _answers(said) and said.seen.has("no_verb"):
        lesson = replace(lesson, content=_spoken_into(said) + lesson.content)
    more = [voice.sentence(voice.for_agent(bare(one.seen.heard))) for one in said.more]
    reason = lesson.rationale or (voice.fact(bare(said.because.seen.heard)) if said.because else None)
    broken = reason if lesson.pitfall is None and reason and BROKE.match(reason.lower()) else lesson.pitfall
    content = _with_reason(said, " ".join([lesson.content, *more]))
    return replace(lesson, content=content, rationale=reason, pitfall=broken)


def _confirmed(said: Said) -> Lesson | None:
    """What worked: what the agent had proposed, where the user's words point at it, and what the user said of it."""
    heard = [word for one in (said, *said.more) for word in one.seen.heard]
    own = _named_in(heard)
    told = advice(said.setting.agent, heard)
    if not own:
        content = (
            _advised(told) if said.seen.has("worked") and not said.seen.has("not_worked") and is_proposal(told) else ""
        )
    else:
        spoken = " ".join(voice.sentence(voice.for_agent(bare(one.seen.heard))) for one in (said, *said.more))
        points = not said.setting.agent or not (set(own) & keys.content_roots(told) or said.seen.has("it", "here"))
        content = " ".join([WORKED, *([] if points or not _advised(told) else [_advised(told)]), spoken])
    reason = "The user confirmed that this worked."
    return Lesson(shortened(content, MOST), request_named(said.setting.topic) or None, reason) if content else None


def _advised(told: str) -> str:
    """What the agent had proposed, or what it had done; nothing of what it asked."""
    if told.endswith("?"):
        return ""
    return as_act(told) if told[:2] == "I " else proposed(told)


_CONFIRMING = frozenset(
    "work trick help fix solve do perfect great exactly good thank better now right charm way problem issue bingo fine "
    "time first try be it this that finally much all well nice love beautiful brilliant beautifully perfectly again "
    "resolve sort everything job need want look up just what".split()
)


def _named_in(said: Sequence[Word]) -> list[str]:
    """What the user names beside the fact that it worked."""
    return [root for root in keys.roots(said) if root not in _CONFIRMING]


def _playbook_note(said: Said, told: Lesson | None) -> Iterator[PlaybookNote]:
    if told is None or not told.content or _garbles_secret(said, told.content):
        return
    lesson = replace(
        told,
        content=redact(told.content),
        trigger=redact(told.trigger or "") or None,
        rationale=redact(told.rationale or "") or None,
        pitfall=redact(told.pitfall or "") or None,
    )
    subject, value = keys.of_text(lesson.content)
    yield PlaybookNote(
        *(lesson, subject, value, said.evidence, said.turn.request_id),
        confidence=said.confidence,
    )
