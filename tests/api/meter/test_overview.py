"""How sessions end and what is learned, added up."""

from typing import Any

import pytest

from acumen.model.ids import InteractionId, Millis, SessionId, UserId, now
from acumen.model.memories.base import Origin
from acumen.model.metering.evaluation import Evaluation, EvaluationId, FailureType, Judgement, Preference, ShadowVerdict
from acumen.model.times import DAY_MS
from acumen.storage.store import Tx
from acumen_client import BadInput
from tests.world import Org, Start, local, playbook, profile, said

TODAY = now() // DAY_MS * DAY_MS
# A Monday: 5 January 2026.
MONDAY = 1_767_571_200_000


def ended(session: str, at: int, *, success: bool = True, **more: Any) -> Evaluation:
    judged = Judgement(
        success,
        more.pop("failure_type", None),
        None,
        more.pop("corrections", 0),
        more.pop("turns", 1 if success else None),
        more.pop("escalated", False),
        0.8,
    )
    about = {"judged": judged, "origin": Origin("rules", confidence=0.8), "created_at": Millis(at), **more}
    return Evaluation(
        EvaluationId(0), UserId("ada"), SessionId(session), success, Millis(at), updated_at=Millis(at), **about
    )


async def store(org: Org, *evaluations: Evaluation) -> None:
    def write(tx: Tx) -> None:
        for one in evaluations:
            tx.evaluations.upsert(one)

    await org.app.store.of(org.id).write(write)


