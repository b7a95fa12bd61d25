"""What each sentence of the user is: by its words, by its meaning, and in the light of what stands around it."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from acumen.learn.rules import classifier, keys, lifetimes, verbs, voice
from acumen.learn.rules.classifier import LEARNABLE, Floats, last_words, likeliest
from acumen.learn.rules.confirming import CLEAR, FEW, confirms, is_yes
from acumen.learn.rules.cues import Surface
from acumen.learn.rules.forgetting import discards, speaks_of_it, wished
from acumen.learn.rules.framing import bare
from acumen.learn.rules.lessons import BROKE
from acumen.learn.rules.said import Said
from acumen.llm.reading import Spoken
from acumen.model.patterns import later
from acumen.model.profile import TimeToLive

# Turns in; for each sentence how likely each label is, or None where there is no model.
Read = Callable[[Sequence[Spoken]], Sequence[Floats] | None]

# Up to this chance by its words, a sentence is not read any further.
IDLE = 0.04
# From this chance on a sentence is worth keeping.
WORTH = 0.5
# The words alone decide where they are this sure; else the sentence's meaning is asked for.
SURE = 0.9
# With fewer digits an answer may mean a line or a choice.
LEAST_DIGITS = 4
# What points back at something must say so many things of it to stand alone.
TELLING_BACK = 2
# A short sentence that is not worth keeping by itself goes with the one before it from this chance on.
SHORT = 10
FAINT = 0.25
# How many times likelier a command is to be an instruction for good in certain surroundings.
STRONG, LIKELY, TWICE, HINTED = 12.0, 6.0, 2.5, 1.6


def judge(spoken: Sequence[list[Said]], read: Read | None) -> None:
    """By their words; turns that are not surely nothing by their tokens too, in one batch."""
    for one in (one for turn in spoken for one in turn):
        one.chances = classifier.by_words(one.seen)
    unsure = [turn for turn in spoken if any(map(_may_matter, turn))]
    chances = read([_as_read(turn) for turn in unsure]) if read and unsure else None
    for turn, rows in zip(unsure, chances or (), strict=False):
        for one, row in zip(turn, rows, strict=True):
            one.chances = classifier.read_as(row)


def _may_matter(one: Said) -> bool:
    return one.worth > IDLE or (bool(one.setting.asked) and len(one.seen.core) <= FEW)


def _as_read(turn: Sequence[Said]) -> Spoken:
    signs = np.stack([classifier.cues(one.seen) for one in turn])
    return Spoken(last_words(turn[0].setting.agent), [one.sentence.text for one in turn], signs)


def settled(turn: list[Said]) -> list[Said]:
    """What each sentence of a turn is, in the light of the others."""
    kept: list[Said] = []
    for place, one in enumerate(turn):
        before_it = turn[place - 1] if place else None
        one.ttl = lifetimes.lifetime(one.seen.low, one.turn.at, before_it.seen.low if before_it else "")
        if before_it is not None and _goes_on_after_a_wish(one, before_it):
            one.chances = _without(one.chances, "forget")
            _favour(one, LIKELY)  # it says what holds instead
        _weigh(one, before_it)
        if place + 1 < len(turn) and one.seen.has("starts_i", "starts_my") and _follows(turn[place + 1], one):
            _favour(one, LIKELY)
        one.label = _label(one)
    fault = next((one for one in turn if one.setting.agent and _finds_fault(one)), None)
    mended = [one for before, one in pairwise(turn) if _mends(one, before)]
    tasks = (one for one in turn if not one.label and likeliest(one.chances) == "task")
    task = next((one for one in tasks if one not in mended), None)
    before: Said | None = None
    for one in turn:
        one.fault = fault
        if task is not None and task is not one:
            one.setting = replace(one.setting, request=task.sentence.text)
        if before is not None and _generalises(one.seen):
            _make_standing(_last_command(turn, before) if _is_fragment(before.seen) else before, kept)
        elif before is not None and before.label == "forget" and _explains(one, before):
            continue
        elif kept and kept[-1] is before and _continues(one, before):
            before.more.append(one)
            continue
        elif one.label:
            one.context = before if before is not None and (before in kept or _is_context(before)) else None
            kept.append(one)
        before = one
    _carry_times(turn)
    reasons = [one.because for one in kept if one.because and one.because.label == "instruction"]
    return [
        one
        for place, one in enumerate(kept)
        if one not in reasons
        and (not _blames(one.seen) or len(kept) == 1)
        and not (any(after.label in _BIDDEN for after in kept[place + 1 :]) and _only_complains(one))
    ]


_TOLD = ("first_person", "contrast", "number", "always", "never", "only", "every", "must", "worked", "name_inside")
_BIDDEN = ("instruction", "correction", "preference")


def _only_complains(one: Said) -> bool:
    """'Nobody reads the history.', before what to do instead: why, not what."""
    seen = one.seen
    told = _commands(seen) or seen.has(*_TOLD)
    return one.label not in ("fact", "preference") and bool(one.setting.agent) and not told


def undecided(turn: Sequence[Said]) -> list[Said]:
    """What is not worth keeping by itself, but may be for what it replaces: 'They moved it. 26th.'."""
    taken = {id(other) for one in turn for other in (*one.more, one.because, one.context)}
    for before, one in pairwise(turn):
        if not one.label and _is_context(before):
            one.context = before
    return [one for one in turn if not one.label and id(one) not in taken and _may_replace(one) and _may_tell(one)]


def _may_replace(one: Said) -> bool:
    """'Make the eating out thing 220' is a task, unless that had a limit."""
    return one.worth > IDLE or one.seen.has("number")


def _may_tell(one: Said) -> bool:
    idle = one.seen.has("question", "thanks", "lol") or likeliest(one.chances) in ("question", "hypothetical")
    return not idle and not _TOLD_YOU.search(one.seen.low) and bool(keys.telling(bare(one.seen.heard)))


def _finds_fault(one: Said) -> bool:
    """'Way too long', 'reinstalling lost all my drafts', 'you used the old number'."""
    wrong = one.seen.has("wrong", "you_did", "starts_denial", "told_before") or "too" in one.seen.core[:3]
    return one.label == "correction" or bool((wrong and not one.seen.has("worked")) or BROKE.match(one.seen.low))


def _weigh(one: Said, before: Said | None) -> None:
    """What stands around a sentence makes it more likely to be meant for longer than now."""
    if (
        before is not None
        and _follows(one, before)
        and (
            before.label in ("fact", "preference", "correction")
            or (before.label and not _commands(before.seen))
            or BROKE.match(before.seen.low)
        )
    ):
        one.because = before
    if one.seen.has("noted") or (one.setting.asked and _is_number(one.seen)) or _introduces(one.seen):
        _favour(one, LIKELY)
    elif one.seen.has("number") and voice.drops_subject(bare(one.seen.heard)):
        _favour(one, LIKELY)  # "Just turned 40!"
    elif one.seen.has("until") and one.seen.has("starts_i", "starts_my") and one.ttl is not TimeToLive.INFINITY:
        _favour(one, TWICE)  # "I'll be travelling this week."
    elif _tells_of_self(one.seen) and not one.setting.agent and one.sentence.text == one.turn.text.strip():
        _favour(one, HINTED)  # "I smoke.", "Thursday is my day off.", and nothing else, out of nowhere
    factor = STRONG if _is_lasting(one.seen) else _likelier(one, before)
    if factor > 1:
        told = "fact" if one.seen.has("name") and one.seen.has("starts_i", "starts_my") else "instruction"
        chances = {**one.chances, told: one.chances[told] * factor}
        one.chances = {label: chance / sum(chances.values()) for label, chance in chances.items()}


def _tells_of_self(seen: Surface) -> bool:
    return seen.has("starts_i") or (not {"my", "our"}.isdisjoint(seen.core) and not _commands(seen))


def _introduces(seen: Surface) -> bool:
    """'Hi, I'm Yael': a name, or what is written like one."""
    named = [word for word in seen.heard if not word.is_mark][-1:]
    return seen.core[:2] == ("i", "am") and len(seen.core) == len(("i", "am", "name")) and named[0].text[:1].isupper()


