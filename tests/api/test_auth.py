"""Who may call: every endpoint with every role, another org's key, and programs on this machine while there is none."""

import json

import httpx
import pytest

from acumen.model.ids import Millis, OrgId, now
from acumen_client.calls import ENDPOINTS
from acumen_client.wire.shapes import Role
from tests.api.calls import BODIES, BY_NAME, NOBODYS, QUERIES, send
from tests.review.memories import put_in_conflict, store_of, two_ports
from tests.world import Org, Start, give_key, http_to, join, local, once, playbook, profile, said

ROLES = [Role.READER, Role.AGENT, Role.REVIEWER, Role.ADMIN]


# --- roles ---------------------------------------------------------------------------------------------------------


def test_every_endpoint_has_a_call_to_be_walked_with():
    takes_something = {endpoint.name for endpoint in ENDPOINTS if not endpoint.takes_nothing}

    assert BODIES.keys() | QUERIES.keys() == takes_something


@once
@pytest.mark.parametrize("name", sorted(BY_NAME))
async def test_an_endpoint_answers_its_role_and_those_above_it(org: Org, name: str):
    needed = BY_NAME[name].role
    without_key = await send(Org(org.id, org.app, "", org.sdk, http_to(org.app)), name, NOBODYS)
    with_wrong_key = await send(Org(org.id, org.app, "", org.sdk, http_to(org.app, "acm_wrong")), name, NOBODYS)

    if needed is Role.PUBLIC:
        assert (without_key.status_code, with_wrong_key.status_code) == (200, 200)
        return
    assert (without_key.status_code, with_wrong_key.status_code) == (401, 401)
    assert without_key.headers["WWW-Authenticate"] == "Bearer"
    for role in ROLES:
        holder = await join(org.app, role, org.id)
        reply = await send(holder, name, NOBODYS)

        if role.allows(needed):
            # 409: another role's run is under way
            assert reply.status_code in (200, 202, 404, 409), (role, reply.text)
        else:
            assert (reply.status_code, reply.json()["code"]) == (403, "not_allowed"), role


async def test_a_refused_call_changes_nothing(org: Org):
    reader = await join(org.app, Role.READER, org.id)
    before = await org.rows()

    for endpoint in ENDPOINTS:
        if not Role.READER.allows(endpoint.role):
            await send(reader, endpoint.name, NOBODYS)

    assert await org.rows() == before


async def test_whoami_tells_org_role_and_name_of_the_key(org: Org):
    holder = await join(org.app, Role.REVIEWER, org.id)

    told = await holder.sdk.whoami()

    assert (told.org_id, told.role, told.key_name) == (org.id, "reviewer", "of a test")


# --- keys ----------------------------------------------------------------------------------------------------------


async def test_a_key_works_from_when_it_is_made_until_it_is_revoked(org: Org):
    made = await org.sdk.create_key(name="laptop", role="agent")
    http = http_to(org.app, made.secret)
    before = await http.get("/api/whoami")
    (listed,) = [key for key in (await org.sdk.keys()).keys if key.name == "laptop"]
    await org.sdk.revoke_key(key_id=made.key.key_id)

    after = await Org(org.id, org.app, "", org.sdk, http).http.get("/api/whoami")

    assert before.json()["org_id"] == org.id
    assert (listed.role, listed.hint) == ("agent", made.secret[:8])
    assert made.secret not in (await org.send("GET", "/api/keys")).text
    assert after.status_code == 401
    assert "laptop" not in [key.name for key in (await org.sdk.keys()).keys]


async def test_an_expired_key_is_refused(org: Org):
    expired = await give_key(org.app, org.id, Role.ADMIN, expires_at=Millis(now() - 1))

    reply = await http_to(org.app, expired).get("/api/whoami")

    assert reply.status_code == 401


@once
async def test_a_header_that_is_no_key_is_refused(org: Org):
    for header in ("Basic abc", "Bearer", "Bearer ", "bearer\t", "acm_x", "Bearer é".encode()):
        reply = await http_to(org.app).get("/api/whoami", headers={"Authorization": header})

        assert reply.status_code == 401, header


# --- orgs ----------------------------------------------------------------------------------------------------------


