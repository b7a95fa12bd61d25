"""Extraction without a model: one pass over the new turns of a window, at most one note per sentence, verbatim."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from acumen.learn.extract.agent_turns import agent_notes
from acumen.learn.extract.attributes import IDENTITY, attribute, replaced, retracted
from acumen.learn.extract.clauses import clauses
from acumen.learn.extract.instructions import Rule, directs, rule
from acumen.learn.extract.notes import Ending, Extraction, Note, Reach
from acumen.learn.extract.other_languages import Cue, Explicit, explicit_cue
from acumen.learn.extract.relative_dates import end_in, period_in
from acumen.learn.extract.remember_forget import amended, forget, remembered
from acumen.learn.extract.statements import Statement, content_words, declarative_part, statement, with_apostrophes
from acumen.model.conversation import Turn, Window
from acumen.model.ids import Kind, SessionId
from acumen.model.lazy_regex import lazy_regex
from acumen.model.memories.base import Category, Cause, EvidenceSpan, Origin
from acumen.model.memories.playbook import Lesson
from acumen.model.secrets import redact
from acumen.model.sentences import Sentence, sentences

BY_RULES = Origin("rules")
# Of a longer turn only the beginning and the end are the user's own words; the middle is pasted.
LONG_TURN = 1500
OWN_WORDS = 400
# Characters of a trigger or a pitfall.
MAX_CONTEXT = 160
CONFIDENCE = {True: 0.9, False: 0.7}  # explicit or not

# "Write a cover letter: I am …", "Act as a pirate": what follows is material, not about the user.
_BRIEF = lazy_regex(
    r"\s*(?:please |can you |could you |i want you to )*(?:act as|pretend|role-?play|you are (?:an?|the|now)|write|"
    r"rewrite|generate|create|compose|draft|translate|summari[sz]e|proofread|paraphrase|improve|correct|edit|"
    r"check (?:this|the following|my) (?:text|bio|cv|letter|essay|profile|paragraph)|make this|fix this|"
    r"(?:this|here) is (?:the|a|my) (?:text|draft|bio|story|persona)|"
    r"analy[sz]e|classify|continue|respond to|imagine|suppose|let's (?:say|pretend|play|do|role-?play)|assume|"
    r"you're (?:an?|the|now)|is this (?:sentence|text|correct))\b",
    re.IGNORECASE,
)
# What the user says after such a request, in the same session, is said by somebody else. Only where a sentence begins:
# "I act as treasurer" and "I enjoy role play" are about the user.
_SCENE = lazy_regex(
    r"(?:^|[.!?,]\s+)(?:(?:please|pls|ok|okay|hey|now|can you|could you|let'?s|lets)[, ]+)*"
    r"(?:(?:(?:do|play|start|have) (?:an? )?)?role[- ]?play\b|pretend (?:i'?m|i am|to be)\b|act as (?:an?|if|my)\b|"
    r"i'?ll (?:answer|play|act) as\b|practi[cs]e (?:an? |the |my )?(?:job )?interview|write a story with me\b|"
    r"(?:translate|proofread|check|rewrite|summari[sz]e) (?:the|my) next\b)",
    re.IGNORECASE,
)
# The sentence after "Scenario:" or "Example:" is made up.
_LABEL = lazy_regex(r"\s*(?:scenario|prompt|example|sample|context|persona|lyrics)\s*:", re.IGNORECASE)
# What follows "Make this bio shorter:" on the same line is material, too.
_INLINE_MATERIAL = lazy_regex(
    r"\b(?:make it|start (?:with|in)|translate|rewrite|shorten|fix|check|correct|proofread|practi[cs]e|bio|letter|"
    r"texted)\b[^:\n]{0,60}:[ \t]*(?=\S)",
    re.IGNORECASE,
)
# In a turn with one of these nothing is meant so seriously that it ends a memory.
_JOKE = lazy_regex(
    r"\b(?:kidding|jk|lol|haha|joke|april fools|in my dreams|i wish|just testing|dreamt|my dream)\b", re.IGNORECASE
)
# A statement with one of these adds to what is known, or is a guess.
_HEDGE = lazy_regex(
    r"\b(?:too|as well|also|part[- ]time|probably|maybe|perhaps|possibly|not sure|i (?:think|guess|believe)|apparently|"
    r"supposedly|at least that's)\b",
    re.IGNORECASE,
)
# "Summarize:", "Here is my friend's letter:" on a line of its own; what follows is pasted.
_MATERIAL = lazy_regex(r":[ \t]*\n")


# "My rules:", "Please remember these:", "Some things about me:" open a list of the user's own.
_OWN_LIST = lazy_regex(
    r"\b(?:remember|rules|preferences|about (?:me|us)|keep in mind|from now on)\b[^\n]*$", re.IGNORECASE
)


class _Place(Struct, frozen=True):
    """A sentence in its conversation: the agent's turn before it, and the request which that turn answered."""

    turn: Turn
    sentence: Sentence
    agent: str = ""
    request: str = ""
    denied: bool = False  # "No." comes before it

    def evidence(self) -> EvidenceSpan:
        start, end = self.sentence.start, self.sentence.end
        return EvidenceSpan(self.turn.id, start, end, redact(self.turn.text[start:end]))


