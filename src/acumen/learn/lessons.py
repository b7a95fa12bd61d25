"""Instructions put into their situation: what triggers them, what went wrong before, and why they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acumen.learn import keys, verbs, voice
from acumen.learn.clauses import DETERMINERS, FIRST, PREPOSITIONS, SECOND, Clause, Frame, Person, frame
from acumen.learn.directives import OUTPUT, Directive, Setting, corrects, directives
from acumen.learn.reading import Reading, read
from acumen.learn.sentences import sentences
from acumen.learn.statements import Fact
from acumen.learn.words import Word
from acumen.model.playbook import Lesson

# Long enough to recognise a situation or an act by, short enough to read at a glance.
MAX_PHRASE = 140
# In a longer answer nobody can tell which advice it was that worked.
MAX_ADVICE = 600
_STYLE = frozenset("answer reply respond write be keep speak use address call format spell".split())


@dataclass(frozen=True, slots=True)
class Taught:
    """A lesson with the keys that let it meet its rivals."""

    lesson: Lesson
    subject: str
    value: str
    confidence: float


def lessons(reading: Reading, found: Sequence[Directive], setting: Setting) -> list[Taught]:
    """The lessons of one sentence. What to do and what to avoid, said together, are one lesson."""
    wanted = [directive for directive in found if directive.wanted]
    avoided = [directive for directive in found if not directive.wanted]
    if len(wanted) == 1 and len(avoided) == 1:
        return [_lesson(reading, wanted[0], avoided[0], setting)]
    return [_lesson(reading, directive, None, setting) for directive in found]


def _lesson(reading: Reading, main: Directive, avoided: Directive | None, setting: Setting) -> Taught:
    content = _with_situations(main.text, reading)
    if avoided:
        content = f"{content.rstrip('.')}; {_lower_first(avoided.text)}"
    rejected = avoided or (None if main.wanted else main)
    subject, value = _keys(reading, main, avoided)
    lesson = Lesson(
        content=content,
        trigger=_trigger(reading, main, avoided, setting),
        rationale=_rationale(reading),
        pitfall=_pitfall(reading, main, rejected, setting),
    )
    return Taught(lesson, subject, value, max(main.confidence, avoided.confidence if avoided else 0))


def _with_situations(text: str, reading: Reading) -> str:
    """'Run the linter.' and 'before committing' → one instruction that stands alone."""
    tails = [_lower_first(tail) for clause in reading.situations if (tail := situation(clause))]
    return voice.sentence([text.rstrip("."), *tails]) if tails else text


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _keys(reading: Reading, main: Directive, avoided: Directive | None) -> tuple[str, str]:
    about = [word for clause in reading.situations for word in clause.words]
    if avoided:
        about += [*([avoided.frame.verb_word] if avoided.frame.verb_word else ()), *avoided.frame.rest]
    framed = main.frame
    if framed.verb == "call" and framed.rest[:1] and framed.rest[0].low == "me":
        return "name", keys.value(framed.rest[-1].low)
    about = [*framed.subject, *([framed.verb_word] if framed.verb_word else ()), *about]
    return keys.keyed(framed.rest, holds=main.wanted, about=about)


def confirmed(setting: Setting) -> list[Taught]:
    """What the agent had done or advised, when the user says that it worked."""
    if not (setting.answered and setting.request) or len(setting.agent) > MAX_ADVICE:
        return []
    for sentence in sentences(setting.agent):
        for part in read(sentence).parts:
            framed = part.frame
            advice = framed.person is Person.COMMAND and framed.verb not in ("let", "be", "see", "note", "feel")
            done = (
                framed.person is Person.FIRST
                and framed.verb in verbs.BASE_FORMS
                and framed.verb not in ("be", "have", "think", "hope", "can")
            )
            if not (advice or done) or framed.negated or len(framed.rest) < 2:
                continue
            if framed.verb == "try" and verbs.is_gerund(framed.rest[0].low):
                framed = replace(
                    framed, verb=verbs.base(framed.rest[0].low) or "try", verb_word=framed.rest[0], rest=framed.rest[1:]
                )
            trigger = request_named(setting.request)
            subject, value = keys.proposition(
                [*framed.rest, *([framed.verb_word] if framed.verb_word else ())], holds=True
            )
            lesson = Lesson(
                voice.instruction(replace(framed, adverbs=frozenset()), positive=True),
                trigger,
                "The user confirmed that this worked.",
            )
            return [Taught(lesson, subject, value, 0.55)]
    return []


def reminded(fact: Fact, setting: Setting) -> Taught:
    """'I told you I'm vegetarian': the agent knew and did otherwise."""
    content = f"Keep in mind: {fact.content}"
    pitfall = _first_act(setting.agent)
    return Taught(Lesson(content, request_named(setting.request) or None, None, pitfall), fact.subject, fact.value, 0.6)


