"""Learning with a model: it reads the window, and what it notes is checked against the words it rests on.

The model's answer is data. A note whose evidence is not among the turns that were shown, or whose quote is not in that
turn, is dropped; so is one that carries a secret, or that speaks to the reader instead of about the user. An answer of
which nothing is left is none: then the rules read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Field

from acumen.errors import ModelUnusable
from acumen.learn.extract.evidence import evidence
from acumen.learn.extract.transcript import Transcript, transcript
from acumen.learn.rules.forgetting import EVERYTHING
from acumen.llm import prompt
from acumen.llm.gateway import Answer, Llm
from acumen.llm.prompt import Prompt, Shape
from acumen.model.config import Extractor
from acumen.model.conversation import Turn, Window
from acumen.model.memory import Evidence, Origin
from acumen.model.patterns import later
from acumen.model.playbook import Lesson, PlaybookNote
from acumen.model.profile import ProfileNote, TimeToLive
from acumen.model.secrets import redact

# More notes than this from one window are a model that copies, and longer ones are one that repeats itself. The bounds
# stand in the schema, which many servers hold a model to; where they do not, what is too much is cut off.
MOST_NOTES = 8
MOST_CHARACTERS = 400
MOST_TAGS = 5

S = TypeVar("S", "Facts", "Lessons")
W = TypeVar("W", bound="Noted")
N = TypeVar("N", ProfileNote, PlaybookNote)


def _cut(most: int) -> BeforeValidator:
    """Null is nothing; what is too long is cut."""
    return BeforeValidator(lambda value: value[:most] if isinstance(value, str | list) else value or "")


Text = Annotated[str, Field(max_length=MOST_CHARACTERS), _cut(MOST_CHARACTERS)]
Word = Annotated[str, Field(max_length=40), _cut(40)]
Tags = Annotated[list[Word], Field(max_length=MOST_TAGS), _cut(MOST_TAGS)]


class Noted(Shape):
    """What every note carries: the turn it was read in, and the words."""

    turn: int
    quote: Text


class Feature(Shape):
    name: Word
    value: Word


class Fact(Noted):
    content: Text
    time_to_live: TimeToLive = TimeToLive.INFINITY
    confidence: float = Field(0.7, ge=0.0, le=1.0)
    tags: Tags = Field(default_factory=list)
    features: Annotated[list[Feature], Field(max_length=MOST_TAGS), _cut(MOST_TAGS)] = Field(default_factory=list)


class Taught(Noted):
    content: Text
    trigger: Text = ""
    pitfall: Text = ""
    rationale: Text = ""
    blocking_issue: Literal[
        "none", "missing_tool", "permission_denied", "external_dependency", "policy_restriction"
    ] = "none"
    blocking_details: Text = ""
    confidence: float = Field(0.7, ge=0.0, le=1.0)
    tags: Tags = Field(default_factory=list)


class Wish(Noted):
    what: Text


Wishes = Annotated[list[Wish], Field(max_length=MOST_NOTES), _cut(MOST_NOTES)]


class Facts(Shape):
    facts: Annotated[list[Fact], Field(max_length=MOST_NOTES), _cut(MOST_NOTES)] = Field(default_factory=list)
    forget: Wishes = Field(default_factory=list)


class Lessons(Shape):
    lessons: Annotated[list[Taught], Field(max_length=MOST_NOTES), _cut(MOST_NOTES)] = Field(default_factory=list)
    forget: Wishes = Field(default_factory=list)


FACTS = prompt.beside(__file__, "extract_profiles", Facts)
LESSONS = prompt.beside(__file__, "extract_playbooks", Lessons)


async def profile_notes(window: Window, extractor: Extractor, llm: Llm, about: str) -> tuple[list[ProfileNote], Origin]:
    """What the new user turns tell about the user. ModelUnavailable when there is no answer to go by."""
    shown, answer = await _asked(FACTS, window, extractor, llm, about)
    wishes = [_unlearned_fact(*one) for one in _grounded(answer.value.forget, shown, _by_user)]
    facts = [_profile_note(*one, extractor) for one in _grounded(answer.value.facts, shown, _by_user)]
    return _believed((*wishes, *facts), (*answer.value.forget, *answer.value.facts), shown), answer.origin


async def playbook_notes(
    window: Window, extractor: Extractor, llm: Llm, about: str
) -> tuple[list[PlaybookNote], Origin]:
    """The same for lessons; an agent's turn teaches by its tools, or by the expert's answer beside it."""
    shown, answer = await _asked(LESSONS, window, extractor, llm, about)
    wishes = [_unlearned_rule(*one) for one in _grounded(answer.value.forget, shown, _by_user)]
    lessons = [_playbook_note(*one, extractor) for one in _grounded(answer.value.lessons, shown, _teaches)]
    return _believed((*wishes, *lessons), (*answer.value.forget, *answer.value.lessons), shown), answer.origin


async def _asked(
    asked: Prompt[S], window: Window, extractor: Extractor, llm: Llm, about: str
) -> tuple[Transcript, Answer[S]]:
    shown = transcript(window, asked.room("conversation"))
    values = {
        "definition": extractor.definition,
        "context": "\n\n".join(part for part in (about, extractor.context) if part),
        "tagging": extractor.tagging or "leave it empty.",
        "conversation": shown.text,
    }
    request = window.turns[-1].request_id
    return shown, await llm.ask(asked.question(values, user_id=window.user_id, request_id=request))


# --- what is believed ----------------------------------------------------------------------------------------------


def _believed(notes: Iterable[N | None], noted: Iterable[Noted], shown: Transcript) -> list[N]:
    """In the order in which they were said. ModelUnusable when something new was noted and all of it was dropped."""
    believed = sorted((note for note in notes if note), key=_place)
    if not believed and any(_is_news(one, shown) for one in noted):
        raise ModelUnusable("The language model's answer cannot be used: nothing in it can be believed.")
    return believed


def _place(note: ProfileNote | PlaybookNote) -> tuple[int, int]:
    """As it was said: what was said later may take back what was said before."""
    return note.evidence.interaction_id, note.evidence.start


def _is_news(one: Noted, shown: Transcript) -> bool:
    """Not of a turn that was read before, which a model may well note once more."""
    turn = shown.turns.get(one.turn)
    return turn is None or turn.is_new


def _by_user(turn: Turn) -> bool:
    return turn.by_user


def _teaches(turn: Turn) -> bool:
    return turn.by_user or bool(turn.tools_used or turn.expert_text)


def _grounded(
    noted: Sequence[W], shown: Transcript, admitted: Callable[[Turn], bool]
) -> Iterator[tuple[W, Turn, Evidence]]:
    """Those whose words were really said, in a turn that is new and may be learned from."""
    for one in noted:
        turn = shown.turns.get(one.turn)
        if turn is None or not turn.is_new or not admitted(turn):
            continue
        found = evidence(one.quote, turn)
        if found is not None:
            yield one, turn, found


# Words that are meant for whoever reads the memory rather than for what it is about.
_HIJACKS = later(
    r"\b(?:ignore|disregard|forget|override)\b[^.]{0,40}\b(?:previous|prior|above|earlier|all|system|other)\b[^.]{0,30}"
    r"\b(?:instructions?|prompts?|rules?|messages?)\b|\bsystem prompt\b|\byou are now\b|"
    r"<\|?/?(?:system|im_start|im_end)\b",
    re.IGNORECASE,
)
# Characters that hide, reorder or control text.
_UNSEEN = later(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def _clean(text: str) -> str:
    """One line, no hidden characters, no secret."""
    return redact(" ".join(_UNSEEN.sub("", text).split()))[:MOST_CHARACTERS]


def _usable(*texts: str) -> bool:
    return bool(texts[0]) and not any(_HIJACKS.search(text) or "[redacted" in text for text in texts)


# --- what is noted -------------------------------------------------------------------------------------------------


def _profile_note(fact: Fact, turn: Turn, found: Evidence, extractor: Extractor) -> ProfileNote | None:
    content = _clean(fact.content)
    if not _usable(content):
        return None
    features = {_clean(one.name)[:64]: _clean(one.value) for one in fact.features[:MOST_TAGS] if one.name.strip()}
    return ProfileNote(
        content,
        "",
        "",
        found,
        turn.request_id,
        fact.time_to_live,
        confidence=_confidence(fact.confidence),
        tags=_tags(fact.tags, extractor),
        features=features,
    )


def _playbook_note(taught: Taught, turn: Turn, found: Evidence, extractor: Extractor) -> PlaybookNote | None:
    content, trigger, pitfall, rationale = map(
        _clean, (taught.content, taught.trigger, taught.pitfall, taught.rationale)
    )
    if not _usable(content, trigger, pitfall, rationale):
        return None
    blocked = {"kind": taught.blocking_issue, "details": _clean(taught.blocking_details) or content}
    lesson = Lesson(
        content,
        trigger or None,
        rationale or None,
        pitfall or None,
        None if taught.blocking_issue == "none" else blocked,
    )
    return PlaybookNote(
        lesson,
        "",
        "",
        found,
        turn.request_id,
        confidence=_confidence(taught.confidence),
        tags=_tags(taught.tags, extractor),
    )


def _unlearned_fact(wish: Wish, turn: Turn, found: Evidence) -> ProfileNote | None:
    what = _what(wish)
    return ProfileNote(what, "", "", found, turn.request_id, forget=True, confidence=0.8) if what else None


def _unlearned_rule(wish: Wish, turn: Turn, found: Evidence) -> PlaybookNote | None:
    what = _what(wish)
    return PlaybookNote(Lesson(what), "", "", found, turn.request_id, forget=True, confidence=0.8) if what else None


def _what(wish: Wish) -> str:
    """All that is known is forgotten only when the user's own words ask for all of it."""
    return EVERYTHING if _ALL.search(wish.what) and _ALL.search(wish.quote) else _clean(wish.what)


_ALL = later(r"\beverything\b|\ball (?:you know|of it|about me|my (?:data|information))\b", re.IGNORECASE)


def _confidence(given: float) -> float:
    """Models are sure of themselves; ours is never certain."""
    return round(min(max(given, 0.3), 0.95), 2)


def _tags(tags: Iterable[str], extractor: Extractor) -> tuple[str, ...]:
    """Only where the org has said how to tag."""
    clean = (_clean(tag).lower()[:64] for tag in tags)
    return tuple(dict.fromkeys(tag for tag in clean if tag))[:MOST_TAGS] if extractor.tagging else ()