def extract(window: Window) -> Extraction:
    """What the new turns state, set as rules, correct or ask to forget."""
    notes: list[Note] = []
    endings: list[Ending] = []
    for place in _places(window):
        result = _read(place)
        if isinstance(result, Ending):
            endings.append(result)
        elif result is None:
            _extend(notes, place)
        elif not _has_secret(result):
            _append(notes, result)
    return Extraction([*notes, *agent_notes(window)], endings, BY_RULES)


def is_urgent(text: str) -> bool:
    """Whether a user corrects, sets a rule or asks to remember or forget: worth reading at once."""
    return any(
        explicit_cue(sentence.text)
        or forget(sentence.text)
        or remembered(sentence.text)
        or rule(sentence.text, after_agent=True)
        for sentence in sentences(text[:LONG_TURN])
    )


# --- sentences  ----------------------------------------------------------------------


def _places(window: Window) -> Iterator[_Place]:
    agent = request = earlier = ""
    scenes: set[SessionId] = set()
    for turn in window.turns:
        if not turn.by_user:
            agent, request = turn.text, earlier or request
            earlier = ""
            continue
        if turn.is_new and turn.session_id not in scenes:
            denied = False
            for sentence in _own_sentences(turn.text):
                yield _Place(turn, sentence, agent, request, denied)
                denied = bool(agent) and bool(_BARE_DENIAL.fullmatch(sentence.text))
        earlier, agent = turn.text, ""
        if _SCENE.search(turn.text[:OWN_WORDS]):
            scenes.add(turn.session_id)


_BARE_DENIAL = lazy_regex(r"(?:no|nope|wrong|that's wrong|not quite)[.!]*", re.IGNORECASE)


def _own_sentences(text: str) -> Iterator[Sentence]:
    """What the user says in their own words: not what follows a brief, or a line that ends with a colon."""
    if _LABEL.match(text):
        return
    brief, material = _BRIEF.match(text), _MATERIAL.search(text) or _INLINE_MATERIAL.search(text)
    if material and _OWN_LIST.search(text[: material.start()]):
        material = None
    for number, sentence in enumerate(sentences(text)):
        middle = len(text) > LONG_TURN and sentence.start > OWN_WORDS and sentence.end < len(text) - OWN_WORDS
        if (brief and number) or middle or (material and sentence.start >= material.end()):
            continue
        yield from clauses(sentence)


def _read(place: _Place) -> Note | Ending | None:
    text = with_apostrophes(place.sentence.text)
    ended = forget(text)
    if ended is not None:
        evidence, request_id = place.evidence(), place.turn.request_id
        return Ending(evidence, request_id, ended.cause, ended.target, ended.reach, only_rules=ended.only_rules)
    cue = explicit_cue(text)
    if cue is not None:
        return _read_cue(place, cue)
    amendment, request = amended(text), remembered(text)
    text = amendment or request or text
    taught = rule(f"No, {text}" if place.denied else text, after_agent=bool(place.agent))
    if taught is not None and not (taught.correction and _states_fact(taught.content)):
        return None if taught.correction and not _is_about_work(place, taught) else _rule_note(place, taught)
    explicit = bool(request or (amendment and not _OF_USER.match(text.lower())))
    stated = _statement(place, taught.content if taught else text, explicit=explicit or taught is not None)
    if stated is None or (_IT.match(stated.text.lower()) and not (request or _answered(place, stated.text))):
        return None  # "It's Canberra." says nothing without the question
    return replace(_fact_note(place, stated, explicit=explicit), amends=bool(amendment))


def _is_about_work(place: _Place, taught: Rule) -> bool:
    """Not "Bergen, not Oslo" in reply to what the agent said about a statement of the user."""
    asked = next(reversed(sentences(place.request)), None)
    return directs(taught.content) or asked is None or statement(asked.text) is None


