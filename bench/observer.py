"""What it adds to a call that somebody watches it: the caller's time, with a server that takes what is told."""

import time
from collections.abc import Callable, Iterator

from bench.figures import Figure, Run, at_most, median, percentile
from bench.places import MakePlace
from bench.server import serving

CALLS = 5_000
# An agent does something between its calls.
PAUSE_SECONDS = 0.0005


def measure(run: Run, make_place: MakePlace) -> Iterator[Figure]:
    from acumen_client.observe import Observer  # noqa: PLC0415 - the other lines need no more

    with make_place(run) as place, serving(place.environ) as server:
        observer = Observer("bench", f"http://127.0.0.1:{server.port}")
        calls = run.many(CALLS, 50)
        plain = sorted(_taken(_deed, calls))
        began = time.thread_time()
        watched = sorted(_taken(observer.watch(_deed), calls))
        cpu_ms = (time.thread_time() - began) * 1000 / calls
        observer.close()
        yield Figure("added to a call, p50", median(watched) - median(plain), "ms", None, cpu_ms)
        yield Figure("added to a call, p99", percentile(watched, 0.99) - percentile(plain, 0.99), "ms", at_most(1))
        lost = calls - observer.counts.sent
        yield Figure("of these not stored", lost, "", at_most(0))


def _deed(path: str, lines: int = 10) -> str:
    return f"{lines} lines of {path}"


def _taken(deed: Callable[..., str], calls: int) -> list[float]:
    """Milliseconds of each call."""
    taken = []
    for number in range(calls):
        began = time.perf_counter()
        deed(f"/srv/file-{number}", lines=number)
        taken.append((time.perf_counter() - began) * 1000)
        time.sleep(PAUSE_SECONDS)
    return taken
