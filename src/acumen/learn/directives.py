"""What a sentence asks of the agent beyond the moment: standing instructions, corrections, complaints and policies."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acumen.learn import keys, verbs, voice
from acumen.learn.clauses import DETERMINERS, FIRST, PREPOSITIONS, SECOND, Clause, Frame, Person
from acumen.learn.reading import Cue, Part, Reading
from acumen.learn.words import Word


@dataclass(frozen=True, slots=True)
class Setting:
    """What surrounded a sentence: what the agent had just said, the request it served, the tool it used."""

    agent: str = ""
    request: str = ""
    tool: str = ""
    denied: bool = False  # the user has just said that the agent was wrong
    with_work: bool = False  # the same turn also orders a piece of work

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
class _Heard:
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


def directives(reading: Reading, setting: Setting) -> list[Directive]:
    """The instructions in a sentence that outlive it."""
    found = []
    for place, part in enumerate(reading.parts):
        framed, spare = split_contrast(_resolved(part.frame, reading.parts[:place]))
        heard = _Heard(part, reading, setting, framed, spare)
        if heard.has(Cue.OPINION) and framed.person not in (Person.SECOND, Person.YOURS):
            continue
        directive = _READERS[framed.person](heard)
        if directive and _says_something(directive):
            found.append(directive)
    return found


def corrects(reading: Reading, setting: Setting) -> bool:
    """Whether the sentence answers something the agent did wrong."""
    return setting.answered and (setting.denied or reading.has(Cue.DENIAL, Cue.REPEATED))


def orders_work(reading: Reading) -> bool:
    """Whether the sentence orders a piece of work now, rather than a manner of working."""
    if reading.has(Cue.STANDING):
        return False
    commands = [part.frame for part in reading.parts if part.frame.person is Person.COMMAND]
    ordered = [framed for framed in commands if framed.verb and not framed.negated and not framed.habitual]
    now = any(framed.verb not in _MANNER | _TALK or _one_piece(framed) or points(framed) for framed in ordered)
    return now or reading.has(Cue.QUESTION)


def _resolved(framed: Frame, before: Sequence[Part]) -> Frame:
    """'My timezone is PST, use that for reminders' → use PST for reminders."""
    if (
        framed.person is not Person.COMMAND
        or not framed.rest
        or framed.rest[0].low not in ("that", "this", "it")
        or not before
    ):
        return framed
    told = before[-1].frame
    followed = len(framed.rest) > 1 and framed.rest[1].low in PREPOSITIONS
    if told.verb != "be" or told.person not in (Person.FIRST, Person.MINE) or not followed:
        return framed
    return replace(framed, rest=(*told.rest, *framed.rest[1:]))


def _says_something(directive: Directive) -> bool:
    framed = directive.frame
    said = keys.roots([*([framed.verb_word] if framed.verb_word else ()), *framed.rest, *framed.subject])
    return bool(said) and len(directive.text.split()) > 1


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


def _made(heard: _Heard, framed: Frame, *, wanted: bool, confidence: float) -> Directive:
    said = voice.command(framed, positive=wanted)
    if heard.spare:
        said = [*said, ",", "not", *voice.for_agent(heard.spare)]
    return Directive(framed, wanted, confidence, voice.sentence(said), heard.spare)


# --- what a command is about

_POINTING = frozenset("this that these those it here there them him her one ones following".split())
_ORDINALS = frozenset("first second third last next previous same other following current entire whole rest".split())
_NOW = frozenset("yet now today tonight tomorrow".split())
# Acts of talk and courtesy: asked for once, never a way of working.
_TALK = frozenset(
    "worry bother mind thank forgive excuse wait hurry guess imagine suppose forget hesitate panic laugh cry wish hope welcome tell see "
    "look listen hear know think".split()
)
_COURTESY = frozenset("mind hesitate worry panic".split())
# Verbs that set a manner of working rather than order a piece of work.
_MANNER = frozenset(
    "use avoid keep prefer answer reply respond speak address treat call stick default be refer format spell round cite quote limit "
    "follow assume stop quit skip respect maintain favor favour double-check include exclude mention prioritize adopt consider refrain "
    "sign leave omit drop apologize apologise".split()
)
_WORK = frozenset(
    "write make create build generate add fix deploy send show give list find get explain summarize translate open run check update "
    "change remove delete move rename help tell draft book order schedule plan calculate compute convert compare analyze review test "
    "complete present suggest".split()
)
# Work that is often asked for once over all of something.
_LISTING = frozenset("count print replace sort extract read clear close fetch return select ask".split()) | _WORK
# What an agent makes: wishes about these are wishes about its work.
OUTPUT = frozenset(
    "answer answers reply replies response responses message messages explanation explanations summary summaries email emails code "
    "comment comments tone style language format table tables list lists bullet bullets emoji emojis jargon markdown text output units "
    "wording sentence sentences paragraph paragraphs report reports example examples commit commits pr prs test tests name names "
    "variable variables function functions docstring docstrings invoice invoices introductions".split()
)


def points(framed: Frame) -> bool:
    """Whether the command is about one thing at hand: this, it, the second paragraph."""
    said = [word.low for word in framed.rest if not word.opaque]
    if not said:
        return framed.verb not in _MANNER
    return any(_pointing_at(said, place) for place in range(len(said))) or bool(_NOW & set(said))


def _pointing_at(said: list[str], place: int) -> bool:
    low, before = said[place], said[place - 1] if place else ""
    after = said[place + 1] if place + 1 < len(said) else ""
    if low in ("that", "those") and before and before not in PREPOSITIONS:
        return False  # relative: "files that are large"
    if low in ("it", "them", "there", "here") and place > (0 if low == "here" else 1):
        return False  # refers back within the clause; "here" after a thing means "with us"
    if (low in _ORDINALS and before in ("the", "that")) or low in ("previous", "earlier", "attached"):
        return True
    if low in ("above", "below"):
        return not after[:1].isdigit() and after[:1] not in "$€£"
    return low in _POINTING


def _definite(framed: Frame) -> bool:
    return any(word.low in ("the", "this", "that", "these") for word in framed.rest[:4]) and not any(
        word.low in OUTPUT for word in framed.rest
    )


def _one_piece(framed: Frame) -> bool:
    """'use a loop', 'include 3 more emails': one thing asked for once."""
    opening = [word.low for word in framed.rest[:2]]
    counted = any(low in ("another", "additional", "more", "extra") or low[:1].isdigit() for low in opening)
    if counted and framed.verb in ("include", "mention", "use", "cite"):
        return True
    return bool({"a", "an", "some"} & set(opening)) and framed.verb not in ("be", "call")


def _universal(framed: Frame) -> bool:
    """'log every change': about all things of a kind, so about those to come."""
    low = [word.low for word in framed.rest]
    pairs = list(itertools.pairwise(low))
    of_kind = any(
        one in ("every", "each", "any", "all") and other not in _POINTING | DETERMINERS | {"of"} for one, other in pairs
    )
    return of_kind and "the" not in low[:2]


_PASSING = frozenset("done ready chance finished possible minute now today tomorrow tonight this these it".split())


def recurs(clause: Clause) -> bool:
    """Whether a situation can come again: 'when you write tests' can, 'when you are done' cannot."""
    said = [word.low for word in clause.words]
    if _PASSING & set(said):
        return False
    if (
        clause.marker == "if"
        and said[0] in SECOND
        and said[1:2]
        and said[1] in ("can", "could", "want", "have", "like", "need", "see", "would")
    ):
        return False
    if not clause.marker:
        general = not {"the", "a", "an", "my"} & set(said[1:3])
        return said[0] in ("for", "on", "in", "with", "during", "at", "before", "after") and general
    return clause.marker not in ("in case", "while") or said[0] in SECOND


# --- commands


def _commanded(heard: _Heard) -> Directive | None:
    framed, wanted = heard.frame, not heard.frame.negated
    if (wanted and _asks_to_cease(framed)) or (framed.verb == "bother" and not wanted):
        framed, wanted = _ceased(framed), False
    if (framed.verb in _TALK | {"let"} and not (heard.has(Cue.STANDING) or framed.habitual)) or framed.verb in _COURTESY:
        return None
    if not framed.rest and framed.verb in _TALK | {"stop", "quit", "do", "go", "try", "use", "continue", "start"}:
        return None
    confidence = _standing(heard, framed, wanted=wanted)
    if confidence is None:
        return None
    if framed.verb == "prefer":
        framed = replace(framed, verb="use")
    return _made(heard, framed, wanted=wanted, confidence=confidence)


def _asks_to_cease(framed: Frame) -> bool:
    """'stop adding comments', 'avoid jargon'; 'stop the server' is an order of another kind."""
    if framed.verb in ("avoid", "refrain", "cease"):
        return True
    stops = framed.verb in ("stop", "quit") and bool(framed.rest)
    return stops and any(verbs.is_gerund(word.low) or word.low == "with" for word in framed.rest[:2])


def _standing(heard: _Heard, framed: Frame, *, wanted: bool) -> float | None:
    """How sure we are that a command is meant to last; None when it is not."""
    if (
        heard.has(Cue.ONCE)
        or (heard.has(Cue.QUESTION)
        and Cue.ASKED not in heard.part.cues
        and not heard.has(Cue.REPEATED))
    ):
        return None
    if heard.has(Cue.STANDING) or framed.adverbs & {"always", "never", "ever"}:
        return 0.9
    if heard.has(Cue.ANYMORE) and not wanted:
        return 0.85
    if points(framed):
        return None
    if not wanted:
        return 0.75
    return None if heard.has(Cue.QUESTION) else _lasting(heard, framed)


def _lasting(heard: _Heard, framed: Frame) -> float | None:
    """The same for a plain wish: what else speaks for its lasting?"""
    if any(recurs(clause) for clause in heard.reading.situations):
        return 0.8
    if heard.corrects and keys.roots(framed.rest):
        return 0.75
    if heard.spare:
        return 0.7
    if heard.setting.with_work:
        return None
    if _universal(framed) and framed.verb not in _LISTING:
        return 0.6
    if (heard.has(Cue.REMINDED) and not _definite(framed)) or (heard.has(Cue.WISHED) and not _one_piece(framed)):
        return 0.6
    manner = framed.verb in _MANNER or (framed.rest[:1] and framed.rest[0].low == "in")
    return 0.6 if manner and not _one_piece(framed) else None


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


def _told(heard: _Heard) -> Directive | None:
    """'you should …', 'you keep …', 'you forgot to …'."""
    framed = heard.frame
    if not framed.verb:
        return None
    forbidden = framed.modal in ("can", "may") and framed.negated and not framed.past
    if framed.modal in _RULES or forbidden:
        return _made(heard, framed, wanted=not framed.negated, confidence=0.8) if _is_rule(heard) else None
    return None if framed.modal else _complained(heard)


def _is_rule(heard: _Heard) -> bool:
    """Whether 'you should …' is said for good: 'you should have …' is, 'you need to write a plan' is not."""
    framed = heard.frame
    if framed.perfect or framed.past:
        return True
    if heard.has(Cue.QUESTION, Cue.ONCE) or (points(framed) and not framed.habitual):
        return False
    for_good = framed.negated or framed.habitual or heard.has(Cue.STANDING) or bool(heard.reading.situations)
    return for_good or not (framed.verb in _WORK and _one_piece(framed))


def _complained(heard: _Heard) -> Directive | None:
    """A complaint asks for the opposite of what it reports."""
    framed = heard.frame
    if framed.verb == "keep" and framed.rest and verbs.is_gerund(framed.rest[0].low):
        return _kept_doing(heard)
    if framed.verb in _FORGOT and framed.rest and not framed.negated:
        return _forgotten(heard)
    if points(framed) or (heard.has(Cue.QUESTION) and not framed.habitual):
        return None
    bare = replace(framed, adverbs=framed.adverbs - {"always", "never"})
    if framed.negated and framed.past and not framed.progressive and heard.setting.answered:
        return _made(heard, bare, wanted=True, confidence=0.6)
    often = framed.adverbs & {"always", "never", "constantly", "repeatedly"}
    if often and not framed.past and framed.verb != "be":
        return _made(heard, bare, wanted=framed.negated, confidence=0.7)
    return None


def _kept_doing(heard: _Heard) -> Directive | None:
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
        return _made(replace(heard, spare=done.rest), turned, wanted=True, confidence=0.8)
    return (
        None
        if done.verb in ("try", "get", "ask") and points(done)
        else _made(heard, done, wanted=False, confidence=0.8)
    )


def _forgotten(heard: _Heard) -> Directive | None:
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
    return _made(heard, replace(turned, adverbs=frozenset()), wanted=True, confidence=0.7)


# --- what the speaker always does, wants and likes

_NO_POLICIES = frozenset(
    "know think get feel see hear understand remember have be seem find forget believe hope lose struggle figure".split()
)
# What people do or leave for themselves; no rule for an agent.
_PRIVATE = frozenset(
    "eat drink live own drive smoke celebrate speak watch play sleep travel enjoy care mind agree work date attend belong".split()
)
_WISHES = frozenset("prefer like love hate dislike want need appreciate expect rather".split())


def _policy(heard: _Heard) -> Directive | None:
    """'we never deploy on Fridays', 'we only use Postgres', 'I prefer short answers'."""
    framed = heard.frame
    if heard.has(Cue.QUESTION) or not framed.verb or framed.verb in _NO_POLICIES:
        return None
    if framed.verb in _WISHES or framed.modal == "would":
        return _wished(heard)
    if framed.past or framed.progressive or framed.perfect or (heard.has(Cue.TROUBLE) and not heard.has(Cue.DENIAL)):
        return None
    if framed.verb in _DECREES and framed.subject and framed.subject[0].low == "we":
        return _decreed(heard)
    confidence = _policy_confidence(heard, by_team=bool(framed.subject) and framed.subject[0].low == "we")
    return _made(heard, framed, wanted=not framed.negated, confidence=confidence) if confidence else None


_DECREES = frozenset("require enforce mandate insist forbid ban prohibit disallow".split())


def _decreed(heard: _Heard) -> Directive | None:
    """'we require two reviewers' → require two reviewers; 'we forbid force pushes' → do not use force pushes."""
    framed = heard.frame
    if framed.verb in ("forbid", "ban", "prohibit", "disallow"):
        return _made(heard, replace(framed, verb="use", verb_word=None, negated=True), wanted=False, confidence=0.75)
    return _made(heard, framed, wanted=not framed.negated, confidence=0.75)


def _policy_confidence(heard: _Heard, *, by_team: bool) -> float:
    """What 'we' always do is a rule; what 'I' do is one when it corrects the agent. 0 when it is none."""
    framed = heard.frame
    if (
        not framed.modal
        and framed.adverbs & {"always", "never", "only"}
        and (by_team or heard.corrects or "only" in framed.adverbs)
    ):
        return 0.85
    if points(framed) or not framed.rest:
        return 0
    if framed.modal:
        ruled = framed.negated or framed.habitual or (framed.modal == "must" and heard.has(Cue.STANDING))
        return 0.7 if by_team and ruled and framed.modal in ("must", "should", "can", "may") else 0
    if by_team and framed.negated and framed.verb not in _PRIVATE:
        return 0.65
    return 0.7 if heard.corrects and (by_team or heard.spare or framed.negated) else 0


def _wished(heard: _Heard) -> Directive | None:
    """A taste is a lesson when it is about what the agent makes, or corrects it."""
    framed, rest = heard.frame, heard.frame.rest
    if not rest or framed.past:
        return None
    if framed.verb == "rather":
        turned = replace(framed, verb=rest[0].low, rest=rest[1:], modal="")
        acts = verbs.is_base(rest[0].low) and rest[0].low not in ("have", "be") and not points(turned)
        return _made(heard, turned, wanted=not framed.negated, confidence=0.65) if acts else None
    if rest[0].low in ("to", "you", "your", "it", "that", "this", "the", "a", "an", "how", "when", "me"):
        return None
    about_output = any(word.low in OUTPUT for word in rest) or (heard.setting.answered and keys.typed(rest) is not None)
    spared = framed.negated and about_output
    lasting = framed.verb not in ("want", "need", "expect") or spared or heard.has(Cue.STANDING) or framed.habitual
    if not ((about_output and lasting) or heard.corrects):
        return None
    wanted = (framed.verb not in ("hate", "dislike")) != framed.negated
    turned = replace(framed, verb="use", verb_word=None, modal="", negated=not wanted)
    if verbs.is_gerund(rest[0].low):
        turned = replace(turned, verb=verbs.base(rest[0].low) or "use", rest=rest[1:])
    return _made(heard, turned, wanted=wanted, confidence=0.65)


# --- what must be

# What these should do is an opinion about the world, not a rule for the agent.
_PUBLIC = frozenset(
    "people society government governments humans humanity folks parents men women companies kids politicians person they someone world".split()
)
_FORBIDDEN = frozenset("forbidden prohibited banned disallowed off-limits unacceptable".split())
_MANDATORY = frozenset("required mandatory compulsory obligatory non-negotiable essential".split())
_LAW = frozenset("allow permit require forbid ban prohibit".split())


def _ruled(heard: _Heard) -> Directive | None:
    """'refunds must be approved by a manager', 'comments are not allowed', 'your answers are too long'."""
    framed = heard.frame
    if heard.has(Cue.QUESTION, Cue.ONCE) or framed.past or framed.perfect or not framed.verb:
        return None
    if framed.person is Person.YOURS and framed.verb == "be" and framed.rest and "too" in framed.adverbs:
        said = [
            "avoid",
            *(word.text for word in framed.subject[1:]),
            "that",
            "are",
            "too",
            *voice.for_agent(framed.rest),
        ]
        return Directive(framed, False, 0.7, voice.sentence(said), heard.spare)
    if (
        framed.person is Person.MINE
        and framed.verb == "be"
        and {word.low for word in framed.subject} & _CUSTOMS
        and framed.rest
    ):
        said = ["follow", *voice.for_agent(framed.subject), ":", *voice.for_agent(framed.rest)]
        return Directive(framed, not framed.negated, 0.7, voice.sentence(said), heard.spare)
    if (
        not (_is_law(framed) or _is_custom(heard))
        or _at_hand(heard)
        or (heard.has(Cue.TROUBLE)
        and not (framed.habitual or heard.corrects))
    ):
        return None
    said = voice.for_agent(framed.words[: len(framed.words) - len(heard.part.frame.rest)]) + voice.for_agent(
        framed.rest
    )
    if heard.spare:
        said += [",", "not", *voice.for_agent(heard.spare)]
    opening = {word.low for word in framed.rest[:3]}
    wanted = not framed.negated and not opening & _FORBIDDEN and framed.verb not in ("forbid", "ban", "prohibit")
    return Directive(framed, wanted, 0.75, voice.sentence(said), heard.spare)


_CUSTOMS = frozenset(
    "convention policy rule standard practice guideline process procedure requirement protocol norm".split()
)


def _is_custom(heard: _Heard) -> bool:
    """'tickets tagged P1 get an answer within 15 minutes, no exceptions': a kind of things, always or never so."""
    framed = heard.frame
    opens = framed.subject[0].low if framed.subject else ""
    of_kind = framed.person is Person.NOUN and opens.endswith("s") and opens not in DETERMINERS and not framed.passive
    fixed = heard.has(Cue.STANDING) or framed.adverbs & {"always", "never", "only"} or heard.spare
    return (
        of_kind
        and bool(fixed)
        and not framed.progressive
        and framed.verb not in _MISHAPS
        and not heard.has(Cue.TROUBLE)
    )


_MISHAPS = frozenset("crash fail break hang freeze stop die work load be have forget happen complain come lie".split())


def _is_law(framed: Frame) -> bool:
    if (
        framed.verb in ("work", "seem", "happen", "take", "arrive")
        or len(framed.subject) > 7
        or {word.low for word in framed.subject} & _PUBLIC
    ):
        return False
    ruled = framed.modal in ("must", "should", "shall") or (framed.modal in ("can", "may") and framed.negated)
    decreed = (
        (framed.verb in _LAW
        and framed.passive)
        or bool({word.low for word in framed.rest[:3]} & (_FORBIDDEN | _MANDATORY))
    )
    needed = (
        framed.verb in ("need", "require")
        and framed.person is Person.NOUN
        and framed.rest[:1]
        and framed.rest[0].low != "to"
    )
    return ruled or decreed or bool(needed and framed.subject[0].low not in DETERMINERS)


def _at_hand(heard: _Heard) -> bool:
    """Whether the rule is about one thing at hand rather than a kind of things."""
    opens = heard.frame.subject[0].low if heard.frame.subject else ""
    if opens in ("this", "that", "it", "these", "he", "she", "there", "they"):
        return not (heard.corrects and heard.spare)
    manner = (
        bool(heard.frame.rest)
        and heard.frame.verb == "be"
        and heard.frame.rest[0].low in ("in", "under", "within", "below")
    )
    return opens == "the" and not (heard.has(Cue.STANDING) or heard.frame.habitual or heard.corrects or manner)


# --- fragments: "no emojis", "shorter answers please", "tabs, not spaces"

_QUANTITY = frozenset("less fewer more shorter longer simpler only".split())
_NO_THINGS = frozenset(
    "problem problems worries thanks thank way idea need one longer doubt rush biggie matter luck clue offense offence question "
    "questions wonder hurry pressure help response reply answer info information thing difference change changes sense".split()
)


def _fragment(heard: _Heard) -> Directive | None:
    words = heard.frame.words
    if not words or heard.has(Cue.QUESTION) or len(words) > 14:
        return None
    if words[0].low == "no" and len(words) > 1:
        return _none_of(heard, words)
    framed, spare = split_contrast(Frame(Person.COMMAND, (), (), "use", None, words, words=words))
    heard = replace(heard, spare=spare)
    if not framed.rest or points(framed) or not (heard.setting.answered or heard.has(Cue.STANDING)):
        return None
    if framed.rest[0].low in _QUANTITY and any(word.low in OUTPUT for word in words):
        return _made(heard, framed, wanted=True, confidence=0.6)
    named = (spare or heard.has(Cue.STANDING, Cue.REPEATED)) and _is_name(framed.rest)
    return _made(heard, framed, wanted=True, confidence=0.6) if named else None


def _none_of(heard: _Heard, words: Sequence[Word]) -> Directive | None:
    rest = tuple(words[2:] if words[1].low == "more" else words[1:])
    if not rest or rest[0].low in _NO_THINGS | FIRST | SECOND | DETERMINERS:
        return None
    if heard.setting.with_work and not heard.has(Cue.STANDING, Cue.DENIAL):
        return None
    framed = Frame(Person.COMMAND, (), (), "use", None, rest, negated=True, words=tuple(words))
    return _made(heard, framed, wanted=False, confidence=0.65)


def _is_name(words: Sequence[Word]) -> bool:
    """A few words that name a thing, with no verb among the first."""
    return len(words) <= 7 and not any(word.low in FIRST | SECOND for word in words) and not verbs.is_past(words[0].low)


_READERS: dict[Person, Callable[[_Heard], Directive | None]] = {
    Person.COMMAND: _commanded,
    Person.SECOND: _told,
    Person.FIRST: _policy,
    Person.NOUN: _ruled,
    Person.MINE: _ruled,
    Person.YOURS: _ruled,
    Person.THIRD: _ruled,
    Person.NONE: _fragment,
}
