"""Requests to forget: whether one is made, and what it names."""

from collections.abc import Sequence

from acumen.learn.rules import keys, voice
from acumen.learn.rules.cues import FILLERS, Surface
from acumen.learn.rules.words import Word
from acumen.model.patterns import later

# The content of a wish to forget all that is known, and of one that means what was said just before.
EVERYTHING = "Everything about the user."
LAST = "What the user said last."

# "Don't forget to …" is a reminder, "I forgot" a report.
_NO_WISH = later(
    r"\b(?:do not|never|i|we|you|always|might|will|would|did|to|not) (?:ever |always |sometimes |often |just |"
    r"keep )?forg[eo]t"
    r"|\bforget (?:it|to)\b(?! all)"
)
_TOLD_TO = later(r"(?:you (?:can|should|to|may)|want to|want you to|like to|please) (?:just |please )?forget(?! to\b)")
# "That rule about invoices, you can forget it."
_NAMED_FIRST = later(r"\b(?:thing|rule|bit|part|stuff|note|info\w*)\b.{3,80}\bforget (?:it|that)\b")
# Plain enough to need no second opinion.
_PLAIN = later(
    r"\b(?:forget|unlearn|disregard|scrap|scratch) (?:about |all |everything |that |what |my |our |i |"
    r"the (?!\w+ ?[,.]))"
    r"|\b(?:delete|erase|remove|wipe|clear|purge|drop|strike|throw away)\b.*\b(?:memory|memories|you (?:know|"
    r"remember|have|stored)|i (?:said|told))\b"
    r"|\b(?:do not|stop|no need to|not want you to|not need to) (?:keep|store|save|remember|remembering|storing|"
    r"retain)\w* (?:my|our|that|what|the)\b"
)
# "Get rid of my wife's name", "I don't want my weight in there".
_OWN = later(
    r"\b(?:drop|delete|remove|erase|wipe|forget|rid of|gone|kept|keep|stored?|strike|in there|on file)\b.*"
    r"\b(?:my|our|about|info|name|in there)\b"
    r"|\b(?:my|our|about|info)\b.*\b(?:gone|deleted|removed|erased|kept|stored|in there|on file|must go|has to go)\b"
)
# "Please wipe it from whatever memory you have" means what was named before.
_POINTS = later(
    r"\b(?:forget|wipe|delete|remove|erase|take|drop|throw|clear|strike|scratch|scrap|purge|lose|discard|ignore) "
    r"(?:it|that|this)\b(?! all)"
)
_EVERYTHING = later(r"\b(?:everything|all|anything|whatever|all of it)\b(?:.*\b(?:you|i|about me|of it|us)\b)?")
# Where the wish itself stands in its sentence.
_VERB = later(
    r"\b(?:forg[eo]t\w*|eras\w+|un-?\w+|wip\w+|purg\w+|strik\w+|scra\w+|disregard|delet\w+|remov\w+|drop|throw|lose|ignore|"
    r"clear|discard|take|withdraw|revoke|bin|nuke|kill|get|let|destroy|flush|scrub|retire|reset|keep|stor\w+|sav\w+|remember\w*|"
    r"must go|has to go|can go|stop|gone)\b"
)
_STORING = frozenset(
    "know remember learn store save tell say mention ask everything all anything whatever above it send give "
    "write share "
    "rule instruction preference fact note information info detail thing memory record profile old previous "
    "earlier delete "
    "forget erase remove drop scratch scrap throw away wipe strike disregard stuff part bit first system "
    "entirely purge "
    "completely altogether want you can may should just about back have got file second thought mind bin nuke "
    "kill lose "
    "whole entry reminder unsay unremember unlearn withdraw consent business storage database list destroy "
    "flush scrub retire "
    "discard reset clear rid take out let go gone track keep personal history slate clean permission request "
    "revoke stop "
    "think need get void wrong pretend kindly longer anywhere nothing stay statement private apply on off "
    "please not no "
    "paste data ignore follow any happen rather".split()
)


_DISCARDS = later(
    r"^(?:and |also |please |ok |so |then |, )*(?:drop|delete|remove|erase|bin|scrap|scratch|strike|lose|ditch) "
)


def discards(seen: Surface) -> bool:
    """'Drop Tomasz as contact': a task of the moment, unless it means something that is known."""
    return bool(_DISCARDS.match(seen.low))


def speaks_of_it(seen: Surface) -> bool:
    """Whether its own words are those of a wish to forget."""
    return any(pattern.search(seen.low) for pattern in (_PLAIN, _OWN, _DISCARDS))


def wished(seen: Surface, chance: float) -> str | None:
    """What is to be forgotten, in the user's words; None when nothing is. `chance` is what the classifier thinks."""
    low = seen.low
    if _NO_WISH.search(low) and not (_TOLD_TO.search(low) or _NAMED_FIRST.search(low)):
        return None
    if chance < (LEAST_PLAIN if _PLAIN.search(low) else LEAST_OWN if _OWN.search(low) else LEAST_CHANCE):
        return None
    clauses = _clauses(seen.heard)
    own = [clause for clause in clauses if _VERB.search(" ".join(word.low for word in clause))]
    for said in (own[:1], clauses):
        named = [word for clause in said for word in clause if _names(word)]
        if named:
            return voice.sentence(voice.for_agent(named))
    return EVERYTHING if _EVERYTHING.search(low) and not _POINTS.search(low) else LAST


# How likely the classifier must find it: where the words are plain, where they speak of taking away what is the user's,
# and elsewhere.
LEAST_PLAIN, LEAST_OWN, LEAST_CHANCE = 0.02, 0.3, 0.5


def _clauses(heard: Sequence[Word]) -> list[list[Word]]:
    """Cut at commas: a wish and its reason are told apart."""
    clauses: list[list[Word]] = [[]]
    for word in heard:
        if word.low in (",", ";", "-", "–", "—", "(", ")", ".", ":", "?"):
            clauses.append([])
        else:
            clauses[-1].append(word)
    return [clause for clause in clauses if clause]


def _names(word: Word) -> bool:
    return word.opaque or (
        bool(keys.telling([word])) and word.low not in FILLERS and keys.root(word.low) not in _STORING
    )
