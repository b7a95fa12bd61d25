"""Whoever asks at the same time is answered together, and told what they would be told alone."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from threading import Barrier, Event
from typing import Any

import numpy as np
import pytest

from acumen.llm.embedding import load_embedder
from acumen.llm.local_models import LocalModels

TEXTS = ["I moved to Oslo.", "Always answer in French, please.", "My dog is called Rex.", "The build is red again."]


@pytest.fixture
def models() -> Iterator[LocalModels]:
    models = LocalModels()
    yield models
    models.close()


def same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """But for what rounding makes of another order of adding up."""
    return all(np.allclose(one, other, atol=0.02) for one, other in zip(some, others, strict=True))


async def test_those_who_ask_at_once_are_told_what_they_would_be_told_alone(models: LocalModels):
    alone = load_embedder()

    vectors = await asyncio.gather(*(models.embed_texts([text]) for text in TEXTS))

    assert same([vector for (vector,) in vectors], alone.embed(TEXTS))


async def test_what_goes_wrong_is_told_to_all_who_wait_and_to_nobody_else():
    models, go = LocalModels(at_once=1), Event()

    def broken(asked: Sequence[Any]) -> Sequence[Any]:
        go.wait(10)
        raise ValueError(len(asked))

    first, second, third = (asyncio.wrap_future(models._joined(broken, [one])) for one in TEXTS[:3])
    go.set()
    ended = await asyncio.gather(first, second, third, return_exceptions=True)

    assert sorted(str(end) for end in ended) == ["1", "2", "2"]
    assert len(await models.embed_texts(TEXTS)) == len(TEXTS)
    models.close()


async def test_runs_go_on_side_by_side():
    models, both = LocalModels(at_once=2), Barrier(2, timeout=10)

    def meet(asked: Sequence[Any]) -> Sequence[Any]:
        both.wait()
        return asked

    first = asyncio.wrap_future(models._joined(partial(meet), ["one"]))
    second = asyncio.wrap_future(models._joined(partial(meet), ["another"]))

    assert await asyncio.gather(first, second) == [["one"], ["another"]]
    models.close()