async def fill(org: Org) -> dict:
    """Something of everything, with a word by which to recognise it; returns the ids of it all."""
    ids = {"user": "zebra-user", "session": "zebra-session", "request": "zebra-request", "profile": "zebra-profile"}
    about = {"user": ids["user"], "session": ids["session"]}
    await org.sdk.publish(**said("My zebra secret. I live in Zebra Town.", request_id=ids["request"], **about))
    talk = said("Zebra secret?", "agent: Zebra secret.", "That is wrong, zebra secret!", **about)
    await org.sdk.publish(**talk, session_finished=True)
    await org.learn()
    seconds = now() // 1000
    words = {"label": "zebra secret", "metadata": {"is": "zebra secret"}}
    await org.sdk.state_outcome(session_id=ids["session"], outcome="failure", occurred_at=seconds, **words)
    run = await org.sdk.regenerate_evaluations(from_ts=0, to_ts=seconds + 10)
    await org.sdk.add_profiles(user_profiles=[profile("zebra secret", ids["user"], profile_id=ids["profile"])])
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("zebra secret", ids["user"])])
    await org.sdk.add_agent_playbooks(agent_playbooks=[{"content": "zebra secret"}])
    await org.sdk.search(query="zebra secret", user_id=ids["user"])
    await org.sdk.update_config(agent_context_prompt="zebra secret")
    begun = await org.sdk.submit_playbook_aggregation(request_id="zebra secret", agent_version="zebra town")
    await org.sdk.start_retrieval_experiment(experiment_id="zebra-experiment", holdout_percentage=1)
    pinned = [{"kind": "profile", "id": ids["profile"]}]
    done = await org.sdk.review_memories(action="pin", items=pinned, reason="zebra secret")
    failed = {
        "source": "mcp",
        "endpoint": "read",
        "status": "error",
        "error_message": "zebra secret",
        "op_id": "zebra-op",
    }
    told = await org.sdk.record_operations(
        operations=[{**failed, "session_id": ids["session"], "user_id": ids["user"]}]
    )
    ids |= {"operation": "zebra-op", "group": told.results[0].group_id}
    await org.app.flush_usage()
    await store_of(org).write(lambda tx: put_in_conflict(tx, *two_ports(tx, ids["user"]), "zebra secret", ids["user"]))
    rows = await org.rows()
    return {
        **ids,
        "experiment": "zebra-experiment",
        "action": done.action_id,
        "injection": rows["injections"][0]["injection_id"],
        "turn": rows["interactions"][0]["interaction_id"],
        "user_playbook": rows["user_playbooks"][-1]["playbook_id"],
        "agent_playbook": rows["agent_playbooks"][0]["playbook_id"],
        "key": rows["api_keys"][0]["key_id"],
        "change": rows["lineage"][0]["event_id"],
        "conflict": rows["conflicts"][0]["conflict_id"],
        "run": run.job_id,
        "aggregation": begun.operation_id,
    }


async def test_no_endpoint_shows_or_changes_what_is_another_orgs(org: Org):
    ids = await fill(org)
    before = await org.rows()
    assert all(before[name] for name in ("profiles", "user_playbooks", "agent_playbooks", "interactions", "injections"))
    assert all(before[name] for name in ("evaluations", "sessions", "runs"))

    for name in sorted(BY_NAME):
        other = await join(org.app)
        reply = await send(other, name, ids)

        assert reply.status_code in (200, 202, 404), (name, reply.text)
        told = reply.text if reply.is_success else ""  # a failure may repeat what was asked for
        assert "zebra secret" not in told.lower(), name
        assert "zebra town" not in told.lower(), name
        assert org.id not in told, name
        assert await org.rows() == before, name


async def test_what_an_org_counts_is_its_own(org: Org):
    await fill(org)
    other = await join(org.app)

    status = await other.sdk.status()

    assert {one.count for one in status.memories} == {0}
    assert (await other.sdk.injection_stats()).total == 0
    assert (await other.sdk.profile_statistics()).current_count == 0
    assert [key.key_id for key in (await other.sdk.keys()).keys] == [
        row["key_id"] for row in (await other.rows())["api_keys"]
    ]


# --- without any key -----------------------------------------------------------------------------------------------


async def test_without_keys_a_program_on_this_machine_is_the_admin_of_the_local_org(start: Start):
    here = local(await start())

    told = await here.sdk.whoami()

    assert (told.org_id, told.role) == ("self-host-org", "admin")


async def test_without_keys_this_machine_may_be_called_by_any_of_its_names(start: Start):
    http = http_to(await start())

    for host in ("localhost", "localhost:8061", "127.0.0.1", "127.9.9.9:80", "[::1]:8061"):
        reply = await http.get("/api/whoami", headers={"Host": host, "Origin": f"http://{host}"})

        assert reply.status_code == 200, host