def _is_number(seen: Surface) -> bool:
    """An answer that gives a number or a code of some length, and little else."""
    return len(seen.core) <= FEW and sum(map(str.isdigit, seen.text)) >= LEAST_DIGITS


def _likelier(one: Said, before: "Said | None") -> float:
    """How many times likelier a command is to last, by what was said before it."""
    if before is None or not before.label or not _commands(one.seen):
        return 1.0
    if before.ttl is not TimeToLive.INFINITY:
        return STRONG * HINTED
    return LIKELY if _follows(one, before) or before.label == "forget" else HINTED


def _bids(seen: Surface) -> bool:
    """Whether its first word commands."""
    first = [word.low for word in bare(seen.heard)[:2]]
    if len(first) < 2 or first[1] in _NO_BID:
        return False
    return verbs.is_base(first[0]) or first[0] in ("never", "always", "only", "do")


# "Never again will he", "always has been", "never mind".
_NO_BID = frozenset("again mind been has have had was were is are did does wanted".split())


def _commands(seen: Surface) -> bool:
    return _bids(seen) or seen.has("do_not", "asks_you", "please")


def _is_lasting(seen: Surface) -> bool:
    """A command that says by its form that it is meant for longer than now."""
    if _commands(seen) and (_WHILE.search(seen.low) or (seen.has("lasting") and not _OF_A_THING.search(seen.low))):
        return True
    if (_bids(seen) and seen.has("contrast")) or seen.core[:2] == ("instead", "of") or {"always", "never"} <= seen.cues:
        return True
    if (seen.has("asks_you", "please") and _STOP.search(seen.low)) or (seen.has("name") and len(seen.core) <= FEW):
        return True
    return (seen.has("no_noun") and seen.has("please", "ever")) or bool(_NO_MORE.match(seen.low))


