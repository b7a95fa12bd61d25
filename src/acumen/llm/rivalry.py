"""Whether a statement leaves room for an older one: the upper half of the embedding model, trained on pairs of them.

Trained by `scripts/train_rivals.py`, and read when statements are first compared.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acumen.errors import ModelMissing
from acumen.llm.embed import Embedder, options

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MODEL = Path(__file__).with_name("rivals.onnx")


class Rivalry:
    """Pairs in, scores out: above zero where the second text replaces the first. Safe in many threads."""

    def __init__(self, session: "InferenceSession", embedder: Embedder) -> None:
        self._session = session
        self._embedder = embedder

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Of what was known, and what was said then; in the order given."""
        found = dict[int, float]()
        for positions, states, older, newer in self._embedder.read_together(pairs):
            (scores,) = self._session.run(None, {"states": states, "older": older, "newer": newer})
            found |= dict(zip(positions, scores[:, 0].tolist(), strict=True))
        return [found[place] for place in range(len(pairs))]


def load_rivalry(embedder: Embedder) -> Rivalry:
    """Raises ModelMissing."""
    import onnxruntime  # noqa: PLC0415 - 40 MB that a server without embeddings never pays

    try:
        return Rivalry(
            onnxruntime.InferenceSession(str(MODEL), options(), providers=["CPUExecutionProvider"]), embedder
        )
    except Exception as error:  # onnxruntime raises its own kinds, without a common base
        raise ModelMissing("The network that compares statements is damaged: its file cannot be read.") from error
