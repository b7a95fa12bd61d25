"""Notes compared with known memories. Nothing ends on a guess.

A memory ends only because the user corrects or retracts it and it is recognisable, because a declarative statement
gives the same single-valued attribute a new value, because a model said so with a quote, or because the user asks to
forget it. Anything weaker is a conflict: both stay current.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from acumen.learn.extract.attributes import retracted
from acumen.learn.extract.notes import Ending, Note, Reach
from acumen.learn.merge.changes import Added, Changes, Ended, InConflict, Reason, Restated, Target
from acumen.learn.merge.words import Words, alike, words
from acumen.model.ids import InteractionId, Kind, MemoryRef, Millis
from acumen.model.memories.base import Category, Cause, Status
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook
from acumen.model.memories.profile import Profile

# Two sentences of which one denies what the other says share at least this much of their words.
DENIAL_OVERLAP = 0.6
# A memory that a correction replaces says little besides what is replaced: at most so many other words.
OTHER_WORDS = 6
_ENDING_CATEGORIES = frozenset({Category.FACT, Category.PREFERENCE, Category.RULE, Category.IDENTITY, Category.PLAN})


class Entry(Struct):
    """A known memory or an added note, as it is compared."""

    target: Target
    kind: Kind
    words: Words
    text: str
    subject: str
    value: str
    category: Category
    said_at: Millis
    turns: frozenset[InteractionId]
    status: Status = Status.CURRENT
    ended: bool = False

    @property
    def live(self) -> bool:
        return self.status in (Status.CURRENT, Status.PENDING) and not self.ended

    @property
    def ends(self) -> bool:
        """Events happened whatever is said later: they are never ended by a newer statement."""
        return self.live and self.category in _ENDING_CATEGORIES


def merge(
    known: Sequence[Memory], notes: Sequence[Note], endings: Sequence[Ending], said_at: Mapping[InteractionId, Millis]
) -> Changes:
    """What notes and endings change, in the order in which they were said."""
    run = _Merge([_known_entry(memory) for memory in known if not isinstance(memory, AgentPlaybook)], said_at)
    items: list[tuple[tuple[int, int], int, Note | Ending]] = [
        *((_position(note), place, note) for place, note in enumerate(notes)),
        *((_position(ending), -1, ending) for ending in endings),
    ]
    for _, place, item in sorted(items, key=lambda entry: entry[:2]):
        if isinstance(item, Note):
            run.learn(item, place)
        else:
            run.end(item)
    return run.changes()


def _position(item: Note | Ending) -> tuple[int, int]:
    return item.evidence.interaction_id, item.evidence.start


def _known_entry(memory: Memory) -> Entry:
    assert not isinstance(memory, AgentPlaybook)  # noqa: S101 - narrows the type
    is_fact = isinstance(memory, Profile)
    text = memory.content if isinstance(memory, Profile) else memory.lesson.content
    return Entry(
        MemoryRef(Kind.PROFILE if is_fact else Kind.USER_PLAYBOOK, str(memory.id)),
        Kind.PROFILE if is_fact else Kind.USER_PLAYBOOK,
        words(text),
        text,
        memory.subject,
        memory.value,
        memory.category,
        memory.said_at or memory.created_at,
        frozenset(memory.interaction_ids),
        memory.status,
    )


class _Merge(Struct):
    entries: list[Entry]
    said_at: Mapping[InteractionId, Millis]
    added: list[Added] = field(default_factory=list)
    restated: list[Restated] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    conflicts: list[InConflict] = field(default_factory=list)

    def changes(self) -> Changes:
        """Without what was added and forgotten in the same pass."""
        dropped = {change.target for change in self.ended if change.forgotten and isinstance(change.target, int)}
        ended = {change.target for change in self.ended}
        numbers = {place: number for number, place in enumerate(p for p in range(len(self.added)) if p not in dropped)}

        def renumbered(target: Target) -> Target:
            return numbers[target] if isinstance(target, int) else target

        return Changes(
            tuple(added for place, added in enumerate(self.added) if place in numbers),
            tuple(
                Restated(renumbered(change.target), change.note, change.reason)
                for change in self.restated
                if change.target not in dropped
            ),
            tuple(
                Ended(
                    renumbered(change.target),
                    change.reason,
                    None if change.successor is None or change.successor in dropped else renumbered(change.successor),
                )
                for change in self.ended
                if change.target not in dropped
            ),
            tuple(
                InConflict(renumbered(change.older), renumbered(change.newer), change.reason)
                for change in self.conflicts
                if not {change.older, change.newer} & ended
            ),
        )

    # --- notes -----------------------------------------------------------------------------------------------------

    def learn(self, note: Note, place: int) -> None:
        entry = self._entry(note)
        if any(entry.turns <= other.turns and _same(entry, other) for other in self.entries):
            return  # read before, whatever became of it
        same = next(
            (other for other in self.entries if other.live and other.kind is note.kind and _same(entry, other)), None
        )
        if same is not None:
            reason = _reason(Cause.RESTATED, note, f'Said again: "{note.lesson.content}"')
            self.restated.append(Restated(same.target, note, reason))
            same.turns |= entry.turns
            self._relate(note, same)
            return
        if any(self._is_outdated(entry, other) for other in self.entries):
            return  # an older turn that arrived late; the newer value holds, the turn stays searchable
        entry.target = len(self.added)
        self.added.append(Added(note, place, _reason(Cause.LEARNED, note, "Stated by the user")))
        self._relate(note, entry)
        self.entries.append(entry)

    def _relate(self, note: Note, entry: Entry) -> None:
        """What the note ends, and what it may disagree with."""
        others = [other for other in self.entries if other.live and other.target != entry.target]
        for other in others:
            cause = self._ending_cause(note, entry, other)
            if cause is not None:
                self._end(other, _reason(cause, note, f'"{note.lesson.content}" replaces "{other.text}"'), entry.target)
            elif _may_disagree(note, entry, other):
                text = f'"{note.lesson.content}" may disagree with "{other.text}"'
                self.conflicts.append(InConflict(other.target, entry.target, _reason(Cause.CONFLICT, note, text)))

    def _ending_cause(self, note: Note, entry: Entry, other: Entry) -> Cause | None:
        if note.updates is not None and other.target == note.updates:
            return Cause.REFINED if entry.words.contains(other.words) else Cause.MODEL
        if not other.ends or entry.turns & other.turns or other.said_at > entry.said_at:
            return None
        if _same_attribute(entry, other) and _differ(entry, other):
            return Cause.NEW_VALUE
        if note.corrects and _is_corrected(note, entry, other):
            return Cause.RETRACTION if _retracts(note) else Cause.CORRECTION
        return None

    def _is_outdated(self, entry: Entry, other: Entry) -> bool:
        newer = other.live and other.said_at > entry.said_at and not entry.turns & other.turns
        return newer and _same_attribute(entry, other) and _differ(entry, other)

    # --- endings ---------------------------------------------------------------------------------------------------

    def end(self, ending: Ending) -> None:
        others = [other for other in self.entries if other.status is not Status.FORGOTTEN and not other.ended]
        phrase = f" {words(ending.target).plain} "
        named = [other for other in others if phrase.strip() and phrase in f" {other.words.plain} "]
        for other in named if named and ending.reach is Reach.NAMED and ending.ends is None else others:
            if _is_meant(ending, other, self._last_turns(ending)):
                verb = "forget" if ending.cause is Cause.FORGET else "end"
                text = f'The user asked to {verb} it: "{ending.evidence.text}"'
                evidence = ending.evidence
                reason = Reason(ending.cause, text, evidence.text, evidence.interaction_id, ending.request_id)
                self._end(other, reason, None)

    def _last_turns(self, ending: Ending) -> frozenset[InteractionId]:
        """The newest turn before the ending that any memory rests on."""
        earlier = [turn for other in self.entries for turn in other.turns if turn < ending.evidence.interaction_id]
        return frozenset([max(earlier)]) if earlier else frozenset()

    def _end(self, other: Entry, reason: Reason, successor: Target | None) -> None:
        other.ended = True
        self.ended.append(Ended(other.target, reason, successor))

    def _entry(self, note: Note) -> Entry:
        turn = note.evidence.interaction_id
        content = note.lesson.content
        return Entry(
            -1,
            note.kind,
            words(content),
            content,
            note.subject,
            note.value,
            note.category,
            self.said_at.get(turn, Millis(0)),
            frozenset([turn]),
        )


def _reason(cause: Cause, note: Note, text: str) -> Reason:
    return Reason(cause, text, note.evidence.text, note.evidence.interaction_id, note.request_id)


def _same(entry: Entry, other: Entry) -> bool:
    """The same statement in the same words, but for small ones."""
    if entry.words.plain == other.words.plain:
        return True
    same_words = entry.words.stems == other.words.stems and len(entry.words.stems) > 1
    return same_words and entry.words.numbers == other.words.numbers and entry.words.negated == other.words.negated


def _same_attribute(entry: Entry, other: Entry) -> bool:
    single = bool(entry.subject) and not entry.subject.startswith("~")
    return single and entry.kind is other.kind and entry.subject == other.subject


def _differ(entry: Entry, other: Entry) -> bool:
    """Two values of which neither is a part of the other: "Berlin's Kreuzberg district" is in Berlin."""
    return entry.value not in other.value and other.value not in entry.value


def _retracts(note: Note) -> bool:
    return note.corrects == retracted(note.lesson.content)


def _is_corrected(note: Note, entry: Entry, other: Entry) -> bool:
    """Whether what the note says no longer holds is what the other says, recognisably."""
    old = words(note.corrects)
    if not other.words.contains(old) or (other.words.negated and other.category is not Category.RULE):
        return False
    if other.value and words(other.value).plain == old.plain:
        return True
    rest = {stem for stem in other.words.stems if not any(alike(stem, word) for word in old.stems)}
    if _retracts(note):  # "I no longer use Jenkins": the verb is part of what ended
        return len(rest) <= (OTHER_WORDS if len(old.stems) > 1 else OTHER_WORDS // 2)
    shared = {stem for stem in rest if any(alike(stem, word) for word in entry.words.stems)}
    return len(rest) <= OTHER_WORDS and (bool(shared) or not rest)


def _may_disagree(note: Note, entry: Entry, other: Entry) -> bool:
    """Not enough to end either, enough to ask a person."""
    if entry.turns & other.turns or entry.kind is not other.kind:
        return False
    if entry.subject and entry.subject == other.subject and entry.value != other.value:
        return True
    if note.corrects and other.ends and other.words.contains(words(note.corrects)) and not other.words.negated:
        return True
    denies = entry.words.negated != other.words.negated
    return denies and other.ends and entry.words.overlap(other.words) >= DENIAL_OVERLAP


def _is_meant(ending: Ending, other: Entry, last: frozenset[InteractionId]) -> bool:
    if ending.ends is not None:
        return other.target == ending.ends
    if ending.reach is Reach.EVERYTHING:
        return True
    if ending.reach is Reach.LAST:
        return bool(last & other.turns)
    target = words(ending.target)
    if not target.stems:
        return False
    return other.words.contains(target) or (bool(target.plain) and target.plain in other.words.plain)
