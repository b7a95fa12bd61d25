"""The loop with a language model: it reads, it is billed, and when it fails the rules go on in its place, labelled."""

import asyncio
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from acumen.api.config_merge import MASK
from acumen.llm.scripted import Script
from acumen.model.metering.llm_call import ModelRole
from tests.model_server import model_server, refuses, says, waits_for
from tests.world import Org, Start, local, said

SAYS = "I live in Lyon. We never deploy production to us-east-1, always use us-west-2."
FACT = {
    "turn": 1,
    "quote": "I live in Lyon.",
    "category": "identity",
    "op": "ADD",
    "content": "The user lives in Lyon.",
    "standing": True,
}
LESSON = {
    "turn": 1,
    "quote": "We never deploy production to us-east-1, always use us-west-2.",
    "category": "rule",
    "op": "ADD",
    "content": "Never deploy production to us-east-1, always use us-west-2.",
    "trigger": "When deploying to production",
}
DOWN = ModelHTTPError(500, "scripted")


def reads(shown: str) -> dict[str, Any]:
    return {"edits": [FACT, LESSON] if "Lyon" in shown else []}


async def with_model(start: Start, script: Script, **changed: Any) -> Org:
    return local(await start(script=script, **changed))


async def facts(org: Org) -> list[Any]:
    return (await org.sdk.profiles(user_id="ada")).user_profiles


async def lessons(org: Org) -> list[Any]:
    return (await org.sdk.user_playbooks(user_id="ada")).user_playbooks


async def learned(org: Org) -> None:
    """Waits until something is known."""
    while not await facts(org):  # noqa: ASYNC110 - another task learns, and announces it to nobody
        await asyncio.sleep(0.01)


async def calls(org: Org) -> list[dict[str, Any]]:
    return (await org.rows())["llm_calls"]


async def test_a_rerun_tells_how_much_of_it_rules_read_in_the_models_place(start: Start):
    org = await with_model(start, Script().says(ModelRole.EXTRACTION, reads, DOWN), llm={"attempts": 1})
    await org.sdk.publish(**said(SAYS))
    await org.learn()

    await org.sdk.rerun_profiles()
    await org.learn()

    told = (await org.sdk.operation_status(service_name="profile_generation")).operation_status
    assert (told.stats["windows"], told.stats["windows_by_rules"]) == (1, 1)


async def test_what_the_model_reads_is_learned_with_its_name_and_its_words(start: Start):
    org = await with_model(start, Script().says(ModelRole.EXTRACTION, reads))
    await org.sdk.publish(**said(SAYS, request_id="r1"))

    await org.learn()

    (fact,), (lesson,) = await facts(org), await lessons(org)
    assert (fact.content, fact.engine, fact.source_span) == ("The user lives in Lyon.", "model", "I live in Lyon.")
    assert (lesson.content, lesson.trigger) == (LESSON["content"], LESSON["trigger"])
    assert fact.notes is None
    rows = await org.rows()
    assert {(row["model"], bool(row["prompt_hash"])) for row in (*rows["profiles"], *rows["user_playbooks"])} == {
        ("scripted", True)
    }


async def test_every_question_is_billed_to_the_request_that_caused_it(start: Start):
    org = await with_model(start, Script().says(ModelRole.EXTRACTION, reads))
    await org.sdk.publish(**said(SAYS, request_id="r1"))

    await org.learn()

    billed = await calls(org)
    assert [(call["role"], call["outcome"], call["user_id"], call["request_id"]) for call in billed] == [
        ("extraction", "answered", "ada", "r1")
    ]
    assert all(call["prompt_tokens"] > 100 and call["duration_ms"] > 0 for call in billed)


async def test_where_the_rules_find_nothing_the_model_votes_before_it_reads(start: Start):
    script = Script().says(ModelRole.GATE, {"worth_reading": False}).says(ModelRole.EXTRACTION, reads)
    org = await with_model(start, script)
    await org.sdk.publish(**said("What is the capital of France?"))
    await org.sdk.finalize_session(user_id="ada", session_id="s1")

    await org.learn()

    assert len(script.asked_for(ModelRole.GATE)) == 2
    assert script.asked_for(ModelRole.EXTRACTION) == []


