"""What each sentence of a turn is: the lower layers of the embedding model, trained on with sentences of many people.

Trained by `scripts/train_reader.py`, and read when somebody first says something.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from acumen.llm import network
from acumen.llm.vocabulary import MAX_TOKENS, Floats, Ids, Vocabulary

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MODEL = Path(__file__).with_name("reader.onnx")
# Of what was said before a turn, and of one sentence, so many tokens are read.
MOST_BEFORE = 60
MOST_OF_ONE = 80


class Spoken(NamedTuple):
    """A turn: what the agent had said, the sentences, and what the surface of each shows."""

    before: str
    sentences: Sequence[str]
    signs: Floats


class _Piece(NamedTuple):
    """Sentences of a turn that are read together, after what was said before them."""

    turn: int
    ids: Ids
    sentence_of: list[int]  # of each token, counted from the turn's first; -1 for what is nobody's


class Reader:
    """Turns in; for each sentence how likely each label is. Safe in many threads."""

    def __init__(self, session: "InferenceSession", vocabulary: Vocabulary) -> None:
        self._session = session
        self._vocabulary = vocabulary

    def chances(self, turns: Sequence[Spoken]) -> list[Floats]:
        """For each turn a row of chances for each of its sentences."""
        found: list[dict[int, Floats]] = [{} for _ in turns]
        pieces = [piece for place, turn in enumerate(turns) for piece in self._pieces(place, turn)]
        for positions in network.runs([len(piece.ids) for piece in pieces]):
            run = [pieces[position] for position in positions]
            asked = [(place, one) for place, piece in enumerate(run) for one in sorted({*piece.sentence_of} - {-1})]
            signs = np.stack([turns[run[place].turn].signs[one] for place, one in asked])
            for (place, one), row in zip(asked, self._run(run, asked, signs), strict=True):
                found[run[place].turn][one] = row
        return [np.stack([of_turn[one] for one in range(len(of_turn))]) for of_turn in found]

    def _run(self, run: Sequence[_Piece], asked: Sequence[tuple[int, int]], signs: Floats) -> Floats:
        rows, present = self._vocabulary.rows([piece.ids for piece in run])
        whose = np.full(present.shape, -1)
        for place, piece in enumerate(run):
            whose[place, : len(piece.ids)] = piece.sentence_of
        places, sentences = np.array(asked).T
        given = {
            "rows": rows,
            "before": present * (whose < 0),
            "said": (whose >= 0).astype(np.float32),
            "turn": places,
            "sentence": (whose[places] == sentences[:, None]).astype(np.float32),
            "signs": signs,
        }
        chances: Floats = self._session.run(None, given)[0]
        return chances

    def _pieces(self, place: int, turn: Spoken) -> list[_Piece]:
        """A turn is read at once, unless it is too long for that."""
        first, last = self._vocabulary.ends
        before = self._vocabulary.ids(turn.before)[:MOST_BEFORE] if turn.before else [first]
        pieces: list[_Piece] = []
        for number, sentence in enumerate(turn.sentences):
            ids = self._vocabulary.ids(sentence)[1:-1][:MOST_OF_ONE] or [last]
            if not pieces or len(pieces[-1].ids) + len(ids) >= MAX_TOKENS:
                pieces.append(_Piece(place, [*before], [-1] * len(before)))
            pieces[-1].ids.extend(ids)
            pieces[-1].sentence_of.extend([number] * len(ids))
        for piece in pieces:
            piece.ids.append(last)
            piece.sentence_of.append(-1)
        return pieces


def load_reader(vocabulary: Vocabulary) -> Reader:
    """Raises ModelMissing."""
    return Reader(network.load(MODEL, "network that reads sentences"), vocabulary)
