"""A model's answer: edits to the memories of a user, each checked against the words it rests on before it counts.

The answer is data. An edit whose quote is not in the turn it names is dropped; so is one that contains a secret or
addresses its reader, and one that touches a memory that was not shown or that its words do not name.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import Struct
from pydantic import BeforeValidator, ConfigDict, Field

from acumen.learn.extract.evidence import evidence, names
from acumen.learn.extract.notes import Ending, Note, Reach
from acumen.learn.extract.transcript import Transcript
from acumen.llm.prompt import Shape
from acumen.model.config import Extractor
from acumen.model.conversation import Turn
from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.memories import Memory, searchable
from acumen.model.memory import Category, Cause, Evidence
from acumen.model.patterns import later
from acumen.model.playbook import Lesson
from acumen.model.profile import Profile, TimeToLive
from acumen.model.secrets import redact
from acumen.model.times import DAY_MS

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
# A quote with fewer names than this ("forget that") points to the turns before it.
POINTS = 2


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


class EditKind(StrEnum):
    FACT = "fact"
    LESSON = "lesson"


# Flat, so that small models can fill it. The quote comes first: what is worth keeping is decided after reading. No
# docstring: it would be sent along with the schema.
class Edit(Shape):
    # Small models leave out what they may; an answer without them is understood all the same.
    model_config = ConfigDict(json_schema_extra={"required": ["turn", "quote", "op", "kind", "category", "content"]})

    turn: Annotated[int, BeforeValidator(_number)]
    quote: Text
    op: Annotated[Op, _choice(Op, Op.NONE)]
    id: Word = ""
    kind: Annotated[EditKind, _choice(EditKind, EditKind.FACT)] = EditKind.FACT
    category: Annotated[Category, _choice(Category, Category.FACT)] = Category.FACT
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
    meant = [edit for edit in edits if edit.op is not Op.NONE and _is_news(edit, shown) and _wanted(edit, shown)]
    checked = [_checked(edit, shown) for edit in meant]
    notes = sorted((value for value in checked if isinstance(value, Note)), key=_place)
    endings = sorted((value for value in checked if isinstance(value, Ending)), key=_place)
    return Checked(notes, endings, sum(value is None for value in checked))


def _place(value: Note | Ending) -> tuple[int, int]:
    return value.evidence.interaction_id, value.evidence.start


def _is_news(edit: Edit, shown: Shown) -> bool:
    """False for a turn that was read before, which a model may note again."""
    turn = shown.transcript.turns.get(edit.turn)
    return turn is None or turn.is_new


def _wanted(edit: Edit, shown: Shown) -> bool:
    """Whether a note of its kind was asked for; an ending is of the kind of what it ends."""
    return edit.op in (Op.END, Op.FORGET) or _kind(edit, shown) in shown.extractors


def _kind(edit: Edit, shown: Shown) -> Kind:
    """A rule is a lesson whatever the model calls it, and a memory is updated by one of its own kind."""
    known = shown.known.get(edit.id)
    if edit.op is Op.UPDATE and known is not None:
        return memory_ref(known).kind
    lesson = edit.kind is EditKind.LESSON or edit.category is Category.RULE
    return Kind.USER_PLAYBOOK if lesson else Kind.PROFILE


def memory_ref(memory: Memory) -> MemoryRef:
    return MemoryRef(Kind.PROFILE if isinstance(memory, Profile) else Kind.USER_PLAYBOOK, str(memory.id))


def _checked(edit: Edit, shown: Shown) -> Note | Ending | None:
    turn = shown.transcript.turns.get(edit.turn)
    place = None if turn is None else evidence(edit.quote, turn)
    if turn is None or place is None:
        return None
    if edit.op in (Op.END, Op.FORGET):
        return _ending(edit, turn, place, shown) if turn.by_user else None
    return _note(edit, turn, place, shown)


# --- what is noted -------------------------------------------------------------------------------------------------

# What an agent's turn can establish; who the user is and what they want is only for the user to say.
_ESTABLISHED = frozenset({Category.FACT, Category.EVENT, Category.PLAN, Category.RECIPE})
# What can be part of every prompt.
_STANDING = frozenset({Category.IDENTITY, Category.PREFERENCE, Category.RULE})
_OF_LESSONS = frozenset({Category.RULE, Category.PREFERENCE, Category.RECIPE})


def _note(edit: Edit, turn: Turn, place: Evidence, shown: Shown) -> Note | None:
    kind = _kind(edit, shown)
    if not (turn.by_user or turn.expert_text or turn.tools_used or edit.category in _ESTABLISHED):
        return None
    extractor = shown.extractors[kind]
    lesson = _lesson(edit, turn, shown) if kind is Kind.USER_PLAYBOOK else Lesson(_clean(edit.content))
    if not _usable(lesson):
        return None
    valid_from, valid_until = _period(edit, turn)
    category = _category(edit, kind)
    expires = _expiry(category, valid_until, turn, place)
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
        ttl=_time_to_live(expires, turn),
        expires_at=expires,
        confidence=BY_USER if turn.by_user else BY_AGENT,
        tags=_tags(edit.tags, extractor),
        features={_clean(each.name)[:64]: _clean(each.value) for each in edit.features if each.name.strip()},
    )


def _category(edit: Edit, kind: Kind) -> Category:
    if kind is Kind.USER_PLAYBOOK:
        return edit.category if edit.category in _OF_LESSONS else Category.RULE
    return edit.category


def _lesson(edit: Edit, turn: Turn, shown: Shown) -> Lesson:
    content = _clean(edit.content)
    pitfall = _pitfall(_clean(edit.pitfall), content, turn, shown)
    blocked = None if edit.blocking_issue == "none" else {"kind": edit.blocking_issue, "details": content}
    return Lesson(content, _clean(edit.trigger) or None, _clean(edit.rationale) or None, pitfall, blocked)


def _pitfall(pitfall: str, content: str, turn: Turn, shown: Shown) -> str | None:
    """What the agent did wrong: never the instruction again, and nothing where no agent has acted."""
    wrong, right = (" ".join(re.findall(r"\w+", text.casefold())) for text in (pitfall, content))
    acted = any(not each.by_user and each.id <= turn.id for each in shown.transcript.turns.values())
    return pitfall if wrong and acted and wrong not in right and right not in wrong else None


def _updated(edit: Edit, lesson: Lesson, turn: Turn, shown: Shown) -> MemoryRef | None:
    """The memory whose place the note takes. Only the user's words replace, and only what they are about."""
    known = shown.known.get(edit.id) if edit.op is Op.UPDATE and turn.by_user else None
    if known is None or not names(searchable(known)) & names(lesson.searchable):
        return None
    return memory_ref(known)


