"""How sessions end and what is learned, added up, over REST."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from acumen.api.call import Call, answers
from acumen.api.learn.evaluations import result
from acumen.api.views import moments, seconds
from acumen.learn.evaluate.shadow import COMPARE
from acumen.meter import dashboard, overview
from acumen.meter.dashboard import Dashboard, PeriodTotals
from acumen.meter.overview import CitedRule, Overview, OverviewPart, SourceSet
from acumen.model.ids import Millis
from acumen.model.metering.figures import MOST_CORRECTIONS, ReportPeriod, Totals, Wins
from acumen_client.calls import Calls
from acumen_client.wire import overview as wire

# --- overview ------------------------------------------------------------------------------------------------------


@answers(Calls.evaluation_overview)
async def get_overview(asked: wire.GetEvaluationOverviewRequest, call: Call) -> wire.GetEvaluationOverviewResponse:
    period = ReportPeriod(*moments(asked.from_ts, asked.to_ts))
    sets = {one.label: one.sources for one in asked.source_sets}
    found = await overview.overview(period, asked.bucket, sets, call.deps, shadows=asked.include_shadow)
    return wire.GetEvaluationOverviewResponse(
        hero=_hero(found),
        context_tiles=_tiles(found.part),
        rule_attribution=[_rule(one) for one in found.part.rules],
        score_distribution=_distribution(found.part),
        shadow_win_rate_trend=_trend(found),
        recent_results=[result(one) for one in found.recent],
        source_set_comparison=_comparison_of_sources(found),
    )


def _percent(rate: float) -> float:
    return 100.0 * rate


def _hero(found: Overview) -> wire.HeroBlock:
    return wire.HeroBlock.model_validate(
        {
            "state": found.state,
            "regular_success_rate_pp": _percent(found.part.now.success_rate),
            "shadow_success_rate_pp": None,
            "delta_pp": None,
            "buckets": _buckets(found.part),
        }
    )


def _buckets(part: OverviewPart) -> list[wire.HeroBucket]:
    return [
        wire.HeroBucket(
            ts=seconds(one.at),
            regular_rate=one.totals.success_rate,
            shadow_rate=None,
            regular_n=one.totals.sessions,
            shadow_n=one.compared,
            avg_corrections=one.totals.mean_corrections,
            escalation_rate=one.totals.escalation_rate,
        )
        for one in part.buckets
    ]


def _tiles(part: OverviewPart) -> wire.ContextTile:
    now, past = part.now, part.before
    return wire.ContextTile(
        success=_percent_against(now.success_rate, past.success_rate),
        behavior_success=_behaviour(now, past),
        corrections=_number_against(now.mean_corrections, past.mean_corrections),
        turns=_number_against(now.mean_turns, past.mean_turns),
        escalation=_percent_against(now.escalation_rate, past.escalation_rate),
    )


def _percent_against(now: float, past: float) -> wire.PercentWithDelta:
    return wire.PercentWithDelta(current=_percent(now), delta_pp=_percent(now - past))


def _number_against(now: float, past: float) -> wire.NumberWithDelta:
    return wire.NumberWithDelta(current=now, delta=now - past)


def _behaviour(now: Totals, past: Totals) -> wire.BehaviorSuccessMetric:
    rate, rate_before = now.behaviour_rate, past.behaviour_rate
    return wire.BehaviorSuccessMetric(
        current=None if rate is None else _percent(rate),
        delta_pp=None if rate is None or rate_before is None else _percent(rate - rate_before),
        eligible_sessions=now.sessions - now.system_errors,
        excluded_system_errors=now.system_errors,
    )


def _rule(one: CitedRule) -> wire.RuleAttributionRow:
    cited = one.attribution
    return wire.RuleAttributionRow.model_validate(
        {
            "rule_id": cited.ref.id,
            "kind": str(cited.ref.kind),
            "title": one.title,
            "successes_with": cited.successes,
            "failures_with": cited.failures,
            "net_sessions": cited.net,
            "cited_session_ids": cited.sessions,
        }
    )


def _distribution(part: OverviewPart) -> wire.ScoreDistribution:
    labels = [*map(str, range(MOST_CORRECTIONS)), f"{MOST_CORRECTIONS}+"]
    return wire.ScoreDistribution(current_bins=part.corrections, baseline_bins=part.corrections_before, labels=labels)


def _trend(found: Overview) -> wire.ShadowWinRateTrend:
    total = sum((one for _, one in found.wins), Wins())
    compared = total.compared
    return wire.ShadowWinRateTrend(
        daily=[
            wire.ShadowWinRateTrendPoint(
                date=datetime.fromtimestamp(seconds(at), UTC).date().isoformat(),
                n=one.compared,
                wins=one.wins,
                losses=one.losses,
                ties=one.ties,
            )
            for at, one in found.wins
        ],
        window_total=wire.ShadowWinRateTrendWindowTotal(
            n=compared,
            wins=total.wins,
            losses=total.losses,
            ties=total.ties,
            win_rate=total.wins / compared if compared else 0.0,
            net_win=(total.wins - total.losses) / compared if compared else 0.0,
        ),
        judge_prompt_version=COMPARE.hash,
    )


def _comparison_of_sources(found: Overview) -> wire.SourceSetComparison:
    listed = [
        wire.SourceSessions(
            source=source,
            session_ids=[session for _, session in sessions],
            sessions=[wire.EvaluationSessionKey(user_id=who, session_id=session) for who, session in sessions],
        )
        for source, sessions in found.by_source.items()
    ]
    return wire.SourceSetComparison(
        available_sources=list(found.by_source),
        source_sessions=listed,
        sets=[_source_set(label, one) for label, one in found.sets.items()],
        unmatched_session_count=found.unmatched,
    )


def _source_set(label: str, one: SourceSet) -> wire.SourceSetEvaluationMetrics:
    return wire.SourceSetEvaluationMetrics(
        label=label,
        sources=list(one.sources),
        session_count=one.part.now.sessions,
        session_ids=[session for _, session in one.sessions],
        success_rate_pp=_percent(one.part.now.success_rate),
        buckets=_buckets(one.part),
        context_tiles=_tiles(one.part),
        score_distribution=_distribution(one.part),
        rule_attribution=[_rule(rule) for rule in one.part.rules],
    )


# --- dashboard -----------------------------------------------------------------------------------------------------


@answers(Calls.dashboard_stats)
async def get_dashboard(asked: wire.GetDashboardStatsRequest, call: Call) -> wire.GetDashboardStatsResponse:
    found = await dashboard.stats(asked.days_back, call.deps)
    stats = wire.DashboardStats(
        current_period=_period(found.now),
        previous_period=_period(found.before),
        interactions_time_series=_series(found.days, found.interactions),
        profiles_time_series=_series(found.days, found.profiles),
        playbooks_time_series=_series(found.days, found.playbooks),
        evaluations_time_series=_success_series(found),
    )
    return wire.GetDashboardStatsResponse(stats=stats, msg=f"The last {asked.days_back} day(s)")


def _period(sums: PeriodTotals) -> wire.PeriodStats:
    return wire.PeriodStats(
        total_profiles=sums.profiles,
        total_interactions=sums.interactions,
        total_playbooks=sums.playbooks,
        success_rate=_percent(sums.ended.success_rate),
    )


def _series(days: Sequence[Millis], counts: Mapping[Millis, int]) -> list[wire.TimeSeriesDataPoint]:
    return [
        wire.TimeSeriesDataPoint(timestamp=seconds(day), value=counts.get(day, 0), count=counts.get(day, 0))
        for day in days
    ]


def _success_series(found: Dashboard) -> list[wire.TimeSeriesDataPoint]:
    ended = [(day, found.ended.get(day, Totals())) for day in found.days]
    return [
        wire.TimeSeriesDataPoint(timestamp=seconds(day), value=round(_percent(one.success_rate)), count=one.sessions)
        for day, one in ended
    ]
