"""What the user said, in the third person: 'I live in Berlin' → 'User lives in Berlin.'."""

from collections.abc import Iterable, Sequence

from acumen.learn.rules import verbs
from acumen.learn.rules.words import Word, joined
from acumen.model.patterns import later

Words = Sequence[Word]

FIRST = frozenset("i we".split())
OWN = frozenset("my our".split())
ADVERBS = frozenset(
    "always never usually often sometimes rarely seldom only just also still already currently now mostly "
    "mainly really "
    "generally normally typically strictly simply actually recently finally probably definitely ever even first "
    "no longer "
    "not too both all kind sort of almost nearly hardly long soon tend regularly primarily".split()
) - {"kind", "sort", "of", "tend", "long", "no", "not"}
_TONE = frozenset(
    "just simply literally honestly basically actually really definitely please now also all finally".split()
)
_AUXILIARY = frozenset("am are is was were have has had do does did".split()) | verbs.MODALS
# How the speaker is called where the user is the subject, and elsewhere.
_THEIRS = dict(
    pair.split("=")
    for pair in (
        "i=they,me=them,my=their,mine=theirs,myself=themselves,we=they,us=them,our=their,ours=theirs,"
        "ourselves=themselves,you=the agent,your=the agent's,yours=the agent's"
    ).split(",")
)
_USERS = dict.fromkeys("i me myself we us ourselves".split(), "the user") | dict.fromkeys(
    "my mine our ours".split(), "the user's"
)
_AGREED = {"have": "has", "am": "is"}
_DANGLING = frozenset("and but so or then , ; : - – — too also please though".split())
_GROUPS = frozenset("team company startup group agency firm shop nonprofit family couple practice business".split())
# "Not a fan of mushrooms": said of oneself, without a subject.
_OF_SELF = later(r"(?:not )?(?:an? )?(?:(?:big|huge|great) )?(?:fan of|allergic to|based in)\b")
# After a joint, a verb before one of these goes on with the same subject.
_NO_VERB = frozenset(
    "on in at for with from by as to of and or but the a an not no ever who which that here there".split()
)
_GOES_ON = frozenset(
    "a an the my our this that in on at to for with from as by into about it them only no not always never".split()
)


def fact(kept: Words) -> str:
    """The clause as a fact about the user; what is not said of the user keeps its words."""
    said = _paired(list(kept))
    if not said:
        return ""
    first = said[0].low
    lead = 1 if first in ADVERBS and len(said) > 1 and said[1].low in FIRST else 0
    if said[lead].low in FIRST and len(said) > lead + 1:
        return sentence(
            ["User", *(word.low for word in said[:lead] if word.low not in _TONE), *_predicate(said[lead:])]
        )
    if first in OWN and len(said) > 1:
        return sentence(["User's", *_theirs(said[1:])])
    if _OF_SELF.match(" ".join(word.low for word in said)):
        return sentence(["User is", *_theirs(said)])
    if drops_subject(said):
        return sentence(["User", said[0].low, *_theirs(said[1:])])
    return sentence(for_agent(said))


def _paired(said: list[Word]) -> list[Word]:
    """'My husband and I' are we; 'my name is Ann and I am 34' are two things."""
    place = next((n for n in range(2, min(6, len(said))) if said[n].low == "i" and said[n - 1].low == "and"), None)
    if place and said[0].low in OWN and not any(word.low in _AUXILIARY for word in said[:place]):
        return [Word("we", "we", said[0].start, said[0].end), *said[place + 1 :]]
    return said


def drops_subject(said: Words) -> bool:
    """'Just turned 40', 'moved to Oslo': said of oneself."""
    if not said:
        return False
    verb = said[1] if said[0].low in ADVERBS and len(said) > 1 else said[0]
    return (
        verbs.is_past(verb.low)
        and verb.low not in ("left", "used", "based", "set", "read", "given", "been")
        and len(said) > 2
        and not any(verbs.is_third(word.low) or word.low in _AUXILIARY for word in said[1:4])
    )


def _is_adverb(word: str) -> bool:
    """'Mostly' is one, 'fly' is not."""
    return word in ADVERBS or (word.endswith("ly") and word not in verbs.BASE_FORMS)


