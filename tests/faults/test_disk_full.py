"""A disk without room: writes are refused with a sentence, reads go on, and nothing has to be restarted."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from tests.faults import disks
from tests.faults.conftest import StartServer
from tests.faults.disks import Disk, FileLimit
from tests.faults.server import Reply, Server, wait_until

# Far more than fit into what is left beside the ballast.
MANY = 500
USER = "ada"


def _kinds() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return ["file limit", "small disk"] if disks.can_mount(Path(folder)) else ["file limit"]


@pytest.fixture(params=_kinds())
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if request.param == "file limit":
        yield FileLimit(folder)
    else:
        with disks.small_disk(folder) as made:
            yield made


def test_a_full_disk_refuses_writes_serves_reads_and_recovers(disk: Disk, start_server: StartServer) -> None:
    server = start_server(disk.folder, jobs__lease_seconds=5)
    acknowledged = [number for number in range(10) if _publish(server, number).ok]
    wait_until(lambda: _all_learned(server, acknowledged), 60, "the first turns to be learned")

    disk.fill(server)
    stored, refused = _publish_until_refused(server, first=10)
    refusals = _write_in_every_way(server, first=refused)
    reads = _read_in_every_way(server)
    disk.free(server)

    _assert_told(refusals, disk.refusal)
    assert {name: reply.status for name, reply in reads.items()} == dict.fromkeys(reads, 200)
    assert _turns(server) == [_said(number) for number in [*acknowledged, *stored]]
    again = [_publish(server, number) for number in range(refused, refused + 5)]
    assert [reply.status for reply in again] == [200] * 5
    everything = list(range(refused + 5))
    assert _turns(server) == [_said(number) for number in everything]
    wait_until(lambda: _all_learned(server, everything), 60, "all turns to be learned")
    assert server.call(Calls.status).json["dead_letters"] == []
    assert server.problems() == []


def test_what_is_counted_is_counted_again_when_there_is_room(disk: Disk, start_server: StartServer) -> None:
    server = start_server(disk.folder)
    profile = {"user_id": USER, "profile_id": "p1", "content": "Deploys with Nomad"}
    server.call(Calls.add_profiles, {"user_profiles": [profile]})

    disk.fill(server)
    while_full = server.call(Calls.search, {"user_id": USER, "query": "Nomad"})
    server.call(Calls.injection_stats, {})
    disk.free(server)
    afterwards = server.call(Calls.search, {"user_id": USER, "query": "Nomad"})
    stats = server.call(Calls.injection_stats, {}).json["stats"]
    lost = server.call(Calls.status).json["coverage"]["counts_lost"]

    assert [hit["profile_id"] for hit in while_full.json["profiles"]] == ["p1"]
    assert afterwards.ok
    assert [(stat["entity_id"], stat["surfaced_count"]) for stat in stats] == [("p1", 1)]
    assert lost == 1


@pytest.mark.skipif("small disk" not in _kinds(), reason="a small disk cannot be mounted here")
def test_deletes_and_erasure_go_on_when_the_disk_is_full(tmp_path: Path, start_server: StartServer) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with disks.small_disk(folder) as disk:
        server = start_server(disk.folder, jobs__lease_seconds=5)
        assert all(_publish(server, number).ok for number in range(40))
        words = "Likes disks. " * 50
        profiles = [{"user_id": "bob", "profile_id": name, "content": words} for name in ("p1", "p2")]
        assert server.call(Calls.add_profiles, {"user_profiles": profiles}).ok
        wait_until(lambda: _all_learned(server, list(range(40))), 60, "the turns to be learned")
        disk.fill(server)
        _, refused = _publish_until_refused(server, first=40)

        deleted = [
            server.call(Calls.delete_profile, {"user_id": "bob", "profile_id": "p1"}),
            server.call(Calls.delete_session, {"session_id": "s1"}),
            server.call(Calls.clear_user_data, {"user_id": "bob"}),
        ]
        reads = _read_in_every_way(server)
        disk.free(server)
        wait_until(lambda: _publish(server, refused).ok, 30, "writes to go on")

        assert [reply.status for reply in deleted] == [200, 200, 200], [reply.content for reply in deleted]
        assert {reply.status for name, reply in reads.items() if name != "learning_status"} == {200}
        assert _turns(server) == [_said(refused)]
        assert server.problems() == []
        server.kill()


def _said(number: int) -> str:
    return f"We never deploy project{number} on Fridays. " + "It has gone wrong before. " * 100


def _publish(server: Server, number: int) -> Reply:
    turn = {"role": "User", "content": _said(number)}
    asked = {"request_id": f"r{number}", "user_id": USER, "session_id": "s1", "interaction_data_list": [turn]}
    return server.call(Calls.publish, asked)


def _publish_until_refused(server: Server, first: int) -> tuple[list[int], int]:
    """Those that still fitted, and the first that did not."""
    for number in range(first, first + MANY):
        if not _publish(server, number).ok:
            return list(range(first, number)), number
    pytest.fail("the disk never ran full")


def _write_in_every_way(server: Server, first: int) -> list[Reply]:
    profile = {"user_id": USER, "content": "Likes large disks. " * 1000}
    writes: list[tuple[Endpoint[..., Any], dict[str, Any]]] = [
        (Calls.add_profiles, {"user_profiles": [profile]}),
        (Calls.add_agent_playbooks, {"agent_playbooks": [{"content": "Buy a larger disk. " * 1000}]}),
        (Calls.finalize_session, {"user_id": USER, "session_id": "s1"}),
        (Calls.update_config, {"agent_context_prompt": "An agent on a full disk. " * 1000}),
    ]
    replies = [server.call(endpoint, asked) for endpoint, asked in writes]
    with ThreadPoolExecutor(10) as pool:
        return [*replies, *pool.map(lambda number: _publish(server, number), range(first, first + 40))]


def _read_in_every_way(server: Server) -> dict[str, Reply]:
    reads: list[tuple[Endpoint[..., Any], dict[str, Any] | None]] = [
        (Calls.search, {"user_id": USER, "query": "when do we deploy"}),
        (Calls.search_interactions, {"user_id": USER, "query": "project3"}),
        (Calls.interactions, {"user_id": USER}),
        (Calls.requests, {}),
        (Calls.profiles, {"user_id": USER}),
        (Calls.user_playbooks, {}),
        (Calls.learning_status, {"request_id": "r1"}),
        (Calls.injection_stats, {}),
        (Calls.config, None),
        (Calls.status, None),
        (Calls.health_live, None),
    ]
    return {endpoint.name: server.call(endpoint, asked) for endpoint, asked in reads}


def _assert_told(refusals: list[Reply], status: int) -> None:
    assert {reply.status for reply in refusals} == {status}, [reply.content for reply in refusals]
    for reply in refusals:
        assert reply.json["detail"].endswith((".", "again", "reads go on."))
        assert reply.json["code"] in ("storage_full", "unavailable")
        assert reply.json["request_id"]
        assert reply.headers["retry-after"]


def _turns(server: Server) -> list[str]:
    found = server.call(Calls.interactions, {"user_id": USER, "top_k": 1_000_000}).json["interactions"]
    return [turn["content"] for turn in found]


def _all_learned(server: Server, numbers: list[int]) -> bool:
    asked = ({"request_id": f"r{number}"} for number in numbers)
    return all(server.call(Calls.learning_status, one).json["status"] == "done" for one in asked)
