"""What a speaker tells with "I" and "we": who they are, where, what they have, like, do and did."""

import re
from collections.abc import Sequence
from dataclasses import replace

from acumen.learn.rules import keys, lifetimes, verbs, voice
from acumen.learn.rules.clauses import ADVERBS, FIRST, HABIT, PREPOSITIONS, Frame
from acumen.learn.rules.cues import Cue
from acumen.learn.rules.reading import Reading
from acumen.learn.rules.statements import VAGUE, Fact, head, noun, stated, valued
from acumen.learn.rules.words import Word, joined
from acumen.model.ids import Millis

TASTES = frozenset("prefer like love hate dislike enjoy favor favour".split())
# Things at hand, not things of the speaker's.
_POINTED = frozenset("this that it these those them".split())


def of_speaker(framed: Frame, reading: Reading) -> Fact | None:
    """The fact in a clause whose subject is the speaker, by the kind of its verb."""
    if {"probably", "maybe", "perhaps"} & framed.adverbs:
        return None
    if framed.modal:
        return _with_modal(framed, reading)
    if framed.passive:
        return _undergone(framed)
    if framed.verb == "be":
        return _being(framed, reading)
    if framed.verb in TASTES:
        return taste(framed, reading)
    if framed.verb == "have" or (framed.verb == "get" and framed.perfect):
        return _having(framed, reading)
    if framed.past or framed.perfect or _past_unmarked(framed, reading):
        return _changed(replace(framed, past=True), reading)
    if framed.progressive:
        return _doing(framed, reading)
    return _habit(framed, reading)


def _past_unmarked(framed: Frame, reading: Reading) -> bool:
    """'I quit smoking two years ago': the past of some verbs looks like their present."""
    if framed.verb == "quit" and not framed.adverbs:
        return True
    same = framed.verb in ("cut", "set", "put", "let", "cost", "hit", "split")
    return same and bool(re.search(r"\b(?:ago|last|yesterday|in \d{4})\b", reading.low))


# --- can, will, must, used to

_ABILITIES = frozenset(
    "eat drink drive walk hear tolerate digest afford speak travel fly lift swim have take work attend use "
    "install".split()
)
_DUTIES = frozenset("take avoid follow limit wear comply use eat".split())


def _with_modal(framed: Frame, reading: Reading) -> Fact | None:
    if framed.modal == "used":
        past = replace(framed, negated=True)
        return replace(_placed(past) or stated(past, 0.6), content=voice.fact(framed))
    if framed.modal == "can" and framed.negated and framed.verb in ("stand", "bear"):
        return taste(replace(framed, verb="hate", negated=False), reading, content=voice.fact(framed))
    if framed.modal == "can":
        limit = framed.negated and framed.verb in _ABILITIES and not reading.has(Cue.TROUBLE)
        return stated(framed, 0.65) if limit or framed.verb == "speak" or "only" in framed.adverbs else None
    if framed.modal == "will":
        ends = lifetimes.days_left(reading.low, Millis(0)) is not None
        return stated(framed, 0.6) if ends and (framed.verb == "be" or framed.progressive) else None
    return stated(framed, 0.6) if framed.modal == "must" and framed.verb in _DUTIES and not framed.past else None


# --- to be

_UNDERGONE = frozenset(
    "diagnose base bear lay fire furlough vaccinate elect award allow prescribe hire promote employ train "
    "license certify enroll register engage marry raise locate assign pay call name".split()
)
_MOODS = frozenset(
    "sorry sure afraid confused happy glad curious ready done back here stuck tired lost good fine ok able "
    "trying looking getting wondering worried frustrated annoyed upset disappointed certain aware excited "
    "pleased grateful impressed right wrong late early unsure surprised satisfied hungry bored angry mad "
    "unable hoping thinking asking seeing having unhappy furious desperate thankful sad nervous concerned "
    "delighted".split()
)
STATES = frozenset(
    "allergic based located responsible vegetarian vegan pescatarian diabetic dyslexic celiac coeliac "
    "asthmatic epileptic autistic colorblind colourblind color-blind married single divorced engaged "
    "widowed pregnant retired unemployed self-employed freelance left-handed right-handed deaf blind "
    "lactose gluten intolerant sensitive fluent bilingual interested new born originally years old into "
    "passionate available unavailable busy away out off immunocompromised hypertensive anemic remote "
    "part-time full-time jewish muslim christian catholic hindu buddhist atheist german french british "
    "american indian canadian italian spanish irish nearsighted obsessed comfortable terrified used "
    "accustomed bound subject limited".split()
)
_CONDITION_ENDINGS = (
    "-blind -free -intolerant -handed tarian phobic -based etic -certified -compliant -only -first".split()
)


