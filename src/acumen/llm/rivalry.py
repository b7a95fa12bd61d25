"""Whether a statement leaves room for an older one: the embedding model, trained on with pairs of them.

Trained by `scripts/train_rivals.py`, and read when statements are first compared.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from acumen.llm import network
from acumen.llm.vocabulary import MAX_TOKENS, Vocabulary

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MODEL = Path(__file__).with_name("rivals.onnx")
HALF = MAX_TOKENS // 2


class Rivalry:
    """Pairs in, scores out: above zero where the second text replaces the first. Safe in many threads."""

    def __init__(self, session: "InferenceSession", vocabulary: Vocabulary) -> None:
        self._session = session
        self._vocabulary = vocabulary

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Of what was known, and what was said then; in the order given."""
        found = dict[int, float]()
        ids = [(self._vocabulary.ids(old)[:HALF], self._vocabulary.ids(new)[1:HALF]) for old, new in pairs]
        for positions in network.runs([len(old) + len(new) for old, new in ids]):
            rows, present = self._vocabulary.rows([[*old, *new] for old, new in (ids[place] for place in positions)])
            starts = np.array([[len(ids[place][0])] for place in positions])
            older = (np.arange(rows.shape[1]) < starts).astype(np.float32)
            (scores,) = self._session.run(None, {"rows": rows, "older": older, "newer": present - older})
            found |= dict(zip(positions, scores[:, 0].tolist(), strict=True))
        return [found[place] for place in range(len(pairs))]


def load_rivalry(vocabulary: Vocabulary) -> Rivalry:
    """Raises ModelMissing."""
    return Rivalry(network.load(MODEL, "network that compares statements"), vocabulary)