@pytest.mark.parametrize("how", ["forced", "configured", "switched off"])
async def test_the_vote_is_skipped_where_somebody_wants_the_reading(start: Start, how: str):
    script = Script().says(ModelRole.EXTRACTION, reads)
    org = await with_model(start, script, llm={"gate": how != "switched off"})
    if how == "configured":
        await org.sdk.update_config(skip_should_run_check=True)
    await org.sdk.publish(**said("What is the capital of France?", force_extraction=how == "forced"))
    await org.sdk.finalize_session(user_id="ada", session_id="s1")

    await org.learn()

    assert len(script.asked_for(ModelRole.EXTRACTION)) == 1
    assert script.asked_for(ModelRole.GATE) == []


async def test_a_model_updates_a_memory_that_it_was_shown_and_the_old_words_stay_in_history(start: Start):
    rex = {"turn": 1, "quote": "Rex is with me", "category": "fact", "op": "ADD", "content": "Rex is with the user."}
    fido = {**rex, "quote": "Fido is with me", "op": "UPDATE", "id": "k1", "content": "Fido is with the user."}

    def answer(shown: str) -> dict[str, Any]:
        return {"edits": [{**fido, "turn": 2}, fido] if "Fido" in shown else [rex]}

    script = Script().says(ModelRole.EXTRACTION, answer)
    org = await with_model(start, script, llm={"gate": False})
    for sentence in ("Rex is with me.", "It is Fido now: Fido is with me, not Rex."):
        await org.sdk.publish(**said(sentence, force_extraction=True))
        await org.learn()

    (fact,) = await facts(org)
    (old,) = (await org.sdk.profiles(user_id="ada", status_filter=["superseded"])).user_profiles
    (ended,) = [event for event in (await org.rows())["lineage"] if event["op"] == "superseded"]
    assert ("Fido" in fact.content, "Rex" in old.content, old.superseded_by) == (True, True, fact.profile_id)
    assert ended["cause"] == "model"
    assert "Fido is with me" in ended["quote"]


async def test_a_model_reads_four_user_turns_at_a_time_and_corrections_at_once(start: Start):
    script = Script().says(ModelRole.EXTRACTION, {"edits": []})
    org = await with_model(start, script, llm={"gate": False})
    asked = []
    for sentence in (
        "I went swimming.",
        "It was cold.",
        "I had soup after it.",
        "Then I slept.",
        "No, use tabs instead.",
    ):
        await org.sdk.publish(**said(sentence))
        await org.learn()
        asked.append(len(script.asked_for(ModelRole.EXTRACTION)))

    assert asked == [0, 0, 0, 1, 2]


async def test_an_org_that_sets_a_stride_is_read_by_it(start: Start):
    script = Script().says(ModelRole.EXTRACTION, {"edits": []})
    org = await with_model(start, script, llm={"gate": False})
    each = {"extraction_definition_prompt": "x", "stride_size_override": 1}
    await org.sdk.update_config(profile_extractor_config=each, user_playbook_extractor_config=each)
    for sentence in ("I went swimming.", "It was cold."):
        await org.sdk.publish(**said(sentence))
        await org.learn()

    assert len(script.asked_for(ModelRole.EXTRACTION)) == 2


async def test_a_turn_of_commands_costs_nothing(start: Start):
    script = Script()
    org = await with_model(start, script)
    await org.sdk.publish(**said("/clear"))

    await org.learn()

    assert script.asked == []


async def test_when_the_model_fails_the_rules_take_over_and_say_why(start: Start):
    org = await with_model(start, Script().says(ModelRole.EXTRACTION, DOWN), llm={"backoff_seconds": 0.01})
    await org.sdk.publish(**said(SAYS))

    await org.learn()

    learned = [*await facts(org), *await lessons(org)]
    assert learned
    assert {memory.engine for memory in learned} == {"rules"}
    assert all(memory.notes.startswith("Read by rules: The language model gave no answer") for memory in learned)
    billed = await calls(org)
    assert {(call["outcome"], call["attempts"]) for call in billed} == {("failed", 3)}
    assert (await org.rows())["jobs"] == [job for job in (await org.rows())["jobs"] if job["state"] != "dead"]


async def test_past_the_budget_of_a_day_the_rules_go_on_and_the_status_says_so(start: Start):
    org = await with_model(start, Script().says(ModelRole.EXTRACTION, reads))
    await org.sdk.update_config(llm_config={"daily_token_budget": 100})
    for sentence in (SAYS, "Always answer in French."):
        await org.sdk.publish(**said(sentence))
        await org.learn()

    by_rules = [lesson for lesson in await lessons(org) if lesson.engine == "rules"]

    assert [fact.engine for fact in await facts(org)] == ["model"]
    assert [lesson.content for lesson in by_rules] == ["Always answer in French."]
    assert "tokens of this day are spent" in by_rules[0].notes
    model = (await org.sdk.status()).model
    assert (model.calls_today, model.daily_tokens) == (1, 100)
    assert model.tokens_today >= 100
    assert "spent" in model.degraded


