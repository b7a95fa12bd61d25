"""An org's configuration, over REST."""

import pytest

from acumen.api.config_merge import MASK
from acumen.learn.share.stance import MIN_COSINE
from acumen.model.memories.aggregation import UNSAID_SIMILARITIES
from acumen_client import Config
from acumen_client.wire import config
from tests.world import Org, join, once

SECRET = "sk-the-secret"
WITH_SECRET = {"openai": {"api_key": SECRET}, "anthropic": {"api_key": "another-secret"}}


OWN = {"model": "m", "api_key": "k"}
NOWHERE = ("http://", "http://:80/v1", "http://127.0.0.1:99999/v1", "http://127.0.0.1:abc/v1", "http://exa mple/v1")


async def test_an_org_that_has_set_nothing_has_the_defaults(org: Org):
    config = await org.sdk.config()

    assert (config.window_size, config.stride_size) == (10, 1)
    assert config.profile_extractor_config
    assert config.user_playbook_extractor_config
    assert config.storage_config.storage_type == org.app.store.database.name


async def test_a_whole_configuration_comes_back_as_it_was_set(org: Org):
    wanted = Config.model_validate(
        {
            "storage_config": {"type": "sqlite", "db_path": "/somewhere"},
            "agent_context_prompt": "An assistant for deployments",
            "tool_can_use": [{"tool_name": "bash", "tool_description": "a shell"}],
            "window_size": 20,
            "stride_size": 5,
            "user_playbook_extractor_config": None,
        }
    )

    answer = await org.sdk.set_config(wanted)

    assert answer.msg == "Configuration set successfully"
    assert await org.sdk.config() == wanted


async def test_setting_what_holds_already_changes_nothing(org: Org):
    await org.sdk.update_config(window_size=20)
    before = await org.rows()

    answers = [await org.sdk.set_config(await org.sdk.config()), await org.sdk.update_config(window_size=20)]

    assert {answer.msg for answer in answers} == {"Configuration unchanged"}
    assert await org.rows() == before


async def test_an_update_replaces_the_fields_it_names_and_keeps_the_rest(org: Org):
    await org.sdk.update_config(window_size=20, agent_context_prompt="one")

    await org.sdk.update_config(agent_context_prompt="two", lineage_gc={"enabled": False})

    config = await org.sdk.config()
    assert (config.window_size, config.agent_context_prompt) == (20, "two")
    assert (config.lineage_gc.enabled, config.lineage_gc.tombstone_grace_window_days) == (False, 90)


async def test_secrets_are_masked_for_whoever_reads(org: Org):
    await org.sdk.update_config(api_key_config=WITH_SECRET)

    reply = await org.send("GET", "/api/get_config")

    assert SECRET not in reply.text
    assert reply.json()["api_key_config"]["openai"]["api_key"] == MASK
    assert SECRET in str((await org.rows())["orgs"])


async def test_the_address_of_the_database_is_masked_with_its_password(org: Org):
    await org.sdk.update_config(storage_config={"type": "postgres", "db_url": "postgresql://u:hunter2@h/d"})

    assert "hunter2" not in (await org.send("GET", "/api/get_config")).text


async def test_a_configuration_read_and_written_back_keeps_its_secrets(org: Org):
    await org.sdk.update_config(api_key_config=WITH_SECRET)
    read = (await org.send("GET", "/api/get_config")).json()

    await org.send("POST", "/api/set_config", {**read, "window_size": 20})
    await org.sdk.update_config(api_key_config=read["api_key_config"])

    stored = (await org.rows())["orgs"][0]["config"]
    assert stored["api_key_config"]["openai"]["api_key"] == SECRET
    assert stored["window_size"] == 20


@once
@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"colour": "red"}, "colour"),
        ({"window_size": 0}, "window_size"),
        ({"window_size": "many"}, "window_size"),
        ({"stride_size": 11}, "stride_size"),
        ({"tool_can_use": [{"tool_name": "bash"}]}, "tool_can_use.0.tool_description"),
        ({"profile_extractor_config": {"colour": "red"}}, "profile_extractor_config"),
        ({"profile_extractor_configs": [{"extraction_definition_prompt": "x", "colour": 1}]}, "configs.0.colour"),
        ({"agent_success_config": {"success_definition_prompt": "x", "sampling_rate": 2}}, "sampling_rate"),
        ({"api_key_config": {"openai": {}}}, "api_key"),
        *(({"api_key_config": {"custom_endpoint": {**OWN, "api_base": wrong}}}, "api_base") for wrong in NOWHERE),
        ({"api_key_config": {"dashscope": {"api_key": "k", "api_base": "nonsense"}}}, "api_base"),
    ],
    ids=str,
)
async def test_what_cannot_be_configured_is_refused_by_name(org: Org, wrong: dict, field: str):
    before = await org.rows()
    whole = (await org.send("GET", "/api/get_config")).json()

    replies = [
        await org.send("POST", "/api/update_config", wrong),
        await org.send("POST", "/api/set_config", {**whole, **wrong}),
    ]

    assert [reply.status_code for reply in replies] == [422, 422]
    assert all(field in reply.json()["detail"] for reply in replies)
    assert await org.rows() == before


@once
@pytest.mark.parametrize("body", [[], "text", 7, None], ids=str)
async def test_a_configuration_is_an_object(org: Org, body: object):
    for path in ("set_config", "update_config"):
        assert (await org.send("POST", f"/api/{path}", body)).status_code == 422


