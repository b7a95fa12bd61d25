"""What memory costs: searches with context over HTTP, and processor time of learning per user turn.

With ACUMEN_BENCH_BASE naming another checkout, both versions are measured alternately in the same run.
"""

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

from msgspec import Struct, field

from bench.client import Request
from bench.figures import Figure, Run, at_most, median, percentile
from bench.memory.api import search_body
from bench.memory.baselines import sentences
from bench.memory.histories import LONGMEMEVAL, History, chosen
from bench.memory.played import BASE, OURS, Code, Cost, base, play, served
from bench.publish import timed
from bench.server import Server

BUDGET = 300
WARM_UP = 20
# Short rounds: on a busy machine the same version measured twice in rounds of 25 differed by a factor of 2.7.
ROUNDS, PER_ROUND = 40, 8
# Sentences of about the length of a question.
QUERY_CHARACTERS = range(30, 120)
MAX_SEARCH_RATIO, MAX_CPU_RATIO = 1.5, 1.0


def _versions() -> dict[str, Code]:
    other = base()
    return {"this version": OURS, **({"base": other} if other else {})}


# --- search -------------------------------------------------------------------------------------------------------


class Rounds(Struct):
    """Latencies of each round, and the server's CPU milliseconds per search over all of them."""

    latencies_ms: list[list[float]] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    @property
    def all_ms(self) -> list[float]:
        return [latency for taken in self.latencies_ms for latency in taken]


def search_context(run: Run) -> Iterator[Figure]:
    history = chosen(LONGMEMEVAL, run)[0]
    rounds, size = run.many(ROUNDS, 2), run.many(PER_ROUND, 3)
    queries = _queries(history, WARM_UP + rounds * size)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(served(history, run, code=code)) for name, code in _versions().items()}
        measured = _alternately(servers, queries, size)
    note = f"{BUDGET} tokens, {rounds * size} searches over {len(history.turns)} turns"
    for name, taken in measured.items():
        cpu_ms = sum(taken.cpu_ms) / len(taken.cpu_ms)
        yield Figure(f"{name}, p50", median(taken.all_ms), "ms", None, cpu_ms, note)
        yield Figure(f"{name}, p95", percentile(taken.all_ms, 0.95), "ms")
    if "base" in measured:
        ratio = ratio_of_rounds(measured["this version"].latencies_ms, measured["base"].latencies_ms)
        note = f"median of {rounds} rounds, each the p50 of both versions one after the other"
        yield Figure("p50, ratio to base", ratio, "", at_most(MAX_SEARCH_RATIO), note=note)


def _alternately(servers: Mapping[str, Server], queries: Sequence[Request], size: int) -> dict[str, Rounds]:
    """Both versions in short rounds, each of them first in every second round: a busy minute hits both alike."""
    measured = {name: Rounds() for name in servers}
    for server in servers.values():
        timed(server, list(queries[:WARM_UP]), 1)
    order = list(servers.items())
    for start in range(WARM_UP, len(queries), size):
        for name, server in order:
            seen, cpu_ms = timed(server, list(queries[start : start + size]), 1)
            measured[name].latencies_ms.append(seen.latencies_ms)
            measured[name].cpu_ms.append(cpu_ms)
        order.reverse()
    return measured


def ratio_of_rounds(ours: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> float:
    """The median over rounds of the ratio of their medians: one slow round moves it little."""
    return statistics.median(median(our) / median(other) for our, other in zip(ours, others, strict=True))


def _queries(history: History, count: int) -> list[Request]:
    """Different texts that people wrote, in the order of a fixed seed."""
    texts = sorted({text for sentence in sentences(history) if len(text := sentence.text) in QUERY_CHARACTERS})
    picked = Random(BUDGET).choices(texts, k=count) if len(texts) < count else Random(BUDGET).sample(texts, count)
    return [("/api/search", search_body(history.user_id, text, BUDGET)) for text in picked]


# --- learning -----------------------------------------------------------------------------------------------------


def learning_cpu(run: Run) -> Iterator[Figure]:
    """Server CPU per user turn without a model, over one history; the second figure is the same with extractors off."""
    history = chosen(LONGMEMEVAL, run)[0]
    spent: dict[str, float] = {}
    for name, code in _versions().items():
        cost = _play(history, run, code, learning=True)
        spent[name] = cost.cpu_ms_per_user_turn
        note = f"{cost.user_turns} user turns in {cost.seconds:.0f} s"
        yield Figure(f"{name}: CPU per user turn", spent[name], "ms", note=note)
    stored = _play(history, run, OURS, learning=False).cpu_ms_per_user_turn
    yield Figure("this version: CPU per user turn, extractors off", stored, "ms")
    if "base" in spent:
        yield Figure("ratio to base", spent["this version"] / spent["base"], "", at_most(MAX_CPU_RATIO), note=BASE)


def _play(history: History, run: Run, code: Code, *, learning: bool) -> Cost:
    with tempfile.TemporaryDirectory(dir=run.folder) as folder:
        return play(history, Path(folder) / "data", learning=learning, code=code)
