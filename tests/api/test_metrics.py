"""`/metrics`: what it counts, and who may read it."""

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from acumen.api import metrics
from acumen.api.instrumented import InstrumentedApp
from acumen.api.server import web_app
from acumen.app import App
from acumen.auth.authenticator import KeyAuthenticator
from acumen.llm.scripted import Script
from acumen.model.ids import LOCAL_ORG, OrgId
from acumen.model.metering.llm_call import ModelRole
from acumen.web.front import with_dashboard
from acumen_client.wire.shapes import Role
from tests.world import HERE, Start, give_key, once, profile, said

TOKEN = "a token of some length"


def served(app: App, from_host: str = "127.0.0.1") -> httpx.AsyncClient:
    """As `acumen serve` puts the parts together."""
    keys = KeyAuthenticator(app.store, app.open_org)
    whole = InstrumentedApp(with_dashboard(app, keys, web_app(app, keys)), app)
    return httpx.AsyncClient(base_url=HERE, transport=httpx.ASGITransport(whole, client=(from_host, 50_000)))


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def samples(reply: httpx.Response) -> dict[tuple[str, ...], float]:
    """By name and the values of labels."""
    families = text_string_to_metric_families(reply.text)
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


async def test_requests_are_counted_by_template_and_no_metric_names_a_user_or_an_organization(start: Start):
    app = await start()
    http = served(app)
    await http.post("/api/publish_interaction", json=said("I live in Paris", user="canary-user"))
    await http.get("/api/memories/profile/canary-id")
    await http.post("/api/search", json={"query": "canary-query", "user_id": "canary-user"})
    await http.request("CANARY", "/canary/path")
    await http.get("/ui/memories/profile/canary-id")

    reply = await http.get("/metrics")

    counted = samples(reply)
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert counted["acumen_requests_total", "/api/publish_interaction", "POST", "200"] == 1
    assert counted["acumen_request_seconds_count", "/api/search", "POST"] == 1
    assert counted["acumen_requests_total", "unmatched", "other", "404"] == 1
    assert counted["acumen_requests_total", "/ui/memories/{kind}/{id:path}", "GET", "404"] == 1
    assert "canary" not in reply.text.lower()
    assert LOCAL_ORG not in reply.text


async def test_jobs_models_cache_and_losses_are_figures_of_the_whole_server(start: Start):
    reads = Script().says(ModelRole.GATE, {"worth_reading": True}).says(ModelRole.EXTRACTION, {"edits": []})
    app = await start(script=reads)
    http = served(app)
    await http.post("/api/add_user_profile", json={"user_profiles": [profile("Lives in Paris")]})
    await http.post("/api/publish_interaction", json=said("I moved to Lyon.", force_extraction=True))
    due = samples(await http.get("/metrics"))
    await app.worker.run_due()
    for _ in range(2):  # the second finds what the first has built
        await http.post("/api/search", json={"query": "Where?", "user_id": "ada"})
    await app.flush_usage()
    app._usage.dropped = 3

    done = samples(await http.get("/metrics"))

    assert due["acumen_jobs", "published", "due"] == 1
    assert ("acumen_jobs", "published", "due") not in done
    assert done["acumen_job_runs_total", "published", "done"] == 1
    assert done["acumen_job_seconds_count", "published"] == 1
    assert done["acumen_jobs", "hour", "scheduled"] == 1
    assert done["acumen_model_calls_today", "extraction", "answered"] == 1
    assert done["acumen_model_tokens_today", "prompt"] > 0
    assert done["acumen_search_cache_bytes",] > 0
    assert done["acumen_search_cache_scopes",] >= 1
    assert done["acumen_search_cache_misses_total",] >= 1
    assert done["acumen_search_cache_hits_total",] >= 1
    assert done["acumen_storage_bytes",] > 0
    assert done["acumen_waiting_writes",] == 0
    assert done["acumen_usage_events_lost_total",] == 3
    assert done["acumen_worker_up",] == 1
    assert done["process_resident_memory_bytes",] > 0


async def test_a_job_that_waits_for_another_attempt_is_retrying_and_one_that_gave_up_is_dead(start: Start):
    app = await start(jobs={"attempts": 1})
    http = served(app)
    await http.post("/api/publish_interaction", json=said("I live in Paris"))

    async def fail(*_: object) -> None:
        raise ValueError("of a test")

    app._run_steps = fail
    await app.worker.run_due()

    counted = samples(await http.get("/metrics"))

    assert counted["acumen_jobs", "published", "dead"] == 1


@pytest.mark.parametrize("from_host,status", [("127.0.0.1", 200), ("10.0.0.7", 401)])
async def test_without_keys_a_program_on_this_machine_may_read_them(start: Start, from_host: str, status: int):
    app = await start()

    assert (await served(app, from_host).get("/metrics")).status_code == status


async def test_with_keys_readers_of_the_local_organization_and_holders_of_the_token_may_read_them(start: Start):
    app = await start(telemetry={"metrics_token": TOKEN})
    http, role = served(app, "10.0.0.7"), Role.READER
    ours, theirs = await give_key(app, LOCAL_ORG, role), await give_key(app, OrgId("acme"), role)

    statuses = {
        secret: (await http.get("/metrics", headers=bearer(secret))).status_code
        for secret in (ours, theirs, TOKEN, TOKEN + "x")
    }

    assert statuses == {ours: 200, theirs: 403, TOKEN: 200, TOKEN + "x": 401}
    assert (await http.get("/metrics")).status_code == 401


async def test_every_answer_carries_the_request_id_of_its_caller_and_the_dashboards_too(start: Start):
    http = served(await start())

    for path in ("/health/live", "/ui/", "/metrics", "/nowhere", "/docs"):
        reply = await http.get(path, headers={"X-Request-ID": "caller-7"})
        odd = await http.get(path, headers={"X-Request-ID": "two\twords"})

        assert reply.headers.get_list("x-request-id") == ["caller-7"], path
        assert odd.headers["x-request-id"].startswith("http_"), path


@once
async def test_every_metric_is_in_the_docs(start: Start):
    text = (Path(__file__).parents[2] / "docs/operate/monitoring.md").read_text()

    names = [family.name for family in await metrics.families(await start())]

    assert len(names) > 20
    assert [name for name in names if f"`{name}`" not in text] == []
