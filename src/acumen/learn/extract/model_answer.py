"""A model's answer: edits to the memories of a user, each checked against the words it rests on before it counts.

The answer is data. An edit whose quote is not in the turn it names is dropped; so is one that contains a secret or
addresses its reader, and one that touches a memory that was not shown or that its words do not name.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import Struct
from pydantic import BeforeValidator, ConfigDict, Field

from acumen.learn.extract.evidence import evidence, names, sentence_about
from acumen.learn.extract.language import language_of
from acumen.learn.extract.model_dates import agree, expiry, first_moment, period, time_to_live, without_dates
from acumen.learn.extract.notes import Ending, Note, Reach
from acumen.learn.extract.transcript import QUOTED, Transcript, is_marked
from acumen.llm.prompt import Shape
from acumen.model.config import Extractor
from acumen.model.conversation import Turn
from acumen.model.fence import one_line
from acumen.model.ids import Kind, MemoryRef
from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Category, Cause, EvidenceSpan
from acumen.model.memories.memory import Memory, searchable
from acumen.model.memories.playbook import Lesson
from acumen.model.memories.profile import Profile
from acumen.model.prompt_injection import detect_in_lesson
from acumen.model.secrets import redact

# More edits than this from one window are a model that copies, and longer ones are one that repeats itself. The bounds
# are in the schema, which many servers enforce; where they do not, what is too much is cut off.
MOST_EDITS = 12
MOST_CHARACTERS = 400
MOST_TAGS = 5
# A model's notes are never certain, and what the agent said is less so than what the user said.
BY_USER = 0.8
BY_AGENT = 0.6
# The id by which a wish to forget means all memories.
ALL = "all"
# A quote with no more names than this ("forget that") points to the turns before it.
POINTS = 2
# Share of the names in a memory that its quote has, too; with fewer the model has made something up. The user's own
# words are the better rule: a small model turns orders to the agent into statements about the user.
FAITHFUL = 0.4
FAITHFUL_RULE = 0.7


class Op(StrEnum):
    ADD = "ADD"
    UPDATE = "UPDATE"
    END = "END"
    FORGET = "FORGET"
    NONE = "NONE"


def _cut(most: int, empty: type[str] | type[list[Any]] = str) -> BeforeValidator:
    """Null is nothing; what is too long is cut."""
    return BeforeValidator(lambda value: value[:most] if isinstance(value, str | list) else value or empty())


def _number(value: Any) -> Any:
    """`[3]` and `"3"` are 3."""
    digits = re.search(r"\d{1,9}", value) if isinstance(value, str) else None
    return int(digits[0]) if digits else value


def _choice(choices: type[StrEnum], otherwise: StrEnum) -> BeforeValidator:
    """Capitals do not matter, and a value that is none of the choices is the usual one."""
    by_name = {choice.value.lower(): choice for choice in choices}
    return BeforeValidator(lambda value: by_name.get(str(value).strip().lower(), otherwise))


Text = Annotated[str, Field(max_length=MOST_CHARACTERS), _cut(MOST_CHARACTERS)]
Word = Annotated[str, Field(max_length=40), _cut(40)]
Day = Annotated[str, Field(max_length=10), _cut(10)]
Tags = Annotated[list[Word], Field(max_length=MOST_TAGS), _cut(MOST_TAGS, list)]


class Feature(Shape):
    name: Word
    value: Word


class Says(StrEnum):
    """What the quoted words are: a category of memories, or something that is never kept."""

    IDENTITY = Category.IDENTITY.value
    PREFERENCE = Category.PREFERENCE.value
    RULE = Category.RULE.value
    FACT = Category.FACT.value
    PLAN = Category.PLAN.value
    EVENT = Category.EVENT.value
    RECIPE = Category.RECIPE.value
    FORGET = "forget"
    REQUEST = "request"
    QUESTION = "question"
    TALK = "talk"
    QUOTED = "quoted"


_NEVER_KEPT = frozenset({Says.FORGET, Says.REQUEST, Says.QUESTION, Says.TALK, Says.QUOTED})


# Flat, so that small models can fill it. The quote comes first: what is worth keeping is decided after reading. No
# docstring: it would be sent along with the schema.
class Edit(Shape):
    # Small models leave out what they may; an answer without them is understood all the same.
    model_config = ConfigDict(json_schema_extra={"required": ["turn", "quote", "category", "op"]})

    turn: Annotated[int, BeforeValidator(_number)]
    quote: Text
    category: Annotated[Says, _choice(Says, Says.FACT)] = Says.FACT
    op: Annotated[Op, _choice(Op, Op.NONE)]
    id: Word = ""
    content: Text = ""
    standing: Annotated[bool, BeforeValidator(bool)] = False
    trigger: Text = ""
    pitfall: Text = ""
    rationale: Text = ""
    valid_from: Day = ""
    valid_until: Day = ""
    blocking_issue: Annotated[
        Literal["none", "missing_tool", "permission_denied", "external_dependency", "policy_restriction"],
        BeforeValidator(lambda value: value or "none"),
    ] = "none"
    tags: Tags = Field(default_factory=list)
    features: Annotated[list[Feature], Field(max_length=MOST_TAGS), _cut(MOST_TAGS, list)] = Field(default_factory=list)


# At least one where servers enforce the schema, if only a NONE: small models choose an empty list too soon.
class Edits(Shape):
    edits: Annotated[list[Edit], Field(max_length=MOST_EDITS, json_schema_extra={"minItems": 1}), _cut(MOST_EDITS)]


class Shown(Struct, frozen=True):
    """What the model was shown: the answer is checked against it."""

    transcript: Transcript
    known: Mapping[str, Memory]  # by the short ids they were shown under
    extractors: Mapping[Kind, Extractor]


class Checked(Struct, frozen=True):
    """`refused` counts edits of new turns of which nothing could be used."""

    notes: Sequence[Note]
    endings: Sequence[Ending]
    refused: int


def check(edits: Sequence[Edit], shown: Shown) -> Checked:
    """Notes and endings, each in the order in which they were said."""
    checked: list[Note | Ending | None] = []
    for edit in filter(_is_meant, edits):
        turn, place = _located(edit, shown)
        # A turn or memory that is only repeated, and a note of a kind that was not asked for, are no fault.
        if (turn is None or is_marked(turn)) and _is_wanted(edit, shown) and not _is_quoted(turn, place):
            checked.append(_checked(edit, turn, place, shown) if turn and place else None)
    by_words = {_words(value): value for value in reversed(checked) if isinstance(value, Note)}
    notes = sorted(by_words.values(), key=_place)
    endings = sorted((value for value in checked if isinstance(value, Ending)), key=_place)
    return Checked(notes, endings, checked.count(None))


def _place(value: Note | Ending) -> tuple[int, int]:
    return value.evidence.interaction_id, value.evidence.start


def _words(note: Note) -> tuple[Kind, str]:
    """Two notes with the same words are one: the first."""
    return note.kind, note.lesson.content.casefold()


def _is_meant(edit: Edit) -> bool:
    """Requests, questions, small talk and quoted text neither add nor end anything."""
    if edit.op is Op.FORGET:
        return True
    ends = edit.op is Op.END and edit.category is Says.FORGET
    return edit.op is not Op.NONE and (ends or edit.category not in _NEVER_KEPT)


def _located(edit: Edit, shown: Shown) -> tuple[Turn | None, EvidenceSpan | None]:
    """The turn that the edit names and the quote's place in it. A wrong number is corrected by exact words."""
    named = shown.transcript.turns.get(edit.turn)
    place = None if named is None else evidence(edit.quote, named)
    if place is not None:
        return named, place
    new = (turn for turn in shown.transcript.turns.values() if is_marked(turn))
    located = next(((turn, exact) for turn in new if (exact := evidence(edit.quote, turn, exact=True))), None)
    return located or (named, None)