FROM_ELSEWHERE = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "localhost.evil.example:8061"},
    {"Host": "192.168.1.5:8061"},
    {"Host": "[::1"},
    {"Host": ""},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Origin": ""},
    {"Origin": "http://localhost.evil.example"},
    {"X-Forwarded-For": "127.0.0.1"},
    {"Forwarded": "for=127.0.0.1"},
    {"X-Real-IP": "127.0.0.1"},
    {"Via": "1.1 proxy"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-Anything": "1"},
    {"CF-Connecting-IP": "127.0.0.1"},
    {"True-Client-IP": "127.0.0.1"},
    {"X-Client-IP": "127.0.0.1"},
]


async def test_without_keys_whoever_may_come_from_elsewhere_is_refused(start: Start):
    here = local(await start())
    before = await here.rows()

    for headers in FROM_ELSEWHERE:
        read = await here.http.get("/api/whoami", headers=headers)
        write = await here.http.post("/api/publish_interaction", json=said("hello"), headers=headers)

        assert (read.status_code, write.status_code) == (401, 401), (headers, read.text)
    assert await here.rows() == before


async def test_without_keys_another_machine_is_refused(start: Start):
    app = await start()

    for host in ("192.168.1.5", "10.0.0.1", "::ffff:8.8.8.8", ""):
        assert (await http_to(app, from_host=host).get("/api/whoami")).status_code == 401


async def test_without_keys_the_key_that_a_client_sends_anyway_does_no_harm(start: Start):
    app = await start()

    here = await http_to(app, "some-key").get("/api/whoami")
    elsewhere = await http_to(app, "some-key", from_host="10.0.0.1").get("/api/whoami")

    assert (here.status_code, elsewhere.status_code) == (200, 401)


async def test_without_keys_a_client_is_told_once_in_the_log_that_its_key_is_ignored(
    start: Start, caplog: pytest.LogCaptureFixture
):
    http = http_to(await start(), "some-key")

    replies = [await http.get("/api/whoami", headers={"User-Agent": agent}) for agent in ("a", "a", "b")]
    without = await http_to(await start()).get("/api/whoami")

    assert ["ignored" in reply.headers["X-Acumen-Warning"] for reply in replies] == [True] * 3
    assert "X-Acumen-Warning" not in without.headers
    assert [record.args for record in caplog.records if "is ignored" in record.message] == [("a",), ("b",)]


async def test_the_first_key_closes_the_door_to_programs_without_one(start: Start):
    app = await start()
    http = http_to(app)
    made = await http.post("/api/keys", json={"name": "first", "role": "admin"})

    without = await http.get("/api/whoami")
    with_it = await http.get("/api/whoami", headers={"Authorization": f"Bearer {made.json()['secret']}"})
    from_afar = await http_to(app, made.json()["secret"], from_host="10.0.0.1").get(
        "/api/whoami", headers={"Host": "acumen.example", "X-Forwarded-For": "1.2.3.4"}
    )

    assert (without.status_code, with_it.status_code, from_afar.status_code) == (401, 200, 200)


async def test_health_answers_everybody(start: Start):
    http = http_to(await start(), from_host="10.0.0.1")

    for path in (
        "/",
        "/health",
        "/health/live",
        "/health/ready",
        "/healthz",
        "/meta/version",
        "/openapi.json",
        "/docs",
    ):
        assert (await http.get(path, headers={"Host": "acumen.example"})).status_code == 200, path


@once
async def test_a_page_of_another_site_is_not_told_that_it_may_read(org: Org):
    """CORS is closed: without these headers a browser keeps the answer from the page."""
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}

    before = await http_to(org.app).options("/api/search", headers=asked)
    after = await org.http.post("/api/search", json={"query": "x"}, headers=asked)

    assert not [name for name in (*before.headers, *after.headers) if name.lower().startswith("access-control")]


async def test_an_org_opened_later_is_told_apart_by_its_key_alone(org: Org):
    """Naming another org in a header or a query is nothing."""
    other = await join(org.app)

    reply: httpx.Response = await other.http.get("/api/whoami", params={"org_id": org.id}, headers={"X-Org-ID": org.id})

    assert json.loads(reply.text)["org_id"] == other.id != OrgId(org.id)