def _predicate(said: Words) -> list[str]:
    """All after 'I': the first verb agrees with 'User', and so do those joined to it."""
    result, place = [], 1
    while place < len(said) - 1 and (_is_adverb(said[place].low) or said[place].low in ("no", "longer")):
        if said[place].low not in _TONE:
            result.append(said[place].low)
        place += 1
    verb = said[place]
    result.append(agreeing(verb))
    rest = said[place + 1 :]
    grouped = verb.low in ("am", "are") and said[0].low == "we" and any(word.low in _GROUPS for word in rest[:4])
    while rest and rest[0].low in _TONE and len(rest) > 1:
        rest = rest[1:]
    present = verbs.is_base(verb.low) and verb.low not in _AUXILIARY | {"need", "want"}
    return [*result, *(["part", "of"] if grouped else []), *_theirs(rest, present=present)]


def agreeing(word: Word) -> str:
    """A finite verb as it stands after 'User'."""
    low = word.low
    if low in ("am", "are", "be"):
        return "is"
    if low in ("were", "was"):
        return "was"
    if low in _NO_VERB or low == "quit":
        return word.text
    if (
        low in verbs.MODALS
        or verbs.is_past(low)
        or verbs.is_third(low)
        or (low.endswith(("ed", "ing")) and not verbs.is_base(low))
        or not low.isalpha()
    ):
        return word.text if not low.isalpha() else low
    return verbs.third_person(low)


def _theirs(rest: Words, *, present: bool = False) -> list[str]:
    """Words of the speaker about themselves; verbs that go on with the same subject agree."""
    said: list[str] = []
    for place, word in enumerate(rest):
        before = rest[place - 1].low if place else ""
        after = rest[place + 1].low if place + 1 < len(rest) else ""
        if present and word.low == "," and after in ("always", "never", "only", "usually") and place + 2 < len(rest):
            said.append("and")
        elif present and _is_second_verb(rest, place, before, after):
            said.append(verbs.third_person(word.low))
        elif before in ("and", "but") and word.low in _AGREED and after not in FIRST:
            said.append(_AGREED[word.low])
        elif before == "by" and word.low in ("myself", "ourselves"):
            said[-1] = "alone"
        elif before in FIRST and word.low in ("am", "was"):
            said.append({"am": "are", "was": "were"}[word.low])
        else:
            said.append(word.text if word.opaque else _THEIRS.get(word.low, word.text))
    return said


def _is_second_verb(rest: Words, place: int, before: str, after: str) -> bool:
    if before in ADVERBS and place > 1:
        joint = rest[place - 2].low
        return joint in ("and", "but", "or", ",") and verbs.is_base(rest[place].low) and bool(after)
    return before in ("and", "but", "or") and verbs.is_base(rest[place].low) and after in _GOES_ON


def for_agent(words: Words) -> list[str]:
    """Words to the agent: the speaker becomes 'the user', and verbs after it agree."""
    said: list[str] = []
    for place, word in enumerate(words):
        back = place - 2 if place > 1 and words[place - 1].low in ADVERBS else place - 1
        after_speaker = back >= 0 and words[back].low in FIRST
        if word.opaque:
            said.append(word.text)
        elif after_speaker and (verbs.is_base(word.low) or word.low in ("am", "are", "have", "do")):
            said.append(agreeing(word))
        else:
            said.append(_USERS.get(word.low, word.text))
    return said


def phrase(parts: Iterable[str]) -> str:
    """Words as running text, without joints that dangle at its ends."""
    listed = list(parts)
    while listed and (listed[-1].lower() in _DANGLING or not any(map(str.isalnum, listed[-1]))):
        if listed[-1] in (")", "%", "*") or listed[-1].startswith(("`", '"')):
            break
        listed.pop()
    while listed and listed[0].lower() in _DANGLING:
        listed.pop(0)
    text = joined([Word(part, part.lower(), 0, 0) for part in listed])
    return text.replace("can not ", "cannot ")


def sentence(parts: Iterable[str]) -> str:
    """A capital at the start, a full stop at the end."""
    text = phrase(parts)
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")


def plain(words: Words) -> str:
    return phrase(word.text for word in words)