_STATES = lazy_regex(r"(?:it's|it is|that's|the|my|our|his|her|i|we live|we are)\b")


def _states_fact(text: str) -> bool:
    """Whether it corrects a fact ("It's Dr. Chen, not Dr. Molar") rather than the agent's way of working."""
    return bool(_STATES.match(text.lower().replace("’", "'")))


def _read_cue(place: _Place, cue: Cue) -> Note | Ending:
    if cue.what is Explicit.FORGET:
        reach = Reach.EVERYTHING if cue.everything else Reach.NAMED
        return Ending(place.evidence(), place.turn.request_id, Cause.FORGET, cue.about, reach)
    if cue.what is Explicit.RULE:
        return _rule_note(place, Rule(cue.about))
    return _fact_note(place, Statement(cue.about, Category.FACT), explicit=True)


def _statement(place: _Place, text: str, *, explicit: bool) -> Statement | None:
    dated = period_in(text, place.turn.at) is not None
    named = attribute(declarative_part(text))
    is_fact = named is not None and named.is_fact
    stated = statement(text, dated=dated, explicit=explicit or is_fact)
    if stated is None and retracted(text) and _OF_USER.match(text.lower()):
        stated = Statement(declarative_part(text), Category.FACT)
    return stated


_OF_USER = lazy_regex(r"(?:i|we|my|our|she|he|they)\b")


# --- notes  ----------------------------------------------------------------------


def _fact_note(place: _Place, stated: Statement, *, explicit: bool) -> Note:
    at = place.turn.at
    happened = stated.category is Category.EVENT
    period = period_in(stated.text, at, past=happened)
    # An event stays true, and so may the other parts of a longer sentence.
    end = None if happened or _SAYS_MORE.search(stated.text) else end_in(stated.text, at)
    named = attribute(stated.text)
    corrects = retracted(stated.text) or replaced(stated.text)
    # "I moved from Oslo to Bergen" says where the user lives, whatever Bergen is.
    identity = named is not None and named.subject in IDENTITY and (named.single or bool(corrects))
    return Note(
        kind=Kind.PROFILE,
        certain=not (_HEDGE.search(place.sentence.text) or _JOKE.search(place.turn.text)),
        lesson=Lesson(stated.text + _answered(place, stated.text)),
        evidence=place.evidence(),
        request_id=place.turn.request_id,
        category=Category.IDENTITY if identity else stated.category,
        standing=identity or stated.standing,
        subject=_subject(named.subject, single=named.single) if named else "",
        value=named.value if named else "",
        corrects=corrects,
        # "Until January" names an end, not a beginning.
        valid_from=period.begin if period and period.end != end and not _UNTIL.search(stated.text) else None,
        # The end of an event is when it happened; of anything else, when it stops to hold.
        valid_until=period.end if period and happened else end,
        expires_at=end,
        confidence=CONFIDENCE[explicit],
    )


_UNTIL = lazy_regex(r"\b(?:until|till?)\b", re.IGNORECASE)
_SAYS_MORE = lazy_regex(r"\s(?:and|but|because|with|who|which|then|normally|like always)\s", re.IGNORECASE)
_IT = lazy_regex(r"(?:it's|it is|that's|that is)\b")


def _answered(place: _Place, text: str) -> str:
    """The sentence before that "It's Dr. Chen, not Dr. Molar." corrects: without it the words say nothing."""
    low, old = text.lower().replace("’", "'"), replaced(text)
    if not _IT.match(low) or not old:
        return ""
    before = [*sentences(place.agent[:LONG_TURN]), *sentences(place.request[:LONG_TURN])]
    corrected = next((sentence.text for sentence in before if old.lower() in sentence.text.lower()), "")
    return f' (in reply to "{redact(corrected)}")' if corrected and len(corrected) <= MAX_CONTEXT else ""


def _subject(subject: str, *, single: bool) -> str:
    """A subject that may have several values at a time is marked: it can be in conflict, it does not end anything."""
    return subject if single else f"~{subject}"


def _rule_note(place: _Place, taught: Rule) -> Note:
    """A rule with a stated end is kept as a fact of that time; the others are lessons."""
    end = end_in(taught.content, place.turn.at)
    trigger = taught.trigger or (_request(place.request) if taught.correction else "")
    named = attribute(taught.content)
    pitfall = _pitfall(place.agent, taught.content) if taught.correction else None
    return Note(
        kind=Kind.PROFILE if end else Kind.USER_PLAYBOOK,
        lesson=Lesson(taught.content, None if end else trigger or None, None, None if end else pitfall),
        evidence=place.evidence(),
        request_id=place.turn.request_id,
        category=Category.RULE,
        standing=not trigger,
        subject=_subject(named.subject, single=named.single) if named else "",
        value=named.value if named else "",
        corrects=retracted(taught.content) or replaced(taught.content),
        expires_at=end,
        confidence=0.9,
    )


