"""How words and meaning become one score from 0 to 1 that means the same for every question. Pure."""

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

# BM25's two dials: how soon repeats of a word stop counting, and how much a long text is held against a match.
# The usual values: facts and chat are content with any, long answers of assistants need their length to count.
K1 = 1.2
B = 0.75

# What a word of asking ("recommend", "number") is worth beside a word of the subject.
ASKING = 0.5

# Unrelated sentences lie about .1 apart in all-MiniLM-L6-v2, close paraphrases about .8; between them it is linear.
UNRELATED = 0.1
PARAPHRASE = 0.8

# Words and meaning weigh the same. Measured on facts about people (LoCoMo's observations): flat from .4 to .6.
MEANING = 0.5
_OF_WORDS = 1 - MEANING
# A shared word whose meaning points elsewhere is mostly chance, yet ids and names have little meaning to point with:
# such a word counts half, and in full from where the meaning agrees this much.
CHANCE = 0.5
AGREES = 0.3

# Talk is loose: meaning shows at smaller cosines, and averaged with its neighbours a turn never comes as close.
UNRELATED_TURN = 0.05
PARAPHRASE_IN_TALK = 0.6
# A turn answers the one before it and so holds that one's words almost as its own; those further off it holds less.
BEFORE = 0.8
LONG_BEFORE = 0.3
AFTER = 0.5
# The same for meaning, where a turn is averaged with its neighbours.
BEFORE_MEANS = 0.6
AFTER_MEANS = 0.5
# What a turn says itself is judged by its words, its meaning, and its meaning together with its neighbours.
OF_WORDS, OF_MEANING, OF_TALK = 0.5, 0.2, 0.3
# Its session as a whole has this share of the score, what the turn says itself has the rest.
OF_SESSION = 0.23
# On top of that: the question names the speaker; else the user speaks, who knows best of themselves; it was that day.
NAMED = 0.19
# Measured with the answer keys at 300 tokens: LongMemEval .72 with .08, .75 with .16 and with .24; LoCoMo, whose
# questions name a speaker, .73 with each. Below (1 - OF_SESSION) * (1 - BEFORE), so that a turn of the user does not
# outrank the agent's turn before it that has every word of the question itself.
BY_USER = 0.15
ON_THE_DAY = 0.27
# Session and extras only support a turn that says something itself; from here on they count in full, below it the
# less the closer to nothing.
SPEAKS = 0.1

# Below this a hit is more often noise than help: words alone must cover a fifth of the question, meaning alone must
# pass a cosine of about .24. A caller may draw another line.
FLOOR = 0.1


def rarity(rows: int, holding: int) -> float:
    """The information in a word: BM25's inverse document frequency, in the form that is never negative."""
    return math.log1p((rows - holding + 0.5) / (holding + 0.5))


def patience(lengths: Floats, mean_length: float) -> Floats:
    """How long texts make one wait before they hold a word firmly."""
    return np.float32(K1 * (1 - B)) + np.float32(K1 * B / mean_length) * lengths


def hold(counts: Floats, patience: Floats) -> Floats:
    """How firmly texts hold a word, 0 to 1: said once in a text of average length is 1."""
    held: Floats = np.divide(counts * np.float32(1 + K1), counts + patience)
    return np.minimum(held, 1, out=held)


def meaning(cosines: Floats, unrelated: float = UNRELATED, paraphrase: float = PARAPHRASE) -> Floats:
    """Cosines as a share, 0 where unrelated texts lie and 1 where paraphrases do."""
    share: Floats = cosines * np.float32(1 / (paraphrase - unrelated))
    share -= np.float32(unrelated / (paraphrase - unrelated))
    return np.clip(share, 0, 1, out=share)


def memory(words: Floats, meanings: Floats, known: Flags | None = None) -> Floats:
    """The score of a text that stands by itself. One whose meaning is not known yet is judged by its words alone."""
    trust = meanings * np.float32(_OF_WORDS * (1 - CHANCE) / AGREES)
    np.clip(trust, 0, _OF_WORDS * (1 - CHANCE), out=trust)
    trust += np.float32(_OF_WORDS * CHANCE)
    trust *= words
    fused: Floats = np.float32(MEANING) * meanings
    fused += trust
    return fused if known is None else np.where(known, fused, words)


class Meant(Struct, frozen=True):
    """The meaning of turns: their own, and together with their neighbours."""

    alone: Floats
    in_talk: Floats
    known: Flags


def turn(words: Floats | None, meant: Meant | None, session: Floats | None, favour: Floats) -> Floats:
    """The score of a turn. An arm that was not asked leaves its share to the others.

    `favour` is added on top, beyond 1 if need be, so that it still tells the best apart.
    """
    said = _said(words, meant, len(favour))
    own = 1.0 if session is None else 1 - OF_SESSION
    support = favour if session is None else favour + np.float32(OF_SESSION) * session
    scores: Floats = np.float32(own) * said + support * np.minimum(said / np.float32(SPEAKS), 1) ** 2
    return scores


def _said(words: Floats | None, meant: Meant | None, size: int) -> Floats:
    """What turns say themselves, 0 to 1."""
    if meant is None:
        return np.zeros(size, np.float32) if words is None else words
    meanings = np.float32(OF_MEANING) * meant.alone + np.float32(OF_TALK) * meant.in_talk
    if words is None:
        return meanings * np.float32(1 / (OF_MEANING + OF_TALK))
    return np.where(meant.known, np.float32(OF_WORDS) * words + meanings, words)
