"""When a lesson is for: the situation, named from the sentence itself, the request being served, or the tool in use."""

from collections.abc import Sequence
from dataclasses import replace

from acumen.learn.rules import keys, verbs, voice
from acumen.learn.rules.aims import OUTPUT
from acumen.learn.rules.clauses import FIRST, PREPOSITIONS, SECOND, Clause, Frame, Person, frame
from acumen.learn.rules.directives import corrects
from acumen.learn.rules.heard import Directive, Setting
from acumen.learn.rules.reading import Reading, read
from acumen.learn.rules.sentences import sentences
from acumen.learn.rules.words import Word

# Long enough to recognise a situation or an act by, short enough to read at a glance.
MAX_PHRASE = 140

_TO_USER = "Writing to the user"
# Verbs of manner: they do not say what is being done.
_STYLE = frozenset("answer reply respond write be keep speak use give address call format spell".split())


def trigger(reading: Reading, main: Directive, avoided: Directive | None, setting: Setting) -> str:
    """The sentence's own 'when …' first, then the act it is about, then the request it corrects."""
    own = [text for clause in reading.situations if (text := situation(clause))]
    if own:
        return shortened(capital(voice.phrase([", ".join(own)])))
    act = _act_without_value(avoided) if avoided else ""
    if act:
        chosen = keys.typed(main.frame.rest)
        return shortened(capital(f"{act}: choosing the {chosen[1]}" if chosen else act))
    correcting = corrects(reading, setting) or (setting.answered and bool(main.spare))
    if correcting and setting.request:
        return request_named(setting.request)
    return shortened(capital(_from_words(main, setting)))


_RECURRING = dict.fromkeys(["every time", "each time", "everytime", "anytime", "any time"], "whenever")
_RECURRING |= {"next time": "when", "the next time": "when"}


def situation(clause: Clause) -> str:
    """'when you write tests' → 'when writing tests'; 'if a customer asks' stays."""
    framed = frame(clause.words)
    marker = _RECURRING.get(clause.marker, clause.marker)
    plain = framed.verb not in ("", "be") and not framed.negated and not framed.modal
    if marker and plain and framed.person is Person.SECOND:
        return voice.phrase(["when" if marker == "if" else marker, voice.act(framed)])
    return voice.phrase([marker, *voice.for_agent(clause.words)])


def request_named(request: str) -> str:
    """The request being served, as the name of an act where it is a command, else in its own words."""
    spoken = sentences(request)[:4]
    for sentence in spoken:
        for part in read(sentence).parts:
            framed = part.frame
            if framed.person is Person.COMMAND and framed.verb not in ("", "let", "be") and not framed.negated:
                return shortened(capital(voice.act(framed)))
    return shortened(f"Asked: {spoken[0].text}") if spoken else ""


# --- from the instruction itself


def _from_words(main: Directive, setting: Setting) -> str:
    framed = main.frame
    if framed.person in (Person.NOUN, Person.MINE, Person.YOURS):
        return _handling(framed)
    if framed.verb == "call" and framed.rest[:1] and framed.rest[0].low == "me":
        return "Addressing the user"
    phrase = _own_phrase(framed)
    if framed.verb in _STYLE:
        return phrase or _of_style(framed, setting)
    if not main.wanted:
        return _act_without_value(main) or voice.act(framed)
    return phrase or _of_work(setting) or voice.act(framed)


def _of_style(framed: Frame, setting: Setting) -> str:
    if any(word.low in OUTPUT for word in framed.rest) or framed.verb in ("keep", "be", "format", "spell", "give"):
        return _TO_USER
    if framed.verb != "use":
        return voice.act(framed)
    return _of_work(setting) or voice.phrase(["work", "that", "involves", *voice.for_agent(framed.rest)])


def _of_work(setting: Setting) -> str:
    if setting.request:
        return request_named(setting.request)
    return f"Using the tool {setting.tool}" if setting.tool else ""