async def test_an_org_does_not_lift_the_budget_of_the_server_and_health_tells_that_it_is_spent(start: Start):
    script = Script().says(ModelRole.EXTRACTION, reads)
    org = await with_model(start, script, llm={"daily_tokens": 1})
    await org.sdk.publish(**said(SAYS))
    await org.learn()
    asked = len(script.asked)

    await org.sdk.update_config(llm_config={"daily_token_budget": 0})
    await org.sdk.publish(**said("Remember that I live in Lyon."))
    await org.learn()

    assert len(script.asked) == asked
    health = (await org.send("GET", "/health/ready")).json()
    assert health["status"] == "healthy"
    assert health["checks"]["model"]["reason"] == "rules are used instead: the 1 tokens of today are spent"


async def test_a_model_that_refuses_shows_in_health_though_it_is_still_asked(start: Start):
    script = Script().says(ModelRole.EXTRACTION, ModelHTTPError(401, "scripted"))
    org = await with_model(start, script)
    await org.sdk.publish(**said(SAYS))

    await org.learn()

    health = (await org.send("GET", "/health/ready")).json()
    assert health["status"] == "healthy"
    assert "in a row" in health["checks"]["model"]["reason"]
    assert "status 401" in health["checks"]["model"]["reason"]
    assert "status 401" in (await org.sdk.status()).model.degraded


async def test_a_new_day_has_a_new_budget(start: Start, clock: Any):
    script = Script().says(ModelRole.EXTRACTION, reads)
    org = await with_model(start, script)
    await org.sdk.update_config(llm_config={"daily_token_budget": 1})
    await org.sdk.publish(**said(SAYS))
    await org.learn()
    asked = len(script.asked)

    clock.forward(days=1)
    await org.sdk.publish(**said("Remember that I live in Lyon."))
    await org.learn()

    assert len(script.asked) == asked + 1


async def test_a_model_that_keeps_failing_shows_in_health_and_status_and_is_left_alone(start: Start):
    script = Script().says(ModelRole.EXTRACTION, DOWN)
    org = await with_model(start, script, llm={"attempts": 1, "breaker_failures": 1})
    for sentence in (SAYS, "Always answer in French."):
        await org.sdk.publish(**said(sentence))
        await org.learn()

    assert len(script.asked) == 1
    health = (await org.send("GET", "/health/ready")).json()
    assert health["status"] == "healthy"
    assert (health["checks"]["model"]["status"], health["checks"]["model"]["required"]) == ("failed", False)
    assert "rules are used" in health["checks"]["model"]["reason"]
    assert "tried again" in (await org.sdk.status()).model.degraded
    assert any("paused (circuit breaker)" in lesson.notes for lesson in await lessons(org))


async def test_a_publish_is_answered_while_the_model_still_thinks(start: Start):
    let_go = asyncio.Event()
    async with model_server(waits_for(let_go, says({"edits": [FACT]}))) as server:
        org = local(await start(work=True, llm={"url": server.url}))

        first = await org.sdk.publish(**said(SAYS))
        await server.asked_by_now(1)
        second = await org.sdk.publish(**said("And I play the flute."))
        known_meanwhile = await facts(org)
        let_go.set()
        await asyncio.wait_for(learned(org), 30)

        assert first.success
        assert second.success
        assert known_meanwhile == []
        assert (await facts(org))[0].engine == "model"


async def test_an_orgs_own_endpoint_and_key_are_used_for_it_alone_and_never_shown(start: Start):
    async with model_server(says({"edits": [FACT]})) as theirs:
        org = local(await start(llm={"private_org_models": True}))
        key = "sk-of-this-org-alone"
        endpoint = {"model": "their-model", "api_key": key, "api_base": theirs.url}
        await org.sdk.update_config(api_key_config={"custom_endpoint": endpoint}, skip_should_run_check=True)
        await org.sdk.publish(**said(SAYS))

        await org.learn()

        assert {(asked.headers["authorization"], asked.body["model"]) for asked in theirs.asked} == {
            (f"Bearer {key}", "their-model")
        }
        assert (await facts(org))[0].engine == "model"
        shown = (await org.sdk.config()).model_dump_json() + (await org.sdk.status()).model_dump_json()
        assert key not in shown
        assert MASK in shown


