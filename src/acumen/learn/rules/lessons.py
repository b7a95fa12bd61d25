"""Instructions put into their situation: what triggers them, what went wrong before, and why they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acumen.learn.rules import keys, verbs, voice
from acumen.learn.rules.clauses import Frame, Person
from acumen.learn.rules.directives import corrects, directives
from acumen.learn.rules.heard import Directive, Setting
from acumen.learn.rules.reading import Reading, read
from acumen.learn.rules.sentences import sentences
from acumen.learn.rules.statements import Fact, verb_words
from acumen.learn.rules.triggers import as_act, request_named, shortened, situation, trigger
from acumen.learn.rules.words import Word
from acumen.model.playbook import Lesson

# In a longer answer nobody can tell which advice it was that worked.
MAX_ADVICE = 600
# How many sentences of the agent are searched for what went wrong.
MAX_SEARCHED = 40


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
    subject, value = _keys(reading, main, avoided)
    lesson = Lesson(
        content=content,
        trigger=trigger(reading, main, avoided, setting),
        rationale=_rationale(reading),
        pitfall=_pitfall(reading, main, avoided or (None if main.wanted else main), setting),
    )
    return Taught(lesson, subject, value, max(main.confidence, avoided.confidence if avoided else 0))


def _with_situations(text: str, reading: Reading) -> str:
    """'Run the linter.' and 'before committing' → one instruction that stands alone."""
    tails = [_lower_first(tail) for clause in reading.situations if (tail := situation(clause))]
    return voice.sentence([text.rstrip("."), *tails]) if tails else text


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _keys(reading: Reading, main: Directive, avoided: Directive | None) -> tuple[str, str]:
    framed = main.frame
    if framed.verb == "call" and framed.rest[:1] and framed.rest[0].low == "me":
        return "nickname", ("" if main.wanted else keys.NOT) + keys.value(framed.rest[-1].low)
    about = [*framed.subject, *verb_words(framed), *(word for clause in reading.situations for word in clause.words)]
    if avoided:
        about += [*verb_words(avoided.frame), *avoided.frame.rest]
    return keys.keyed(framed.rest, holds=main.wanted, about=about)


def keys_of(instruction: str) -> tuple[str, str]:
    """The keys of a lesson that was written by hand."""
    for sentence in sentences(instruction)[:1]:
        reading = read(sentence)
        taught = lessons(reading, directives(reading, Setting(agent="-")), Setting())
        if taught:
            return taught[0].subject, taught[0].value
        return keys.keyed(reading.words, holds=not any(part.frame.negated for part in reading.parts))
    return "", ""


# --- lessons without an instruction

_NO_ADVICE = frozenset("let be see note feel have think hope".split())


def confirmed(setting: Setting) -> list[Taught]:
    """What the agent had done or advised, when the user says that it worked."""
    if not (setting.answered and setting.request) or len(setting.agent) > MAX_ADVICE:
        return []
    parts = (part.frame for sentence in sentences(setting.agent) for part in read(sentence).parts)
    worked = next((framed for framed in parts if _is_advice(framed)), None)
    if worked is None:
        return []
    if worked.verb == "try" and verbs.is_gerund(worked.rest[0].low):
        verb = verbs.base(worked.rest[0].low) or worked.verb
        worked = replace(worked, verb=verb, verb_word=worked.rest[0], rest=worked.rest[1:])
    subject, value = keys.proposition([*worked.rest, *verb_words(worked)], holds=True)
    content = voice.instruction(replace(worked, adverbs=frozenset()), positive=True)
    lesson = Lesson(content, request_named(setting.request), "The user confirmed that this worked.")
    return [Taught(lesson, subject, value, 0.55)]


def _is_advice(framed: Frame) -> bool:
    told = framed.person is Person.COMMAND or (framed.person is Person.FIRST and framed.verb in verbs.BASE_FORMS)
    return told and framed.verb not in _NO_ADVICE and not framed.negated and len(framed.rest) > 1


def reminded(fact: Fact, setting: Setting) -> Taught:
    """'I told you I'm vegetarian': the agent knew and did otherwise."""
    lesson = Lesson(
        content=f"Keep in mind: {fact.content}",
        trigger=request_named(setting.request) or None,
        pitfall=_first_act(setting.agent),
    )
    return Taught(lesson, fact.subject, fact.value, 0.6)


# --- pitfall and rationale


def _pitfall(reading: Reading, main: Directive, rejected: Directive | None, setting: Setting) -> str | None:
    """What the agent had done: in its own words where they show it, else as the user named it."""
    named = [*main.spare, *(rejected.frame.rest if rejected else ())]
    done = _done(setting.agent, named) if setting.answered else None
    if done:
        return done
    if rejected and rejected.frame.verb and rejected.frame.person not in (Person.NOUN, Person.YOURS):
        return shortened(voice.sentence([voice.act(rejected.frame)]))
    if rejected and rejected.frame.person is Person.YOURS:
        return shortened(voice.sentence(rejected.text.split()[1:]))
    if main.spare and main.frame.person not in (Person.NOUN, Person.MINE, Person.THIRD):
        return shortened(voice.sentence([voice.act(replace(main.frame, rest=_swapped(main)))]))
    return _first_act(setting.agent) if main.spare or corrects(reading, setting) else None


def _swapped(main: Directive) -> tuple[Word, ...]:
    """'show amounts in euros' with 'dollars' for 'euros': the wrong act in full, where the two are of a kind."""
    right, wrong = keys.typed(main.frame.rest), keys.typed(main.spare)
    if not (right and wrong and right[1] == wrong[1] and len(main.spare) == 1):
        return main.spare
    return tuple(main.spare[0] if word is right[0] else word for word in main.frame.rest)


def _done(agent: str, named: Sequence[Word]) -> str | None:
    """The agent's sentence that shares most with what the user rejected."""
    wrong = set(keys.roots(named))
    shared = [(len(wrong & keys.content_roots(one.text)), one.text) for one in sentences(agent)[:MAX_SEARCHED]]
    most, text = max(shared, key=lambda pair: pair[0], default=(0, ""))
    return as_act(text) if most else None


def _first_act(agent: str) -> str | None:
    return next((as_act(sentence.text) for sentence in sentences(agent)), None)


def _rationale(reading: Reading) -> str | None:
    """The sentence's own 'because …', or what stands before its 'so …'."""
    for clause in reading.reasons:
        return shortened(voice.sentence(voice.for_agent(clause.words)))
    for before, after in zip(reading.parts, reading.parts[1:], strict=False):
        if after.joint == "so" and before.frame.person in (Person.FIRST, Person.MINE, Person.NOUN, Person.THIRD):
            return shortened(voice.fact(before.frame))
    return None
