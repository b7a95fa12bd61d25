"""kill -9 while operations pour in: none that was acknowledged is lost or doubled, none is analysed twice."""

import json
import logging
import random
import threading
import time
from contextlib import closing, suppress

from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import NO_REPLY, Server, wait_until

log = logging.getLogger(__name__)

AGENTS, KILLS, BATCH = 4, 20, 10


class Reporter(threading.Thread):
    """Sends batches and sends each again, under the same ids, until it is acknowledged."""

    def __init__(self, number: int, server: Server) -> None:
        super().__init__(daemon=True)
        self._number = number
        self._server = server
        self._ended = threading.Event()
        self.acknowledged: set[str] = set()
        self.failures = 0

    def run(self) -> None:
        batch = 0
        while not self._ended.is_set():
            self._deliver(batch)
            batch += 1

    def finish(self) -> None:
        self._ended.set()
        self.join(60)

    def _deliver(self, batch: int) -> None:
        operations = [self._operation(batch, place) for place in range(BATCH)]
        while not self._ended.is_set():
            with suppress(*NO_REPLY), closing(self._server.caller(timeout=10)) as caller:
                reply = caller.call(Calls.record_operations, {"operations": operations})
                if reply.ok:
                    assert {one["result"] for one in reply.json["results"]} <= {"stored", "known"}
                    self.acknowledged |= {str(one["op_id"]) for one in operations}
                    self.failures += sum(one["status"] == "error" for one in operations)
                    return
            time.sleep(0.02)

    def _operation(self, batch: int, place: int) -> dict[str, object]:
        number = batch * BATCH + place
        failed = {"status": "error", "error_type": "TimeoutError", "error_message": f"timed out after {number}s"}
        return {
            "op_id": f"op-{self._number}-{number}",
            "source": "reporter",
            "endpoint": f"tool{number % 3}",
            "session_id": f"s{self._number}-{batch}",
            **(failed if place % 2 else {"status": "ok"}),
        }


def test_no_operation_is_lost_doubled_or_analysed_twice_by_twenty_kills(start_server: StartServer) -> None:
    server = start_server(jobs__lease_seconds=5)
    reporters = [Reporter(number, server) for number in range(AGENTS)]
    for reporter in reporters:
        reporter.start()

    for number in range(KILLS):
        time.sleep(random.Random(number).uniform(0.2, 0.8))
        server.kill()
        server.start()
        assert server.problems() == [], number
    for reporter in reporters:
        reporter.finish()
    wait_until(lambda: not _unfinished(server), 60, "all jobs to end", every=0.25)

    acknowledged = set().union(*(reporter.acknowledged for reporter in reporters))
    stored = [name for (name,) in server.rows("SELECT op_id FROM operations")]
    log.info("acknowledged: %s, stored: %s", len(acknowledged), len(stored))
    assert acknowledged
    assert acknowledged - set(stored) == set()
    assert len(stored) == len(set(stored))
    assert server.call(Calls.stats).json["total"] == len(stored)
    _assert_counts_are_true(server)
    _assert_each_is_analysed_once(server)


def _unfinished(server: Server) -> list[object]:
    """Those that are due; a group that rests is looked at later."""
    now = int(time.time() * 1000)
    return server.rows(f"SELECT job_id FROM jobs WHERE event <> 'hour' AND (state = 'running' OR run_at <= {now})")


def _assert_counts_are_true(server: Server) -> None:
    counted = dict(server.rows("SELECT group_id, count FROM failure_groups"))
    stored = dict(server.rows("SELECT group_id, count(*) FROM operations WHERE group_id IS NOT NULL GROUP BY group_id"))
    assert counted == stored
    assert len(counted) == 3


def _assert_each_is_analysed_once(server: Server) -> None:
    evidence = [json.loads(one) for (one,) in server.rows("SELECT evidence FROM analyses WHERE about = 'failure'")]
    assert len(evidence) == len({tuple(sorted(one)) for one in evidence})
    analysed = server.rows("SELECT key, count(*) FROM analyses WHERE about = 'failure' GROUP BY key")
    assert {number for _, number in analysed} == {1}, "half an hour lies between two analyses of a group"
    assert len(server.rows("SELECT 1 FROM proposals WHERE about = 'failure'")) == 3
    assert server.rows("SELECT count(*) FROM agent_playbooks") == server.rows("SELECT count(*) FROM proposals")