def _undergone(framed: Frame) -> Fact | None:
    """'I was diagnosed with asthma', 'I am certified in AWS'."""
    if framed.verb not in _UNDERGONE or not framed.rest:
        return None
    if framed.verb in ("base", "locate") and len(framed.rest) > 1:
        return valued(framed, "home", framed.rest[1:], 0.8)
    return valued(framed, "name", framed.rest[:1], 0.8) if framed.verb in ("call", "name") else stated(framed, 0.7)


def _being(framed: Frame, reading: Reading) -> Fact | None:
    """'I am a nurse', 'we are based in Lisbon', 'I am 34'."""
    rest = [word for word in framed.rest if word.low not in ADVERBS] or list(framed.rest)
    if not rest or (framed.past and not framed.perfect and rest[0].low not in ("born", "diagnosed", "raised")):
        return None
    first = rest[0].low
    if first in _MOODS or verbs.is_gerund(first):
        return None
    if first in ("a", "an"):
        return _identity(framed, rest[1:])
    if [word.low for word in rest[:3]] == ["more", "of", "a"]:
        return stated(framed, 0.6)
    if first in ("in", "from", "at", "on", "with") and len(rest) > 1:
        return _where(framed, rest)
    if first in ("based", "located") and len(rest) > 2 and rest[2].low != "the":
        return valued(framed, "home", rest[2:], 0.8)
    if first in STATES or (rest[1:2] and rest[1].low == "handed") or first.endswith(tuple(_CONDITION_ENDINGS)):
        return _state(framed, rest)
    if lifetimes.days_left(reading.low, Millis(0)) is not None and len(rest) > 2:
        return stated(framed, 0.55)  # "down with the flu this week"
    if rest[1:2] and rest[1].low == "of" and first not in ("part", "kind", "sort"):
        return stated(framed, 0.55)  # "hard of hearing", "short of staff"
    return _named_or_aged(framed, reading, rest)


def _named_or_aged(framed: Frame, reading: Reading, rest: list[Word]) -> Fact | None:
    """'I am Sam', 'I am 34 years old', 'I am the head of sales'."""
    first, second = rest[0].low, rest[1].low if len(rest) > 1 else ""
    if keys.number(rest[:1]):
        if any(word.low in STATES for word in rest[1:]) and second != "years":
            return stated(framed, 0.7)
        aged = second in ("years", "year", "", ",", "and") or "old" in reading.low
        return valued(framed, "age", rest[:1], 0.75) if aged else None
    if first == "the" and second and not framed.negated:
        return valued(framed, "role", rest[1:], 0.65) if second not in ("one", "same", "only", "problem") else None
    if first in ("called", "named"):
        return valued(framed, "name", rest[1:2], 0.8)
    short = len(rest) <= 3 or rest[1].low == ","
    named = rest[0].text.isalpha() and rest[0].text[0].isupper() and framed.subject[0].low == "i" and short
    if not named or framed.negated:
        return None
    return valued(framed, "name", rest[:2] if len(rest) > 1 and rest[1].text[0].isupper() else rest[:1], 0.65)


def _state(framed: Frame, rest: list[Word]) -> Fact | None:
    if rest[0].low == "interested":
        aimed = rest[2] if len(rest) > 2 else None
        if aimed is None or verbs.is_gerund(aimed.low) or aimed.low in _POINTED | {"the", "your"}:
            return None
    found = keys.typed(rest[:1])
    return valued(framed, found[1], rest[:1], 0.8) if found else stated(framed, 0.75)


