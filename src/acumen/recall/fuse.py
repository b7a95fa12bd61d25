"""How words and meaning become one score from 0 to 1 that means the same for every question. Pure."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# BM25's two dials: how soon repeats of a word stop counting, and how much a long text is held against a match.
# The usual values: facts and chat are content with any, long answers of assistants need the length to count.
K1 = 1.2
B = 0.75

# Unrelated sentences lie about .1 apart in all-MiniLM-L6-v2, close paraphrases about .8; between them it is linear.
UNRELATED = 0.1
PARAPHRASE = 0.8
# Talk is loose: what a turn means for a question shows earlier, and averaged with its neighbours it never comes as close.
UNRELATED_TURN = 0.05
PARAPHRASE_IN_TALK = 0.6

# Words and meaning weigh the same. Measured on facts about people (LoCoMo's observations): flat from .4 to .6.
MEANING = 0.5
# A shared word whose meaning points elsewhere is mostly chance, yet ids and names have little meaning to point with.
CHANCE = 0.5
AGREES = 0.3

# A turn answers the one before it, so it holds that one's words almost as its own; less those before and after.
BEFORE = 0.8
LONG_BEFORE = 0.3
AFTER = 0.5
# The same for meaning, where a turn is averaged with its neighbours.
BEFORE_MEANS = 0.6
AFTER_MEANS = 0.5
# Shares of a turn's score: its words, its meaning, its meaning in the talk, the words of its session.
TURN_SHARES = (0.38, 0.15, 0.23, 0.24)
# On top: the question names who speaks, the user speaks (facts about people come from themselves), it was that day.
NAMED = 0.18
BY_USER = 0.07
ON_THE_DAY = 0.26
# These and the session support a turn that says something itself; from here on they count in full.
SPEAKS = 0.1

# Below this a hit is more often noise than help: words alone must cover a fifth of the question, meaning alone must
# pass a cosine of about .24. A caller may draw another line.
FLOOR = 0.1


def rarity(rows: int, holding: int) -> float:
    """The information in a word: BM25's inverse document frequency, in the form that is never negative."""
    return float(np.log1p((rows - holding + 0.5) / (holding + 0.5)))


def hold(counts: Floats, lengths: Floats, mean_length: float) -> Floats:
    """How firmly texts hold a word, 0 to 1: said once in a text of average length is 1."""
    held: Floats = counts * np.float32(1 + K1) / (counts + np.float32(K1) * (np.float32(1 - B) + np.float32(B / mean_length) * lengths))
    return np.minimum(held, 1, out=held)


def meaning(cosines: Floats, unrelated: float = UNRELATED, paraphrase: float = PARAPHRASE) -> Floats:
    """Cosines as a share, 0 where unrelated texts lie and 1 where paraphrases do."""
    share: Floats = (cosines - np.float32(unrelated)) * np.float32(1 / (paraphrase - unrelated))
    return np.clip(share, 0, 1, out=share)


def both(words: Floats, meanings: Floats, known: NDArray[np.bool_]) -> Floats:
    """The score of a memory. One that has no vector yet is judged by its words alone."""
    trust = np.float32(CHANCE) + np.float32(1 - CHANCE) * np.minimum(meanings / np.float32(AGREES), 1)
    fused = np.float32(1 - MEANING) * words * trust + np.float32(MEANING) * meanings
    return np.where(known, fused, words)


def talk(
    words: Floats | None, meanings: Floats | None, around: Floats | None, session: Floats | None, favour: Floats
) -> Floats:
    """The score of a turn. An arm that was not asked leaves its share to the others."""
    itself = [arm is not None for arm in (words, meanings, around)]
    shares = [share for share, asked in zip(TURN_SHARES, itself, strict=False) if asked]
    said = np.zeros(len(favour), np.float32)
    for arm, share in zip((words, meanings, around), TURN_SHARES, strict=False):
        if arm is not None:
            said += np.float32(share) * arm
    said /= np.float32(sum(shares))
    support = favour if session is None else favour + np.float32(TURN_SHARES[3]) * session
    part = 1 - TURN_SHARES[3] if session is not None else 1.0
    scores: Floats = np.float32(part) * said + support * np.minimum(said / np.float32(SPEAKS), 1)
    return np.minimum(scores, 1, out=scores)
