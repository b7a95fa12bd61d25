"""What must be, and what is asked for in a few words: laws, customs, and fragments like "no emojis"."""

from collections.abc import Sequence
from dataclasses import replace

from acumen.learn.rules import verbs, voice
from acumen.learn.rules.aims import OUTPUT, every_time, points
from acumen.learn.rules.clauses import DETERMINERS, FIRST, SECOND, Frame, Person
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.heard import Directive, Heard, made, split_contrast
from acumen.learn.rules.words import Word

# What these should do is an opinion about the world, not a rule for the agent.
_PUBLIC = frozenset(
    "people society government governments humans humanity folks parents men women companies kids "
    "politicians person they someone world".split()
)
_FORBIDDEN = frozenset("forbidden prohibited banned disallowed off-limits unacceptable".split())
_MANDATORY = frozenset("required mandatory compulsory obligatory non-negotiable essential".split())
_LAW = frozenset("allow permit require forbid ban prohibit".split())


def ruled(heard: Heard) -> Directive | None:
    """'refunds must be approved by a manager', 'comments are not allowed', 'your answers are too long'."""
    framed = heard.frame
    if heard.has(Cue.QUESTION, Cue.ONCE) or framed.past or framed.perfect or not framed.verb:
        return None
    if framed.verb == "be" and framed.rest:
        told = _told_to_be(heard)
        if told:
            return told
    troubled = heard.has(Cue.TROUBLE) and not (framed.habitual or heard.corrects)
    if troubled or _at_hand(heard) or not (_is_law(framed) or _is_custom(heard)):
        return None
    said = voice.for_agent(framed.words[: len(framed.words) - len(heard.part.frame.rest)]) + voice.for_agent(
        framed.rest
    )
    if heard.spare:
        said += [",", "not", *voice.for_agent(heard.spare)]
    opening = {word.low for word in framed.rest[:3]}
    wanted = not framed.negated and not opening & _FORBIDDEN and framed.verb not in ("forbid", "ban", "prohibit")
    return Directive(framed, wanted, 0.75, voice.sentence(said), heard.spare)


def _told_to_be(heard: Heard) -> Directive | None:
    """'your answers are too long', 'our convention is …', 'make sure your answers are detailed'."""
    framed = heard.frame
    if framed.person is Person.YOURS and "too" in framed.adverbs:
        said = [
            "avoid",
            *(word.text for word in framed.subject[1:]),
            "that",
            "are",
            "too",
            *voice.for_agent(framed.rest),
        ]
        return Directive(framed, False, 0.7, voice.sentence(said), heard.spare)
    if framed.person is Person.MINE and {word.low for word in framed.subject} & _CUSTOMS:
        said = ["follow", *voice.for_agent(framed.subject), ":", *voice.for_agent(framed.rest)]
        return Directive(framed, not framed.negated, 0.7, voice.sentence(said), heard.spare)
    if Cue.REMINDED in heard.part.cues and not framed.modal and not _at_hand(heard):
        said = ["make", "sure", *voice.for_agent(framed.words)]
        return Directive(framed, not framed.negated, 0.65, voice.sentence(said), heard.spare)
    return None


_CUSTOMS = frozenset(
    "convention policy rule standard practice guideline process procedure requirement protocol norm".split()
)


def _is_custom(heard: Heard) -> bool:
    """'tickets tagged P1 get an answer within 15 minutes, no exceptions': a kind of things, always or never so."""
    framed = heard.frame
    opens = framed.subject[0].low if framed.subject else ""
    kind = opens.endswith("s") or (heard.corrects and bool(heard.spare))
    if opens in ("this", "all", "every"):
        kind = len(framed.subject) > 1 and (opens != "this" or heard.setting.retort)
    of_kind = framed.person is Person.NOUN and kind and opens not in DETERMINERS - {"this", "all", "every"}
    of_kind = of_kind and not framed.passive
    always = heard.has(Cue.STANDING) or bool(framed.adverbs & {"always", "never", "only"})
    fixed = always or bool(heard.spare) or heard.setting.retort
    return (
        of_kind
        and fixed
        and not framed.progressive
        and not framed.modal
        and (framed.verb not in _MISHAPS or bool(heard.spare) or _is_class(framed))
        and (heard.corrects or not heard.has(Cue.TROUBLE))
    )


