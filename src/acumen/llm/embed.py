"""Turn text into vectors on this machine: all-MiniLM-L6-v2, int8, without network.

The model is built by `scripts/build_model.py`. Where it is missing, `load_embedder` says why in a sentence, and the
server can go on with words alone.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acumen.errors import ModelMissing

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, SessionOptions
    from splintr import AnyTokenizer

Vectors = NDArray[np.float32]
# A text read for what it does: a row for each of its tokens, from the middle of the model.
Reading = Vectors

# What the model answers, and what it is told where only its lower half is to run.
EMBEDDING, STATES = "embedding", "states"
WHOLE = "whole"

# Stored with each vector: vectors of different models cannot be compared.
NAME = "minilm-l6-v2-int8"
DIMS = 384
MODEL_DIRECTORY = Path(__file__).parent / "minilm"

# The model was trained on texts up to this long; the rest of a longer text is not read.
MAX_TOKENS = 256
# Far more than 256 tokens of any real text, so that a book is not split into words for its first page.
MAX_CHARACTERS = 16_000
# Texts of like length run together up to this many tokens, padding included: enough to share the cost of a run,
# few enough that what flows between layers stays in the processor's cache and memory stays small.
TOKENS_PER_RUN = 256
# A run costs as much as so many tokens more: where padding would cost more than that, texts run apart.
RUN_COSTS = 4
# A search repeats its query while a user pages and filters.
REMEMBERED_TEXTS = 256


class Together(NamedTuple):
    """Pairs of texts read in one run: which they are, a row for each token, and whose text the token is of."""

    positions: list[int]
    states: Vectors
    is_first: Vectors
    is_second: Vectors


class Embedder:
    """Text in, vectors of length one out. A text has the same vector alone and among others. Safe in many threads."""

    name = NAME
    dims = DIMS

    def __init__(self, session: "InferenceSession", tokenizer: "AnyTokenizer") -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._remembered = lru_cache(maxsize=REMEMBERED_TEXTS)(self._embed_alone)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in the order given. Only the first 256 tokens of a text are read."""
        return self.embed_and_read(texts)[0]

    def embed_and_read(self, texts: Sequence[str]) -> tuple[Vectors, list[Reading]]:
        """Both for the price of `embed`."""
        vectors = np.empty((len(texts), self.dims), np.float32)
        readings: dict[int, Reading] = {}
        for positions, ids in self._batches(texts):
            vectors[positions], states = self._run(ids, EMBEDDING, STATES)
            readings |= _readings(positions, ids, states)
        return vectors, [readings[position] for position in range(len(texts))]

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """The tokens of each text, in the order given; costs two thirds of `embed`."""
        readings: dict[int, Reading] = {}
        for positions, ids in self._batches(texts):
            readings |= _readings(positions, ids, *self._run(ids, STATES))
        return [readings[position] for position in range(len(texts))]

    def read_together(self, pairs: Sequence[tuple[str, str]]) -> Iterator["Together"]:
        """Two texts as one, by the lower layers of the model alone, for whoever goes on from there."""
        half = MAX_TOKENS // 2
        ids = [(self._ids(first)[:half], self._ids(second)[1:half]) for first, second in pairs]
        for positions in _runs([len(first) + len(second) for first, second in ids]):
            run = [ids[position] for position in positions]
            (states,) = self._run([[*first, *second] for first, second in run], STATES)
            places = np.arange(states.shape[1])
            starts = np.array([[len(first)] for first, _ in run])
            ends = starts + [[len(second)] for _, second in run]
            is_first = (places < starts).astype(np.float32)
            is_second = ((places >= starts) & (places < ends)).astype(np.float32)
            yield Together(positions, states[:, :, -self.dims :], is_first, is_second)

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[int]]]]:
        ids = [self._ids(text) for text in texts]
        for positions in _runs([len(each) for each in ids]):
            yield positions, [ids[position] for position in positions]

    def embed_one(self, text: str) -> Vectors:
        """The vector of one text, remembered for the next time it is asked; not to be written to."""
        return self._remembered(text)

    def _embed_alone(self, text: str) -> Vectors:
        vector: Vectors = self.embed([text])[0]
        vector.setflags(write=False)
        return vector

    def _ids(self, text: str) -> list[int]:
        ids = self._tokenizer.encode(_well_formed(text[:MAX_CHARACTERS]))
        return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]

    def _run(self, ids: list[list[int]], *wanted: str) -> list[Vectors]:
        tokens = np.zeros((len(ids), max(map(len, ids))), np.int64)
        mask = np.zeros_like(tokens)
        for row, each in enumerate(ids):
            tokens[row, : len(each)] = each
            mask[row, : len(each)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, WHOLE: np.array(EMBEDDING in wanted)}
        answers: list[Vectors] = self._session.run(wanted, given)
        return answers


def load_embedder(directory: Path = MODEL_DIRECTORY) -> Embedder:
    """Read the model from disk, in about a fifth of a second; raises ModelMissing."""
    missing = [name for name in ("model.onnx", "tokenizer.json") if not (directory / name).is_file()]
    if missing:
        raise ModelMissing(f"The embedding model is not installed: {' and '.join(missing)} missing.")
    try:
        import onnxruntime  # noqa: PLC0415 - 40 MB that a server without embeddings never pays
        import splintr  # noqa: PLC0415 - as above
    except ImportError as error:
        raise ModelMissing(f"The embedding model cannot run: {error}.") from error
    onnxruntime.disable_telemetry_events()
    try:
        session = onnxruntime.InferenceSession(
            str(directory / "model.onnx"), options(), providers=["CPUExecutionProvider"]
        )
        embedder = Embedder(session, splintr.from_json(str(directory / "tokenizer.json")))
    except Exception as error:  # onnxruntime and splintr raise their own kinds, without a common base
        raise ModelMissing("The embedding model is damaged: its files cannot be read.") from error
    if WHOLE not in {given.name for given in session.get_overridable_initializers()}:
        raise ModelMissing("The embedding model was built for an older version: build it anew with `make install`.")
    return embedder


def options() -> "SessionOptions":
    from onnxruntime import SessionOptions  # noqa: PLC0415 - as above

    options = SessionOptions()
    # Requests are served side by side; a run that spreads over all cores would slow its neighbours.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return options


def _readings(positions: Sequence[int], ids: Sequence[Sequence[int]], states: Vectors) -> dict[int, Reading]:
    return {position: states[row, : len(ids[row])] for row, position in enumerate(positions)}


def _runs(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions of the texts to run together, shortest first."""
    run: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        length = lengths[position]
        padding = (length - lengths[run[-1]]) * len(run) if run else 0
        if run and (padding > RUN_COSTS or length * (len(run) + 1) > TOKENS_PER_RUN):
            yield run
            run = []
        run.append(position)
    if run:
        yield run


def _well_formed(text: str) -> str:
    """Half a surrogate pair, as a truncated JSON string may hold, becomes a question mark."""
    return text.encode(errors="replace").decode()