_ROLES = frozenset(
    "nurse chef cook doctor dev sre lead head pm cto ceo cfo coo vp intern ops freelancer student therapist "
    "dba qa coach pilot judge clerk paralegal".split()
)
_ROLE_ENDINGS = ("er", "or", "ist", "ian", "ant", "eer", "yst", "ect", "ent", "wright", "man", "woman")
# They sound like a profession, and one may be many of them beside it.
_NO_ROLES = frozenset(
    "father mother brother sister parent beginner runner gamer smoker owner lover swimmer cyclist hiker "
    "reader newcomer believer user customer member drinker eater sleeper walker traveler traveller person "
    "patient human woman man christian".split()
)


def _identity(framed: Frame, rest: list[Word]) -> Fact | None:
    """'I am a nurse at St Mary's': the role runs to the first preposition."""
    if any(word.low == "fan" for word in rest):
        return stated(framed, 0.6)
    named = head(rest)
    if not named or named[0].low in ("bit", "little", "huge", "big", "tad", "few"):
        return None
    found = keys.typed(named[-1:])
    if found:
        return valued(framed, found[1], named[-1:], 0.75)
    noun_of_role = named[-1].low
    role = noun_of_role in _ROLES or (noun_of_role.endswith(_ROLE_ENDINGS) and noun_of_role not in _NO_ROLES)
    return valued(framed, "role", named, 0.8) if role else stated(framed, 0.6)


_AWAY = frozenset("vacation leave holiday pto parental maternity paternity call sick".split())
_COURSES = frozenset("plan diet medication tier version".split())
_CIRCLES = frozenset(
    "charge school college finance sales marketing timezone zone remission recovery healthcare therapy "
    "grade year".split()
)


def _where(framed: Frame, rest: list[Word]) -> Fact | None:
    """'I am in Berlin', 'I am on the platform team', 'I am from Chile', 'I am on metformin'."""
    first, named, lows = rest[0].low, rest[1:], {word.low for word in rest[1:]}
    if first in ("in", "from") and named[0].text[:1].isupper():
        return valued(framed, "home" if first == "in" else "origin", named, 0.7)
    if lows & {"team", "department", "squad", "group"}:
        return valued(framed, "team", named, 0.75)
    if first == "on":
        told = named[0].low in _AWAY or bool(lows & _COURSES) or named[0].low not in _POINTED | {"my", "the"}
        return stated(framed, 0.65) if told else None
    return stated(framed, 0.7) if first == "in" and lows & _CIRCLES else None


# --- to like, to have


def taste(framed: Frame, reading: Reading, content: str = "") -> Fact | None:
    """'I prefer window seats', 'I hate small talk', 'I like my coffee black'; `content` if worded otherwise."""
    rest = framed.rest
    if not rest or framed.past or framed.progressive:
        return None
    first = rest[0].low
    habit = first in ("it", "when") and len(rest) > 3 and bool(reading.situations)
    if first in _POINTED | {"how", "what", "the", "your", "you", "when"} and not habit:
        return None
    if (
        framed.verb not in ("prefer", "favor", "favour")
        and first == "to"
        and rest[1:2]
        and rest[1].low in _MENTAL | {"be"}
    ):
        return None
    if framed.verb in ("prefer", "favor", "favour"):
        return preference(framed, reading)
    positive = (framed.verb not in ("hate", "dislike")) != framed.negated
    subject, value = keys.proposition(rest, holds=positive)
    return Fact(content or voice.fact(framed), f"{subject} taste", value, confidence=0.75)


_RIVALS = frozenset("over to rather instead than".split())
_SCOPES = frozenset("for when in on at during".split())


def preference(framed: Frame, reading: Reading) -> Fact:
    """'I prefer window seats over aisle seats': the head noun is the subject, what stands before it the value."""
    rest = framed.rest
    stop = next((n for n, word in enumerate(rest) if n and (word.low in _RIVALS | _SCOPES or word.is_mark)), len(rest))
    chosen, scope = rest[:stop], rest[stop + 1 :] if stop < len(rest) and rest[stop].low in _SCOPES else ()
    content = in_situation(voice.fact(framed), reading)
    if keys.typed(chosen):
        subject, value = keys.keyed(chosen, holds=not framed.negated, about=scope)
        return Fact(content, subject, value, confidence=0.8)
    if len(chosen) > 1 and not verbs.is_gerund(chosen[0].low) and chosen[0].low != "to":
        subject = " ".join(["prefer", *keys.roots(scope), keys.root(chosen[-1].low)])
        value = (keys.NOT if framed.negated else "") + keys.value(joined(chosen[:-1]))
        return Fact(content, subject, value, confidence=0.75)
    subject, value = keys.proposition(rest, holds=not framed.negated)
    return Fact(content, subject, value, confidence=0.75)


