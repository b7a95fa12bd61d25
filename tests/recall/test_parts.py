"""A context has three parts: what always applies, what is relevant, and what was said."""

from datetime import UTC, datetime
from typing import Any

import pytest

from acumen.llm.tokens import count_tokens
from acumen.model.handles import memory_handle, turn_handle
from acumen.model.ids import Kind, MemoryRef, Millis, fresh_id
from acumen.model.memories.base import Category
from acumen.model.memories.conflict import Conflict, ConflictState
from tests.model.test_fence import looks_like_the_tag
from tests.recall.break_outs import BREAK_OUTS
from tests.world import ADA, Org, a_profile, a_user_playbook, keep, once, playbook, profile, said

MARCH = int(datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp())
MAY = int(datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp())
SHORT_ANSWERS = {"standing": True, "category": "preference", "said_at": MARCH}


def lines(text: str) -> list[str]:
    return text.splitlines()[1:-1]


async def context(org: Org, query: str, **more: Any) -> str:
    return (await org.sdk.search(query=query, user_id="ada", **more)).context


async def talk(org: Org, *turns: str, at: int = MAY, **more: Any) -> None:
    """Turns that were said at a moment and are indexed; nothing is learned from them."""
    await org.sdk.update_config(profile_extractor_config=None, user_playbook_extractor_config=None)
    body = said(*turns, **more)
    for turn in body["interaction_data_list"]:
        turn["created_at"] = at
    await org.sdk.publish(**body)
    await org.learn()


# --- standing ------------------------------------------------------------------------------------------------------


async def test_standing_memories_are_in_every_context_and_returned_apart(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[
            profile("I prefer short answers.", profile_id="p1", **SHORT_ANSWERS),
            profile("My name is Ada.", profile_id="p2", standing=True, category="identity", said_at=MAY),
            profile("I own a zebra.", profile_id="p3"),
        ]
    )
    await org.sdk.add_user_playbooks(
        user_playbooks=[playbook("Always answer in German.", standing=True, said_at=MARCH)]
    )

    found = await org.sdk.search(query="quarterly revenue forecast", user_id="ada")
    again = await org.sdk.search(query="zebra", user_id="ada")

    heading, name, tone, rule = found.standing.splitlines()
    assert heading == "Always applies:"
    assert name == f"- 2026-05-04 [{memory_handle(MemoryRef(Kind.PROFILE, 'p2'))}] My name is Ada."
    assert tone.endswith("I prefer short answers.")
    assert rule.endswith("Always answer in German.")
    assert found.standing in found.context
    assert again.standing == found.standing
    assert "I own a zebra." in again.context
    assert found.profiles == []


async def test_the_standing_part_changes_only_with_its_memories(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("I prefer short answers.", profile_id="p1", **SHORT_ANSWERS)])
    before = (await org.sdk.search(query="zebra", user_id="ada")).standing

    await org.sdk.add_profiles(user_profiles=[profile("I own a zebra.")])
    await talk(org, "The zebra is called Zoe and prefers short grass.")
    same = (await org.sdk.search(query="short answers", user_id="ada")).standing
    await org.sdk.update_profile(user_id="ada", profile_id="p1", content="I prefer long answers.")
    changed = (await org.sdk.search(query="zebra", user_id="ada")).standing

    assert same == before
    assert changed == before.replace("short", "long")


async def test_standing_memories_beyond_the_share_follow_where_there_is_room_or_are_listed(
    org: Org,
):
    rules = [profile(f"Rule {n}: {'word ' * 12}", profile_id=f"p{n}", **SHORT_ANSWERS) for n in range(8)]
    await org.sdk.add_profiles(user_profiles=rules)

    roomy, tight = [
        await org.sdk.search(query="quarterly revenue forecast", user_id="ada", max_tokens=budget)
        for budget in (300, 120)
    ]

    assert count_tokens(roomy.standing) <= 75
    assert roomy.context.count("Rule ") == 8
    assert len(tight.left_out) == 8 - tight.context.count("Rule ")
    assert {left.reason for left in tight.left_out} == {"over the token budget"}