# --- what ends -----------------------------------------------------------------------------------------------------

_EVERYTHING = later(
    r"\b(?:everything|all|alles|todo|toda|tudo|tout|toutes?|tutto|всё|все|كل)\b|全部|所有|一切|すべて|全て|모두|모든|सब",
    re.IGNORECASE,
)


def _ending(edit: Edit, turn: Turn, place: Evidence, shown: Shown) -> Ending | None:
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
    cause = Cause.FORGET if edit.op is Op.FORGET else Cause.MODEL
    since = _day(edit.valid_until) or turn.at
    return Ending(place, turn.request_id, cause, target, ends=memory_ref(known), since=since)


def _names_it(edit: Edit, known: Memory, turn: Turn, place: Evidence, shown: Shown) -> bool:
    """A wish to forget names what it ends, in its own words or in the turn before; another ending restates it."""
    named = names(searchable(known))
    if edit.op is Op.END:
        return bool(named & names(f"{edit.content} {place.text}"))
    quoted = names(place.text)
    if named & quoted:
        return True
    before = [each.text for each in shown.transcript.turns.values() if each.id < turn.id][-2:]
    return len(quoted) <= POINTS and bool(named & names(" ".join(before)))


# --- what is believed ----------------------------------------------------------------------------------------------

# Words addressed to the reader of a memory rather than said about its subject.
_INJECTION = later(
    r"\b(?:ignore|disregard|forget|override)\b[^.]{0,40}\b(?:previous|prior|above|earlier|all|system|other)\b[^.]{0,30}"
    r"\b(?:instructions?|prompts?|rules?|messages?)\b|\bsystem prompt\b|\byou are now\b|"
    r"\b(?:ignor\w+|vergiss|vergessen|oubli\w+|olvid\w+|esque\w+)\b[^.]{0,40}"
    r"\b(?:anweisungen|vorgaben|instructions|consignes|instrucciones|instruções|istruzioni)\b|"
    r"(?:忽略|无视|忘记|無視)[^。]{0,20}(?:指令|指示|规则|ルール)|"
    r"<\|?/?(?:system|im_start|im_end)\b",
    re.IGNORECASE,
)
# Characters that hide, reorder or control text.
_UNSEEN = later(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def _clean(text: str) -> str:
    """One line, no hidden characters, no secret."""
    return redact(" ".join(_UNSEEN.sub(" ", text).split()))[:MOST_CHARACTERS]


def _usable(lesson: Lesson) -> bool:
    texts = (lesson.content, lesson.trigger or "", lesson.pitfall or "", lesson.rationale or "")
    return bool(lesson.content) and not any(_INJECTION.search(text) or "[redacted" in text for text in texts)


def _tags(tags: Sequence[str], extractor: Extractor) -> tuple[str, ...]:
    """Only where the org has said how to tag."""
    clean = (_clean(tag).lower()[:64] for tag in tags)
    return tuple(dict.fromkeys(tag for tag in clean if tag))[:MOST_TAGS] if extractor.tagging else ()


# --- when it holds -------------------------------------------------------------------------------------------------

_DATE = later(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_YEARS = range(1900, 2201)
# Past events and plans stay true: their end is no reason to end the memory.
_NEVER_OVER = frozenset({Category.EVENT, Category.PLAN})
# Words that state an end ("until Friday", "this week"): a date that the model made up ends nothing.
_LIMIT = later(
    r"\b(?:until|till?|through|by|to|for|during|this|bis|für|diese\w?|während|hasta|al|durante|est[ea]|por|jusqu\w*|au|"
    r"pendant|cette|ce|até|ao|fino|quest[ao]|до|на)\b|まで|間|今週|今月|今年|到|为止|之前|本周|这周|本月|까지|동안",
    re.IGNORECASE,
)


def _period(edit: Edit, turn: Turn) -> tuple[Millis | None, Millis | None]:
    """None for an end before the start, and for the turn's own day, which small models write for want of a date."""
    start, end = _day(edit.valid_from), _day(edit.valid_until, end=True)
    if end and turn.at <= end < turn.at + DAY_MS:
        return None, None
    return (start, None) if start and end and end < start else (start, end)


def _day(text: str, *, end: bool = False) -> Millis | None:
    """The first or the last millisecond (UTC) of a day, month or year; None for what is no date."""
    match = _DATE.fullmatch(text.strip())
    if match is None or int(match[1]) not in _YEARS:
        return None
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    try:
        start = datetime(year, month, day, tzinfo=UTC)
        if end:
            start = _next(start, match[2], match[3])
    except ValueError:
        return None
    return Millis(int(start.timestamp() * 1000) - (1 if end else 0))


def _next(start: datetime, month: str | None, day: str | None) -> datetime:
    """The start of the day, month or year after."""
    if day:
        return datetime.fromtimestamp(start.timestamp() + DAY_MS / 1000, UTC)
    if month and start.month < 12:
        return start.replace(month=start.month + 1)
    return start.replace(year=start.year + 1, month=1)


def _expiry(category: Category, valid_until: Millis | None, turn: Turn, place: Evidence) -> Millis | None:
    """Its stated end, where that is still to come when it is said."""
    stated = category not in _NEVER_OVER and _LIMIT.search(place.text)
    return valid_until if stated and valid_until and valid_until > turn.at else None


def _time_to_live(expires: Millis | None, turn: Turn) -> TimeToLive:
    """The shortest of the wire's terms that reaches the end."""
    if expires is None:
        return TimeToLive.INFINITY
    return next(term for term in TimeToLive if term.expires(turn.at) >= expires)