def _is_quoted(turn: Turn | None, place: EvidenceSpan | None) -> bool:
    """Whether the words are another person's, between quotation marks; tool output has no place of its own."""
    if turn is None or place is None:
        return False
    return any(match.start() <= place.start < place.end <= match.end() for match in QUOTED.finditer(turn.text))


def _is_wanted(edit: Edit, shown: Shown) -> bool:
    """Whether a note of its kind was asked for; an ending is of the kind of what it ends."""
    if edit.op in (Op.END, Op.FORGET):
        return True
    known = shown.known.get(edit.id) if edit.op is Op.UPDATE else None
    repeated = known is not None and _repeats(edit.content, text_of(known))
    return not repeated and _kind(edit, shown) in shown.extractors


def _kind(edit: Edit, shown: Shown) -> Kind:
    """By the category; a memory is updated by one of its own kind."""
    known = shown.known.get(edit.id)
    if edit.op is Op.UPDATE and known is not None:
        return memory_ref(known).kind
    return Kind.USER_PLAYBOOK if edit.category in (Says.RULE, Says.RECIPE) else Kind.PROFILE


def memory_ref(memory: Memory) -> MemoryRef:
    return MemoryRef(Kind.PROFILE if isinstance(memory, Profile) else Kind.USER_PLAYBOOK, str(memory.id))


