"""The system itself, over REST: who am I, is it well, what is it doing."""

import asyncio

import pytest

from acumen import __version__
from acumen.errors import Unavailable
from tests.world import Org, Start, Template, http_to, local, profile, said


async def test_whoami_and_my_config_tell_where_the_data_lives(org: Org):
    kind = org.app.store.database.name

    who = (await org.send("GET", "/api/whoami")).json()
    mine = (await org.send("GET", "/api/my_config")).json()

    assert (who["org_id"], who["storage_type"], who["storage_configured"]) == (org.id, kind, True)
    assert mine["storage_type"] == kind
    assert "postgres:postgres" not in str((who, mine))  # the password of the database


async def test_version_and_welcome_tell_what_this_is(org: Org):
    version = (await org.send("GET", "/meta/version")).json()
    welcome = (await org.send("GET", "/")).json()

    assert version == {"server_version": __version__, "api_version": "v1", "min_client_version": "0.1.0"}
    assert (welcome["service"], welcome["version"]) == ("acumen", __version__)


async def test_a_well_server_says_so_with_reasons(org: Org):
    for path in ("/health", "/health/ready"):
        reply = await org.send("GET", path)

        assert (reply.status_code, reply.json()["status"]) == (200, "healthy")
        checks = reply.json()["checks"]
        assert set(checks) == {"database", "disk", "embeddings", "search", "model", "worker"}
        assert all(check["reason"] for check in checks.values())
        assert checks["database"]["status"] == "passed"
    for path in ("/health/live", "/healthz"):
        assert (await org.send("GET", path)).json() == {"status": "ok"}


async def test_a_server_whose_database_is_gone_is_alive_and_not_ready_and_says_why(start: Start, template: Template):
    app = await start()
    http = http_to(app)
    assert (await http.get("/health/ready")).status_code == 200
    if template.postgres:
        template.postgres.drop(app.settings.database_url)
    else:
        app.settings.sqlite_path.write_bytes(b"this is no database" * 1_000)
        while app.store.database._idle:
            app.store.database._idle.pop().invalidate()  # it has read the file while that was one
    app.forget_config(local(app).id)

    replies = {path: await http.get(path) for path in ("/health", "/health/ready", "/health/live", "/healthz", "/")}
    search = await http.post("/api/search", json={"query": "x"})
    if template.postgres:
        template.postgres._run(f"CREATE DATABASE {app.settings.database_url.rpartition('/')[2]}")

    assert [replies[path].status_code for path in ("/health/live", "/healthz", "/")] == [200, 200, 200]
    for path in ("/health", "/health/ready"):
        assert replies[path].status_code == 503
        assert replies[path].json()["status"] == "unhealthy"
        assert replies[path].json()["checks"]["database"]["status"] == "failed"
        assert replies[path].json()["checks"]["database"]["reason"]
    assert (search.status_code, search.json()["code"]) == (503, "unavailable")
    assert search.headers["Retry-After"]


async def test_a_server_without_embeddings_is_ready_and_says_what_is_missing(start: Start):
    http = http_to(await start(recall={"embeddings": False}))

    reply = await http.get("/health/ready")

    assert reply.status_code == 200
    check = reply.json()["checks"]["embeddings"]
    assert (check["status"], check["required"]) == ("failed", False)
    assert "recall.embeddings" in check["reason"]


async def test_a_worker_that_ended_by_itself_makes_the_server_unready(start: Start, monkeypatch: pytest.MonkeyPatch):
    app = await start()

    async def broken(_stop: object) -> None:
        raise RuntimeError("the gears are stuck")

    monkeypatch.setattr(app.worker, "serve", broken)

    app._tasks.append(asyncio.create_task(app.worker.serve(app._stop)))
    await asyncio.sleep(0)

    reply = await http_to(app).get("/health/ready")
    app._tasks.pop()

    assert reply.status_code == 503
    assert "stuck" in reply.json()["checks"]["worker"]["reason"]


async def test_status_counts_jobs_memories_and_what_is_missing(org: Org):
    await org.sdk.publish(**said("I live in Paris."))
    await org.sdk.add_profiles(user_profiles=[profile("a"), profile("b", status="archived")])

    status = await org.sdk.status()

    assert status.version == __version__
    assert {(one.kind, one.state, one.count) for one in status.jobs} == {
        ("published", "waiting", 1),
        ("hour", "waiting", 1),
        ("minutes", "waiting", 1),
    }
    counted = {(one.kind, one.status): one.count for one in status.memories}
    assert counted == {("profile", "current"): 1, ("profile", "archived"): 1, ("interaction", "stored"): 1}
    assert (status.store.kind, status.embedder.ready) == (org.app.store.database.name, True)
    assert status.store.size_bytes > 0
    assert status.coverage.metering_enabled
    assert status.coverage.memories_without_vector == 0


async def test_status_shows_dead_letters_with_their_cause(org: Org, monkeypatch: pytest.MonkeyPatch):
    await org.sdk.publish(**said("I live in Paris."))

    async def fail(_job: object) -> None:
        raise ValueError("torn page")

    monkeypatch.setattr(org.app.worker, "_run", fail)
    monkeypatch.setattr(org.app.worker, "_settings", org.app.settings.jobs.model_copy(update={"attempts": 1}))
    await org.learn()

    status = await org.sdk.status()

    assert status.dead_letter_count == 1
    assert [(one.kind, one.cause, one.attempts) for one in status.dead_letters] == [
        ("published", "ValueError: torn page", 1)
    ]


async def test_a_database_that_does_not_answer_is_told_as_unavailable_without_its_words(
    org: Org, monkeypatch: pytest.MonkeyPatch
):
    async def away(*_: object) -> None:
        raise Unavailable

    with monkeypatch.context() as broken:
        broken.setattr(org.app.store.database, "write", away)
        reply = await org.send("POST", "/api/publish_interaction", said("hello"))

    assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")


async def test_a_fault_of_ours_is_told_with_a_request_id_and_without_internals(
    org: Org, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def broken(*_: object) -> None:
        raise KeyError("internal-secret")

    with monkeypatch.context() as patch:
        patch.setattr("acumen.api.recall.search.search_memories", broken)
        reply = await org.send("POST", "/api/search", {"query": "x"}, headers={"X-Request-ID": "my-request-1"})

    assert reply.status_code == 500
    assert reply.json()["code"] == "server_failed"
    assert reply.json()["request_id"] == reply.headers["X-Request-ID"] == "my-request-1"
    assert "internal-secret" not in reply.text
    assert "my-request-1" in caplog.text
