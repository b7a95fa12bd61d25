"""kill -9 while lessons are being shared: what was begun is finished, and nothing is written twice."""

from collections import Counter

from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import Server, wait_until

LESSONS = 300
# How many lessons are written when the process dies.
KILLED_AFTER = (0, 1, 80, 160)
FINISH_SECONDS = 120.0


def test_kills_in_the_middle_of_an_aggregation_leave_every_lesson_once(start_server: StartServer) -> None:
    server = start_server(jobs__lease_seconds=5, recall__embeddings=False)
    _teach(server)
    begun = server.call(Calls.submit_playbook_aggregation, {"request_id": "a1", "agent_version": "v1"}).json

    for written in KILLED_AFTER:
        wait_until(lambda least=written: _count(server) >= least, FINISH_SECONDS, "lessons to be written")
        server.kill()
        assert _count(server) < LESSONS, "it was killed too late to prove anything"
        server.start()
    wait_until(lambda: _status(server, begun["operation_id"]) == "succeeded", FINISH_SECONDS, "the aggregation to end")

    found = server.call(Calls.agent_playbooks, {"limit": 10_000}).json["agent_playbooks"]
    counted = Counter(lesson["content"] for lesson in found)
    assert counted == Counter({_lesson(number): 1 for number in range(LESSONS)})
    told = server.rows("SELECT count(*) FROM agent_playbook_sources")
    assert told == [(2 * LESSONS,)]
    assert server.problems() == []


def _teach(server: Server) -> None:
    """Each lesson by two users. Numbers that differ make lessons that differ."""
    for user in ("ada", "bob"):
        lessons = [{"user_id": user, "agent_version": "v1", "content": _lesson(number)} for number in range(LESSONS)]
        assert server.call(Calls.add_user_playbooks, {"user_playbooks": lessons}).ok


def _lesson(number: int) -> str:
    return f"Open exactly {100 + number} tickets a day."


def _count(server: Server) -> int:
    return int(server.rows("SELECT count(*) FROM agent_playbooks")[0][0])


def _status(server: Server, operation: str) -> str:
    reply = server.call(Calls.playbook_aggregation_operation, {"operation_id": operation})
    return str(reply.json["status"])
