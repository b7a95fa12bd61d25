"""Meaning as vectors, off the event loop. Without a model the answer is None, and search goes by words."""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from acumen.errors import ModelMissing
from acumen.llm.embed import NAME, Embedder, Reading, load_embedder
from acumen.llm.rivalry import Rivalry, load_rivalry

Vector = NDArray[np.float32]
log = logging.getLogger(__name__)

# Short texts embedded lately are not embedded again.
RECENT = 128
SHORT = 300
# Small bites, so that a search never waits long behind a batch for the processor.
BITE = 8


class Meaning:
    """Loads the model when it is first needed, since many starts never need it."""

    name = NAME

    def __init__(self, *, enabled: bool = True) -> None:
        self._embedder: Embedder | None = None
        self._rivalry: Rivalry | None = None
        self._loading = Lock()
        self._recent: dict[str, Vector] = {}
        self.problem: str | None = None if enabled else "switched off by the setting recall.embeddings"
        self._asked = ThreadPoolExecutor(1, thread_name_prefix="embed-query")
        self._bulk = ThreadPoolExecutor(1, thread_name_prefix="embed-bulk")

    @property
    def loaded(self) -> bool:
        return self._embedder is not None

    async def of_query(self, text: str) -> Vector | None:
        if self.problem:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._asked, self._one, text)

    async def of_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """One vector per text, in order."""
        vectors: list[Vector | None] = []
        for start in range(0, len(texts), BITE):
            bite = texts[start : start + BITE]
            vectors += await asyncio.get_running_loop().run_in_executor(self._bulk, self._many, bite)
        return vectors

    def readings(self, texts: Sequence[str]) -> list[Reading] | None:
        """The texts read token by token, for a caller in a thread of its own, who may wait here."""
        embedder = None if self.problem else self._ready()
        return None if embedder is None else embedder.read(texts)

    async def rivalry(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        """For each pair of what was known and what was said then, how much speaks for the new replacing the old."""
        if self.problem:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._bulk, self._scores, pairs)

    def close(self) -> None:
        self._asked.shutdown(cancel_futures=True)
        self._bulk.shutdown(cancel_futures=True)

    def _one(self, text: str) -> Vector | None:
        embedder = self._ready()
        return None if embedder is None else embedder.embed_one(text)

    def _many(self, texts: Sequence[str]) -> list[Vector | None]:
        embedder = self._ready()
        if embedder is None:
            return [None] * len(texts)
        known = {text: self._recent[text] for text in texts if text in self._recent}
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(unknown, embedder.embed(unknown), strict=True) if unknown else ())
        self._remember({text: known[text] for text in unknown if len(text) <= SHORT})
        return [known[text] for text in texts]

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        embedder = self._ready()
        if embedder is None:
            return None
        if self._rivalry is None:
            self._rivalry = load_rivalry(embedder)
        return self._rivalry.scores(pairs)

    def _remember(self, fresh: dict[str, Vector]) -> None:
        """What is learned as a fact is often learned as a lesson too, a moment later."""
        self._recent = dict([*self._recent.items(), *fresh.items()][-RECENT:]) if fresh else self._recent

    def _ready(self) -> Embedder | None:
        with self._loading:
            if self._embedder is None and self.problem is None:
                try:
                    self._embedder = load_embedder()
                except ModelMissing as missing:
                    self.problem = str(missing)
                    log.warning("search goes by words only: %s", missing)
            return self._embedder