def _is_class(framed: Frame) -> bool:
    """'outages are P1': a thing of one kind is called a thing of another."""
    return framed.verb == "be" and bool(framed.rest) and framed.rest[0].text[:1].isupper()


_MISHAPS = frozenset(
    "crash fail break hang freeze stop die work load be have forget happen complain come lie look seem "
    "sound feel".split()
)


def _is_law(framed: Frame) -> bool:
    if (
        framed.verb in ("work", "seem", "happen", "take", "arrive")
        or len(framed.subject) > 7
        or {word.low for word in framed.subject[:2]} & _PUBLIC
    ):
        return False
    ruled = framed.modal in ("must", "should", "shall") or (framed.modal in ("can", "may") and framed.negated)
    decreed = (framed.verb in _LAW and framed.passive) or bool(
        {word.low for word in framed.rest[:3]} & (_FORBIDDEN | _MANDATORY)
    )
    needed = (
        framed.verb in ("need", "require")
        and framed.person is Person.NOUN
        and framed.rest[:1]
        and framed.rest[0].low != "to"
    )
    return ruled or decreed or bool(needed and framed.subject[0].low not in DETERMINERS)


def _at_hand(heard: Heard) -> bool:
    """Whether the rule is about one thing at hand rather than a kind of things."""
    opens = heard.frame.subject[0].low if heard.frame.subject else ""
    if opens in ("this", "that", "it", "these", "he", "she", "there", "they"):
        return not (heard.corrects and heard.spare)
    manner = (
        bool(heard.frame.rest)
        and heard.frame.verb == "be"
        and heard.frame.rest[0].low in ("in", "under", "within", "below")
    )
    lasting = heard.has(Cue.STANDING) or heard.frame.habitual or heard.corrects or manner or every_time(heard.frame)
    return opens == "the" and not lasting


# --- fragments: "no emojis", "shorter answers please", "tabs, not spaces"

_QUANTITY = frozenset("less fewer more shorter longer simpler only".split())
_NO_THINGS = frozenset(
    "problem problems worries thanks thank way idea need one longer doubt rush biggie matter luck clue "
    "offense offence question questions wonder hurry pressure help response reply answer info information "
    "thing difference change changes sense".split()
)


def fragment(heard: Heard) -> Directive | None:
    words = heard.frame.words
    for_good = heard.has(Cue.STANDING, Cue.REPEATED) or any(word.low == "always" for word in words)
    while words and (words[-1].is_mark or words[-1].low == "always"):
        words = words[:-1]
    if not words or heard.has(Cue.QUESTION) or len(words) > 14:
        return None
    if words[0].low == "no" and len(words) > 1:
        return _none_of(heard, words)
    framed, spare = split_contrast(Frame(Person.COMMAND, (), (), "use", None, words, words=words))
    heard = replace(heard, spare=spare)
    if not framed.rest or points(framed) or not (heard.setting.answered or heard.has(Cue.STANDING)):
        return None
    if framed.rest[0].low in _QUANTITY and any(word.low in OUTPUT for word in words):
        return made(heard, framed, wanted=True, confidence=0.6)
    named = (spare or for_good) and _is_name(framed.rest)
    return made(heard, framed, wanted=True, confidence=0.6) if named else None


def _none_of(heard: Heard, words: Sequence[Word]) -> Directive | None:
    taken = {"more": 2, "need": 3}.get(words[1].low, 1)
    rest = tuple(words[taken:]) if taken < 3 or (len(words) > 3 and words[2].low == "for") else ()
    if not rest or rest[0].low in _NO_THINGS | FIRST | SECOND | DETERMINERS:
        return None
    if heard.setting.with_work and not heard.has(Cue.STANDING, Cue.DENIAL):
        return None
    framed = Frame(Person.COMMAND, (), (), "use", None, rest, negated=True, words=tuple(words))
    return made(heard, framed, wanted=False, confidence=0.65)


def _is_name(words: Sequence[Word]) -> bool:
    """A few words that name a thing, with no verb among the first."""
    return len(words) <= 7 and not any(word.low in FIRST | SECOND for word in words) and not verbs.is_past(words[0].low)
