"""What is said to the agent: commands that are meant to last, and complaints about what it does."""

from dataclasses import replace

from acumen.learn.rules import keys, verbs
from acumen.learn.rules.aims import (
    COURTESY,
    LISTING,
    MANNER,
    TALK,
    WORK,
    definite,
    every_time,
    one_piece,
    points,
    recurs,
    universal,
)
from acumen.learn.rules.clauses import DETERMINERS, SECOND, Clause, Frame
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.heard import Directive, Heard, made


def commanded(heard: Heard) -> Directive | None:
    framed, wanted = heard.frame, not heard.frame.negated
    if (wanted and _asks_to_cease(framed)) or (framed.verb == "bother" and not wanted):
        framed, wanted = _ceased(framed), False
    elif framed.verb in TALK | {"let"} and not (heard.has(Cue.STANDING) or framed.habitual):
        return None
    if framed.verb in COURTESY or (not framed.rest and framed.verb in TALK | _BARE):
        return None
    confidence = _standing(heard, framed, wanted=wanted)
    if confidence is None:
        return None
    if framed.verb == "prefer":
        framed = replace(framed, verb="use")
    return made(heard, framed, wanted=wanted, confidence=confidence)


# Alone they only move the talk along.
_BARE = frozenset("stop quit do go try use continue start".split())


# Alone they only move the talk along.
_BARE = frozenset("stop quit do go try use continue start".split())


def _asks_to_cease(framed: Frame) -> bool:
    """'stop adding comments', 'avoid jargon'; 'stop the server' is an order of another kind."""
    if framed.verb in ("avoid", "refrain", "cease"):
        return True
    stops = framed.verb in ("stop", "quit") and bool(framed.rest)
    return stops and any(verbs.is_gerund(word.low) or word.low == "with" for word in framed.rest[:2])


def _standing(heard: Heard, framed: Frame, *, wanted: bool) -> float | None:
    """How sure we are that a command is meant to last; None when it is not."""
    idle = heard.has(Cue.QUESTION) and Cue.ASKED not in heard.part.cues and not heard.has(Cue.REPEATED)
    if heard.has(Cue.ONCE) or idle:
        return None
    if heard.has(Cue.STANDING) or framed.adverbs & {"always", "never", "ever"}:
        return 0.9
    if heard.has(Cue.ANYMORE) and not wanted:
        return 0.85
    once = heard.has(Cue.QUESTION) and framed.verb in WORK
    if any(_is_general(clause) for clause in heard.reading.situations) or (every_time(framed) and not once):
        return 0.8  # "it" may well be the thing of the situation
    if not framed.rest and any(recurs(clause) and clause.marker != "if" for clause in heard.reading.situations):
        return 0.7
    if points(framed):
        return None
    if not wanted:
        of_this_work = heard.setting.with_work and definite(framed) and not heard.corrects
        return None if of_this_work else 0.75
    return None if heard.has(Cue.QUESTION) else _lasting(heard, framed)


def _is_general(clause: Clause) -> bool:
    """'when you explain medical things', 'once a claim is overdue', 'if a customer …': of a kind, not of the moment."""
    said = [word.low for word in clause.words]
    of_agent = said[0] in SECOND and not {"the", "this", "that", "my"} & set(said)
    of_kind = said[0] in ("a", "an", "any", "someone", "anyone", "somebody") or verbs.is_gerund(said[0])
    return bool(clause.marker) and recurs(clause) and (of_agent or of_kind) and "the" not in said[1:4]


def _lasting(heard: Heard, framed: Frame) -> float | None:
    """The same for a plain wish: what else speaks for its lasting."""
    if any(recurs(clause) for clause in heard.reading.situations):
        return 0.8
    if heard.corrects and keys.roots(framed.rest):
        return 0.75
    if heard.spare:
        return 0.7
    if heard.setting.with_work:
        return None
    if universal(framed) and framed.verb not in LISTING:
        return 0.6
    return 0.6 if _is_wish(heard, framed) and not one_piece(framed) else None


def _is_wish(heard: Heard, framed: Frame) -> bool:
    """Asked as a way of working: by its wording, by its verb, or by an object that is no single thing."""
    asked_for = Cue.ASKED in heard.part.cues and framed.rest and framed.rest[0].low not in DETERMINERS - {"your", "all"}
    if heard.has(Cue.WISHED) or (heard.has(Cue.REMINDED) and not definite(framed)):
        return True
    return bool(asked_for and framed.rest[0].low not in ("me", "us", "to")) or _is_manner(heard, framed)


def _is_manner(heard: Heard, framed: Frame) -> bool:
    """'keep it short', 'write in prose'; after an answer also 'give weights in pounds'."""
    if framed.verb in MANNER or (framed.rest[:1] and framed.rest[0].low == "in"):
        return True
    if framed.rest and framed.rest[-1].low.endswith("ly") and framed.rest[0].low not in DETERMINERS | {"me", "us"}:
        return len(framed.rest) > 1  # "phrase things positively"
    told_in = any(word.low == "in" for word in framed.rest) and framed.rest[0].low not in DETERMINERS | {"me", "us"}
    return heard.setting.answered and told_in and framed.verb in ("give", "show", "express", "report", "state", "list")