def keys_of(instruction: str) -> tuple[str, str]:
    """The keys of a lesson that was written by hand."""
    for sentence in sentences(instruction)[:1]:
        reading = read(sentence)
        taught = lessons(reading, directives(reading, Setting(agent="-")), Setting())
        if taught:
            return taught[0].subject, taught[0].value
        return keys.keyed(reading.words, holds=not any(part.frame.negated for part in reading.parts))
    return "", ""


# --- trigger


def _trigger(reading: Reading, main: Directive, avoided: Directive | None, setting: Setting) -> str:
    own = [text for clause in reading.situations if (text := situation(clause))]
    if own:
        return shortened(voice.sentence([", ".join(own)]).rstrip("."))
    correcting = corrects(reading, setting) or (setting.answered and bool(main.spare))
    act = _act_without_value(avoided) if avoided else ""
    if act:
        return _capital(act)
    if correcting and setting.request:
        return request_named(setting.request)
    return _from_words(main, setting)


def situation(clause: Clause) -> str:
    """'when you write tests' → 'when writing tests'; 'if a customer asks' stays."""
    framed = frame(clause.words)
    marker = {
        "every time": "whenever",
        "each time": "whenever",
        "everytime": "whenever",
        "anytime": "whenever",
        "any time": "whenever",
        "next time": "when",
        "the next time": "when",
    }.get(clause.marker, clause.marker)
    if (
        marker
        and framed.person is Person.SECOND
        and framed.verb
        and not framed.negated
        and not framed.modal
        and framed.verb != "be"
    ):
        return voice.phrase([marker if marker != "if" else "when", voice.act(framed)])
    return voice.phrase([marker, *voice.for_agent(clause.words)])


def _act_without_value(directive: Directive) -> str:
    """'deploy production to us-east-1' → 'deploying production': the act, whatever its value."""
    framed = directive.frame
    if framed.verb in ("use", "be", "have", "do") or not framed.verb or framed.person is Person.NOUN:
        return ""
    rest = _before_value(framed)
    return voice.act(replace(framed, rest=rest)) if rest or framed.verb not in _STYLE else ""


def _before_value(framed: Frame) -> tuple[Word, ...]:
    """What the act is done to, up to the preposition that leads to its value."""
    found = keys.typed(framed.rest)
    listed = [word.low for word in framed.rest]
    stop = next((n for n, word in enumerate(framed.rest) if found and word is found[0]), len(listed))
    cut = next((n for n in range(stop - 1, -1, -1) if listed[n] in PREPOSITIONS), None)
    if found is None or cut is None or (cut == 0 and found[1] not in _CIRCUMSTANCES):
        return framed.rest
    return framed.rest[:cut]


# Kinds of value that tell when or where an act is done rather than what it is.
_CIRCUMSTANCES = frozenset(
    {"weekday", "region", "environment", "time", "time of day", "cloud", "language", "format", "channel"}
)


def request_named(request: str) -> str:
    """The request being served, as the name of an act where it is a command, else in its own words."""
    for sentence in sentences(request)[:4]:
        reading = read(sentence)
        for part in reading.parts:
            if (
                part.frame.person is Person.COMMAND
                and part.frame.verb
                and not part.frame.negated
                and part.frame.verb not in ("let", "be")
            ):
                return shortened(_capital(voice.act(part.frame)))
    first = next((sentence.text for sentence in sentences(request)), "")
    return shortened(f"Asked: {first}") if first else ""


def _from_words(main: Directive, setting: Setting) -> str:
    """The situation told by the instruction itself."""
    framed = main.frame
    phrase = _own_phrase(framed)
    if framed.person in (Person.NOUN, Person.MINE, Person.YOURS):
        return _capital(voice.phrase(["handling", *voice.for_agent(_bare(framed.subject))]))
    if framed.verb == "call" and framed.rest[:1] and framed.rest[0].low == "me":
        return "Addressing the user"
    if framed.verb in _STYLE and any(word.low in OUTPUT for word in framed.rest):
        return _capital(phrase) if phrase else "Writing to the user"
    if not main.wanted and framed.verb not in _STYLE:
        return _capital(_act_without_value(main) or voice.act(framed))
    if phrase:
        return _capital(phrase)
    if framed.verb in _STYLE and framed.verb != "use":
        return (
            "Writing to the user"
            if framed.verb in ("keep", "be", "format", "spell")
            else _capital(_act_without_value(main) or verbs.gerund(framed.verb))
        )
    if setting.request:
        return request_named(setting.request)
    if setting.tool:
        return f"Using the tool {setting.tool}"
    thing = voice.phrase(voice.for_agent(framed.rest))
    return (
        shortened(f"Work that involves {thing}")
        if thing and framed.verb == "use"
        else shortened(_capital(voice.act(framed)))
    )