def text_of(memory: Memory) -> str:
    return memory.content if isinstance(memory, Profile) else memory.lesson.content


def _checked(edit: Edit, turn: Turn, place: EvidenceSpan, shown: Shown) -> Note | Ending | None:
    if edit.op in (Op.END, Op.FORGET):
        return _ending(edit, turn, place, shown) if turn.by_user else None
    return _note(edit, turn, place, shown)


# --- what is noted -------------------------------------------------------------------------------------------------

# What an agent's turn can establish; who the user is and what they want is only for the user to say.
_ESTABLISHED = frozenset({Category.FACT, Category.EVENT, Category.PLAN, Category.RECIPE})
# What can be part of every prompt.
_STANDING = frozenset({Category.IDENTITY, Category.PREFERENCE, Category.RULE})
_OF_LESSONS = frozenset({Category.RULE, Category.PREFERENCE, Category.RECIPE})


def _note(edit: Edit, turn: Turn, place: EvidenceSpan, shown: Shown) -> Note | None:
    kind = _kind(edit, shown)
    category = _category(edit, kind)
    if not (turn.by_user or turn.expert_text or turn.tools_used or category in _ESTABLISHED):
        return None
    extractor = shown.extractors[kind]
    place = _rested_on(edit.content, turn, place)
    share = FAITHFUL_RULE if category is Category.RULE else FAITHFUL
    content = _worded(_clean(edit.content), turn, place, shown, share)
    lesson = _lesson(content, edit, turn, shown) if kind is Kind.USER_PLAYBOOK else Lesson(content)
    if not _usable(lesson):
        return None
    valid_from, valid_until = period(edit.valid_from, edit.valid_until, place.text, turn.at)
    expires = expiry(category, valid_until, place.text, turn.at)
    return Note(
        kind,
        lesson,
        place,
        turn.request_id,
        category=category,
        standing=edit.standing and turn.by_user and category in _STANDING and not lesson.trigger,
        updates=_updated(edit, lesson, turn, shown),
        valid_from=valid_from,
        valid_until=valid_until,
        ttl=time_to_live(expires, turn.at),
        expires_at=expires,
        confidence=BY_USER if turn.by_user else BY_AGENT,
        tags=_tags(edit.tags, extractor),
        features={_clean(each.name)[:64]: _clean(each.value) for each in edit.features if each.name.strip()},
    )


def _category(edit: Edit, kind: Kind) -> Category:
    category = Category(edit.category.value)
    return Category.RULE if kind is Kind.USER_PLAYBOOK and category not in _OF_LESSONS else category


# A memory is about a person: a model that writes "I will …" has slipped into the conversation.
_FIRST_PERSON = lazy_regex(r"(?:I|I'll|I'm|I've|Ich|Je|Yo|Eu|Io)\b|J'|我|私")


def _rested_on(content: str, turn: Turn, place: EvidenceSpan) -> EvidenceSpan:
    """The quote, or the sentence of its turn that the content is about: small models quote the line before it."""
    return place if names(content) & names(place.text) else sentence_about(content, turn) or place


def _worded(content: str, turn: Turn, place: EvidenceSpan, shown: Shown, share: float) -> str:
    """The model's wording, or the quote itself where the wording is not that of the quote; nothing without either."""
    languages = {language_of(content), language_of(place.text)} - {""}
    misworded = len(languages) > 1 or _FIRST_PERSON.match(content) or not agree(content, place.text, turn.at)
    if not content or _is_hostile(content):
        return ""
    if not misworded and _shared(content, turn, place, shown) >= share:
        return content
    quoted = names(place.text)
    states = not place.text.endswith(("?", "？")) and (len(quoted) > POINTS or quoted & names(content))
    return _clean(place.text) if states else ""


def _shared(content: str, turn: Turn, place: EvidenceSpan, shown: Shown) -> float:
    """Share of its names that the quote has. One that names little ("yes, always") is completed by the turns before."""
    named, quoted = names(without_dates(content)), names(place.text)
    if len(quoted) <= POINTS:
        quoted |= _named_before(turn, shown)
    return len(named & quoted) / max(1, len(named))


def _named_before(turn: Turn, shown: Shown) -> set[str]:
    return names(" ".join([each.text for each in shown.transcript.turns.values() if each.id <= turn.id][-3:]))