def _ceased(framed: Frame) -> Frame:
    """'stop adding comments' → add comments; 'avoid jargon' → use jargon."""
    rest = framed.rest
    if rest and rest[0].low in ("from", "with", "to"):
        rest = rest[1:]
    while rest and rest[0].low in ("always", "ever", "constantly", "all"):
        rest = rest[1:]
    if rest and (verbs.is_gerund(rest[0].low) or (framed.verb == "bother" and verbs.is_base(rest[0].low))):
        return replace(
            framed, verb=verbs.base(rest[0].low) or framed.verb, verb_word=rest[0], rest=rest[1:], negated=True
        )
    return replace(framed, verb="use", verb_word=None, rest=rest, negated=True)


# --- said to the agent about itself

_FORGOT = frozenset("forget miss fail neglect skip ignore omit overlook".split())
_RULES = frozenset("must should shall meant".split())


def told(heard: Heard) -> Directive | None:
    """'you should …', 'you keep …', 'you forgot to …'."""
    framed = heard.frame
    if not framed.verb:
        return None
    forbidden = framed.modal in ("can", "may") and framed.negated and not framed.past
    spared = framed.modal in ("can", "may") and framed.verb in ("skip", "omit", "ignore", "leave", "drop", "assume")
    if framed.modal in _RULES and not framed.negated and _asks_to_cease(framed):
        return made(heard, _ceased(framed), wanted=False, confidence=0.8)
    if framed.modal in _RULES or forbidden or spared:
        return made(heard, framed, wanted=not framed.negated, confidence=0.8) if _is_rule(heard) else None
    return None if framed.modal else _complained(heard)


def _is_rule(heard: Heard) -> bool:
    """Whether 'you should …' is said for good: 'you should have …' is, 'you need to write a plan' is not."""
    framed = heard.frame
    if framed.perfect or framed.past:
        return True
    if heard.has(Cue.QUESTION, Cue.ONCE) or (points(framed) and not framed.habitual):
        return False
    for_good = framed.negated or framed.habitual or heard.has(Cue.STANDING) or bool(heard.reading.situations)
    return for_good or not (framed.verb in WORK and one_piece(framed))


def _complained(heard: Heard) -> Directive | None:
    """A complaint asks for the opposite of what it reports."""
    framed = heard.frame
    if framed.verb == "keep" and framed.rest and verbs.is_gerund(framed.rest[0].low):
        return _kept_doing(heard)
    if framed.verb in _FORGOT and framed.rest and not framed.negated:
        return _forgotten(heard)
    if points(framed) or (heard.has(Cue.QUESTION) and not framed.habitual):
        return None
    bare = replace(framed, adverbs=framed.adverbs - {"always", "never"})
    if Cue.HATED in heard.part.cues:
        return made(heard, bare, wanted=framed.negated, confidence=0.75)
    if framed.negated and framed.past and not framed.progressive and heard.setting.answered:
        return made(heard, bare, wanted=True, confidence=0.6)
    often = framed.adverbs & {"always", "never", "constantly", "repeatedly"}
    if often and not framed.past and framed.verb != "be":
        return made(heard, bare, wanted=framed.negated, confidence=0.7)
    return None


def _kept_doing(heard: Heard) -> Directive | None:
    """'you keep using tabs' → do not use tabs; with 'instead of spaces' → use spaces, not tabs."""
    framed = heard.frame
    doing = framed.rest[0]
    done = replace(
        framed,
        verb=verbs.base(doing.low) or "",
        verb_word=doing,
        rest=framed.rest[1:],
        negated=True,
        adverbs=frozenset(),
    )
    if heard.spare:
        turned = replace(done, rest=heard.spare, negated=False)
        return made(replace(heard, spare=done.rest), turned, wanted=True, confidence=0.8)
    return (
        None if done.verb in ("try", "get", "ask") and points(done) else made(heard, done, wanted=False, confidence=0.8)
    )


def _forgotten(heard: Heard) -> Directive | None:
    """'you forgot to run the tests' → run the tests; 'you missed the VAT' → include the VAT."""
    framed, rest = heard.frame, heard.frame.rest
    if rest[0].low == "to" and len(rest) > 1:
        turned = replace(
            framed, verb=verbs.base(rest[1].low) or rest[1].low, verb_word=rest[1], rest=rest[2:], past=False
        )
    elif rest[0].low in DETERMINERS - {"that", "this"} or verbs.base(rest[0].low) is None:
        turned = replace(framed, verb="include", rest=rest)
    else:
        return None
    if points(turned) or not (heard.setting.answered or framed.habitual):
        return None
    return made(heard, replace(turned, adverbs=frozenset()), wanted=True, confidence=0.7)