@once
async def test_a_configuration_without_storage_is_incomplete(org: Org):
    reply = await org.send("POST", "/api/set_config", {"window_size": 20})

    assert reply.status_code == 422
    assert "storage_config" in reply.json()["detail"]


async def test_names_of_older_clients_are_understood(org: Org):
    await org.sdk.update_config(batch_size=30, batch_interval=3)

    config = await org.sdk.config()

    assert (config.window_size, config.stride_size) == (30, 3)


async def test_a_preset_sets_window_and_stride(org: Org):
    await org.sdk.update_config(extraction_preset="long_form")

    config = await org.sdk.config()

    assert (config.window_size, config.stride_size) == (25, 10)


async def test_what_one_org_sets_holds_for_no_other(org: Org):
    other = await join(org.app)
    await org.sdk.update_config(window_size=20)

    assert (await other.sdk.config()).window_size == 10


async def test_many_extractors_are_told_as_many_and_as_the_first(org: Org):
    many = [{"extraction_definition_prompt": "x", "extractor_name": name} for name in ("a", "b")]
    await org.send("POST", "/api/update_config", {"profile_extractor_configs": many})

    told = (await org.send("GET", "/api/get_config")).json()

    assert [one["extractor_name"] for one in told["profile_extractor_configs"]] == ["a", "b"]
    assert told["profile_extractor_config"] == told["profile_extractor_configs"][0]


async def test_a_client_that_knows_one_extractor_does_not_lose_the_others(org: Org):
    many = [{"extraction_definition_prompt": "x", "extractor_name": name} for name in ("a", "b")]
    await org.send("POST", "/api/update_config", {"profile_extractor_configs": many})
    told = (await org.send("GET", "/api/get_config")).json()
    del told["profile_extractor_configs"]
    told["profile_extractor_config"]["context_prompt"] = "changed"

    await org.send("POST", "/api/set_config", told)

    after = (await org.send("GET", "/api/get_config")).json()["profile_extractor_configs"]
    assert [(one["extractor_name"], one["context_prompt"]) for one in after] == [("a", "changed"), ("b", None)]


async def test_two_contradicting_ways_to_set_extractors_are_refused(org: Org):
    whole = (await org.send("GET", "/api/get_config")).json()
    one, other = ({"extraction_definition_prompt": "x", "extractor_name": name} for name in ("a", "b"))

    reply = await org.send(
        "POST", "/api/set_config", {**whole, "profile_extractor_config": one, "profile_extractor_configs": [other]}
    )

    assert reply.status_code == 422
    assert "profile_extractor_configs" in reply.json()["detail"]


async def test_an_extractor_named_like_another_is_refused_in_a_sentence(org: Org):
    many = [{"extraction_definition_prompt": "x", "extractor_name": name} for name in ("a", "b")]
    await org.send("POST", "/api/update_config", {"profile_extractor_configs": many})
    told = (await org.send("GET", "/api/get_config")).json()
    del told["profile_extractor_configs"]

    reply = await org.send("POST", "/api/set_config", {**told, "profile_extractor_config": many[1]})

    assert reply.status_code == 422
    assert reply.json()["detail"] == (
        "profile_extractor_configs: two extractors are called 'b'; give each a name of its own."
    )


@once
@pytest.mark.parametrize("window", [{"window_size_override": 3}, {}], ids=str)
async def test_an_extractors_stride_does_not_exceed_its_window(org: Org, window: dict[str, int]):
    billing = {"extraction_definition_prompt": "x", "extractor_name": "billing", "stride_size_override": 11, **window}
    whole = (await org.send("GET", "/api/get_config")).json()
    before = await org.rows()

    replies = [
        await org.send("POST", "/api/update_config", {"user_playbook_extractor_configs": [billing]}),
        await org.send("POST", "/api/set_config", {**whole, "profile_extractor_config": billing}),
    ]

    assert [reply.status_code for reply in replies] == [422, 422]
    size = window.get("window_size_override", 10)
    assert all(
        f"stride_size_override of extractor 'billing' must not exceed its window of {size}" in reply.json()["detail"]
        for reply in replies
    )
    assert await org.rows() == before


def test_the_likeness_of_lessons_that_is_shown_is_the_one_that_was_measured():
    assert config.MEASURED_SIMILARITY == MIN_COSINE
    assert {config.MEASURED_SIMILARITY, config.UNSAID_SIMILARITY} == UNSAID_SIMILARITIES


PRIVATE = ["http://127.0.0.1:11434/v1", "http://localhost/v1", "http://[::1]:1/v1", "http://169.254.169.254/latest"]
PRIVATE += ["http://10.1.2.3/v1", "https://metadata.google.internal/v1", "http://[::ffff:127.0.0.1]/v1"]


@once
@pytest.mark.parametrize("address", PRIVATE)
async def test_the_model_of_an_org_is_not_on_this_machine_or_network(org: Org, address: str):
    before = await org.rows()

    endpoint = {"custom_endpoint": OWN | {"api_base": address}}
    reply = await org.send("POST", "/api/update_config", {"api_key_config": endpoint})

    assert (reply.status_code, "api_base" in reply.json()["detail"]) == (422, True)
    assert await org.rows() == before
