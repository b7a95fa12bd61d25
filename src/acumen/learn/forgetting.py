"""Requests to forget: what the user wants gone, in the words memories are written in."""

import re
from collections.abc import Sequence

from acumen.learn import keys, voice
from acumen.learn.clauses import Person, frame
from acumen.learn.reading import Reading
from acumen.learn.words import Word

# The content of a wish to forget all that is known.
EVERYTHING = "Everything about the user."

_FORGET = [
    re.compile(r"(?:^|\b(?:please|can you|could you|you can|you should|just|and|want you to|now|actually) )(?:forget|disregard|unlearn|un-learn)(?: about)? (?P<what>(?!it\b|to\b|this\b|about it).+)"),
    re.compile(r"\b(?:delete|erase|remove|wipe|clear|purge|drop)\b (?P<what>.+?) (?:from|in|out of) (?:(?:your|the|my) )?(?:memory|memories|notes?|records?|profile|database|files?)\b"),
    re.compile(r"\b(?:delete|erase|remove|wipe|clear|purge) (?P<what>(?:everything|anything|all|what) .*\b(?:know|remember|stored|saved|learned|have)\b.*)"),
    re.compile(r"\b(?:do not|stop|never|no need to|do not need to|should not|quit) (?:remember(?:ing)?|stor(?:e|ing)|keep(?:ing)? track of|retain(?:ing)?|keep(?:ing)? a record of|sav(?:e|ing)|hold(?:ing)? on to) (?P<what>(?:my|our|that i|that we|the fact|where i|who i|how i|what i).+)"),
    re.compile(r"\b(?:do not|stop) (?:keep|keeping|hold|record|recording) (?P<what>(?:my|our) (?:\w+ ){0,2}(?:history|data|information|info|details?|address|number|name|records?|email|location|birthday|card|documents?))\b"),
    re.compile(r"\b(?:scrap|scratch|strike|drop|cancel|ignore|undo) (?P<what>what i (?:said|told you|mentioned).*)"),
    re.compile(r"\bignore (?P<what>(?:what i (?:said|told you)|my (?:previous|earlier|old|last)|the (?:previous|earlier|old) (?:rule|instruction|preference)).*)"),
    re.compile(r"^(?P<what>.+?) (?:is|are|does|do) (?:no longer|not) (?:true|relevant|valid|apply|applies|applicable|the case|needed|current|accurate)(?: anymore| any more| any longer)?\W*$"),
]  # fmt: skip
_KEPT_AS = re.compile(
    r"^(?:that|about|everything|anything|all|what|the (?:fact|thing|part|bit|rule|instruction|preference|note|stuff|info|information)(?: that| about| on| where)?|i (?:said|told you|mentioned|asked)|my (?:previous|earlier|old|last)|"
    r"(?:ever )?(?:said|told you|mentioned|asked)|you (?:know|remember|learned|stored|saved|have)|(?:you have )?(?:stored|saved|learned)|earlier|before|about|of|on|regarding|concerning|(?:rule|instruction|preference|statement|request)(?: about| on| that| to)?)\s+"
)
_NOT_FORGETTING = re.compile(
    r"\b(?:do not|never|don't|not|i|we|you|always|might|will|would|did|to) (?:ever |always |sometimes |often |just |keep )?(?:forget|forgot)"
)


def wish(reading: Reading) -> str | None:
    """What the user asks to be forgotten, in the words memories are written in; None when nothing is."""
    low = reading.low
    if _NOT_FORGETTING.search(low) and not re.search(r"you (?:can|should|to|may) (?:just )?forget", low):
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
        lead = _KEPT_AS.match(low)
        if not lead:
            break
        said = said[lead[0].count(" ") :]
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
