"""Memories, over REST: read, add, change, delete."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from acumen_client import AcumenError, BadInput, Conflict, NotFound
from tests.world import Org, once, playbook, profile, said

NOW = datetime.now(UTC)
MONTH_AGO = int((NOW - timedelta(days=30)).timestamp())
TEN_DAYS_AGO = NOW - timedelta(days=10)
TOMORROW = int((NOW + timedelta(days=1)).timestamp())
NEVER = 4_102_444_800
UNKNOWN = 987_654_321


async def add(org: Org, *user_playbooks: dict) -> list[int]:
    """Adds playbooks and returns their ids in the same order."""
    await org.sdk.add_user_playbooks(user_playbooks=list(user_playbooks))
    listed = (await org.sdk.user_playbooks(status_filter=["current", "archived", "pending"])).user_playbooks
    return sorted(one.user_playbook_id for one in listed)


async def add_for_all(org: Org, *agent_playbooks: dict) -> list[int]:
    await org.sdk.add_agent_playbooks(agent_playbooks=list(agent_playbooks))
    return sorted(one.agent_playbook_id for one in (await org.sdk.agent_playbooks()).agent_playbooks)


# --- adding --------------------------------------------------------------------------------------------------------


async def test_an_added_profile_is_read_back_field_by_field(org: Org):
    added = {
        "profile_id": "p1",
        "user_id": "ada",
        "content": "Lives in Paris",
        "last_modified_timestamp": MONTH_AGO,
        "generated_from_request_id": "r1",
        "profile_time_to_live": "one_quarter",
        "custom_features": {"tier": ["vip", None]},
        "source": "slack",
        "extractor_names": ["profiles"],
        "tags": ["home"],
        "source_interaction_ids": [7],
        "source_span": "I live in Paris",
    }

    reply = await org.send("POST", "/api/add_user_profile", {"user_profiles": [added]})

    assert reply.json() == {"success": True, "message": "Added 1 profile", "added_count": 1}
    listed = (await org.send("POST", "/api/get_profiles", {"user_id": "ada"})).json()
    (stored,) = listed["user_profiles"]
    assert listed["msg"] == "Found 1 profile"
    assert stored.items() >= {**added, "expiration_timestamp": MONTH_AGO + 90 * 86_400}.items()
    assert "status" not in stored


async def test_a_profile_without_id_or_time_is_given_both_and_never_expires(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Lives in Paris")])

    (stored,) = (await org.sdk.profiles(user_id="ada")).user_profiles

    assert stored.profile_id
    assert abs(stored.last_modified_timestamp - NOW.timestamp()) < 600
    assert stored.expiration_timestamp == NEVER


async def test_an_added_user_playbook_is_read_back_field_by_field(org: Org):
    added = {
        "user_id": "ada",
        "agent_version": "v2",
        "request_id": "r1",
        "playbook_name": "deploys",
        "created_at": MONTH_AGO,
        "content": "Use us-west-2",
        "trigger": "when deploying",
        "rationale": "latency",
        "pitfall": "us-east-1",
        "blocking_issue": {"kind": "missing_tool", "details": "no shell"},
        "source": "cli",
        "tags": ["ops"],
        "source_interaction_ids": [7],
        "source_span": "always west",
        "playbook_metadata": {"reviewed": True},
        "status": "archived",
    }

    reply = await org.send("POST", "/api/add_user_playbook", {"user_playbooks": [added]})

    assert reply.json() == {"success": True, "message": "Added 1 item", "added_count": 1}
    listed = (await org.send("POST", "/api/get_user_playbooks", {"status_filter": ["archived"]})).json()
    (stored,) = listed["user_playbooks"]
    assert stored.items() >= added.items()
    assert stored["user_playbook_id"] > 0


async def test_an_added_agent_playbook_is_read_back_field_by_field(org: Org):
    added = {
        "agent_version": "v2",
        "playbook_name": "deploys",
        "created_at": MONTH_AGO,
        "content": "Use us-west-2",
        "trigger": "when deploying",
        "rationale": "latency",
        "pitfall": "us-east-1",
        "blocking_issue": {"kind": "policy_restriction", "details": "not ours"},
        "playbook_status": "approved",
        "playbook_metadata": "free text",
        "tags": ["ops"],
    }

    reply = await org.send("POST", "/api/add_agent_playbook", {"agent_playbooks": [added]})

    assert reply.json() == {"success": True, "message": "Added 1 item", "added_count": 1}
    listed = (await org.send("POST", "/api/get_agent_playbooks", {})).json()
    (stored,) = listed["agent_playbooks"]
    assert stored.items() >= added.items()
    assert listed["msg"] == "Found 1 agent playbook"


@pytest.mark.parametrize("shape", ["user_profile", "user_playbook", "agent_playbook"])
async def test_null_is_accepted_for_every_optional_field_of_a_new_memory(org: Org, shape: str):
    from acumen_client.wire import memories  # noqa: PLC0415 - the shapes are what is walked

    model = {
        "user_profile": memories.NewProfile,
        "user_playbook": memories.NewUserPlaybook,
        "agent_playbook": memories.NewAgentPlaybook,
    }[shape]
    given = {"user_id": "ada", "content": "something"} if shape != "agent_playbook" else {"content": "something"}
    body = {f"{shape}s": [{**dict.fromkeys(model.model_fields), **given}]}

    reply = await org.send("POST", f"/api/add_{shape}", body)

    assert reply.status_code == 200, reply.text


async def test_memories_are_added_all_or_none(org: Org):
    before = await org.rows()

    with pytest.raises(BadInput, match="same id"):
        await org.sdk.add_profiles(user_profiles=[profile("a", profile_id="p1"), profile("b", profile_id="p1")])
    bad = await org.send("POST", "/api/add_user_profile", {"user_profiles": [profile("a"), profile(" ")]})

    assert bad.status_code == 422
    assert "user_profiles.1" in bad.json()["detail"]
    assert await org.rows() == before


async def test_an_id_that_is_taken_is_a_conflict_and_the_one_who_has_it_keeps_it(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("mine", profile_id="p1")])

    with pytest.raises(Conflict, match="p1"):
        await org.sdk.add_profiles(user_profiles=[profile("other", profile_id="p2"), profile("x", profile_id="p1")])

    assert [one.content for one in (await org.sdk.profiles(user_id="ada")).user_profiles] == ["mine"]


# --- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, ["new", "old"]),
        ({"profile_id": "p-old"}, ["old"]),
        ({"profile_id": "unknown"}, []),
        ({"query": "NEW"}, ["new"]),
        ({"source": "slack"}, ["old"]),
        ({"tags": ["x"]}, ["new"]),
        ({"profile_time_to_live": "one_year"}, ["old"]),
        ({"status_filter": ["archived"]}, ["archived"]),
        ({"status_filter": [None, "archived"]}, ["archived", "new", "old"]),
        ({"start_time": TEN_DAYS_AGO}, ["new"]),
        ({"end_time": TEN_DAYS_AGO}, ["old"]),
        ({"top_k": 1}, ["new"]),
        ({"user_id": "nobody"}, []),
    ],
)
async def test_profiles_of_a_user_are_listed_by_what_is_asked(org: Org, wanted: dict, found: list[str]):
    await org.sdk.add_profiles(
        user_profiles=[
            profile("old", profile_id="p-old", source="slack", profile_time_to_live="one_year",
                    last_modified_timestamp=MONTH_AGO),
            profile("archived", status="archived", last_modified_timestamp=TOMORROW),
            profile("new", tags=["x", "y"]),
            profile("bob's", "bob"),
        ]
    )  # fmt: skip

    listed = await org.sdk.profiles(**{"user_id": "ada", **wanted})

    assert [one.content for one in listed.user_profiles] == found


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, {"a", "b", "archived"}),
        ({"status_filter": "current"}, {"a", "b"}),
        ({"status_filter": "archived"}, {"archived"}),
        ({"status_filter": ""}, {"a", "b", "archived"}),
        ({"user_id": "bob"}, {"b"}),
        ({"profile_id": "p-a"}, {"a"}),
        ({"limit": 1}, {"b"}),
        ({"end_time": int(TEN_DAYS_AGO.timestamp())}, {"a"}),
        ({"start_time": int(TEN_DAYS_AGO.timestamp()), "date_field": "created_at"}, {"b", "archived"}),
        ({"include_tombstones": "true"}, {"a", "b", "archived", "superseded"}),
        ({"query": "B"}, {"b"}),
    ],
)
async def test_profiles_of_all_users_are_listed_by_what_is_asked(org: Org, wanted: dict, found: set[str]):
    await org.sdk.add_profiles(
        user_profiles=[
            profile("a", profile_id="p-a", last_modified_timestamp=MONTH_AGO),
            profile("superseded", status="superseded"),
            profile("archived", status="archived"),
        ]
    )
    await org.sdk.add_profiles(user_profiles=[profile("b", "bob", last_modified_timestamp=TOMORROW)])

    listed = (await org.send("GET", "/api/get_all_profiles", params=wanted)).json()

    assert {one["content"] for one in listed["user_profiles"]} == found


async def test_profiles_are_counted_by_status(org: Org):
    now = int(NOW.timestamp())
    await org.sdk.add_profiles(
        user_profiles=[
            profile("current"),
            profile("ends soon", profile_time_to_live="one_day", last_modified_timestamp=now),
            profile("over", profile_time_to_live="one_day", last_modified_timestamp=MONTH_AGO),
            profile("pending", status="pending"),
            profile("archived", status="archived"),
        ]
    )

    counted = await org.sdk.profile_statistics()

    numbers = (counted.current_count, counted.pending_count, counted.archived_count, counted.expiring_soon_count)
    assert numbers == (2, 1, 1, 1)


async def test_a_profile_past_its_time_is_not_listed_for_its_user(org: Org):
    old = profile("over", profile_time_to_live="one_day", last_modified_timestamp=MONTH_AGO)
    await org.sdk.add_profiles(user_profiles=[old])

    assert (await org.sdk.profiles(user_id="ada")).user_profiles == []


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, ["new", "old"]),
        ({"user_id": "ada"}, ["old"]),
        ({"playbook_name": "named"}, ["old"]),
        ({"agent_version": "v2"}, ["new"]),
        ({"request_id": "r1"}, ["old"]),
        ({"query": "NEW"}, ["new"]),
        ({"tags": ["x"]}, ["new"]),
        ({"status_filter": ["pending"]}, ["pending"]),
        ({"start_time": TEN_DAYS_AGO}, ["new"]),
        ({"end_time": TEN_DAYS_AGO}, ["old"]),
        ({"limit": 1}, ["new"]),
        ({"user_playbook_id": UNKNOWN}, []),
    ],
)
async def test_user_playbooks_are_listed_by_what_is_asked(org: Org, wanted: dict, found: list[str]):
    await add(
        org,
        playbook("old", playbook_name="named", request_id="r1", created_at=MONTH_AGO),
        playbook("new", "bob", agent_version="v2", tags=["x"]),
        playbook("pending", status="pending"),
    )

    listed = await org.sdk.user_playbooks(**wanted)

    assert [one.content for one in listed.user_playbooks] == found


@pytest.mark.parametrize(
    "wanted, found",
    [
        ({}, ["new", "old"]),
        ({"playbook_name": "named"}, ["old"]),
        ({"agent_version": "v2"}, ["new"]),
        ({"playbook_status_filter": "approved"}, ["old"]),
        ({"playbook_status_filter": ["pending", "rejected"]}, ["new"]),
        ({"query": "NEW"}, ["new"]),
        ({"tags": ["x"]}, ["new"]),
        ({"status_filter": ["archived"]}, []),
        ({"end_time": TEN_DAYS_AGO}, ["old"]),
        ({"limit": 1}, ["new"]),
        ({"agent_playbook_id": UNKNOWN}, []),
    ],
)
async def test_agent_playbooks_are_listed_by_what_is_asked(org: Org, wanted: dict, found: list[str]):
    await add_for_all(
        org,
        {"content": "old", "playbook_name": "named", "created_at": MONTH_AGO, "playbook_status": "approved"},
        {"content": "new", "agent_version": "v2", "tags": ["x"]},
    )

    listed = await org.sdk.agent_playbooks(**wanted)

    assert [one.content for one in listed.agent_playbooks] == found


async def test_one_playbook_is_read_by_its_id(org: Org):
    first, _ = await add(org, playbook("one"), playbook("two"))
    shared, _ = await add_for_all(org, {"content": "three"}, {"content": "four"})

    mine = await org.sdk.user_playbooks(user_playbook_id=first)
    ours = await org.sdk.agent_playbooks(agent_playbook_id=shared)

    assert [one.content for one in mine.user_playbooks] == ["one"]
    assert [one.content for one in ours.agent_playbooks] == ["three"]


async def test_storage_stats_count_what_a_user_has(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile("a", last_modified_timestamp=MONTH_AGO), profile("b"), profile("c", "bob")]
    )
    await add(org, playbook("x"), playbook("y", "bob"))

    counted = await org.sdk.storage_stats(user_id="ada")
    nobody = await org.sdk.storage_stats(user_id="nobody")

    assert (counted.profile_count, counted.playbook_count) == (2, 1)
    assert int(counted.oldest_profile_modified.timestamp()) == MONTH_AGO
    assert counted.newest_profile_modified > TEN_DAYS_AGO
    assert (nobody.profile_count, nobody.oldest_profile_modified) == (0, None)


# --- changing ------------------------------------------------------------------------------------------------------


async def test_a_changed_profile_keeps_what_was_not_named_and_has_a_new_time(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile("a", profile_id="p1", tags=["x"], last_modified_timestamp=MONTH_AGO)]
    )

    answer = await org.sdk.update_profile(user_id="ada", profile_id="p1", content="b", custom_features={"k": 1})

    (stored,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    assert answer.msg == "Profile updated successfully"
    assert (stored.content, stored.custom_features, stored.tags) == ("b", {"k": 1}, ["x"])
    assert stored.last_modified_timestamp == stored.updated_at > TEN_DAYS_AGO.timestamp()
    assert stored.created_at == MONTH_AGO


async def test_a_changed_user_playbook_keeps_what_was_not_named(org: Org):
    (number,) = await add(org, playbook("a", trigger="t", rationale="r", pitfall="p", playbook_name="n"))

    await org.sdk.update_user_playbook(
        user_playbook_id=number, content="b", pitfall="q", playbook_metadata={"seen": True}, status="archived"
    )

    (stored,) = (await org.sdk.user_playbooks(status_filter=["archived"])).user_playbooks
    assert (stored.content, stored.trigger, stored.rationale, stored.pitfall) == ("b", "t", "r", "q")
    assert (stored.playbook_name, stored.playbook_metadata, stored.status) == ("n", {"seen": True}, "archived")


@pytest.mark.parametrize("named", [int, str])
async def test_a_playbook_replaced_by_another_points_to_it(org: Org, named: Any):
    old, new = await add(org, playbook("old"), playbook("new"))

    await org.sdk.update_user_playbook(
        user_playbook_id=old, status="superseded", playbook_metadata={"superseded_by": named(new)}
    )

    (stored,) = (await org.sdk.user_playbooks(status_filter=["superseded"])).user_playbooks
    assert stored.superseded_by == new


@pytest.mark.parametrize("successor", ["itself", "unknown", "circle", "nonsense", "text"])
async def test_a_playbook_cannot_be_replaced_by_what_makes_no_sense(org: Org, successor: str):
    first, second = await add(org, playbook("first"), playbook("second"))
    await org.sdk.update_user_playbook(user_playbook_id=second, playbook_metadata={"superseded_by": first})
    named: Any = {"itself": first, "unknown": UNKNOWN, "circle": second, "nonsense": {"a": 1}, "text": "x"}[successor]
    before = await org.rows()

    with pytest.raises(BadInput, match="superseded_by"):
        await org.sdk.update_user_playbook(user_playbook_id=first, playbook_metadata={"superseded_by": named})

    assert await org.rows() == before


async def test_a_changed_agent_playbook_keeps_what_was_not_named(org: Org):
    (number,) = await add_for_all(org, {"content": "a", "trigger": "t", "playbook_metadata": "m"})

    await org.sdk.update_agent_playbook(agent_playbook_id=number, content="b", playbook_status="approved")

    (stored,) = (await org.sdk.agent_playbooks()).agent_playbooks
    assert (stored.content, stored.trigger, stored.playbook_metadata) == ("b", "t", "m")
    assert stored.playbook_status == "approved"


async def test_an_agent_playbook_is_approved_and_rejected(org: Org):
    (number,) = await add_for_all(org, {"content": "a"})

    for word in ("approved", "rejected"):
        await org.sdk.update_agent_playbook_status(agent_playbook_id=number, playbook_status=word)

        (stored,) = (await org.sdk.agent_playbooks()).agent_playbooks
        assert stored.playbook_status == word
    told = await org.sdk.provenance(kind="agent_playbook", id=str(number))
    assert [event.reason for event in told.lineage] == ["added by hand", "approved by hand", "rejected by hand"]


async def test_every_change_leaves_a_trace_of_before_and_after(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("a", profile_id="p1")])
    await org.sdk.update_profile(user_id="ada", profile_id="p1", content="b")

    life = (await org.rows())["lineage"]

    assert [(event["op"], (event["before"] or {}).get("content"), event["after"]["content"]) for event in life] == [
        ("add", None, "a"),
        ("change", "a", "b"),
    ]
    assert all(event["reason"] and event["actor"] for event in life)


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("PUT", "update_user_profile", {"user_id": "ada", "profile_id": "unknown", "content": "x"}),
        ("PUT", "update_user_profile", {"user_id": "bob", "profile_id": "p1", "content": "x"}),
        ("PUT", "update_user_playbook", {"user_playbook_id": UNKNOWN, "content": "x"}),
        ("PUT", "update_agent_playbook", {"agent_playbook_id": UNKNOWN, "content": "x"}),
        ("PUT", "update_agent_playbook_status", {"agent_playbook_id": UNKNOWN, "playbook_status": "approved"}),
        ("DELETE", "delete_profile", {"user_id": "ada", "profile_id": "unknown"}),
        ("DELETE", "delete_profile", {"user_id": "bob", "profile_id": "p1"}),
        ("DELETE", "delete_user_playbook", {"user_playbook_id": UNKNOWN}),
        ("DELETE", "delete_agent_playbook", {"agent_playbook_id": UNKNOWN}),
        ("DELETE", "delete_interaction", {"user_id": "ada", "interaction_id": UNKNOWN}),
        ("DELETE", "delete_request", {"request_id": "unknown"}),
        ("DELETE", "delete_session", {"session_id": "unknown"}),
        ("DELETE", "keys", {"key_id": "unknown"}),
    ],
)
async def test_what_is_not_there_is_not_found_and_nothing_changes(org: Org, method: str, path: str, body: dict):
    await org.sdk.add_profiles(user_profiles=[profile("a", profile_id="p1")])
    before = await org.rows()

    reply = await org.send(method, f"/api/{path}", body)

    assert reply.status_code == 404
    assert reply.json()["code"] == "not_found"
    assert await org.rows() == before


@once
@pytest.mark.parametrize(
    "method, path, body, field",
    [
        ("PUT", "update_user_profile", {"user_id": "ada", "profile_id": "p1", "content": 7}, "content"),
        ("PUT", "update_user_profile", {"user_id": "ada", "profile_id": "p1", "contents": "x"}, "contents"),
        ("PUT", "update_user_profile", {"user_id": "ada", "profile_id": "p1", "content": " "}, "content"),
        ("PUT", "update_user_profile", {"user_id": "ada", "content": "x"}, "profile_id"),
        ("PUT", "update_user_playbook", {"user_playbook_id": 0}, "user_playbook_id"),
        ("PUT", "update_user_playbook", {"user_playbook_id": 1, "status": "great"}, "status"),
        ("PUT", "update_agent_playbook_status", {"agent_playbook_id": 1, "playbook_status": "x"}, "playbook_status"),
        ("PUT", "update_agent_playbook_status", {"agent_playbook_id": 1}, "playbook_status"),
        ("POST", "add_user_profile", {"user_profiles": []}, "user_profiles"),
        ("POST", "add_user_profile", {"user_profiles": [{"content": "x"}]}, "user_profiles.0.user_id"),
        ("POST", "add_user_playbook", {"user_playbooks": [{"user_id": "a"}]}, "content or trigger"),
        ("POST", "add_agent_playbook", {"agent_playbooks": [{"content": "x", "tags": [1]}]}, "tags.0"),
        ("DELETE", "delete_profile", {"user_id": "ada"}, "profile_id"),
        ("DELETE", "delete_profiles_by_ids", {"profile_ids": []}, "profile_ids"),
        ("DELETE", "delete_user_playbooks_by_ids", {"user_playbook_ids": ["x"]}, "user_playbook_ids.0"),
        ("POST", "clear_user_data", {}, "user_id"),
        ("POST", "get_profiles", {}, "user_id"),
        ("POST", "get_profiles", {"user_id": "ada", "top_k": 0}, "top_k"),
        ("POST", "get_user_playbooks", {"status_filter": ["great"]}, "status_filter"),
        ("GET", "get_all_profiles?limit=x", None, "limit"),
        ("GET", "get_all_profiles?colour=red", None, "colour"),
        ("GET", "storage_stats", None, "user_id"),
    ],
)
async def test_what_cannot_be_used_is_refused_by_name(org: Org, method: str, path: str, body: Any, field: str):
    await org.sdk.add_profiles(user_profiles=[profile("a", profile_id="p1")])
    before = await org.rows()

    reply = await org.send(method, f"/api/{path}", body)

    assert reply.status_code == 422, reply.text
    assert field in reply.json()["detail"]
    assert await org.rows() == before


# --- deleting ------------------------------------------------------------------------------------------------------


async def test_deleting_says_what_clients_of_the_wire_print(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("a", profile_id="p1"), profile("b", profile_id="p2")])

    one = await org.send("DELETE", "/api/delete_profile", {"user_id": "ada", "profile_id": "p1", "search_query": ""})
    many = await org.send("DELETE", "/api/delete_profiles_by_ids", {"profile_ids": ["p2", "unknown"]})

    assert one.json() == {"success": True, "message": "Deleted successfully"}
    assert many.json() == {"success": True, "deleted_count": 1, "message": "Deleted 1 item"}


async def test_profiles_are_deleted_by_a_query_within_their_user(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile("Likes zebras"), profile("Likes apples"), profile("Likes zebras", "bob")]
    )

    await org.sdk.delete_profile(user_id="ada", search_query="ZEBRA")

    left = (await org.send("GET", "/api/get_all_profiles")).json()["user_profiles"]
    assert sorted((one["user_id"], one["content"]) for one in left) == [
        ("ada", "Likes apples"),
        ("bob", "Likes zebras"),
    ]


async def test_playbooks_are_deleted_by_their_ids(org: Org):
    mine = await add(org, playbook("a"), playbook("b"), playbook("c"))
    ours = await add_for_all(org, {"content": "a"}, {"content": "b"}, {"content": "c"})

    await org.sdk.delete_user_playbook(user_playbook_id=mine[0])
    await org.sdk.delete_agent_playbook(agent_playbook_id=ours[0])
    gone = await org.sdk.delete_user_playbooks(user_playbook_ids=[mine[1], mine[1], UNKNOWN])
    gone_too = await org.sdk.delete_agent_playbooks(agent_playbook_ids=[ours[1]])

    assert (gone.deleted_count, gone_too.deleted_count) == (1, 1)
    assert [one.content for one in (await org.sdk.user_playbooks()).user_playbooks] == ["c"]
    assert [one.content for one in (await org.sdk.agent_playbooks()).agent_playbooks] == ["c"]


async def test_delete_all_takes_one_kind_and_tells_how_many(org: Org):
    await org.sdk.publish(**said("one", "two"))
    await org.sdk.add_profiles(user_profiles=[profile("a"), profile("b", status="archived")])
    await add(org, playbook("a"))
    await add_for_all(org, {"content": "a"})

    gone = [
        (await getattr(org.sdk, f"delete_all_{kind}")()).deleted_count
        for kind in ("interactions", "profiles", "user_playbooks", "agent_playbooks", "playbooks")
    ]

    left = await org.rows()
    assert gone == [2, 2, 1, 1, 0]
    assert not any(left[name] for name in ("interactions", "requests", "profiles", "user_playbooks", "agent_playbooks"))


async def test_delete_all_playbooks_takes_both_kinds(org: Org):
    await add(org, playbook("a"), playbook("b"))
    await add_for_all(org, {"content": "a"})

    assert (await org.sdk.delete_all_playbooks()).deleted_count == 3


async def test_deleting_requests_and_sessions_takes_their_turns(org: Org):
    for request, session in (("r1", "s1"), ("r2", "s2"), ("r3", "s2"), ("r4", "s4")):
        await org.sdk.publish(**said("hello", request_id=request, session=session))

    by_id = await org.sdk.delete_requests(request_ids=["r1", "unknown"])
    session = await org.sdk.delete_session(session_id="s2")

    left = (await org.sdk.all_interactions()).interactions
    assert (by_id.deleted_count, session.deleted_requests_count) == (1, 2)
    assert [turn.request_id for turn in left] == ["r4"]


async def test_a_turn_is_deleted_only_for_the_user_who_said_it(org: Org):
    await org.sdk.publish(**said("hello", user="ada"))
    (turn,) = (await org.sdk.all_interactions()).interactions

    with pytest.raises(NotFound):
        await org.sdk.delete_interaction(user_id="bob", interaction_id=turn.interaction_id)
    await org.sdk.delete_interaction(user_id="ada", interaction_id=turn.interaction_id)

    assert (await org.sdk.all_interactions()).interactions == []


async def test_clearing_a_user_leaves_nothing_of_them_and_everything_of_others(org: Org):
    for user in ("zebra-ada", "bob"):
        await org.sdk.publish(**said(f"I am {user} and I live in Paris.", user=user, session="main"))
        await org.sdk.add_profiles(user_profiles=[profile(f"Profile of {user}", user)])
        await add(org, playbook(f"Playbook of {user}", user))
    await org.learn()
    await org.sdk.finalize_session(user_id="zebra-ada", session_id="main")
    await org.sdk.search(query="Profile", user_id="zebra-ada", session_id="main", request_id="q1")
    await org.sdk.search(query="Profile", user_id="bob", session_id="main", request_id="q2")
    await org.app.flush_usage()

    cleared = await org.sdk.clear_user_data(user_id="zebra-ada")
    found = await org.sdk.search(query="Profile of zebra-ada", user_id="zebra-ada")

    left = await org.rows()
    assert "zebra-ada" not in str({**left, "jobs": left["jobs"]})
    assert cleared.deleted_counts["interactions"] == 1
    assert cleared.deleted_counts["profiles"] >= 1
    assert cleared.deleted_counts["user_playbooks"] >= 1
    assert (found.profiles, found.user_playbooks) == ([], [])
    assert (await org.sdk.search(query="Profile of bob", user_id="bob")).profiles
    assert (await org.sdk.injection_stats()).total >= 1


async def test_clearing_nobody_is_no_failure(org: Org):
    cleared = await org.sdk.clear_user_data(user_id="nobody")

    assert sum(cleared.deleted_counts.values()) == 0


async def test_two_who_change_the_same_memory_at_once_do_not_overwrite_each_other(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("start", profile_id="p1")])

    outcomes = await asyncio.gather(
        *(org.sdk.update_profile(user_id="ada", profile_id="p1", content=f"version {n}") for n in range(5)),
        return_exceptions=True,
    )

    lost = [outcome for outcome in outcomes if isinstance(outcome, AcumenError)]
    assert all(isinstance(outcome, Conflict) for outcome in lost)
    life = (await org.rows())["lineage"]
    assert len(life) == 1 + 5 - len(lost)
