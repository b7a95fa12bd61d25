"""Three servers and three workers on one PostgreSQL (fsync on), while they are killed and PostgreSQL crashes.

The checks are those of `tests/faults/chaos.py`; here it goes on for two minutes, with other
faults in each run.
"""

import random
from collections.abc import Iterator

from bench.figures import Figure, Run, at_most

SECONDS, QUICK_SECONDS = 125.0, 5.0


def measure(run: Run) -> Iterator[Figure]:
    from tests import postgres as pg  # noqa: PLC0415 - the other lines run without PostgreSQL installed
    from tests.faults import chaos  # noqa: PLC0415 - as above

    seed = random.SystemRandom().randrange(10**6)
    with pg.running(durable=True) as server:
        url = chaos.migrated(server)
        outcome = chaos.run(server, url, run.folder, QUICK_SECONDS if run.quick else SECONDS, seed)
        problems = outcome.check()
    for what, count in (*sorted(outcome.faults.items()), *outcome.acknowledged.items()):
        yield Figure(what, count, "")
    note = "; ".join(f"{name}: {value}" for name, value in problems.items())
    yield Figure("checks that failed", len(problems), "", at_most(0), note=note[:500] or f"seed {seed}")
