"""What the user asks of the agent, as a command: 'could you stop using tabs' → 'Do not use tabs.'."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.learn.rules import verbs
from acumen.learn.rules.framing import unasked
from acumen.learn.rules.voice import FIRST, for_agent, phrase, sentence
from acumen.learn.rules.words import Word

Words = Sequence[Word]

_SITUATIONS = frozenset("when whenever if before after while once unless everytime".split())
_LEADING = _SITUATIONS | frozenset("for in on during with at".split())
_RECURRING = (("every", "time"), ("each", "time"), ("any", "time"), ("next", "time"))
_NOT_YET = frozenset("stop quit avoid cease".split())
_RULES = frozenset("always never only".split())
_POLICY = frozenset("always never only do no use require".split())
_OPENS_COMMAND = frozenset("always never do use only instead not keep stop".split())
# A situation in front is recognised by its comma within so many words.
MOST_LEADING = 14


class Command(Struct, frozen=True):
    """A clause to obey. `words` begin with its verb where it has one."""

    words: tuple[Word, ...]
    opening: tuple[str, ...] = ()  # always, never, do not …
    forbids: bool = False

    @property
    def verb(self) -> str:
        return self.words[0].low if self.words and verbs.is_base(self.words[0].low) else ""

    @property
    def text(self) -> str:
        return phrase([*self.opening, *for_agent(_contrasted(self.words))])

    @property
    def act(self) -> str:
        """The clause as the name of an act, or as it stands."""
        named = for_agent(self.words)
        return phrase([verbs.gerund(self.verb), *named[1:]]) if self.verb else phrase(named)


class Instruction(Struct, frozen=True):
    """One or two commands in a situation, and why."""

    commands: tuple[Command, ...]
    situation: str = ""
    leading: bool = False  # the situation stood in front and is not part of the commands
    reason: tuple[Word, ...] = ()

    @property
    def text(self) -> str:
        """What to do comes before what to avoid."""
        ordered = (
            sorted(self.commands, key=lambda command: command.forbids) if len(self.commands) == 2 else self.commands
        )
        said = "; ".join(
            command.text if not place else _lower_first(command.text) for place, command in enumerate(ordered)
        )
        return sentence([said, _lower_first(self.situation)] if self.leading and self.situation else [said])

    @property
    def avoided(self) -> Command | None:
        return next((command for command in self.commands if command.forbids), None)

    @property
    def wanted(self) -> Command | None:
        return next((command for command in self.commands if not command.forbids), None)


def instruction(kept: Words) -> Instruction:
    """The words of a sentence, its frames gone, as an instruction; what is no command keeps its words."""
    ends = len(kept) - (bool(kept) and kept[-1].low in (".", "!", "?"))
    front, said = _leading_situation(_contrast_last(list(kept[:ends])))
    said = _complained(said)
    said, reason = _without_reason(said)
    said, forbids = unasked(said)
    clauses = _two(_regretted(said))
    commands = tuple(_command(clause, forbids=forbids and not place) for place, clause in enumerate(clauses))
    situation = _situation(front) if front else _trailing_situation(commands[0].words)
    return Instruction(tuple(_in_situation(command) for command in commands), situation, bool(front), tuple(reason))


def _complained(said: list[Word]) -> list[Word]:
    """'You keep using tabs instead of spaces' → 'use spaces instead of tabs'; 'pytest, not unittest' → 'use …'."""
    lows = [word.low for word in said]
    if lows[:2] == ["you", "keep"] and len(said) > 3 and verbs.is_gerund(lows[2]):
        act = [replace(said[2], text=verbs.base(lows[2]) or lows[2], low=verbs.base(lows[2]) or lows[2])]
        if "instead" in lows and lows.index("instead") + 2 < len(said):
            place = lows.index("instead")
            return [*act, *said[place + 2 :], *said[place : place + 2], *said[3:place]]
        return [replace(said[0], text="do", low="do"), replace(said[1], text="not", low="not"), *act, *said[3:]]
    if "," in lows[1:3] and lows[lows.index(",") + 1 : lows.index(",") + 2] == ["not"] and not verbs.is_base(lows[0]):
        return [Word("use", "use", said[0].start, said[0].start), *_uncapped(said)] if len(said) <= 6 else said
    return said


def _regretted(said: list[Word]) -> list[Word]:
    """Of 'you should have asked me' what stands after 'should': 'ask me'."""
    if len(said) > 1 and said[0].low == "have" and verbs.is_past(said[1].low):
        act = verbs.base(said[1].low) or said[1].low
        return [replace(said[1], text=act, low=act), *said[2:]]
    return said


def _uncapped(said: list[Word]) -> list[Word]:
    return [replace(said[0], text=said[0].text if said[0].text[1:2].isupper() else said[0].low), *said[1:]]


def _contrast_last(said: list[Word]) -> list[Word]:
    """'Instead of yarn, use pnpm' → 'use pnpm instead of yarn'."""
    comma = next((n for n, word in enumerate(said) if word.low == ","), 0)
    if comma > 2 and [word.low for word in said[:2]] in (["instead", "of"], ["rather", "than"]):
        kept = [word for word in said[comma + 1 :] if word.low not in (".", "!")]
        return [*kept, said[0], said[1], *said[2:comma]]
    return said


# --- where it holds


def _leading_situation(said: list[Word]) -> tuple[list[Word], list[Word]]:
    """'When you write tests, use pytest' → the first four words, and the rest."""
    lows = [word.low for word in said]
    if not said or not (lows[0] in _LEADING or tuple(lows[:2]) in _RECURRING or lows[:2] == ["as", "soon"]):
        return [], said
    comma = next((n for n, low in enumerate(lows[:MOST_LEADING]) if low in (",", ":") and n > 1), None)
    if comma is None or comma + 2 > len(said):
        return [], said
    return said[:comma], said[comma + 1 :]


def _situation(front: Sequence[Word]) -> str:
    """'when you write tests' → 'When writing tests'; 'if a customer asks' stays."""
    lows = [word.low for word in front]
    text = phrase(_you_as_gerund(front, 2)) if tuple(lows[:2]) in _RECURRING else phrase(_you_as_gerund(front, 1))
    if tuple(lows[:2]) in _RECURRING:
        text = f"when{text[len(front[0].text) + len(front[1].text) + 1 :]}"
    return text[:1].upper() + text[1:]


def _you_as_gerund(said: Sequence[Word], place: int) -> list[str]:
    """'you write' at `place` becomes 'writing'."""
    if len(said) > place + 1 and said[place].low == "you" and verbs.is_base(said[place + 1].low):
        named = for_agent(said)
        marker = ["when"] if said[0].low == "if" else named[:place]
        return [*marker, verbs.gerund(said[place + 1].low), *named[place + 2 :]]
    return for_agent(said)


def _in_situation(command: Command) -> Command:
    """'run the tests before you commit' → '… before committing'."""
    said = list(command.words)
    for place in range(1, len(said) - 2):
        if said[place].low in _SITUATIONS and said[place + 1].low == "you" and verbs.is_base(said[place + 2].low):
            gerund = verbs.gerund(said[place + 2].low)
            said[place + 1 : place + 3] = [replace(said[place + 2], text=gerund, low=gerund)]
            return replace(command, words=tuple(said))
    return command


def _trailing_situation(said: Sequence[Word]) -> str:
    """'at once' is no situation, 'once it is done' is."""
    begins = (n for n in range(2, len(said) - 1) if said[n].low in _SITUATIONS and not said[n].opaque)
    place = next((n for n in begins if (said[n - 1].low, said[n].low) != ("at", "once")), None)
    return _situation(said[place:]) if place is not None else ""


def _without_reason(said: list[Word]) -> tuple[list[Word], list[Word]]:
    place = next((n for n in range(3, len(said) - 2) if said[n].low == "because" or _because(said, n)), None)
    return (said, []) if place is None else (said[:place], said[place + 1 :])


def _because(said: Sequence[Word], place: int) -> bool:
    """'use tabs, cause they align', not 'find the cause'."""
    return said[place].low == "cause" and said[place + 1].low in ("i", "we", "it", "they", "he", "she", "the", "my")


# --- what to do


def _two(said: list[Word]) -> list[list[Word]]:
    """'never use var, use const' are two commands, of which one forbids."""
    for place in range(2, len(said) - 1):
        if said[place].low in (",", ";", "and", "but", "-", "–", "—") and _opens(said[place + 1 :]):
            first, second = said[:place], said[place + 1 :]
            if first[-1].is_mark:
                first = first[:-1]
            if _negates(first) != _negates(second):
                return [first, second]
    return [said]


def _opens(said: Sequence[Word]) -> bool:
    first = said[0].low
    if first in ("always", "never", "only"):
        return len(said) > 1 and bool(verbs.base(said[1].low))
    return len(said) > 1 and (
        first in _OPENS_COMMAND - {"not"} or (first in FIRST and said[1].low in ("always", "never", "use"))
    )


def _negates(said: Sequence[Word]) -> bool:
    return bool({"not", "never", "no", "stop", "avoid"} & {word.low for word in said[:4]})


def _command(clause: Sequence[Word], *, forbids: bool) -> Command:
    said = list(clause)
    if len(said) > 2 and said[0].low in FIRST and said[1].low in (_POLICY if said[0].low == "we" else _RULES):
        said = said[1:]
    opening: list[str] = []
    denied = forbids
    while len(said) > 1:
        low, after = said[0].low, said[1].low
        if low in ("always", "never", "only") or (low == "ever" and denied):
            opening, denied = ([low], denied or low == "never") if low != "ever" else (opening, denied)
            said = said[1:]
        elif low == "do" and after in ("not", "never") and len(said) > 2:
            opening, denied, said = ["never"] if after == "never" else [], True, said[3 if said[2].is_mark else 2 :]
        elif low == "not" and (verbs.is_base(after) or verbs.is_gerund(after)):
            denied, said = True, said[1:]
        elif low == "no" and after == "longer" and len(said) > 2:
            denied, said = True, said[2:]
        elif low in _NOT_YET and verbs.is_gerund(after):
            denied, said = True, said[1:]
        else:
            break
    if denied and opening != ["never"]:
        opening = ["do not", *opening]
    return Command(tuple(_based(said, denied=denied)), tuple(opening), denied)


def _based(said: list[Word], *, denied: bool) -> list[Word]:
    """'stop using tabs' forbids to use them."""
    base = verbs.base(said[0].low) if said and denied else None
    if base and base != said[0].low and verbs.is_gerund(said[0].low):
        return [replace(said[0], text=base, low=base), *said[1:]]
    if said and said[0].text.istitle() and said[0].low in verbs.BASE_FORMS:
        return [replace(said[0], text=said[0].low), *said[1:]]
    return said


def _contrasted(said: Sequence[Word]) -> list[Word]:
    """'use pnpm instead of yarn' → 'use pnpm, not yarn'."""
    kept = list(said)
    for place in range(1, len(kept) - 2):
        if (kept[place].low, kept[place + 1].low) in (("instead", "of"), ("rather", "than")):
            spot = kept[place]
            return [
                *kept[:place],
                replace(spot, text=",", low=","),
                replace(spot, text="not", low="not"),
                *kept[place + 2 :],
            ]
    return kept


def _lower_first(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]