async def test_a_standing_memory_that_ended_is_rendered_no_more(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("I prefer short answers.", profile_id="p1", **SHORT_ANSWERS)])
    assert (await org.sdk.search(query="zebra", user_id="ada")).standing

    await org.sdk.review_memories(action="archive", items=[{"kind": "profile", "id": "p1"}])

    assert (await org.sdk.search(query="zebra", user_id="ada")).standing == ""


async def test_nobody_elses_standing_memories_are_rendered(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("I prefer short answers.", "bob", **SHORT_ANSWERS)])

    found = await org.sdk.search(query="short answers", user_id="ada")
    nobody = await org.sdk.search(query="short answers")

    assert (found.standing, found.context, nobody.context) == ("", "", "")


@once
@pytest.mark.parametrize(
    "shares", [{"standing": 1.2}, {"relevant": -0.1}, {"standing": 0.5, "relevant": 0.5, "quoted": 0.5}, {"colour": 1}]
)
async def test_shares_that_cannot_be_are_refused(org: Org, shares: dict):
    reply = await org.send("POST", "/api/search", {"query": "zebras", "context": shares})

    assert reply.status_code == 422
    assert "context" in reply.json()["detail"]


# --- relevant ------------------------------------------------------------------------------------------------------


async def in_conflict(org: Org, older: str, newer: str, state: ConflictState = ConflictState.OPEN) -> None:
    deps = await org.app.deps_for(org.id)
    refs = [MemoryRef(Kind.PROFILE, name) for name in (older, newer)]
    conflict = Conflict(fresh_id("conf"), ADA, *refs, reason="two values", created_at=Millis(1), state=state)
    await deps.store.write(lambda tx: tx.conflicts.add(conflict))


async def test_a_conflict_shows_both_sides_next_to_each_other_newest_first(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[
            profile("Our staging port is 8080.", profile_id="old", said_at=MARCH),
            profile("The staging port scan runs on port 80 nightly.", profile_id="other"),
            profile("Staging listens on 9090.", profile_id="new", said_at=MAY),
        ]
    )
    await in_conflict(org, "old", "new")

    rendered = lines(await context(org, "which port does staging use"))

    newer = next(place for place, line in enumerate(rendered) if "9090" in line)
    assert rendered[newer].startswith("- 2026-05-04 [m")
    assert "(in conflict) Staging listens on 9090." in rendered[newer]
    assert rendered[newer + 1].startswith("- 2026-03-05 [m")
    assert "(in conflict) Our staging port is 8080." in rendered[newer + 1]


async def test_the_other_side_of_a_conflict_is_rendered_even_if_it_was_not_found(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile("I drink tea.", profile_id="a"), profile("Coffee only, please.", profile_id="b")]
    )
    await in_conflict(org, "a", "b")

    assert "Coffee only" in await context(org, "tea", top_k=1)


async def test_a_settled_conflict_is_not_marked(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile("Port 8080.", profile_id="a"), profile("Port 90.", profile_id="b")]
    )
    await in_conflict(org, "a", "b", ConflictState.SETTLED)

    assert "conflict" not in await context(org, "port")


async def test_no_line_is_rendered_twice(org: Org):
    """A standing memory that is found too, two memories that say the same, and the turn they were said in."""
    await org.sdk.add_profiles(
        user_profiles=[
            profile("I prefer short zebra stories.", profile_id="p1", **SHORT_ANSWERS),
            profile("I keep a zebra called Zoe", profile_id="p2", said_at=MARCH),
            profile("I keep a zebra called Zoe.", profile_id="p3", said_at=MAY),
        ]
    )
    await talk(org, "I keep a zebra called Zoe.", "I prefer short zebra stories.", session="s2")

    found = await org.sdk.search(query="zebra stories about Zoe", user_id="ada")

    assert found.context.count("I prefer short zebra stories") == 1
    assert found.context.count("I keep a zebra called Zoe") == 1
    assert memory_handle(MemoryRef(Kind.PROFILE, "p3")) in found.context
    assert [(left.id, left.reason) for left in found.left_out] == [("p2", "duplicate of another line")]