async def overview(org: Org, since: int = 0, until: int = TODAY + DAY_MS, **more: Any) -> Any:
    return await org.sdk.evaluation_overview(from_ts=since // 1000, to_ts=until // 1000 - 1, **more)


# --- figures -------------------------------------------------------------------------------------------------------


async def test_where_nothing_was_judged_everything_is_empty(org: Org):
    found = await overview(org)

    assert (found.hero.state, found.hero.buckets, found.recent_results) == ("empty", [], [])
    assert found.context_tiles.success.current == 0
    assert found.context_tiles.behavior_success.current is None
    assert found.score_distribution.current_bins == [0] * 6
    assert found.shadow_win_rate_trend.window_total.n == 0


async def test_tiles_tell_the_period_against_the_one_before(org: Org):
    day = MONDAY
    await store(
        org,
        ended("before 1", day - 1, success=True, turns=1),
        ended("before 2", day - DAY_MS, success=False, corrections=2, escalated=True),
        ended("too early", day - DAY_MS - 1, success=False),
        ended("now 1", day, success=True, turns=3, corrections=1),
        ended("now 2", day + DAY_MS - 1, success=True, turns=1),
        ended("now 3", day + 5, success=True),
        ended("now 4", day + 6, success=False, failure_type=FailureType.SYSTEM_ERROR),
        ended("too late", day + DAY_MS, success=False),
    )

    tiles = (await overview(org, day, day + DAY_MS)).context_tiles

    assert (tiles.success.current, tiles.success.delta_pp) == (75, 25)
    assert (tiles.corrections.current, tiles.corrections.delta) == (0.25, -0.75)
    assert tiles.turns.current == pytest.approx(5 / 3)
    assert (tiles.escalation.current, tiles.escalation.delta_pp) == (0, -50)
    behaviour = tiles.behavior_success
    assert (behaviour.current, behaviour.delta_pp) == (100, 50)
    assert (behaviour.eligible_sessions, behaviour.excluded_system_errors) == (3, 1)


async def test_buckets_are_days_of_utc_or_weeks_that_begin_on_monday(org: Org):
    await store(
        org,
        ended("sunday", MONDAY - 1),
        ended("monday", MONDAY, success=False),
        ended("tuesday", MONDAY + DAY_MS),
        ended("next monday", MONDAY + 7 * DAY_MS),
    )
    span = (MONDAY - 7 * DAY_MS, MONDAY + 14 * DAY_MS)

    days = (await overview(org, *span, bucket="day")).hero.buckets
    weeks = (await overview(org, *span, bucket="week")).hero.buckets

    monday = MONDAY // 1000
    assert [one.ts - monday for one in days] == [-86_400, 0, 86_400, 7 * 86_400]
    assert [(one.ts - monday, one.regular_n, one.regular_rate) for one in weeks] == [
        (-7 * 86_400, 1, 1.0),
        (0, 2, 0.5),
        (7 * 86_400, 1, 1.0),
    ]


async def test_sessions_are_counted_by_their_corrections(org: Org):
    await store(org, *(ended(f"s{number}", MONDAY + number, corrections=number) for number in (0, 0, 1, 5, 9)))
    await store(org, ended("another", MONDAY, corrections=0))

    found = (await overview(org, MONDAY, MONDAY + DAY_MS)).score_distribution

    assert found.labels == ["0", "1", "2", "3", "4", "5+"]
    assert found.current_bins == [2, 1, 0, 0, 0, 2]
    assert found.baseline_bins == [0] * 6


async def test_a_cited_memory_is_credited_with_the_sessions_it_was_cited_in(org: Org):
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Always use us-west-2"), playbook("Never use Fridays")])
    good, bad = [one.user_playbook_id for one in reversed((await org.sdk.user_playbooks()).user_playbooks)]
    endings = [
        ("s1", good, "great, thanks"),
        ("s2", good, "perfect"),
        ("s3", good, "That's wrong!"),
        ("s4", bad, "wrong!"),
    ]
    for session, cited, last in endings:
        body = said("Deploy.", "agent: Done.", last, session=session, session_finished=True)
        citation = {"kind": "user_playbook", "real_id": str(cited), "title": "x"}
        body["interaction_data_list"][1]["citations"] = [citation, citation]
        await org.sdk.publish(**body)
    await org.learn()

    rules = (await overview(org)).rule_attribution

    found = {one.rule_id: one for one in rules}
    first, second = found[str(good)], found[str(bad)]
    assert (first.successes_with, first.failures_with, first.net_sessions) == (2, 1, 1)
    assert (first.kind, first.title) == ("user_playbook", "Always use us-west-2")
    assert set(first.cited_session_ids) == {"s1", "s2", "s3"}
    assert (second.successes_with, second.failures_with, second.net_sessions) == (0, 1, -1)


async def test_recent_results_are_those_of_the_list(org: Org):
    await store(org, ended("s1", MONDAY), ended("s2", MONDAY + 1))

    found = await overview(org)

    listed = (await org.sdk.evaluation_results()).agent_success_evaluation_results
    assert found.recent_results == listed


# --- shadows -------------------------------------------------------------------------------------------------------


async def compare(org: Org, at: int, *preferences: Preference) -> None:
    verdicts = [
        ShadowVerdict(
            0, UserId("ada"), SessionId("s"), InteractionId(at % 1_000_000 + number), "", one, "", True, Millis(at)
        )
        for number, one in enumerate(preferences)
    ]
    await org.app.store.of(org.id).write(lambda tx: tx.evaluations.upsert_shadow_verdicts(verdicts))


async def test_the_trend_of_shadows_counts_wins_of_the_regular_answer(org: Org):
    await store(org, ended("s", TODAY))
    await compare(org, TODAY, Preference.REGULAR, Preference.REGULAR_SLIGHTLY, Preference.TIED, Preference.SHADOW)
    await compare(org, TODAY - DAY_MS, Preference.SHADOW_SLIGHTLY)

    found = await overview(org, TODAY - 5 * DAY_MS, bucket="day")
    without = await overview(org, TODAY - 5 * DAY_MS, include_shadow=False)

    trend = found.shadow_win_rate_trend
    total = trend.window_total
    assert [(one.n, one.wins, one.losses, one.ties) for one in trend.daily] == [(1, 0, 1, 0), (4, 2, 1, 1)]
    assert (total.n, total.wins, total.losses, total.ties) == (5, 2, 2, 1)
    assert (total.win_rate, total.net_win) == (0.4, 0.0)
    assert [one.shadow_n for one in found.hero.buckets] == [4]
    assert (without.hero.state, without.shadow_win_rate_trend.daily) == ("shadow_off", [])


async def test_the_state_tells_how_much_there_is_to_go_by(org: Org):
    await store(org, ended("s", now()))
    off = (await overview(org)).hero.state
    await compare(org, TODAY, *[Preference.TIED] * 30)
    early = (await overview(org)).hero.state
    await store(org, ended("old", now() - 10 * DAY_MS))
    full = (await overview(org, TODAY)).hero.state

    assert (off, early, full) == ("shadow_off", "early", "full")


# --- sources -------------------------------------------------------------------------------------------------------


async def test_sets_of_sources_are_compared(org: Org):
    await store(
        org,
        ended("chat 1", MONDAY, source="chat"),
        ended("chat 2", MONDAY + 1, source="chat", success=False, corrections=1),
        ended("mail 1", MONDAY, source="mail"),
        ended("none 1", MONDAY, source=""),
    )
    sets = [{"label": "Chat", "sources": ["chat"]}, {"label": "Rest", "sources": ["", "web"]}]

    found = (await overview(org, MONDAY, MONDAY + DAY_MS, source_sets=sets)).source_set_comparison

    chat, rest = found.sets
    assert found.available_sources == ["", "chat", "mail"]
    assert (chat.label, chat.session_count, chat.success_rate_pp, chat.session_ids) == (
        "Chat",
        2,
        50,
        ["chat 2", "chat 1"],
    )
    assert chat.score_distribution.current_bins == [1, 1, 0, 0, 0, 0]
    assert (rest.session_count, rest.success_rate_pp) == (1, 100)
    assert found.unmatched_session_count == 1
    assert [one.session_ids for one in found.source_sessions if one.source == "mail"] == [["mail 1"]]


@pytest.mark.parametrize(
    "asked",
    [
        {"from_ts": 2, "to_ts": 1},
        {"from_ts": 1, "to_ts": 2, "source_sets": [{"label": "a", "sources": ["x"]}, {"label": "a", "sources": ["y"]}]},
        {"from_ts": 1, "to_ts": 2, "source_sets": [{"label": "a", "sources": []}]},
        {"from_ts": 1, "to_ts": 2, "bucket": "year"},
    ],
)
async def test_what_makes_no_sense_is_refused(org: Org, asked: dict[str, Any]):
    with pytest.raises(BadInput):
        await org.sdk.evaluation_overview(**asked)


# --- dashboard -----------------------------------------------------------------------------------------------------


async def test_the_dashboard_counts_what_came_to_be_in_both_periods(org: Org):
    old = TODAY - 5 * DAY_MS
    past = {"created_at": old // 1000, "last_modified_timestamp": old // 1000}
    await org.sdk.publish(**said("Hello.", "agent: Hi."))
    await org.sdk.add_profiles(user_profiles=[profile("new"), profile("old", last_modified_timestamp=old // 1000)])
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("new"), playbook("old", created_at=past["created_at"])])
    await org.sdk.add_agent_playbooks(agent_playbooks=[{"content": "for all"}])
    await store(org, ended("now", now()), ended("now too", now(), success=False), ended("old", old))

    stats = (await org.sdk.dashboard_stats(days_back=3)).stats

    assert stats is not None
    current, previous = stats.current_period, stats.previous_period
    assert (current.total_interactions, current.total_profiles, current.total_playbooks) == (2, 1, 2)
    assert (previous.total_interactions, previous.total_profiles, previous.total_playbooks) == (0, 1, 1)
    assert (current.success_rate, previous.success_rate) == (50, 100)


async def test_the_series_have_every_day_from_the_first_that_has_anything(org: Org):
    await store(org, ended("first", TODAY - 3 * DAY_MS + 5), ended("last", now(), success=False))
    await org.sdk.add_profiles(user_profiles=[profile("new")])

    stats = (await org.sdk.dashboard_stats(days_back=30)).stats

    assert stats is not None
    days = [(TODAY - back * DAY_MS) // 1000 for back in (3, 2, 1, 0)]
    assert [(one.timestamp, one.value, one.count) for one in stats.evaluations_time_series] == list(
        zip(days, [100, 0, 0, 0], [1, 0, 0, 1], strict=True)
    )
    assert [one.value for one in stats.profiles_time_series] == [0, 0, 0, 1]
    assert len(stats.interactions_time_series) == len(stats.playbooks_time_series) == 4


async def test_an_empty_dashboard_has_no_days(start: Start):
    stats = (await local(await start()).sdk.dashboard_stats()).stats

    assert stats is not None
    assert stats.evaluations_time_series == []
    assert stats.current_period.success_rate == 0