def in_situation(content: str, reading: Reading) -> str:
    """'User drinks tea.' and 'when they work late' → one sentence."""
    told = [
        clause for clause in reading.situations if clause.marker in ("when", "before", "after", "whenever", "while")
    ]
    if not told or len(reading.parts) > 1:
        return content
    tails = [voice.phrase([clause.marker, *voice.of_user(clause.words)]) for clause in told]
    return f"{content.rstrip('.')} {' '.join(tails)}."


_NOT_OWNED = frozenset("to the been your you nothing something some any".split()) | _POINTED


def _having(framed: Frame, reading: Reading) -> Fact | None:
    """'I have two kids', 'we have 12 engineers', 'I have type 2 diabetes'."""
    rest = framed.rest
    if not rest or reading.has(Cue.TROUBLE) or noun(rest) in VAGUE:
        return None
    if framed.perfect and framed.verb == "have" and not keys.number(rest[:1]):
        return None
    if framed.past and not framed.perfect:
        return None
    return stated(framed, 0.7) if framed.negated or rest[0].low not in _NOT_OWNED else None


# --- what changed

_CHANGES = frozenset(
    "move switch change migrate relocate join quit leave retire graduate marry divorce adopt become buy "
    "sell hire upgrade diagnose promote stop convert transition transfer replace drop ditch cancel rename "
    "start begin bear found prescribe raise grow".split()
)
_DURABLE = frozenset(
    "work build learn study train plan move migrate use prepare save take live write develop raise manage "
    "lead run teach switch rent renovate pursue launch transition host renew".split()
)
_LASTING = frozenset("live work use be own manage lead teach study play practice practise code develop follow".split())
_GAINED = frozenset("married divorced engaged promoted laid diagnosed hired fired accepted".split())
_GAINED_THINGS = frozenset("new job dog cat puppy kitten promotion raise house car baby degree visa".split())


def _changed(framed: Frame, reading: Reading) -> Fact | None:
    """'I moved to Porto', 'we switched from MySQL to Postgres', 'I have been using Vim for years'."""
    rest = framed.rest
    if framed.perfect and framed.progressive and not rest and framed.verb not in _MENTAL:
        return stated(framed, 0.6)  # "I've been freelancing"
    if reading.has(Cue.TROUBLE) or (framed.negated and not reading.has(Cue.ANYMORE)) or not rest:
        return None
    if {word.low for word in rest[:2]} & _POINTED:
        return None
    if framed.verb == "get":
        gained = {word.low for word in rest[:2]} & _GAINED or {word.low for word in rest[:4]} & _GAINED_THINGS
        return stated(framed, 0.65) if gained else None
    if framed.perfect and ((framed.progressive and framed.verb in _DURABLE) or framed.verb in _LASTING):
        return _placed(framed) or stated(framed, 0.7)
    if framed.verb == "turn" and keys.number(rest[:1]):
        return valued(framed, "age", rest[:1], 0.75)
    if framed.verb not in _CHANGES:
        return None
    starts = framed.verb in ("start", "begin", "stop", "quit")
    if starts and not verbs.is_gerund(rest[0].low) and rest[0].low not in ("a", "my", "at"):
        return None
    return _replacement(framed) or _placed(framed) or _ceased(framed) or stated(framed, 0.7)