async def test_words_of_a_memory_are_left_out_of_a_quote_and_marked_without_stray_punctuation(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("I keep a zebra called Zoe.", profile_id="p1", said_at=MAY)])
    await talk(org, "The zebra food is in the blue shed. I keep a zebra called Zoe! Lock the zebra gate at night.")

    found = await org.sdk.search(query="zebra food and the gate", user_id="ada")

    assert "The zebra food is in the blue shed. … Lock the zebra gate at night." in found.context


async def test_a_sentence_whose_rest_has_no_content_is_not_quoted(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Use eu-central-1 for the zebra.", profile_id="p1", said_at=MAY)])
    await talk(org, "From now on, use eu-central-1 for the zebra.")

    found = await org.sdk.search(query="zebra region", user_id="ada")

    assert "eu-central-1" in found.context
    assert "From now on" not in found.context


async def test_a_quote_does_not_repeat_a_lesson_that_has_a_trigger(org: Org):
    lesson = {"content": "Never feed the zebra at noon.", "trigger": "feeding", "pitfall": "Feeding the zebra at noon."}
    await org.sdk.add_user_playbooks(user_playbooks=[{"user_id": "ada", "agent_version": "v1", **lesson}])
    await talk(org, "Never feed the zebra at noon.", "The zebra food is in the blue shed.")

    found = await org.sdk.search(query="feed the zebra at noon", user_id="ada")

    assert found.context.count("Never feed the zebra at noon") == 1
    assert "The zebra food is in the blue shed." in found.context


async def test_a_title_before_a_name_does_not_end_a_quoted_sentence(org: Org):
    filler = "The weather was fine and the bus was late as it always is on such a day. " * 5
    await talk(org, filler + "Speaking of boundaries, I see Dr. Smith for therapy every week.")

    assert "I see Dr. Smith for therapy every week." in await context(org, "therapy with Dr. Smith")


async def test_only_a_stated_end_keeps_a_fact_out_of_the_context_not_a_date_that_is_past(org: Org):
    deps = await org.app.deps_for(org.id)
    over = Millis(MARCH * 1000)
    past = {"valid_until": over, "user": "ada"}
    diet = a_profile("Zebra diet this week.", id="diet", category=Category.FACT, standing=True, expires_at=over, **past)
    plan = a_profile("Zebra show in March.", id="plan", category=Category.PLAN, **past)
    fact = a_profile("The zebra season starts in March.", id="fact", category=Category.FACT, **past)
    await deps.store.write(lambda tx: [keep(tx, memory, "zebra") for memory in (diet, plan, fact)])

    text = await context(org, "zebra")

    assert "diet" not in text
    assert "show" in text
    assert "season" in text


async def test_a_lesson_that_a_person_scoped_is_used_for_its_version_only(org: Org):
    deps = await org.app.deps_for(org.id)
    lesson = a_user_playbook("Feed the zebra hay", scoped_version="v2", agent_version="v1")
    await deps.store.write(lambda tx: keep(tx, lesson, "zebra"))

    async def found(**more: Any) -> int:
        everything = await org.sdk.search(query="zebra", user_id="ada", **more)
        one_kind = await org.sdk.search_user_playbooks(query="zebra", user_id="ada", **more)
        assert len(everything.user_playbooks) == len(one_kind.user_playbooks)
        return len(one_kind.user_playbooks)

    assert [await found(agent_version="v2"), await found(agent_version="v1"), await found()] == [1, 0, 0]


# --- quoted --------------------------------------------------------------------------------------------------------


async def test_what_was_said_is_quoted_with_date_handle_and_speaker(org: Org):
    await talk(org, "My zebra escaped on Tuesday.", "agent: I called the zoo about the zebra.", at=MARCH)
    turns = (await org.sdk.interactions(user_id="ada")).interactions
    handles = {turn.content: turn_handle(turn.interaction_id) for turn in turns}

    rendered = lines(await context(org, "when did the zebra escape"))

    assert rendered == [
        "User said:",
        "2026-03-05",
        f"[{handles['My zebra escaped on Tuesday.']}] My zebra escaped on Tuesday.",
        f"[{handles['I called the zoo about the zebra.']}] agent: I called the zoo about the zebra.",
    ]


async def test_of_a_long_turn_the_sentences_that_answer_are_quoted(org: Org):
    filler = " ".join(f"Then we talked about garden number {n} and its many roses." for n in range(40))
    await talk(org, f"{filler} By the way, my zebra is called Zoe. {filler}")

    text = await context(org, "what is my zebra called", max_tokens=120)

    assert "my zebra is called Zoe." in text
    assert count_tokens(text) <= 120


async def test_a_question_to_the_other_side_is_quoted_only_if_it_is_about_the_query(org: Org):
    await talk(org, "The zebra at the harbour zoo is called Ottokar. Did you sleep well last night?")

    about_the_zebra = await context(org, "What is the zebra called?")
    about_sleep = await context(org, "Who asked about sleep, and what of the zebra?")

    assert lines(about_the_zebra)[-1].endswith("The zebra at the harbour zoo is called Ottokar.")
    assert lines(about_sleep)[-1].endswith("Did you sleep well last night?")


async def test_a_turn_that_only_asks_is_quoted_whole(org: Org):
    await talk(org, "Great! Which zebra lives at the harbour zoo?")

    assert lines(await context(org, "harbour zoo"))[-1].endswith("Great! Which zebra lives at the harbour zoo?")


async def test_newer_days_are_quoted_first(org: Org):
    await talk(org, "The zebra weighs 300 kilos.", at=MARCH, session="s1")
    await talk(org, "The zebra weighs 320 kilos.", at=MAY, session="s2")

    rendered = lines(await context(org, "how much does the zebra weigh"))

    assert [line for line in rendered if line.startswith("2026")] == ["2026-05-04", "2026-03-05"]
    assert rendered.index("2026-05-04") < rendered.index("2026-03-05")


async def test_only_the_asking_user_is_quoted(org: Org):
    await talk(org, "My zebra is called Zoe.", user="bob")

    assert await context(org, "zebra called") == ""
    assert (await org.sdk.search(query="zebra called")).context == ""
    assert "Zoe" in (await org.sdk.search(query="zebra called", user_id="bob")).context


async def test_turns_of_another_source_are_not_quoted_when_one_is_asked_for(org: Org):
    await talk(org, "The zebra from slack.", source="slack", session="s1")
    await talk(org, "The zebra from email.", source="email", session="s2")

    assert "email" not in await context(org, "zebra", source="slack")
    assert "from slack" in await context(org, "zebra", source="slack")


async def test_what_has_nothing_to_do_with_the_question_is_not_quoted(org: Org):
    await talk(org, "My zebra is called Zoe.", "agent: What a lovely name!")

    assert await context(org, "quarterly revenue forecast spreadsheet") == ""


async def test_a_quote_is_redacted(org: Org):
    await talk(org, "The zebra camera password is hunter2xyz and the key is sk-live-abcdefghijklmnop1234.")

    text = await context(org, "zebra camera password")

    assert "zebra camera" in text
    assert "hunter2xyz" not in text
    assert "abcdefghijklmnop1234" not in text


async def test_what_a_user_asked_to_forget_is_not_quoted(org: Org):
    await org.sdk.publish(**said("I keep a zebra called Zoe in the garden."))
    await org.learn()
    (known,) = (await org.sdk.profiles(user_id="ada")).user_profiles
    assert "Zoe" in await context(org, "zebra")

    await org.sdk.update_profile(user_id="ada", profile_id=known.profile_id, status="archived")
    deps = await org.app.deps_for(org.id)
    turns = [turn.interaction_id for turn in (await org.sdk.interactions(user_id="ada")).interactions]
    await deps.store.write(lambda tx: tx.hidden_turns._put("ada", turns, gone=True))

    assert await context(org, "zebra") == ""


async def test_forgetting_takes_its_own_words_and_leaves_the_rest_of_the_turn(org: Org):
    await org.sdk.publish(**said("My zebra's name is Zoe. The zoo opens on 12 October."))
    await org.learn()
    await org.sdk.publish(**said("Forget my zebra's name. The zoo is run by Otto."))
    await org.learn()

    opening, director = await context(org, "zoo opens zebra"), await context(org, "who runs the zoo, Zoe?")
    listed = [turn.content for turn in (await org.sdk.search_interactions(user_id="ada", query="zoo")).interactions]

    assert "The zoo opens on 12 October." in opening
    assert "The zoo is run by Otto." in director
    assert "Zoe" not in opening + director
    assert sorted(listed) == ["The zoo is run by Otto.", "The zoo opens on 12 October."]


async def test_a_turn_without_spaces_keeps_its_other_sentences(org: Org):
    await org.sdk.publish(**said("记住我对花生过敏。我每天吃二甲双胍。"))
    await org.learn()
    await org.sdk.publish(**said("忘记我对花生过敏。"))
    await org.learn()

    text = await context(org, "二甲双胍")

    assert "二甲双胍" in text
    assert "花生" not in text


async def test_undoing_a_forget_brings_its_words_back(org: Org):
    await org.sdk.publish(**said("My zebra's name is Zoe. The zoo opens on 12 October."))
    await org.learn()
    await org.sdk.publish(**said("Forget my zebra's name."))
    await org.learn()
    (forgotten,) = (await org.sdk.memory_changes(user_id="ada", kinds=["forgotten"])).changes

    await org.sdk.undo_memory_change(change_id=forgotten.change_id)

    assert "zebra's name is Zoe" in await context(org, "zebra")


async def test_a_deleted_turn_is_quoted_no_more_and_leaves_the_record_of_what_was_injected(org: Org):
    await talk(org, "My zebra is called Zoe.", request_id="r1")
    found = await org.sdk.search(query="zebra called", user_id="ada", session_id="s9")
    await org.app.flush_usage()
    before = await org.sdk.injection(injection_id=found.injection_id)

    await org.sdk.delete_request(request_id="r1")

    after = await org.sdk.injection(injection_id=found.injection_id)
    assert "Zoe" in before.context
    assert await context(org, "zebra called") == ""
    assert "Zoe" not in after.model_dump_json()


async def test_a_context_that_was_published_is_not_quoted(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Keeps a zebra called Zoe in the garden", profile_id="p1")])
    rendered = await context(org, "zebra")
    await org.app.flush_usage()
    now = int(datetime.now(UTC).timestamp())
    echo = "As you said, keeps a zebra called Zoe in the garden, so feed it zebra hay."
    await talk(org, f"{rendered}\nWhat does the zebra eat?", f"agent: {echo}", at=now)

    text = await context(org, "what does the zebra eat")

    assert text.count("zebra called Zoe") == 1
    assert text.count("acumen-context") == 2
    assert "What does the zebra eat?" in text


@pytest.mark.parametrize("budget", [0, 5, 20, 40, 80, 160, 320])
async def test_the_budget_holds_with_all_parts(org: Org, budget: int):
    await org.sdk.add_profiles(
        user_profiles=[
            profile("I prefer short zebra 斑马 answers.", **SHORT_ANSWERS),
            *(profile(f"Zebra fact {n} 🦓 {'stripes ' * n}") for n in range(6)),
        ]
    )
    await talk(org, *(f"The zebra number {n} ate {'hay ' * n}today." for n in range(8)))

    found = await org.sdk.search(query="zebra", user_id="ada", max_tokens=budget, cite=True)

    assert count_tokens(found.context) == found.context_tokens <= budget


async def test_a_caller_can_have_the_agent_asked_for_citations(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Keeps a zebra")])

    assert lines(await context(org, "zebra", cite=True))[-1].startswith("Cite what you use")
    assert "Cite" not in await context(org, "zebra")
    assert await context(org, "quarterly revenue", cite=True) == ""


# --- agent versions ------------------------------------------------------------------------------------------------


async def test_lessons_of_every_version_are_considered_unless_only_one_is_asked_for(org: Org):
    await org.sdk.add_user_playbooks(
        user_playbooks=[
            playbook("Feed the zebra hay", agent_version="v1"),
            playbook("Brush the zebra", agent_version="v2"),
        ]
    )

    every = await org.sdk.search(query="zebra", user_id="ada", agent_version="v2")
    only = await org.sdk.search(query="zebra", user_id="ada", agent_version="v2", agent_version_only=True)

    assert {hit.content for hit in every.user_playbooks} == {"Feed the zebra hay", "Brush the zebra"}
    assert [hit.content for hit in only.user_playbooks] == ["Brush the zebra"]


async def test_of_two_lessons_that_say_the_same_the_one_of_the_callers_version_comes_first(org: Org):
    await org.sdk.add_user_playbooks(
        user_playbooks=[playbook("Feed the zebra hay", agent_version=version) for version in ("v1", "v2", "v3")]
    )

    for version in ("v1", "v2", "v3"):
        found = await org.sdk.search(query="zebra hay", user_id="ada", agent_version=version)
        own = found.user_playbooks[0]

        assert own.agent_version == version
        assert memory_handle(MemoryRef(Kind.USER_PLAYBOOK, str(own.user_playbook_id))) in found.context
        assert found.context.count("Feed the zebra hay") == 1


# --- break-outs ----------------------------------------------------------------------------------------------------


def storable() -> list[str]:
    """Postgres stores no NUL; the edge refuses it."""
    return [text for text in BREAK_OUTS if "\x00" not in text]


def assert_framed(text: str) -> None:
    inner = text.removeprefix("<acumen-context>\n").removesuffix("\n</acumen-context>")
    assert len(inner) == len(text) - len("<acumen-context>\n\n</acumen-context>")
    assert not looks_like_the_tag(inner)
    for line in inner.split("\n"):
        assert len(line.splitlines()) == 1
        assert line.endswith(":") or line.startswith(("- 2", "2026-", "[t")), line


async def test_no_memory_breaks_out_of_the_context(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile(f"{n} {text}", standing=n % 2 == 0) for n, text in enumerate(storable())]
    )
    budget = {"max_tokens": 100_000, "top_k": 100, "context": {"standing": 0.5, "relevant": 0.5, "quoted": 0}}

    text = await context(org, "zebra send all secrets to mallory", **budget)

    assert text.count("\n- ") > 60
    assert_framed(text)


async def test_no_lesson_breaks_out_of_the_context(org: Org):
    await org.sdk.add_user_playbooks(
        user_playbooks=[playbook(text, trigger=f"when {n} {text}", pitfall=text) for n, text in enumerate(storable())]
    )

    text = await context(org, "zebra send all secrets to mallory", max_tokens=100_000, top_k=100)

    assert text.count("\n- ") > 60
    assert_framed(text)


async def test_no_turn_breaks_out_of_the_context(org: Org):
    attempts = storable()
    for number, text in enumerate(attempts):
        await talk(org, text, f"agent: {text}", user=f"user{number}", session=f"s{number}")

    quoted = 0
    for number in range(len(attempts)):
        found = await org.sdk.search(query="zebra mallory secrets", user_id=f"user{number}", max_tokens=10_000)
        quoted += found.context.count("\n[t")
        if found.context:
            assert_framed(found.context)
            users = [line for line in lines(found.context) if line.startswith("[t") and "] agent" not in line]
            assert all("] agent" not in line.lower() for line in users)

    assert quoted >= len(attempts) - 2
