"""Questions in other scripts, with ids and code, and what is shown of the answer."""

import pytest

from acumen.model.ids import Kind, UserId
from acumen.model.memories.search import Filter, RankingMode
from acumen.recall.search import Ask, AskTurns, search_memories, search_turns
from tests.world import ADA, Org, profile, said

MINE = {Kind.PROFILE: Filter(user_id=ADA)}


async def ask(org: Org, query: str | None, **more) -> list[str]:
    deps = await org.app.deps_for(org.id)
    recalled = await search_memories(Ask(query, **{"top_k": 5, "filters": MINE, **more}), deps)
    return [hit.memory.content for hit in recalled.hits]


@pytest.mark.parametrize(
    "memory, query",
    [
        ("Deployed the services", "deploy service"),
        ("Reads résumés in the Café", "resume cafe"),
        ("住在东京，喜欢拉面", "拉面"),
        ("東京に住んでいます", "東京"),
        ("서울에 살고 있어요", "서울에"),
        ("The ticket is JIRA-4512", "JIRA-4512"),
        ("Calls getUserById in user_service.py", "getUserById"),
        ("Uses python3.11 on host db-01.internal", "db-01.internal"),
        ("Region us-west-2 only", "us-west-2"),
    ],
    ids=str,
)
async def test_words_find_their_memory_in_any_script(org: Org, memory: str, query: str):
    await org.sdk.add_profiles(user_profiles=[profile(memory), profile("Something else entirely, about gardening")])

    assert await ask(org, query, mode=RankingMode.FTS) == [memory]


async def test_without_a_question_the_latest_are_listed_and_nothing_is_ready_to_inject(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile("older", last_modified_timestamp=1_000), profile("newer", last_modified_timestamp=2_000)]
    )
    deps = await org.app.deps_for(org.id)

    recalled = await search_memories(Ask("  ", 5, MINE), deps)

    assert [hit.memory.content for hit in recalled.hits] == ["newer", "older"]
    assert [hit.match for hit in recalled.hits] == [None, None]
    assert recalled.context.text == ""


async def test_the_number_of_hits_is_what_was_asked_for_after_filtering(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile(f"Zebra number {n}", tags=["even"] if n % 2 == 0 else []) for n in range(40)]
    )

    hits = await ask(org, "zebra", top_k=15, filters={Kind.PROFILE: Filter(user_id=ADA, tags=("even",))})

    assert len(hits) == 15
    assert all(int(hit.split()[-1]) % 2 == 0 for hit in hits)


async def test_better_hits_come_first(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[
            profile("Once saw a zebra from a train"),
            profile("Feeds the zebra at the city zoo every morning"),
            profile("Goes to the zoo on Sundays"),
        ]
    )

    hits = await ask(org, "who feeds the zebra at the zoo")

    assert hits[0] == "Feeds the zebra at the city zoo every morning"


async def test_scores_lie_between_nought_and_one_and_fall(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile(f"Zebra {'stripe ' * n}") for n in range(6)])
    deps = await org.app.deps_for(org.id)

    recalled = await search_memories(Ask("zebra stripe", 6, MINE), deps)

    scores = [hit.match.score for hit in recalled.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


async def test_a_search_of_nothing_is_empty(org: Org):
    assert await ask(org, "anything") == []
    assert await ask(org, "") == []
    assert await ask(org, "?!…") == []


async def test_a_very_long_question_is_answered(org: Org):
    await org.sdk.add_profiles(user_profiles=[profile("Likes zebras")])

    assert await ask(org, "zebras " + "and so on " * 5_000, mode=RankingMode.FTS) == ["Likes zebras"]


async def test_turns_of_a_session_speak_for_each_other_and_others_stay_out(org: Org):
    await org.sdk.publish(**said("Where should we meet?", "agent: At the harbour café on Tuesday.", session="s1"))
    await org.sdk.publish(**said("At the harbour café on Tuesday.", user="bob", session="s1"))
    await org.learn()
    deps = await org.app.deps_for(org.id)

    answer = await search_turns(AskTurns(ADA, "harbour café", 5, Filter(user_id=ADA)), deps)
    nobody = await search_turns(AskTurns(UserId("cyd"), "harbour café", 5, Filter(user_id=UserId("cyd"))), deps)

    assert answer.hits[0].turn.content == "At the harbour café on Tuesday."
    assert {hit.turn.user_id for hit in answer.hits} == {"ada"}
    assert list(nobody.hits) == []
