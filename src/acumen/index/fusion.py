"""Fusion of BM25 and vector similarity into one score from 0 to 1 that means the same for every question. Pure."""

import numpy as np
from msgspec import Struct

from acumen.index.arrays import Flags, Floats

# Unrelated sentences lie about .1 apart in all-MiniLM-L6-v2, close paraphrases about .8; between them it is linear.
UNRELATED = 0.1
PARAPHRASE = 0.8

# Words and similarity weigh the same. Measured on facts about people (LoCoMo's observations): flat from .4 to .6.
OF_SIMILARITY = 0.5
_OF_WORDS = 1 - OF_SIMILARITY
# A shared word in a text about something else is mostly chance, yet ids and names have little meaning of their own:
# such a word counts half, and in full from this similarity on.
CHANCE = 0.5
AGREES = 0.3

# Turns are loose: similarity shows at smaller cosines, and averaged with its neighbours a turn never comes as close.
UNRELATED_TURN = 0.05
PARAPHRASE_WITH_NEIGHBOURS = 0.6
# A turn answers the one before it and so counts that one's words almost as its own; those further off count less.
BEFORE = 0.8
LONG_BEFORE = 0.3
AFTER = 0.5
# The same for similarity, where a turn is averaged with its neighbours.
SIMILARITY_BEFORE = 0.6
SIMILARITY_AFTER = 0.5
# The text of a turn is scored by its words, its similarity, and its similarity averaged with its neighbours.
OF_WORDS, OF_TURN, OF_NEIGHBOURS = 0.5, 0.2, 0.3
# Its session as a whole has this share of the score; the text of the turn has the remainder.
OF_SESSION = 0.23
# On top of that: the question names the speaker; else the speaker is the user; the turn is of the day in question.
NAMED = 0.19
# Measured with the answer keys at 300 tokens: LongMemEval .72 with .08, .75 with .16 and with .24; LoCoMo, whose
# questions name a speaker, .73 with each. Below (1 - OF_SESSION) * (1 - BEFORE), so that a turn of the user does not
# outrank the agent's turn before it that has every word of the question itself.
BY_USER = 0.15
ON_THE_DAY = 0.27
# Session and bonus only support a turn whose text scores; from here on they count in full, below it the less the
# closer to nothing.
SUPPORTED = 0.1

# Below this a hit is more often noise than help: words alone must cover a fifth of the question, similarity alone must
# pass a cosine of about .24. A caller may draw another line.
FLOOR = 0.1


def similarity(cosines: Floats, unrelated: float = UNRELATED, paraphrase: float = PARAPHRASE) -> Floats:
    """Cosines as a share, 0 where unrelated texts lie and 1 where paraphrases do."""
    share: Floats = cosines * np.float32(1 / (paraphrase - unrelated))
    share -= np.float32(unrelated / (paraphrase - unrelated))
    return np.clip(share, 0, 1, out=share)


def fuse_memory(words: Floats, similarities: Floats, has_vector: Flags | None = None) -> Floats:
    """The score of a text without neighbours. One that has no vector yet is scored by its words alone."""
    trust = similarities * np.float32(_OF_WORDS * (1 - CHANCE) / AGREES)
    np.clip(trust, 0, _OF_WORDS * (1 - CHANCE), out=trust)
    trust += np.float32(_OF_WORDS * CHANCE)
    trust *= words
    fused: Floats = np.float32(OF_SIMILARITY) * similarities
    fused += trust
    return fused if has_vector is None else np.where(has_vector, fused, words)


class TurnSimilarity(Struct, frozen=True):
    """The similarity of turns: alone, and averaged with their neighbours."""

    alone: Floats
    with_neighbours: Floats
    has_vector: Flags


def fuse_turn(words: Floats | None, similarity: TurnSimilarity | None, session: Floats | None, bonus: Floats) -> Floats:
    """The score of a turn. An arm that was not asked leaves its share to the others.

    `bonus` is added on top, beyond 1 if need be, so that it still separates the best.
    """
    text = _text_score(words, similarity, len(bonus))
    share = 1.0 if session is None else 1 - OF_SESSION
    support = bonus if session is None else bonus + np.float32(OF_SESSION) * session
    scores: Floats = np.float32(share) * text + support * np.minimum(text / np.float32(SUPPORTED), 1) ** 2
    return scores


def _text_score(words: Floats | None, similarity: TurnSimilarity | None, size: int) -> Floats:
    """The score of what turns say themselves, 0 to 1."""
    if similarity is None:
        return np.zeros(size, np.float32) if words is None else words
    similar = np.float32(OF_TURN) * similarity.alone + np.float32(OF_NEIGHBOURS) * similarity.with_neighbours
    if words is None:
        return similar * np.float32(1 / (OF_TURN + OF_NEIGHBOURS))
    return np.where(similarity.has_vector, np.float32(OF_WORDS) * words + similar, words)