def _request(text: str) -> str:
    """The request that the corrected turn answered, if it is short enough to name a situation."""
    last = next(reversed(sentences(text)), None)
    words = last.text.rstrip(".!? ") if last else ""
    return redact(words) if 0 < len(words) <= MAX_CONTEXT else ""


_NEGATED = lazy_regex(
    r"\b(?:never|don't|do not|not|instead of|rather than|stop|no longer|avoid)\s+([^,.;]{2,80})", re.IGNORECASE
)


def _pitfall(agent: str, instruction: str) -> str | None:
    """What the agent did, when one of its sentences names what the instruction rules out; never the instruction."""
    ruled_out = {
        word for match in _NEGATED.finditer(instruction.replace("’", "'")) for word in content_words(match[1].lower())
    }
    ruled_out = {word for word in ruled_out if len(word) > 3}
    for sentence in sentences(agent[:LONG_TURN]):
        did = redact(sentence.text)
        if len(did) <= MAX_CONTEXT and not did.endswith("?") and not ruled_out.isdisjoint(content_words(did.lower())):
            return did if distinct(did, instruction) else None
    return None


def distinct(pitfall: str, instruction: str) -> bool:
    """Whether neither of the two repeats the other."""
    pitfall_words, instruction_words = (" ".join(re.findall(r"\w+", text.lower())) for text in (pitfall, instruction))
    return bool(pitfall_words) and pitfall_words not in instruction_words and instruction_words not in pitfall_words


def _has_secret(note: Note) -> bool:
    return any("[redacted" in (text or "") or redact(text or "") != (text or "") for text in _texts(note))


def _texts(note: Note) -> Sequence[str | None]:
    return (note.lesson.content, note.lesson.trigger, note.lesson.pitfall, note.evidence.text)


# "Never delete ledger rows. Archive them instead."
_INSTEAD = lazy_regex(r"[^,.;!?]{3,80} instead[.!]*", re.IGNORECASE)


def _extend(notes: list[Note], place: _Place) -> None:
    """A sentence that says what to do instead belongs to the rule before it."""
    before, evidence = notes[-1] if notes else None, place.evidence()
    if before is None or before.category is not Category.RULE or not _INSTEAD.fullmatch(place.sentence.text):
        return
    if _follows(before, evidence) and _FORBIDS.search(before.lesson.content):
        notes[-1] = _joined(before, evidence, place.sentence.text)


def _append(notes: list[Note], note: Note) -> None:
    """Two sentences of one turn may be one rule, as in "Never do X. Always use Y", and then make one note."""
    before = notes[-1] if notes else None
    if before is None or not _continues(before, note):
        notes.append(note)
        return
    joined = _joined(before, note.evidence, note.lesson.content, note.lesson.pitfall)
    notes[-1] = replace(joined, corrects=before.corrects or note.corrects)


def _joined(before: Note, evidence: EvidenceSpan, content: str, pitfall: str | None = None) -> Note:
    content, pitfall = f"{before.lesson.content} {content}", before.lesson.pitfall or pitfall
    if pitfall and not distinct(pitfall, content):
        pitfall = None
    first = before.evidence
    whole = EvidenceSpan(first.interaction_id, first.start, evidence.end, f"{first.text} {evidence.text}")
    return replace(before, lesson=replace(before.lesson, content=content, pitfall=pitfall), evidence=whole)


_FORBIDS = lazy_regex(r"\b(?:never|don't|do not|stop|avoid|no longer)\b", re.IGNORECASE)
# Characters between two sentences that follow each other.
_GAP = 3


def _continues(before: Note, note: Note) -> bool:
    rules = before.category is note.category is Category.RULE and before.kind is note.kind
    opposite = bool(_FORBIDS.search(before.lesson.content)) != bool(_FORBIDS.search(note.lesson.content))
    return rules and opposite and _follows(before, note.evidence) and not note.lesson.trigger


def _follows(before: Note, evidence: EvidenceSpan) -> bool:
    same_turn = before.evidence.interaction_id == evidence.interaction_id
    return same_turn and 0 <= evidence.start - before.evidence.end <= _GAP
