"""An erasure while another process reads: the answer says that bytes are left, and they go when it has ended."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from acumen_client.calls import Calls
from tests.faults.conftest import StartServer
from tests.faults.server import Server, wait_until

CANARY = b"xylophone"


def live(server: Server) -> None:
    turns = [{"role": "User", "content": f"My {CANARY.decode()} number {number} is red."} for number in range(50)]
    published = {"request_id": "r1", "user_id": "zoe", "session_id": "s1", "interaction_data_list": turns}
    call = {"source": "mcp", "endpoint": "play", "status": "error", "error_message": f"no {CANARY.decode()}"}
    assert server.call(Calls.publish, published).ok
    assert server.call(Calls.record_operations, {"operations": [{**call, "session_id": "s1"}]}).ok
    wait_until(lambda: server.call(Calls.learning_status, {"request_id": "r1"}).json["status"] == "done", 60, "it")


def files_with_traces(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file() and CANARY in path.read_bytes()}


def test_bytes_that_a_reader_needs_go_when_it_has_ended_even_after_a_restart(start_server: StartServer):
    server = start_server()
    live(server)
    with closing(sqlite3.connect(server.database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM interactions").fetchone()

        cleared = server.call(Calls.clear_user_data, {"user_id": "zoe"}).json
        turns = server.call(Calls.interactions, {"user_id": "zoe"}).json["interactions"]
        left = files_with_traces(server.data)
        server.kill()
        server.start()
    wait_until(lambda: not files_with_traces(server.data), 60, "the bytes to go")
    again = server.call(Calls.clear_user_data, {"user_id": "zoe"}).json

    assert (cleared["scrub_pending"], turns) == (True, [])
    assert "scrub pending" in cleared["message"]
    assert "acumen.db-wal" in left
    assert (again["scrub_pending"], "scrub" in again["message"]) == (False, False)


def test_no_file_knows_an_erased_user_while_others_write_and_a_backup_is_made(start_server: StartServer):
    server = start_server()
    live(server)
    backup = [sys.executable, "-m", "acumen.cli.main", "backup", "--data", str(server.data)]

    cleared = server.call(Calls.clear_user_data, {"user_id": "zoe"}).json
    turn = [{"role": "User", "content": "Mine is blue."}]
    published = {"request_id": "r2", "user_id": "bob", "session_id": "s2", "interaction_data_list": turn}
    server.call(Calls.publish, published)
    subprocess.run([*backup, str(server.data / "copy.db")], check=True, capture_output=True)

    assert cleared["scrub_pending"] is False
    assert (server.data / "copy.db").stat().st_size > 100_000
    assert files_with_traces(server.data) == set()