def _favour(one: Said, factor: float) -> None:
    """Makes it so many times likelier that the sentence is worth keeping."""
    chances = {label: chance * (factor if label in LEARNABLE else 1) for label, chance in one.chances.items()}
    one.chances = {label: chance / sum(chances.values()) for label, chance in chances.items()}


def _follows(one: Said, before: Said) -> bool:
    """'…, so …'."""
    between = one.turn.text[before.sentence.end : one.sentence.start].strip(" ,.!").lower()
    return between == "so" or (not between and one.seen.low.startswith("so "))


_NO_MORE = later(r"(?:\w+ )?no more \w+\W*$")
_STOP = later(r"\b(?:stop|quit) \w+ing\b")
# What a thing is to do for good is asked for once: a function that always returns true.
_OF_A_THING = later(r"\b(?:that|which|who) (?:always|never)\b")
_WHILE = later(r"\b(?:until|till|as long as|for the (?:next|coming|rest))\b")


def _goes_on_after_a_wish(one: Said, before: Said) -> bool:
    """'Drop the red theme, we went with blue': the wish is not for the blue one, whatever surrounds it."""
    wish = before.label == "forget" or discards(before.seen)
    return wish and _in_one_sentence(before, one) and not speaks_of_it(one.seen)


def _without(chances: dict[str, float], label: str) -> dict[str, float]:
    rest = sum(chance for other, chance in chances.items() if other != label) or 1.0
    return {other: 0.0 if other == label else chance / rest for other, chance in chances.items()}


def _in_one_sentence(before: Said, one: Said) -> bool:
    return not re.search(r"[.!?\n]", one.turn.text[before.sentence.end : one.sentence.start])


def _explains(one: Said, before: Said) -> bool:
    """'Forget my address, company policy': why, unless it says what holds instead."""
    if one.seen.core[:1] and one.seen.core[0] in _POINTERS:
        return True
    return _in_one_sentence(before, one) and not one.seen.has("starts_verb", "now", "changed", "contrast", "always")


def _continues(one: Said, before: Said) -> bool:
    """'Three lines, not a novel.' after 'I'd like the handover short.'; 'Allowed it, works.' after 'It was denied.'."""
    if _mends(one, before):
        return True
    if "forget" in (one.label, before.label) or one.seen.has("question", "thanks") or likeliest(one.chances) == "task":
        return False
    if one.worth < FAINT or (one.ttl is not TimeToLive.INFINITY and one.ttl is not before.ttl):
        return False  # "Sigh.", "Bye now."
    if one.label == before.label == "fact" and one.worth >= CLEAR and len(keys.telling(one.seen.heard)) >= TELLING_BACK:
        return points_back(one.seen)
    if one.label == before.label == "confirmation" or _is_fragment(one.seen) or points_back(one.seen):
        return True
    if not one.label and one.worth >= WORTH and one.seen.core[:1] in (("it",), ("that",)):
        return True  # "It's for my new knee."
    return not one.label and len(one.seen.core) <= SHORT and one.seen.has("no_verb")


def _mends(one: Said, before: Said) -> bool:
    """'You keep using SELECT *. List the columns.': after blame, a command says what is right."""
    blamed = before.label == "correction" and before.seen.has("you_did") and bool(one.setting.agent)
    return blamed and one.label in ("", "instruction") and _commands(one.seen)


def points_back(seen: Surface) -> bool:
    """'She is the one who signs': about what was named before."""
    return seen.core[:1] != () and seen.core[0] in _POINTERS and not seen.has("first_person", "you")


POINTED = frozenset("it that this these those them there".split())
_POINTERS = frozenset("he she they it that this these those there nobody".split())


_BLAME = later(
    r"^(?:no |and |but )*you (?:used|did|forgot|missed|sent|wrote|put|gave|made|added|have|called|ran|assumed|picked)\b"
)


def _blames(seen: Surface) -> bool:
    """'You used the old number': what the agent did, beside what it should have done."""
    return bool(_BLAME.match(seen.low))


_GENERAL = later(
    r"^(?:and |so |also |please |btw )*(?:that|this|it|these|same|do (?:that|this|it|so))\b.{0,24}"
    r"\b(?:goes for|applies to|holds for|true for|rule|policy|always|every ?time|every|all of them|from now on|"
    r"all|any)\b"
    r"|^(?:and |please )?(?:always|ever|every time|every single time|from now on|no exceptions?|as always|"
    r"each time)\W*$"
    r"|^(?:and |ever ,? ?)?(?:in|for|on|with) (?:any|every|each|all)(?: \w+){0,3}\W*$"
)


