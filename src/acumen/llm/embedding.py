"""Turn text into vectors on this machine: all-MiniLM-L6-v2, int8, without network.

The model is built by `scripts/build_model.py`. Where it is missing, `load_embedder` says why in a sentence, and the
server can go on with words alone.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acumen.llm import network
from acumen.llm.vocabulary import MODEL_DIRECTORY, Vocabulary, load_vocabulary

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

Vectors = NDArray[np.float32]

# Stored with each vector: vectors of different models cannot be compared.
NAME = "minilm-l6-v2-int8"
DIMS = 384
# A search repeats its query while a user pages and filters.
REMEMBERED_TEXTS = 256


class Embedder:
    """Text in, vectors of length one out. A text has the same vector alone and among others. Safe in many threads."""

    name = NAME
    dims = DIMS

    def __init__(self, session: "InferenceSession", vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._session = session
        self._remembered = lru_cache(maxsize=REMEMBERED_TEXTS)(self._embed_alone)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in the order given. Only the first 256 tokens of a text are read."""
        vectors = np.empty((len(texts), self.dims), np.float32)
        ids = [self.vocabulary.ids(text) for text in texts]
        for positions in network.runs([len(each) for each in ids]):
            rows, present = self.vocabulary.rows([ids[position] for position in positions])
            (vectors[positions],) = self._session.run(None, {"rows": rows, "present": present})
        return vectors

    def embed_one(self, text: str) -> Vectors:
        """The vector of one text, remembered for the next time it is asked; not to be written to."""
        return self._remembered(text)

    def _embed_alone(self, text: str) -> Vectors:
        vector: Vectors = self.embed([text])[0]
        vector.setflags(write=False)
        return vector


def load_embedder(directory: Path = MODEL_DIRECTORY) -> Embedder:
    """Read the model from disk, in about a fifth of a second; raises ModelMissing."""
    return Embedder(network.load(directory / "model.onnx", "embedding model"), load_vocabulary(directory))
