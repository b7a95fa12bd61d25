"""What a sentence asks of the agent beyond the moment: standing instructions, corrections, complaints and policies."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from acumen.learn.rules import keys
from acumen.learn.rules.aims import MANNER, TALK, one_piece, points
from acumen.learn.rules.clauses import Frame, Person
from acumen.learn.rules.commands import commanded, told
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.heard import Directive, Heard, Setting, split_contrast
from acumen.learn.rules.policies import WISHES, policy
from acumen.learn.rules.reading import Part, Reading
from acumen.learn.rules.rulings import fragment, ruled

_READERS: dict[Person, Callable[[Heard], Directive | None]] = {
    Person.COMMAND: commanded,
    Person.SECOND: told,
    Person.FIRST: policy,
    Person.NOUN: ruled,
    Person.MINE: ruled,
    Person.YOURS: ruled,
    Person.THIRD: ruled,
    Person.NONE: fragment,
}


def directives(reading: Reading, setting: Setting) -> list[Directive]:
    """The instructions in a sentence that outlive it."""
    found = []
    for place, part in enumerate(reading.parts):
        framed, spare = split_contrast(_resolved(part.frame, reading.parts[:place]))
        heard = Heard(part, reading, setting, framed, spare)
        if heard.has(Cue.OPINION) and framed.person not in (Person.SECOND, Person.YOURS):
            continue
        directive = _READERS[framed.person](heard)
        if directive and (_says_something(directive) or reading.situations):
            found.append(directive)
    return found


def corrects(reading: Reading, setting: Setting) -> bool:
    """Whether the sentence answers something the agent did wrong."""
    return setting.answered and (setting.denied or reading.has(Cue.DENIAL, Cue.REPEATED))


def orders_work(reading: Reading) -> bool:
    """Whether the sentence orders a piece of work now, rather than a manner of working."""
    if reading.has(Cue.STANDING):
        return False
    commands = [part.frame for part in reading.parts if part.frame.person is Person.COMMAND]
    ordered = [framed for framed in commands if framed.verb and not framed.negated and not framed.habitual]
    now = any(framed.verb not in MANNER | TALK or one_piece(framed) or points(framed) for framed in ordered)
    return now or reading.has(Cue.QUESTION)


def _resolved(framed: Frame, before: Sequence[Part]) -> Frame:
    """'My timezone is PST, use that for reminders' → use PST for reminders."""
    if (
        framed.person is not Person.COMMAND
        or not framed.rest
        or framed.rest[0].low not in ("that", "this", "it")
        or not before
    ):
        return framed
    before_it = before[-1].frame
    named = before_it.verb == "be" or before_it.verb in WISHES | {"stand", "bear"}
    if not named or before_it.person not in (Person.FIRST, Person.MINE) or not before_it.rest:
        return framed
    return replace(framed, rest=(*before_it.rest, *framed.rest[1:]))


def _says_something(directive: Directive) -> bool:
    framed = directive.frame
    said = keys.roots([*([framed.verb_word] if framed.verb_word else ()), *framed.rest, *framed.subject])
    return bool(said) and len(directive.text.split()) > 1
