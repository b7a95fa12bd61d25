"""Making memories anew from all that was said: a rerun in the background, watched as a caller would watch it."""

import asyncio
import time
from collections.abc import Iterator
from random import Random

from acumen.model.conversation import Interaction, Request
from acumen.model.ids import LOCAL_ORG, InteractionId, RequestId, SessionId, UserId, now
from acumen.storage.store import Store, Tx, connect
from acumen_client.client import Client
from acumen_client.wire.learn import OperationStatus, OperationStatusInfo
from bench import texts
from bench.figures import Figure, Run
from bench.places import MakePlace, Place
from bench.server import Server, serving

OF_EACH_USER = 50
LOOK_EVERY_SECONDS = 0.1


def measure(run: Run, make_place: MakePlace) -> Iterator[Figure]:
    turns = run.many(10_000, 100)
    with make_place(run) as place:
        asyncio.run(_fill(place, turns // OF_EACH_USER))
        with serving(place.environ) as server, Client(f"http://127.0.0.1:{server.port}") as client:
            yield from _rerun(server, client, turns)


async def _fill(place: Place, users: int) -> None:
    """Conversations that nobody has learned from yet."""
    place.migrate()
    store = Store(connect(place.settings))
    of_org, random = store.of(LOCAL_ORG), Random(users)
    await of_org.write(lambda tx: tx.orgs.ensure())
    for number in range(users):
        await of_org.write(lambda tx, number=number: _talk(tx, number, random))  # type: ignore[misc]
    store.close()


def _talk(tx: Tx, number: int, random: Random) -> None:
    user, at = UserId(f"user-{number}"), now()
    request = Request(RequestId(f"r-{number}"), user, SessionId(f"s-{number}"), at)
    turns = [
        Interaction(InteractionId(0), user, request.session_id, request.id, at, role, texts.turn(random))
        for _ in range(OF_EACH_USER // 2)
        for role in ("User", "Assistant")
    ]
    tx.conversations.add(request, turns)


def _rerun(server: Server, client: Client, turns: int) -> Iterator[Figure]:
    cpu, began, steps = server.cpu_seconds, time.perf_counter(), set[float]()
    client.rerun_profiles()
    while (found := _operation(client)).status is OperationStatus.IN_PROGRESS:
        steps.add(found.progress_percentage)
        time.sleep(LOOK_EVERY_SECONDS)
    seconds = time.perf_counter() - began
    if found.status is not OperationStatus.COMPLETED or found.stats["interactions"] != turns:
        raise RuntimeError(f"The rerun did not read everything: {found}")
    cpu_ms = (server.cpu_seconds - cpu) * 1000 / turns
    note = f"{found.stats['generated']} profiles of {found.total_users} users in {seconds:.1f} s"
    yield Figure(f"interactions a second, {turns:,}", turns / seconds, "/s", None, cpu_ms, note)
    yield Figure("windows a second", found.stats["windows"] / seconds, "/s")
    yield Figure("steps of progress seen", len(steps), "", note="looked at ten times a second")


def _operation(client: Client) -> OperationStatusInfo:
    found = client.operation_status(service_name="profile_generation").operation_status
    if found is None:
        raise RuntimeError("The rerun was not admitted.")
    return found
