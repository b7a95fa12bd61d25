"""Local models off the event loop. Without a model the answer is None, and search uses keywords only."""

import asyncio
import logging
import os
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acumen.errors import ModelMissing
from acumen.llm.embedding import NAME, Embedder, load_embedder

Vector = NDArray[np.float32]
log = logging.getLogger(__name__)

# Short texts embedded lately are not embedded again.
RECENT = 128
SHORT = 300
# Small bites, so that a search never waits long behind a batch for the processor.
BITE = 8
# This many texts or pairs that wait at the same time go into one run.
MOST_TOGETHER = 32
# This many runs are parallel where there are cores for them: a run uses one, and jobs are few.
MOST_AT_ONCE = 4

# What is asked for many things at once: an answer for each, in order, or None where there is no model.
Run = Callable[[Sequence[Any]], Sequence[Any] | None]


class LocalModels:
    """Loads the model when it is first needed, since many starts never need it."""

    name = NAME

    def __init__(self, *, enabled: bool = True, at_once: int = min(os.cpu_count() or 1, MOST_AT_ONCE)) -> None:
        self._embedder: Embedder | None = None
        self._loading = Lock()
        self._recent: dict[str, Vector] = {}  # what is learned as a fact is often learned as a lesson too
        self.problem: str | None = None if enabled else "switched off by the setting recall.embeddings"
        self._asked = ThreadPoolExecutor(1, thread_name_prefix="embed-query")
        self._bulk = ThreadPoolExecutor(at_once, thread_name_prefix="embed-bulk")
        self._taking = Lock()
        self._waiting: defaultdict[Run, deque[tuple[Sequence[Any], Future[Any]]]] = defaultdict(deque)

    @property
    def loaded(self) -> bool:
        return self._embedder is not None

    async def embed_query(self, text: str) -> Vector | None:
        if self.problem:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._asked, self._one, text)

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """One vector per text, in order."""
        vectors: list[Vector | None] = []
        for start in range(0, len(texts), BITE):
            bite = texts[start : start + BITE]
            vectors += await asyncio.wrap_future(self._joined(self._many, bite))
        return vectors

    def close(self) -> None:
        self._asked.shutdown(cancel_futures=True)
        self._bulk.shutdown(cancel_futures=True)
        for _, answer in (one for some in self._waiting.values() for one in some):
            answer.cancel()

    def _joined(self, run: Run, asked: Sequence[Any]) -> Future[Any]:
        """While all runs are busy, callers wait; the next run of their kind takes all of them."""
        answer: Future[Any] = Future()
        with self._taking:
            self._waiting[run].append((asked, answer))
        self._bulk.submit(self._answer_some, run)
        return answer

    def _answer_some(self, run: Run) -> None:
        some = [one for one in self._taken(run) if one[1].set_running_or_notify_cancel()]
        try:
            answers = run([item for asked, _ in some for item in asked]) if some else None
        except Exception as wrong:  # noqa: BLE001 - raised to all waiting callers
            for _, answer in some:
                answer.set_exception(wrong)
            return
        each = iter(answers or ())
        for asked, answer in some:
            answer.set_result(None if answers is None else [next(each) for _ in asked])

    def _taken(self, run: Run) -> list[tuple[Sequence[Any], Future[Any]]]:
        """The callers that have waited longest; none, where other runs took them."""
        some: list[tuple[Sequence[Any], Future[Any]]] = []
        size = 0
        with self._taking:
            waiting = self._waiting[run]
            while waiting and (not some or size + len(waiting[0][0]) <= MOST_TOGETHER):
                some.append(waiting.popleft())
                size += len(some[-1][0])
        return some

    def _one(self, text: str) -> Vector | None:
        embedder = self._ready()
        return None if embedder is None else embedder.embed_one(text)

    def _many(self, texts: Sequence[str]) -> list[Vector | None]:
        embedder = self._ready()
        if embedder is None:
            return [None] * len(texts)
        recent = self._recent
        known = {text: recent[text] for text in texts if text in recent}
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(unknown, embedder.embed(unknown) if unknown else (), strict=True))
        short = {text: known[text] for text in unknown if len(text) <= SHORT}
        self._recent = dict([*recent.items(), *short.items()][-RECENT:]) if short else recent
        return [known[text] for text in texts]

    def _ready(self) -> Embedder | None:
        with self._loading:
            if self._embedder is None and self.problem is None:
                try:
                    self._embedder = load_embedder()
                except ModelMissing as missing:
                    self.problem = str(missing)
                    log.warning("keyword search only: %s", missing)
            return self._embedder