def _lesson(content: str, edit: Edit, turn: Turn, shown: Shown) -> Lesson:
    before = [each for each in shown.transcript.turns.values() if each.id <= turn.id]
    acted = [each for each in before if not each.by_user]
    blocked = None if edit.blocking_issue == "none" else {"kind": edit.blocking_issue, "details": content}
    return Lesson(
        content,
        _situation(_clean(edit.trigger), content, [each for each in before if each.by_user]),
        _grounded(_clean(edit.rationale), content, [turn]),
        _grounded(_clean(edit.pitfall), content, acted),  # what the agent did wrong, in its own words or tool calls
        blocked,
    )


def _situation(trigger: str, content: str, turns: Sequence[Turn]) -> str | None:
    """A trigger that the user's turns name: an invented one ("When answering") would hide a standing rule."""
    named = names(trigger) & names("\n".join(turn.text for turn in turns))
    return trigger if named and not _repeats(trigger, content) else None


def _grounded(text: str, content: str, turns: Sequence[Turn]) -> str | None:
    """The text if it says more than the instruction and that was said in these turns; models like to fill fields."""
    more = names(text) - names(content)
    said = "\n".join(part for turn in turns for part in (turn.text, turn.expert_text, *map(str, turn.tools_used)))
    return text if not _repeats(text, content) and len(more & names(said)) >= max(1, FAITHFUL * len(more)) else None


def _repeats(text: str, content: str) -> bool:
    """Whether one contains the other, ignoring capitals and punctuation; an empty text repeats."""
    inner, outer = (" ".join(re.findall(r"\w+", each.casefold())) for each in (text, content))
    return inner in outer or outer in inner


def _updated(edit: Edit, lesson: Lesson, turn: Turn, shown: Shown) -> MemoryRef | None:
    """The memory whose place the note takes. Only the user's words replace, and only what they are about."""
    known = shown.known.get(edit.id) if edit.op is Op.UPDATE and turn.by_user else None
    if known is None or not names(searchable(known)) & names(lesson.searchable):
        return None
    return memory_ref(known)


# --- what ends -----------------------------------------------------------------------------------------------------

_EVERYTHING = lazy_regex(
    r"\b(?:everything|all|alles|todo|toda|tudo|tout|toutes?|tutto|всё|все|كل)\b|全部|所有|一切|すべて|全て|모두|모든|सब",
    re.IGNORECASE,
)


def _ending(edit: Edit, turn: Turn, place: EvidenceSpan, shown: Shown) -> Ending | None:
    """None when no memory is named, or when it is another one than the words name."""
    target = _clean(edit.content)
    if edit.op is Op.FORGET and edit.id.strip().lower() == ALL:
        everything = bool(_EVERYTHING.search(place.text))
        return Ending(place, turn.request_id, Cause.FORGET, target, Reach.EVERYTHING) if everything else None
    known = shown.known.get(edit.id)
    if known is None:
        return Ending(place, turn.request_id, Cause.FORGET, target) if edit.op is Op.FORGET and target else None
    if not _names_it(edit, known, turn, place, shown):
        return None
    cause = Cause.FORGET if Op.FORGET in (edit.op, edit.category.upper()) else Cause.MODEL
    since = first_moment(edit.valid_until) or turn.at
    return Ending(place, turn.request_id, cause, target, ends=memory_ref(known), since=since)


def _names_it(edit: Edit, known: Memory, turn: Turn, place: EvidenceSpan, shown: Shown) -> bool:
    """A wish to forget names what it ends, in its own words or in the turn before; another ending restates it."""
    named = names(searchable(known))
    if edit.op is Op.END:
        return bool(named & names(f"{edit.content} {place.text}"))
    quoted = names(place.text)
    if named & quoted:
        return True
    return len(quoted) <= POINTS and bool(named & _named_before(turn, shown))


# --- what is believed ----------------------------------------------------------------------------------------------


def _clean(text: str) -> str:
    """One line, no hidden characters, no secret."""
    return redact(one_line(text))[:MOST_CHARACTERS]


def _usable(lesson: Lesson) -> bool:
    texts = (lesson.content, lesson.trigger or "", lesson.pitfall or "", lesson.rationale or "")
    return bool(lesson.content) and not any(map(_is_hostile, texts))


def _is_hostile(text: str) -> bool:
    """Whether it contains a secret or addresses its reader rather than saying something of its subject."""
    return detect_in_lesson(text) is not None or "[redacted" in text


def _tags(tags: Sequence[str], extractor: Extractor) -> tuple[str, ...]:
    """Only where the org has said how to tag."""
    clean = (_clean(tag).lower()[:64] for tag in tags)
    return tuple(dict.fromkeys(tag for tag in clean if tag))[:MOST_TAGS] if extractor.tagging else ()
