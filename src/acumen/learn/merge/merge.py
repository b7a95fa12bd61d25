"""Notes compared with known memories. Nothing ends on a guess.

A memory ends only because the user corrects or retracts it and it is recognisable, because a declarative statement
gives the same single-valued attribute a new value, because a model said so with a quote, or because the user asks to
forget it. Anything weaker is a conflict: both stay current.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from acumen.learn.extract.attributes import replaced, retracted
from acumen.learn.extract.notes import Ending, Note, Reach
from acumen.learn.merge.changes import Added, Changes, Ended, InConflict, Restated, Target
from acumen.learn.merge.entries import Entry, known_entry, note_entry
from acumen.learn.merge.naming import named
from acumen.learn.merge.words import Words, words
from acumen.model.ids import InteractionId, Millis
from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Category, Cause, Status
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import AgentPlaybook
from acumen.storage.memories.lineage import Because

# Two sentences of which one denies what the other says share more than this much of their words.
DENIAL_OVERLAP = 0.59
# A memory that a retraction ends says little apart from what is retracted: at most this many other words.
OTHER_WORDS = 6


def merge(
    memories: Sequence[Memory],
    notes: Sequence[Note],
    endings: Sequence[Ending],
    said_at: Mapping[InteractionId, Millis],
) -> Changes:
    """What notes and endings change, in the order in which they were said."""
    run = _Merge([known_entry(memory) for memory in memories if not isinstance(memory, AgentPlaybook)], said_at)
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


class _Merge(Struct):
    entries: list[Entry]
    said_at: Mapping[InteractionId, Millis]
    added: list[Added] = field(default_factory=list)
    restated: list[Restated] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    conflicts: list[InConflict] = field(default_factory=list)

    def changes(self) -> Changes:
        """What was added and forgotten in the same pass is stored as forgotten, so that its words leave search."""
        ended = {change.target for change in self.ended}
        conflicts = tuple(change for change in self.conflicts if not {change.older, change.newer} & ended)
        return Changes(tuple(self.added), tuple(self.restated), tuple(self.ended), conflicts)

    # --- notes -----------------------------------------------------------------------------------------------------

    def learn(self, note: Note, place: int) -> None:
        entry = note_entry(note, self.said_at.get(note.evidence.interaction_id, Millis(0)))
        same = [earlier for earlier in self.entries if _same(entry, earlier)]
        if any(entry.turns <= earlier.turns for earlier in same):
            return  # read before, in any state
        again = next((earlier for earlier in same if earlier.live and earlier.kind is note.kind), None)
        if again is not None:
            because = _because(Cause.RESTATED, note, f'Said again: "{note.lesson.content}"')
            self.restated.append(Restated(again.target, note, because))
            again.turns |= entry.turns
            self._end_or_conflict(note, again)
            return
        entry.target = place
        self.added.append(Added(note, place, _because(Cause.LEARNED, note, "Stated by the user")))
        self.entries.append(entry)
        newer = next((known for known in self.entries if _newer(known, entry) and _replaces(known, entry)), None)
        if newer is not None:  # an older turn that arrived late: the newer value holds
            reason = f'"{newer.text}", said later, replaces "{note.lesson.content}"'
            self._end(entry, _because(Cause.NEW_VALUE, note, reason), newer.target)
            return
        self._end_or_conflict(note, entry)

    def _end_or_conflict(self, note: Note, entry: Entry) -> None:
        """What the note ends, and what it may disagree with."""
        for earlier in [earlier for earlier in self.entries if earlier.live and earlier.target != entry.target]:
            cause = _ending_cause(note, entry, earlier)
            if cause is not None:
                because = _because(cause, note, f'"{note.lesson.content}" replaces "{earlier.text}"')
                self._end(earlier, because, entry.target)
            elif _possible_contradiction(note, entry, earlier):
                text = f'"{note.lesson.content}" may disagree with "{earlier.text}"'
                self.conflicts.append(InConflict(earlier.target, entry.target, _because(Cause.CONFLICT, note, text)))

    # --- endings ---------------------------------------------------------------------------------------------------

    def end(self, ending: Ending) -> None:
        at = self.said_at.get(ending.evidence.interaction_id, Millis(0))
        entries = [entry for entry in self.entries if entry.status is not Status.FORGOTTEN and not entry.ended]
        entries = [entry for entry in entries if _may_mean(ending, entry) and not entry.said_at > at > 0]
        verb = "forget" if ending.cause is Cause.FORGET else "end"
        because = _because(ending.cause, ending, f'The user asked to {verb} it: "{ending.evidence.text}"')
        for entry in self._meant(ending, entries):
            self._end(entry, because, None)

    def _meant(self, ending: Ending, entries: list[Entry]) -> list[Entry]:
        if ending.ends is not None:
            return [entry for entry in entries if entry.target == ending.ends]
        if ending.reach is Reach.EVERYTHING:
            return entries
        if ending.reach is Reach.LAST:  # the newest turn before the ending that any memory rests on
            earlier = [turn for entry in self.entries for turn in entry.turns if turn < ending.evidence.interaction_id]
            return [entry for entry in entries if earlier and max(earlier) in entry.turns]
        return named(ending.target, entries)

    def _end(self, entry: Entry, because: Because, successor: Target | None) -> None:
        entry.ended = True
        self.ended.append(Ended(entry.target, because, successor))


def _may_mean(ending: Ending, entry: Entry) -> bool:
    """A rule that forbids something outlives the thing: "forget my card" leaves "never store my card" alone."""
    if ending.reach is not Reach.NAMED or ending.ends is not None:
        return True
    is_rule = entry.category is Category.RULE
    return is_rule if ending.only_rules else not (is_rule and entry.words.negated)


def _because(cause: Cause, item: Note | Ending, reason: str) -> Because:
    turn = item.evidence.interaction_id
    return Because(
        reason,
        request_id=item.request_id,
        sources=[str(turn)],
        cause=cause,
        quote=item.evidence.text,
        interaction_id=turn,
    )


def _same(entry: Entry, earlier: Entry) -> bool:
    """The same statement in the same words."""
    return entry.words.core == earlier.words.core


def _newer(entry: Entry, earlier: Entry) -> bool:
    return entry.live and entry.said_at > earlier.said_at and not entry.turns & earlier.turns


def _replaces(entry: Entry, earlier: Entry) -> bool:
    return _new_value(entry, earlier) and _says_the_rest(entry, earlier, words(f"{earlier.subject} {earlier.value}"))


def _says_the_rest(entry: Entry, earlier: Entry, old: Words) -> bool:
    """A memory of several things does not end because one of them has: the others would be lost.

    What it says is not so ("…, not us-east-1") is none of them.
    """
    others = earlier.words.stems - old.stems - words(replaced(earlier.text)).stems
    return not earlier.words.compound or others <= entry.words.stems


def _ending_cause(note: Note, entry: Entry, earlier: Entry) -> Cause | None:
    if note.updates is not None and earlier.target == note.updates:
        return Cause.REFINED if entry.words.contains(earlier.words) else Cause.MODEL
    if not earlier.can_end or entry.turns & earlier.turns or earlier.said_at > entry.said_at:
        return None
    if not note.certain:
        return None
    if entry.category is Category.RULE and earlier.category is not Category.RULE:
        return None  # "No, to Bergen, not Oslo" corrects what the agent did, not where the user lives
    if _replaces(entry, earlier):
        return Cause.NEW_VALUE
    if note.amends and _same_attribute(entry, earlier) and _differ(entry, earlier):
        return Cause.CORRECTION
    if note.corrects and _is_corrected(note, entry, earlier) and _says_the_rest(entry, earlier, words(note.corrects)):
        return Cause.RETRACTION if _retracts(note) else Cause.CORRECTION
    return None


def _new_value(entry: Entry, earlier: Entry) -> bool:
    single = not entry.subject.startswith("~") and entry.subject == earlier.subject
    return single and _same_attribute(entry, earlier) and _differ(entry, earlier)


def _same_attribute(entry: Entry, earlier: Entry) -> bool:
    subject, earlier_subject = (_OWNER.sub("my", compared.subject.removeprefix("~")) for compared in (entry, earlier))
    return bool(subject) and entry.kind is earlier.kind and subject == earlier_subject


_ARTICLE = lazy_regex(r"^(?:an?|the) ", re.IGNORECASE)
# "The deadline is Monday" may be about "my deadline".
_OWNER = lazy_regex(r"^(?:my|our|the)\b")


def _differ(entry: Entry, earlier: Entry) -> bool:
    """Two values of which neither is a part of the other: "Berlin's Kreuzberg district" is in Berlin."""
    value, earlier_value = words(entry.value), words(earlier.value)
    return not (value.has_phrase(earlier_value) or earlier_value.has_phrase(value))


def _retracts(note: Note) -> bool:
    return note.corrects == retracted(note.lesson.content)


def _is_corrected(note: Note, entry: Entry, earlier: Entry) -> bool:
    """Whether what the note says no longer holds is what the known memory says, of the same person or thing."""
    old = words(note.corrects)
    if not earlier.words.contains(old) or (earlier.words.negated and earlier.category is not Category.RULE):
        return False
    # "We moved our standup from 9:30" names what was moved.
    named = earlier.words.subject.startswith("my ") and old.has_phrase(words(earlier.words.subject))
    same = named or entry.words.about_same(earlier.words)
    if earlier.value and words(earlier.value).plain == old.plain:
        return same or entry.words.subject in ("", "it")
    if not same:
        return False
    if _retracts(note) and earlier.category is not Category.RULE:
        return earlier.words.has_phrase(old) or earlier.words.has_phrase(words(_ARTICLE.sub("", note.corrects)))
    others = earlier.words.stems - old.stems
    if _retracts(note):
        return len(others) <= OTHER_WORDS
    # Else what it says besides would be lost: "My daughter Leo is allergic to peanuts."
    return others <= entry.words.stems


def _possible_contradiction(note: Note, entry: Entry, earlier: Entry) -> bool:
    """Not enough to end either, enough to ask a person."""
    if entry.turns & earlier.turns:
        return False
    if _same_attribute(entry, earlier):
        return entry.value != earlier.value
    if not earlier.can_end:
        return False
    if note.corrects and earlier.value and words(earlier.value).plain == words(note.corrects).plain:
        return True
    if not (entry.words.about_same(earlier.words) or entry.words.subject == "it"):
        return False
    unclear = earlier.words.negated and earlier.category is not Category.RULE
    if note.corrects and not unclear and _mentions(earlier, words(note.corrects)):
        return True
    if _prefer_otherwise(entry, earlier):
        return True
    needed = 0 if note.amends else DENIAL_OVERLAP
    denies = entry.words.negated != earlier.words.negated
    return denies and entry.words.overlap(earlier.words) > needed


def _prefer_otherwise(entry: Entry, earlier: Entry) -> bool:
    """The same preference except for one word: "short answers", "long answers"."""
    both = entry.words.stems, earlier.words.stems
    one_word_differs = len(both[0] - both[1]) == 1 and len(both[1] - both[0]) == 1 and both[0] & both[1]
    return bool(one_word_differs) and all(" prefer " in each.plain for each in (entry.words, earlier.words))


def _mentions(earlier: Entry, old: Words) -> bool:
    """A single word may be there for another reason."""
    return earlier.words.has_phrase(old) or (len(old.stems) > 1 and earlier.words.contains(old))