def _replacement(framed: Frame) -> Fact | None:
    """'switched from A to B', 'replaced A with B': A ends, B begins."""
    old, new = _exchange(framed)
    if not new and old:
        subject, value = keys.keyed(old, holds=False)
        return Fact(voice.fact(framed), subject, value, confidence=0.75, ends=(keys.proposition(old, holds=True)[0],))
    if not new:
        return None
    ended = keys.proposition(old, holds=True)[0] if old else ""
    ends = (ended,) if ended else ()
    if framed.verb in ("move", "relocate") and not (keys.typed(new) or (old and framed.subject[0].low == "we")):
        home = _placed(framed)
        return replace(home, ends=ends) if home else None
    subject, value = keys.keyed(new, holds=True)
    return Fact(voice.fact(framed), subject, value, confidence=0.8, ends=ends)


_SWITCHING = frozenset("switch move migrate change convert transition relocate transfer upgrade".split())


def _exchange(framed: Frame) -> tuple[Sequence[Word], Sequence[Word]]:
    """What went and what came."""
    rest, lows = framed.rest, [word.low for word in framed.rest]
    if framed.verb in _SWITCHING:
        return _after(rest, ("from", "off")), _after(rest, ("to",))
    joint = {"replace": "with", "drop": "for", "ditch": "for"}.get(framed.verb, "")
    if joint in lows:
        return rest[: lows.index(joint)], rest[lows.index(joint) + 1 :]
    return (), ()


_STOPS = frozenset("to from for because in last this since and".split())


def _after(rest: Sequence[Word], markers: tuple[str, ...]) -> Sequence[Word]:
    at = next((n for n, word in enumerate(rest) if word.low in markers), None)
    if at is None:
        return ()
    ends = (n for n in range(at + 1, len(rest)) if rest[n].low in _STOPS or rest[n].is_mark)
    return rest[at + 1 : next(ends, len(rest))]


def _placed(framed: Frame) -> Fact | None:
    """Where the user lives or works; each is one place."""
    if framed.verb in ("live", "reside", "move", "relocate"):
        place = _after(framed.rest, ("in", "to", "near", "at"))
        named = place and place[0].low not in FIRST | {"the", "a", "an", "my", "another", "production"}
        return (
            valued(framed, "home", [word for word in place if word.low not in ("now", "with")], 0.8) if named else None
        )
    if framed.verb in ("work", "join"):
        return _employed(framed)
    return None


def _employed(framed: Frame) -> Fact | None:
    rest, lows = framed.rest, [word.low for word in framed.rest]
    at = next((n for n, low in enumerate(lows) if low in ("at", "for")), -1 if framed.verb == "join" else None)
    if at is not None and rest[at + 1 :] and rest[at + 1].text[:1].isupper():
        stop = next((n for n in range(at + 1, len(rest)) if lows[n] in PREPOSITIONS | {"and", "since", ","}), len(rest))
        return valued(framed, "employer", rest[at + 1 : stop], 0.8)
    if "as" in lows and rest[lows.index("as") + 1 :]:
        return valued(framed, "role", rest[lows.index("as") + 1 :], 0.75)
    return None


def _ceased(framed: Frame) -> Fact | None:
    """'I quit smoking', 'I stopped eating meat': the habit no longer holds."""
    rest = framed.rest
    if framed.verb not in ("quit", "stop", "leave", "drop", "ditch", "cancel"):
        return None
    if framed.verb == "leave" and rest[0].text[:1].isupper():
        left = head(rest)
        return replace(valued(framed, "employer", left, 0.65), value=keys.NOT + keys.value(joined(left)))
    subject, value = keys.proposition(keys.timeless(rest), holds=False)
    return Fact(voice.fact(framed), subject, value, confidence=0.75)


# --- what they are doing, what they do

_PLANNED = _CHANGES | frozenset("visit travel arrive launch study learn have get run take".split())


_GOALS = frozenset(
    "lose gain save quit reduce cut learn improve stop pay become conceive retire move buy eat drink".split()
)


