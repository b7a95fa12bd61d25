"""Requests to remember and to forget, and corrections of one's own words ("sorry, I meant"), in English."""

import re

from msgspec import Struct

from acumen.learn.extract.attributes import named_attribute
from acumen.learn.extract.notes import Reach
from acumen.learn.extract.statements import content_words, declarative_part
from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Cause

# Words that carry meaning; "remember the milk" asks for nothing to be remembered.
MIN_REMEMBERED = 3


class Forget(Struct, frozen=True):
    target: str
    reach: Reach = Reach.NAMED
    cause: Cause = Cause.FORGET
    only_rules: bool = False  # "forget the rule about tabs" leaves facts about tabs alone


_REMEMBER = lazy_regex(
    r"(?:(?:please|pls|also|and|can you|could you|i want you to|i need you to|you should)[, ]+)*(?:(?:do not|"
    r"don't) forget|remember|keep in mind|note(?: down)?|make a note|take note|save|memori[sz]e)(?:(?: this)?:| that|"
    r" (?=(?:i|i'm|im|i've|ive|my|our|we)\b)|(?<=remember) (?=the\b))\s*(?=\S)"
)
_WISH = (
    r"(?:(?:please|pls|also|and|ok|okay|actually|just|now|hey|can you|could you|would you|will you|i want you to|"
    r"i'd like you to|you can|you may|you should)[, ]+)*"
)
_KNOWN = (
    r"(?:what(?:ever)?|everything|all(?: that)?|anything)(?: that)? (?:you(?:'ve| have)? (?:know|learned|learnt|"
    r"remember|stored|saved|have|got)|i(?:'ve| have)?(?: just)? (?:said|told you|mentioned))(?: (?:about|of|on)\b)?"
)
_ABOUT = r"(?: (?:about|of|on|regarding)\b)?"
_THING = (
    r"(?:(?:the |that |this )?(?:rule|instruction|preference|fact|note|memory|thing|part|bit)s? (?:about|on|that|with|"
    r"of) )"
)
_MINE = r"(?=i\b|we\b|my\b|our\b)"
_FORGET = lazy_regex(
    rf"{_WISH}(?:(?:forget|unlearn|disregard){_ABOUT} (?:{_KNOWN}|"
    rf"(?:all|everything)(?: of| about| on)? (?:{_MINE}|(?=(?:me|us|myself)\b))|{_MINE}|"
    rf"that (?=\w)|{_THING}|(?=(?:where|when|who|what|how \w+|which \w+) (?:i|i'm|we|my|our)\b(?! (?:said|"
    rf"told|just)))|everything{_ABOUT})|(?:delete|remove|erase|wipe|clear|purge|drop) (?:the (?:fact|note|"
    rf"memory) (?:that|about) |{_KNOWN}|everything about |(?P<named>.{{3,80}}?) from (?:your |the )?(?:memory|"
    rf"memories|notes|records)\b|"
    r"(?:all )?(?:of )?(?=my (?:data|memories|memory|profile)\b))|(?:stop remembering|(?:do not|don't) (?:remember|"
    r"store)) (?:that )?(?=my\b|our\b|i\b|what\b|anything\b))\s*"
)
_ALL = lazy_regex(r"(?:everything|all|anything|whatever|what)\b")
_OWN_DATA = lazy_regex(r"my (?:data|memories|memory|profile)\b[.! ]*$")
_COURTESY = lazy_regex(r"(?:,? (?:please|pls)| thanks| thank you| for now| now)?[ .!?,]*$")
_JUST_SAID = lazy_regex(r"(?:just )?(?:now|before|last|earlier)?[.! ]*$")


_AMENDS = lazy_regex(
    r"(?:(?:oh |oops |no |wait |sorry )*(?:sorry|oops|correction|my (?:mistake|bad)|i misspoke|wait,? no|(?:strike|"
    r"scratch) that)\s*[,.:;!–—-]+\s*(?:i meant? (?:to say )?(?:that )?)?|i meant [^,.;]{1,40}[,;] )(?=\S)"
)
_DECLARES = lazy_regex(
    r"(?!(?:do|does|did|can|could|would|will|should|is|are|was|were|what|how|where|when|who|"
    r"why)\b)(?:[\w'-]+ ){1,5}?(?:is|are|was|were|can|may|will|should|must|has|have|live|work|use)\b"
)


def amended(sentence: str) -> str:
    """The statement that follows "sorry, I meant" or "strike that"; empty when nothing, or a request, follows."""
    text = " ".join(sentence.split())
    match = _AMENDS.match(text.lower().replace("’", "'"))
    amendment = text[match.end() :] if match else ""
    return amendment if _DECLARES.match(amendment.lower()) and not amendment.endswith("?") else ""


def remember_opening(sentence: str) -> str:
    """The words with which the sentence asks to remember the rest of it; empty if it does not."""
    match = _REMEMBER.match(sentence.lower().replace("’", "'"))
    return sentence[: match.end()] if match else ""


def remembered(sentence: str) -> str | None:
    """What the user asks to remember, in their words."""
    text = " ".join(sentence.split())
    opening = remember_opening(text)
    statement = text[len(opening) :] if opening else ""
    if statement[:4].lower() == "the " and len(content_words(statement.lower())) < MIN_REMEMBERED:
        return None  # "Remember the milk"
    return statement if statement and not statement.endswith("?") and declarative_part(statement) else None


# "You don't have to cc Bob anymore": a rule that no longer holds, and no new one.
_LIFTED = lazy_regex(
    r"(?:you (?:(?:don't|do not) (?:have|need) to|can stop)(?=.* any ?more\b)|no need to(?=.* any ?more\b)|"
    r"you no longer (?:have|need) to) (?P<old>[^,.;!?]{3,80}?)(?: any ?more)?[.!]*$"
)


def forget(sentence: str) -> Forget | None:
    """A request to forget, with the words that name what; None also for "forget it" and "don't forget"."""
    text = " ".join(sentence.split()).replace("’", "'")
    lifted = _LIFTED.match(text.lower())
    if lifted and content_words(lifted["old"]):
        return Forget(lifted["old"], cause=Cause.RETRACTION, only_rules=True)
    match = _FORGET.match(text.lower())
    if match is None:
        return None
    target = _COURTESY.sub("", match["named"] or text[match.end() :])
    low, cue = target.lower(), match[0].lower()
    if re.search(r"\b(?:said|told you|mentioned)\s*$", cue) and _JUST_SAID.match(low):
        return Forget(target, Reach.LAST)
    if _OWN_DATA.match(low) or (_ALL.search(cue) and low in ("", "me", "us", "myself")):
        return Forget(target, Reach.EVERYTHING)
    named = content_words(low) or named_attribute(low)
    return Forget(target, only_rules=bool(re.search(r"\b(?:rule|instruction)s?\b", cue))) if named else None
