"""A clause as it was heard: with its sentence, its surroundings, and what it rejects."""

from dataclasses import dataclass, replace

from acumen.learn.rules import verbs, voice
from acumen.learn.rules.clauses import Frame
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.reading import Part, Reading
from acumen.learn.rules.words import Word


@dataclass(frozen=True, slots=True)
class Setting:
    """What surrounded a sentence: what the agent had just said, the request it served, the tool it used."""

    agent: str = ""
    request: str = ""
    tool: str = ""
    denied: bool = False  # the user has just said that the agent was wrong
    with_work: bool = False  # the same turn also orders a piece of work
    retort: bool = False  # the sentence is all that the user answered to what the agent did

    @property
    def answered(self) -> bool:
        return bool(self.agent)


@dataclass(frozen=True, slots=True)
class Directive:
    """One instruction found in a sentence, before it is put into its situation."""

    frame: Frame
    wanted: bool  # False: the act is to be avoided
    confidence: float
    text: str  # in imperative form
    spare: tuple[Word, ...] = ()  # the rejected half: "not spaces", "instead of tabs"


@dataclass(frozen=True, slots=True)
class Heard:
    """One clause with all that helps to understand it."""

    part: Part
    reading: Reading
    setting: Setting
    frame: Frame  # without the rejected half
    spare: tuple[Word, ...]

    @property
    def corrects(self) -> bool:
        """Whether the clause sets right what the agent just did."""
        said_so = self.setting.denied or bool(self.spare) or self.has(Cue.DENIAL, Cue.REPEATED)
        return self.setting.answered and said_so

    def has(self, *cues: Cue) -> bool:
        return self.reading.has(*cues)


def split_contrast(framed: Frame) -> tuple[Frame, tuple[Word, ...]]:
    """'use tabs, not spaces' → (use tabs, spaces); also instead of, rather than, over."""
    rest = framed.rest
    for place in range(1, len(rest)):
        taken = _contrast_at(framed, place)
        if taken:
            joint = rest[place - 1].is_mark or rest[place - 1].low in ("and", "but")
            spare = rest[place + taken :]
            return (
                (replace(framed, rest=rest[: place - 1] if joint else rest[:place]), spare) if spare else (framed, ())
            )
    return framed, ()


def _contrast_at(framed: Frame, place: int) -> int:
    """How many words at this place of the rest turn to its opposite; 0 when none do."""
    rest = framed.rest
    low, before = rest[place].low, rest[place - 1]
    after = rest[place + 1].low if place + 1 < len(rest) else ""
    if (low, after) in (("instead", "of"), ("rather", "than")):
        return 2
    if low in ("not", "never") and (before.is_mark or before.low in ("and", "but")):
        return 1
    if low == "over" and framed.verb in ("prefer", "favor", "favour", "choose", "pick", "like"):
        return 1
    return 1 if low == "to" and framed.verb == "prefer" and not verbs.is_base(after) else 0


def made(heard: Heard, framed: Frame, *, wanted: bool, confidence: float) -> Directive:
    said = voice.command(framed, positive=wanted)
    if heard.spare:
        said = [*said, ",", "not", *voice.for_agent(heard.spare)]
    return Directive(framed, wanted, confidence, voice.sentence(said), heard.spare)