def _handling(framed: Frame) -> str:
    """'All timestamps must …' → handling timestamps; 'your answers are …' → writing to the user."""
    if framed.person is Person.YOURS and any(word.low in OUTPUT for word in framed.subject):
        return _TO_USER
    kept = [word for n, word in enumerate(framed.subject) if n or word.low not in _QUANTIFIERS]
    if kept and kept[0].text.istitle() and kept[0].start == framed.subject[0].start:
        kept[0] = replace(kept[0], text=kept[0].low)
    return voice.phrase(["handling", *voice.for_agent(kept)])


_QUANTIFIERS = frozenset("all any every each your no some".split())


def _act_without_value(directive: Directive) -> str:
    """'deploy production to us-east-1' → 'deploying production': the act, whatever its value."""
    framed = directive.frame
    if framed.verb in ("", "use", "be", "have", "do") or framed.person is Person.NOUN:
        return ""
    rest = _before_value(framed)
    return voice.act(replace(framed, rest=rest)) if rest or framed.verb not in _STYLE else ""


# Kinds of value that tell when or where an act is done rather than what it is.
_CIRCUMSTANCES = frozenset(
    ["weekday", "region", "environment", "time", "time of day", "cloud", "language", "format", "channel", "rhythm"]
)


def _before_value(framed: Frame) -> tuple[Word, ...]:
    """What the act is done to, up to the preposition that leads to its value."""
    rest, found = framed.rest, keys.typed(framed.rest)
    if found is None:
        return rest
    stop = rest.index(found[0])
    cut = next((n for n in range(stop - 1, -1, -1) if rest[n].low in PREPOSITIONS), None)
    return rest if cut is None or (cut == 0 and found[1] not in _CIRCUMSTANCES) else rest[:cut]


_SCOPED = frozenset(["programming language", "environment", "database", None])


def _own_phrase(framed: Frame) -> str:
    """'use us-west-2 for production deploys' → 'for production deploys'; 'show it in euros' holds a value, no scope."""
    for place, word in enumerate(framed.rest):
        if place and word.low in ("for", "in", "on", "during") and not word.opaque:
            tail = _without_first(framed.rest[place:])
            value = keys.typed(tail)
            if (value[1] if value else None) in _SCOPED and _is_scope(tail):
                return voice.phrase(voice.for_agent(tail))
    return ""


def _without_first(tail: Sequence[Word]) -> Sequence[Word]:
    return tail[:-1] if tail[-1].low == "first" else tail


def _is_scope(tail: Sequence[Word]) -> bool:
    return 1 < len(tail) <= 7 and tail[1].low != "the" and not any(word.low in FIRST | SECOND for word in tail)


# --- wording


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def shortened(text: str) -> str:
    return text if len(text) <= MAX_PHRASE else text[: MAX_PHRASE - 1].rsplit(" ", 1)[0] + "…"


def as_act(text: str) -> str:
    """'I deployed it to us-east-1 now.' → 'Deploying it to us-east-1.'; other words stay as they are."""
    spoken = sentences(text)
    if not spoken:
        return shortened(voice.sentence([text]))
    heard = read(spoken[0])
    framed = heard.parts[0].frame if len(heard.parts) == 1 and not heard.situations else None
    if framed and framed.person is Person.FIRST and framed.verb not in ("", "be", "have") and not framed.negated:
        return shortened(voice.sentence([verbs.gerund(framed.verb), *_lasting(framed.rest)]))
    if verbs.is_gerund(heard.words[0].low):
        return shortened(voice.sentence(_lasting(heard.words)))
    return shortened(voice.sentence([text]))


_NOW = frozenset("now right currently just already here . ! … ... :".split())


def _lasting(words: Sequence[Word]) -> list[str]:
    kept = list(words)
    while kept and kept[-1].low in _NOW:
        kept.pop()
    return [word.text for word in kept]
