"""What a command aims at: one thing at hand, or all things of a kind; a piece of work, or a manner of working."""

import itertools

from acumen.learn.rules.clauses import DETERMINERS, PREPOSITIONS, SECOND, Clause, Frame

_POINTING = frozenset("this that these those it here there them him her one ones following".split())
_ORDINALS = frozenset("first second third last next previous same other following current entire whole rest".split())
_NOW = frozenset("yet now today tonight tomorrow".split())
# Acts of talk and courtesy: asked for once, never a way of working.
TALK = frozenset(
    "worry bother mind thank forgive excuse wait hurry guess imagine suppose forget hesitate panic laugh "
    "cry wish hope welcome tell see look listen hear know think".split()
)
COURTESY = frozenset("mind hesitate worry panic".split())
# Verbs that set a manner of working rather than order a piece of work.
MANNER = frozenset(
    "use avoid keep prefer answer reply respond speak address treat call stick default be refer format "
    "spell round cite quote limit follow assume stop quit skip respect maintain favor favour double-check "
    "include exclude mention prioritize adopt consider refrain sign leave omit drop apologize apologise".split()
)
WORK = frozenset(
    "write make create build generate add fix deploy send show give list find get explain summarize "
    "translate open run check update change remove delete move rename help tell draft book order schedule "
    "plan calculate compute convert compare analyze review test complete present suggest".split()
)
# Work that is often asked for once over all of something.
LISTING = frozenset("count print replace sort extract read clear close fetch return select ask".split()) | WORK
# What an agent makes: wishes about these are wishes about its work.
OUTPUT = frozenset(
    "answer answers reply replies response responses message messages explanation explanations summary "
    "summaries email emails code comment comments tone style language format table tables list lists bullet "
    "bullets emoji emojis jargon markdown text output units wording sentence sentences paragraph paragraphs "
    "report reports example examples commit commits pr prs test tests name names variable variables "
    "function functions docstring docstrings invoice invoices introductions".split()
)


def points(framed: Frame) -> bool:
    """Whether the command is about one thing at hand: this, it, the second paragraph."""
    said = [word.low for word in framed.rest if not word.opaque]
    if not said:
        return framed.verb not in MANNER
    return any(_pointing_at(said, place) for place in range(len(said))) or bool(_NOW & set(said))


def _pointing_at(said: list[str], place: int) -> bool:
    low, before = said[place], said[place - 1] if place else ""
    after = said[place + 1] if place + 1 < len(said) else ""
    if low in ("that", "those") and before and before not in PREPOSITIONS:
        return False  # relative: "files that are large"
    if low in ("it", "them", "there", "here") and place > (0 if low == "here" else 1):
        return False  # refers back within the clause; "here" after a thing means "with us"
    if (low in _ORDINALS and before in ("the", "that") and after != "time") or low in (
        "previous",
        "earlier",
        "attached",
    ):
        return True
    if low == "one" and after and before not in ("the", "this", "that"):
        return False  # a number: "one paragraph"
    if low in ("above", "below"):
        return not after or not (after[0].isdigit() or after[0] in "$€£")
    return low in _POINTING


def definite(framed: Frame) -> bool:
    return any(word.low in ("the", "this", "that", "these") for word in framed.rest[:4]) and not any(
        word.low in OUTPUT for word in framed.rest
    )


def one_piece(framed: Frame) -> bool:
    """'use a loop', 'include 3 more emails': one thing asked for once."""
    opening = [word.low for word in framed.rest[:2]]
    counted = any(low in ("another", "additional", "more", "extra") or low[:1].isdigit() for low in opening)
    if counted and framed.verb in ("include", "mention", "use", "cite"):
        return True
    return bool({"a", "an", "some"} & set(opening)) and framed.verb not in ("be", "call")


def universal(framed: Frame) -> bool:
    """'log every change': about all things of a kind, so about those to come."""
    low = [word.low for word in framed.rest]
    pairs = list(itertools.pairwise(low[:4]))
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


# Parts of one work at hand, which are often gone through one by one.
_PARTS = frozenset(
    "file files line lines function functions page pages row rows column columns item items step steps".split()
)


def every_time(framed: Frame) -> bool:
    """'… on every invoice', '… with each release', '… in all emails'."""
    low = [word.low for word in framed.rest]
    triples = zip(low, low[1:], [*low[2:], ""], strict=False)
    return any(
        one in PREPOSITIONS - {"of", "about"}
        and other in ("every", "each", "all", "any")
        and thing not in _PARTS | DETERMINERS | {"", "of"}
        for one, other, thing in triples
    )