def _bare(subject: Sequence[Word]) -> list[Word]:
    """'All timestamps' → timestamps; 'Invoices' → invoices, unless it is a name."""
    kept = [word for n, word in enumerate(subject) if n or word.low not in DETERMINERS]
    if kept and kept[0].text.istitle() and kept[0].start == subject[0].start:
        kept[0] = replace(kept[0], text=kept[0].low)
    return kept


def _own_phrase(framed: Frame) -> str:
    """'use us-west-2 for production deploys' → 'for production deploys'."""
    for place, word in enumerate(framed.rest):
        if place and word.low in ("for", "in", "on", "during", "with") and not word.opaque:
            tail = framed.rest[place:-1] if framed.rest[-1].low == "first" else framed.rest[place:]
            value = keys.typed(tail)
            if value and value[1] not in ("programming language", "environment", "database"):
                continue
            if 1 < len(tail) <= 7 and tail[1].low != "the" and not any(other.low in FIRST | SECOND for other in tail):
                return voice.phrase(voice.for_agent(tail))
    return ""


# --- pitfall and rationale


def _pitfall(reading: Reading, main: Directive, rejected: Directive | None, setting: Setting) -> str | None:
    """What the agent had done: in its own words where they show it, else as the user named it."""
    named = [*main.spare, *(rejected.frame.rest if rejected else ())]
    if setting.answered:
        done = _done(setting.agent, named)
        if done:
            return done
    if rejected and rejected.frame.person is not Person.NOUN and rejected.frame.verb:
        return shortened(voice.sentence([voice.act(rejected.frame)]))
    if main.spare:
        framed = replace(main.frame, rest=_swapped(main))
        return shortened(voice.sentence([voice.act(framed)]))
    if corrects(reading, setting):
        return _first_act(setting.agent)
    return None


def _swapped(main: Directive) -> tuple[Word, ...]:
    """'show amounts in euros' with 'dollars' for 'euros': the wrong act in full, where the two are of a kind."""
    right, wrong = keys.typed(main.frame.rest), keys.typed(main.spare)
    if not (right and wrong and right[1] == wrong[1] and len(main.spare) == 1):
        return main.spare
    return tuple(main.spare[0] if word is right[0] else word for word in main.frame.rest)


def _done(agent: str, named: Sequence[Word]) -> str | None:
    """The agent's sentence that shares most with what the user rejected."""
    wrong = set(keys.roots(named))
    best, shared = None, 0
    for sentence in sentences(agent)[:40]:
        overlap = len(wrong & keys.content_roots(sentence.text))
        if overlap > shared:
            best, shared = sentence, overlap
    return _as_act(best.text) if best else None


def _first_act(agent: str) -> str | None:
    first = next(iter(sentences(agent)), None)
    return _as_act(first.text) if first else None


_NOW = frozenset("now right currently just already here . ! … ... :".split())


def _as_act(text: str) -> str:
    """'I deployed it to us-east-1 now.' → 'Deploying it to us-east-1.'."""
    heard = read(sentences(text)[0]) if sentences(text) else None
    framed = heard.parts[0].frame if heard and len(heard.parts) == 1 and not heard.situations else None
    if framed and framed.person is Person.FIRST and framed.verb not in ("", "be", "have") and not framed.negated:
        rest = framed.rest
        while rest and rest[-1].low in _NOW:
            rest = rest[:-1]
        return shortened(voice.sentence([verbs.gerund(framed.verb), *(word.text for word in rest)]))
    if heard and verbs.is_gerund(heard.words[0].low):
        kept = list(heard.words)
        while kept and kept[-1].low in _NOW:
            kept.pop()
        return shortened(voice.sentence(word.text for word in kept))
    return shortened(voice.sentence([text]))


def _rationale(reading: Reading) -> str | None:
    for clause in reading.reasons:
        return shortened(voice.sentence(voice.for_agent(clause.words)))
    for before, after in zip(reading.parts, reading.parts[1:], strict=False):
        if after.joint == "so" and before.frame.person in (Person.FIRST, Person.MINE, Person.NOUN, Person.THIRD):
            return shortened(voice.fact(before.frame))
    return None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def shortened(text: str) -> str:
    return text if len(text) <= MAX_PHRASE else text[: MAX_PHRASE - 1].rsplit(" ", 1)[0] + "…"