def _doing(framed: Frame, reading: Reading) -> Fact | None:
    """'I am learning Rust', 'we are migrating to Postgres'."""
    rest = framed.rest
    for_a_time = framed.verb not in _MENTAL and lifetimes.days_left(reading.low, Millis(0)) is not None
    awaited = framed.verb == "expect" and any(word.low in ("baby", "child", "twins") for word in rest)
    if (
        reading.has(Cue.TROUBLE)
        or not rest
        or framed.past
        or not (framed.verb in _DURABLE | {"try", "hope", "aim"} or for_a_time or awaited)
    ):
        return None
    if {word.low for word in rest[:2]} & _POINTED:
        return None
    if framed.verb in ("try", "hope", "aim", "look") and rest[0].low == "to":
        return stated(framed, 0.55) if rest[1:2] and rest[1].low in _GOALS and len(rest) > 2 else None
    if framed.verb == "plan" and rest[0].low in ("to", "on"):
        return stated(framed, 0.55) if rest[1:2] and verbs.base(rest[1].low) in _PLANNED else None
    return _placed(framed) or stated(framed, 0.65)


# Verbs that speak of the talk or the moment, not of the speaker.
_MENTAL = frozenset(
    "think believe guess know want wish hope mean see understand need get wonder agree disagree appreciate "
    "thank remember feel say ask tell suggest try find notice look forget bet assume suppose doubt realize "
    "realise hear swear apologize apologise expect click receive seem let recommend imagine figure read "
    "check attach paste request confirm promise admit recognize recognise please question propose do reckon "
    "insist repeat mention misread mind care trust stand beg keep wait happen regret concede gather sense "
    "fear recall quote reiterate type press come".split()
)
# Never habits, however often they are said to happen.
_FLEETING = frozenset("think know want get feel understand wish hope mean wonder forget need try seem".split())
# Acts: a habit with an open object ("I make candles"), a step just taken with a definite one ("I open the file").
_ACTS = frozenset(
    "run open enter select submit log add lose give put make show begin leave go move report order pick "
    "point turn fix debug test implement create update edit call send accept refuse upload miss set start "
    "stop change remove delete install scroll hit load close save pull push commit copy write apply switch "
    "restart reboot return".split()
)
_AT_HAND = _POINTED | frozenset("the your you on in into out up back".split())
_SCHEDULES = frozenset(
    "every daily weekly monthly weekends weekdays mornings evenings twice once mondays fridays annually "
    "quarterly".split()
)


# Habits that need no object.
_ALONE = frozenset(
    "smoke drink drive run swim meditate code snore teach paint sing dance commute cook bike ski knit".split()
)


def scheduled(framed: Frame) -> bool:
    """'we meet every Monday', 'I run daily'."""
    return any(word.low in _SCHEDULES for word in framed.rest)


def _habit(framed: Frame, reading: Reading) -> Fact | None:
    """A simple present with 'I' or 'we' tells a habit, unless it tells the moment."""
    rest = framed.rest
    if (reading.has(Cue.TROUBLE) and not framed.habitual) or verbs.base(framed.verb) is None:
        return None
    if framed.verb == "do" and rest and rest[0].low in ("most", "all", "some") and len(rest) > 3:
        return stated(framed, 0.6)
    if rest and rest[0].low == "by" and framed.verb == "go":
        return valued(framed, "nickname", rest[1:2], 0.8)
    if framed.verb == "get" and any(word.low == "from" for word in rest[1:]) and not reading.has(Cue.QUESTION):
        return stated(framed, 0.6) if rest[0].low not in _AT_HAND | {"a", "an", "my"} else None
    if rest and rest[0].low == "from" and framed.verb == "come":
        return stated(framed, 0.7)
    if not _is_habit(framed):
        return None
    about = [word for clause in reading.situations for word in clause.words] if len(reading.parts) == 1 else []
    fact = _placed(framed) or stated(framed, 0.7, about=about)
    return replace(fact, content=in_situation(fact.content, reading))


def _is_habit(framed: Frame) -> bool:
    rest = framed.rest
    if not rest:
        return framed.verb in _ALONE or (framed.negated and framed.verb not in _MENTAL)
    if rest[0].low in _AT_HAND and len(rest) == 1:
        return False
    if framed.verb in _MENTAL and framed.verb not in _FLEETING:
        return bool(framed.adverbs & HABIT) or (framed.verb == "see" and scheduled(framed))
    if framed.verb in _ACTS and rest[0].low in _AT_HAND:
        routine = framed.subject[0].low == "we" and any(word.low in PREPOSITIONS for word in rest[2:])
        return bool(framed.adverbs & HABIT) or scheduled(framed) or routine
    return framed.verb not in _FLEETING