def _generalises(seen: Surface) -> bool:
    """'That goes for all of them': what was said before it is meant for good."""
    return len(seen.core) <= 10 and bool(_GENERAL.search(seen.low))


def _last_command(turn: list[Said], before: Said) -> Said:
    """What 'ever, in any plan' is said of: the last command before it, if what stands between is a fragment."""
    earlier = turn[: turn.index(before) + 1]
    return next((said for said in reversed(earlier) if _commands(said.seen) or said.seen.has("no_noun")), before)


def _is_context(before: Said) -> bool:
    """What tells something without being worth keeping: 'My screen goes black. It is a …', 'A raise! 3,400 now.'."""
    idle = before.label or before.seen.has("question", "thanks", "lol", "starts_verb", "please")
    return not idle and bool(keys.telling(bare(before.seen.heard))) and likeliest(before.chances) != "task"


def _make_standing(before: Said, kept: list[Said]) -> None:
    before.ttl = TimeToLive.INFINITY
    if before.label in ("", "fact"):
        if not before.label:
            kept.append(before)
        before.label = "instruction"
        before.chances = {**before.chances, "instruction": max(before.chances["instruction"], 0.6)}


def _is_fragment(seen: Surface) -> bool:
    return len(seen.core) <= 6 and seen.has("no_verb") and not _IS.search(seen.low)


# "His chair's 68 centimetres", "Anna's in Rome".
_IS = later(r"\w's (?:\d|an? |the |in |at |on |with |off\b|out\b|gone\b|not\b|\w+ing\b)")


def _carry_times(turn: list[Said]) -> None:
    """'Until Friday' in one sentence bounds the requests after it, unless they say how long they hold."""
    bound = TimeToLive.INFINITY
    for one in turn:
        if one.ttl is not TimeToLive.INFINITY:
            bound = one.ttl
        elif one.label in ("instruction", "correction") and not one.seen.has("lasting"):
            one.ttl = bound


def _label(one: Said) -> str:
    """The kind of saying; cues that leave no doubt overrule the classifier."""
    chances, seen = one.chances, one.seen
    if wished(seen, chances["forget"]):
        return "forget"
    if is_yes(one):
        return "confirmation"
    if one.worth < _needed(one):
        return ""
    found = likeliest(chances, LEARNABLE[:5])
    if found == "confirmation" and not confirms(one):
        found = likeliest(chances, LEARNABLE[:4]) if one.worth - chances["confirmation"] >= FAINT else ""
    if found == "instruction" and BROKE.match(seen.low) and not _commands(seen):
        return ""  # "The app always crashes on startup."
    return "" if found != "confirmation" and _says_nothing(one) else found


def _needed(one: Said) -> float:
    """A few words without a verb must be an answer, or be very clear."""
    if one.seen.has("remember") or _DECIDES.match(one.seen.low) or _NO_MORE.match(one.seen.low):
        return FAINT
    if one.seen.has("no_verb") and len(one.seen.core) <= FEW and not one.setting.asked:
        return CLEAR if len(one.seen.core) > 2 else SURE
    return WORTH


def _says_nothing(one: Said) -> bool:
    """Too little to be remembered for."""
    if _TOLD_YOU.search(one.seen.low) or _ANNOUNCES.match(one.seen.low):
        return True
    if one.seen.core[:1] in (("he",), ("she",)) and one.worth < CLEAR:
        return True
    told = keys.telling(bare(one.seen.heard))
    points = points_back(one.seen) or (one.because is None and not POINTED.isdisjoint(one.seen.core))
    return len(told) < (TELLING_BACK if points and not _commands(one.seen) else 1)


# "I told you three times": what was told stands elsewhere.
_TOLD_YOU = later(
    r"^(?:and |but |no |, )*(?:i|we)(?: have| had)?(?: just| already| clearly| literally)* "
    r"(?:said|told|asked|mentioned)"
    r"(?: so| that| this| it| you| people| guys| earlier| before| already| now| a| minute| ago| once| twice| times| "
    r"three| ten| hundred| about| ,)*\W*$"
)
# "I'd like to ask about my invoice": what follows is what is meant.
_ANNOUNCES = later(r"^(?:\w+ ,? ?)?(?:i|we) (?:would like|want|wanted|need|was hoping) to (?:ask|know|find out)\b")
# "Bun it is", "99.9 it is after all".
_DECIDES = later(r"^(?:ok |so |then |well |, )*\S+(?: \S+){0,2} it is\b(?! \?)")