async def test_a_key_that_is_only_masked_does_not_follow_its_endpoint_to_another_address(org: Org):
    endpoint = {"model": "m", "api_key": "sk-of-the-old-place", "api_base": "https://models.example.com/v1"}
    await org.sdk.update_config(api_key_config={"custom_endpoint": endpoint})

    moved = {**endpoint, "api_key": MASK, "api_base": "https://other.example.com/v1"}
    reply = await org.send("POST", "/api/update_config", {"api_key_config": {"custom_endpoint": moved}})

    assert (reply.status_code, "key" in reply.json()["detail"]) == (422, True)
    stored = (await org.rows())["orgs"][0]["config"]["api_key_config"]["custom_endpoint"]
    assert (stored["api_key"], stored["api_base"]) == ("sk-of-the-old-place", "https://models.example.com/v1")


async def test_a_user_who_is_erased_is_erased_from_the_bill_too(start: Start):
    org = await with_model(start, Script().says(ModelRole.EXTRACTION, reads))
    await org.sdk.publish(**said(SAYS, request_id="r1"))
    await org.learn()

    await org.sdk.clear_user_data(user_id="ada")

    billed = await calls(org)
    assert len(billed) == 1
    assert {(call["user_id"], call["request_id"], call["error"]) for call in billed} == {(None, None, None)}


async def test_old_bills_are_thrown_away_with_other_counts(start: Start, clock: Any):
    org = await with_model(start, Script().says(ModelRole.EXTRACTION, reads), meter={"keep_days": 10})
    await org.sdk.publish(**said(SAYS))
    await org.learn()

    clock.forward(days=11)
    await org.learn()

    assert await calls(org) == []


async def test_secrets_reach_neither_the_model_nor_a_memory(start: Start):
    key = "sk-live-abcdefghijklmnop1234"
    async with model_server(says({"edits": [{**FACT, "content": f"The user's key is {key}."}]})) as server:
        org = local(await start(llm={"url": server.url, "gate": False}))
        await org.sdk.publish(**said(f"{SAYS} My key is {key}, keep it."))

        await org.learn()

        assert server.asked
        assert all(key not in asked.raw.decode() for asked in server.asked)
        assert key not in str([await facts(org), await lessons(org)])


# --- search ----------------------------------------------------------------------------------------------------------


async def test_a_search_is_put_to_stand_by_itself_when_asked_to(start: Start):
    script = Script().says(ModelRole.REFORMULATION, {"standalone_query": "which city does the user live in"})
    org = await with_model(start, script.says(ModelRole.EXTRACTION, reads))
    await org.sdk.publish(**said(SAYS))
    await org.learn()
    history = [{"role": "user", "content": "I need a florist near me."}, {"role": "assistant", "content": "Sure!"}]

    found = await org.sdk.search(
        query="and where is that?", user_id="ada", enable_reformulation=True, conversation_history=history
    )

    assert found.reformulated_query == "which city does the user live in"
    assert found.profiles[0].content == "The user lives in Lyon."
    assert "florist" in script.asked_for(ModelRole.REFORMULATION)[0].shown
    assert [call["user_id"] for call in await calls(org) if call["role"] == "reformulation"] == ["ada"]


async def test_a_search_that_does_not_ask_for_it_is_not_rewritten(start: Start):
    script = Script()
    org = await with_model(start, script)

    found = await org.sdk.search(query="where?", user_id="ada")

    assert found.reformulated_query is None
    assert script.asked == []


async def test_a_search_goes_on_as_it_is_when_the_model_does_not_answer_or_is_not_there(start: Start):
    broken = await with_model(start, Script().says(ModelRole.REFORMULATION, DOWN), llm={"backoff_seconds": 0.01})
    none = local(await start())

    for org in (broken, none):
        found = await org.sdk.search(query="flute", user_id="ada", enable_reformulation=True)
        of_one_kind = await org.sdk.search_profiles(query="flute", user_id="ada", enable_reformulation=True)

        assert (found.success, found.reformulated_query) == (True, None)
        assert of_one_kind.success


async def test_a_refused_key_costs_one_try_and_the_rules_go_on(start: Start):
    async with model_server(refuses(401)) as server:
        org = local(await start(llm={"url": server.url, "api_key": "sk-wrong-0001"}))
        await org.sdk.publish(**said(SAYS))

        await org.learn()

        assert {memory.engine for memory in await lessons(org)} == {"rules"}
        assert {call["outcome"] for call in await calls(org)} == {"refused"}
