"""kill -9 in the middle of a rerun: it goes on where it stood, and nothing is made twice."""

import os
import signal
from collections import Counter
from typing import Any

import psycopg

from acumen.settings import Settings
from acumen.storage.engine import migrate
from acumen.storage.store import Store, connect
from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import Server, wait_until

USERS = 12
FACTS = (
    "I live in Paris.",
    "My dog is called Rex.",
    "My favourite colour is green.",
    "I work as a nurse.",
    "I moved to Berlin.",
)
FINISH_SECONDS = 120.0

# Waits for its time, not for work to be done.
SCHEDULED = ("hour", "minutes", "session_quiet")


def test_a_rerun_survives_three_kills(start_server: StartServer) -> None:
    server = start_server(jobs__lease_seconds=5)
    _talk(server)
    _rerun(server)

    for done in (1, 3, 6):
        wait_until(lambda done=done: _operation(server)["processed_users"] >= done, FINISH_SECONDS, "some users", 0.005)
        server.kill()
        server.start()

    _assert_made_once(server)
    assert server.problems() == []


def test_a_rerun_is_taken_over_by_another_process(start_server: StartServer, postgres_database: str) -> None:
    store = Store(connect(Settings(database_url=postgres_database)))
    migrate.migrate(store.database)
    store.close()
    servers = [start_server(database_url=postgres_database, jobs__lease_seconds=5) for _ in range(2)]
    _talk(servers[0])
    _rerun(servers[0])
    wait_until(lambda: _operation(servers[0])["processed_users"] >= 2, FINISH_SECONDS, "some users", 0.005)

    os.kill(_owner(postgres_database), signal.SIGKILL)

    _assert_made_once(servers[1])


def _owner(url: str) -> int:
    """The process that holds the rerun."""
    with psycopg.connect(url) as connection:
        (row,) = connection.execute("SELECT lease_owner FROM jobs WHERE event = 'generation_asked'").fetchall()
    return int(str(row[0]).partition("-")[0])


def _talk(server: Server) -> None:
    server.call(Calls.update_config, {"window_size": 1, "user_playbook_extractor_config": None})
    for number in range(USERS):
        turns = [{"role": "User", "content": fact} for fact in FACTS]
        said = {"user_id": f"user{number}", "session_id": f"s{number}", "interaction_data_list": turns}
        assert server.call(Calls.publish, said).ok
    wait_until(lambda: not _jobs(server), FINISH_SECONDS, "all to be learned", every=0.1)


def _jobs(server: Server) -> list[Any]:
    return [job for job in server.call(Calls.status).json["jobs"] if job["kind"] not in SCHEDULED]


def _rerun(server: Server) -> None:
    reply = server.call(Calls.rerun_profiles, {})
    assert reply.ok, reply


def _operation(server: Server) -> Any:
    return server.call(Calls.operation_status, {"service_name": "profile_generation"}).json["operation_status"]


def _assert_made_once(server: Server) -> None:
    wait_until(lambda: _operation(server)["status"] != "in_progress", FINISH_SECONDS, "the rerun to end", every=0.1)
    ended = _operation(server)
    assert (ended["status"], ended["processed_users"], ended["failed_users"]) == ("completed", USERS, 0), ended
    assert ended["stats"]["windows"] == ended["stats"]["interactions"] == USERS * len(FACTS)
    assert _facts(server, "pending") == _facts(server, "current")


def _facts(server: Server, status: str) -> Counter[tuple[str, str]]:
    asked = {"limit": 10_000, "status_filter": status}
    listed = server.call(Calls.all_profiles, asked).json["user_profiles"]
    return Counter((one["user_id"], one["content"]) for one in listed)
