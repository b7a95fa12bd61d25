"""Requests to forget: what the user wants gone, in the words memories are written in."""

import re
from collections.abc import Sequence

from acumen.learn.rules import keys, voice
from acumen.learn.rules.clauses import Person, frame
from acumen.learn.rules.reading import Reading
from acumen.learn.rules.words import Word

# The content of a wish to forget all that is known.
EVERYTHING = "Everything about the user."

_MEMORY = r"(?:memory|memories|notes?|records?|profile|database|files?)"
_PRIVATE = (
    r"(?:history|data|information|info|details?|address|number|name|records?|email|location|birthday|card|documents?)"
)
_EARLIER = r"(?:previous|earlier|old|last)"
_WHO = r"(?:my|our|that i|that we|the fact|where i|who i|how i|what i)"
_KEEP = r"(?:(?:remember|retain)(?:ing)?|(?:stor|sav)(?:e|ing)|hold(?:ing)? on to|keep(?:ing)? (?:track|a record) of)"
_STALE = r"(?:true|relevant|valid|apply|applies|applicable|the case|needed|current|accurate)"
_ASKED = r"(?:^|\b(?:please|can you|could you|you can|you should|just|and|want you to|now|actually) )"
_DROP = r"\b(?:delete|erase|remove|wipe|clear|purge|drop)"
_FORGET = [
    re.compile(pattern)
    for pattern in (
        rf"\bnot (?:want|need) you to {_KEEP} (?P<what>.+)",
        rf"{_ASKED}(?:forget|disregard|unlearn)(?: about)? (?P<what>(?!it\b|to\b|this\b|about it).+)",
        rf"\b(?:erase|unlearn|purge) (?P<what>(?:my|our) (?:\w+ ){{0,2}}{_PRIVATE})\b",
        rf"{_DROP} (?P<what>.+?) (?:from|in|out of) (?:(?:your|the|my) )?{_MEMORY}\b",
        rf"{_DROP} (?P<what>(?:everything|anything|all|what) .*\b(?:know|remember|stored|saved|learned|have)\b.*)",
        rf"\b(?:do not|stop|never|no need to|do not need to|should not|quit) {_KEEP} (?P<what>{_WHO}.+)",
        rf"\b(?:do not|stop) (?:keep|keeping|hold|record|recording) (?P<what>(?:my|our) (?:\w+ ){{0,2}}{_PRIVATE})\b",
        r"\b(?:scrap|scratch|strike|drop|cancel|ignore|undo) (?P<what>what i (?:said|told you|mentioned).*)",
        rf"\bignore (?P<what>(?:my {_EARLIER}|the {_EARLIER} (?:rule|instruction|preference)).*)",
        rf"^(?P<what>.+?) (?:is|are|does|do) (?:no longer|not) {_STALE}(?: any ?more| any longer)?\W*$",
    )
]
_NAMES = r"(?:rule|instruction|preference|statement|request)"
_LEADS = re.compile(
    rf"^(?:that|about|everything|anything|all|what|my {_EARLIER} {_NAMES}(?: about| to)?|earlier|before|of|on|"
    r"the (?:fact|thing|part|bit|rule|instruction|preference|note|stuff|info|information)(?: that| about| on| where)?|"
    r"i (?:said|told you|mentioned|asked)|(?:ever )?(?:said|told you|mentioned|asked)|"
    r"(?:you have )?(?:stored|saved|learned)|"
    rf"you (?:know|remember|learned|stored|saved|have)|{_NAMES}(?: about| on| that| to)?)\s+"
)
# "Don't forget to …" is a reminder, "I forgot" a report.
_NO_WISH = re.compile(
    r"\b(?:do not|never|not|i|we|you|always|might|will|would|did|to) "
    r"(?:ever |always |sometimes |often |just |keep )?forg[eo]t"
)
_TOLD_TO = re.compile(r"you (?:can|should|to|may) (?:just )?forget")


def wish(reading: Reading) -> str | None:
    """What the user asks to be forgotten, in the words memories are written in; None when nothing is."""
    low = reading.low
    if _NO_WISH.search(low) and not _TOLD_TO.search(low):
        return None
    for pattern in _FORGET:
        found = pattern.search(low)
        if found:
            first = low.count(" ", 0, found.start("what"))
            return _what(reading.words[first : first + found["what"].count(" ") + 1])
    return None


def _what(said: Sequence[Word]) -> str | None:
    """The core of the wish, written as a memory would be; None when it points at nothing we could find."""
    everything = bool(said) and said[0].low in ("everything", "all", "anything", "whatever")
    for _ in range(4):
        low = " ".join(word.low for word in said) + " "
        lead = _LEADS.match(low)
        if not lead:
            break
        said = said[lead[0].count(" ") :]
    while said and (said[-1].is_mark or said[-1].low in ("anymore", "now", "longer", "any", "more")):
        said = said[:-1]
    wanted = set(keys.roots(said))
    if everything and not wanted - _STORING:
        return EVERYTHING
    if not wanted - _STORING:
        return None
    framed = frame(tuple(said))
    if framed.person in (Person.FIRST, Person.MINE) and framed.verb:
        return voice.fact(framed)
    return voice.sentence(voice.for_agent(said))


_STORING = frozenset(
    "know remember learn store save tell say mention ask everything all anything whatever above it".split()
)
