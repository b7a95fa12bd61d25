"""Endpoints of the evaluation overview and the dashboard figures."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from acumen.api.call import Call, answers
from acumen.api.learn.evaluations import result
from acumen.api.views import moments, seconds, shaped
from acumen.learn.evaluate.shadow import COMPARE
from acumen.meter import dashboard, overview
from acumen.meter.dashboard import Dashboard, PeriodTotals
from acumen.meter.overview import CitedRule, Overview, OverviewPart, SourceSet
from acumen.model.ids import Millis
from acumen.model.metering.figures import MOST_CORRECTIONS, ReportPeriod, Totals, Wins
from acumen.model.plural import counted
from acumen_client.calls import Calls
from acumen_client.wire import overview as wire

# --- overview ------------------------------------------------------------------------------------------------------


@answers(Calls.evaluation_overview)
async def get_overview(request: wire.GetEvaluationOverviewRequest, call: Call) -> wire.GetEvaluationOverviewResponse:
    period = ReportPeriod(*moments(request.from_ts, request.to_ts))
    sets = {source_set.label: source_set.sources for source_set in request.source_sets}
    report = await overview.overview(period, request.bucket, sets, call.deps, shadows=request.include_shadow)
    return wire.GetEvaluationOverviewResponse(
        hero=_hero(report),
        context_tiles=_tiles(report.part),
        rule_attribution=[_rule(rule) for rule in report.part.rules],
        score_distribution=_distribution(report.part),
        shadow_win_rate_trend=_trend(report),
        recent_results=[result(evaluation) for evaluation in report.recent],
        source_set_comparison=_comparison_of_sources(report),
    )


def _percent(rate: float) -> float:
    return 100.0 * rate


def _hero(report: Overview) -> wire.HeroBlock:
    return shaped(
        wire.HeroBlock,
        report,
        regular_success_rate_pp=_percent(report.part.now.success_rate),
        shadow_success_rate_pp=None,
        delta_pp=None,
        buckets=_buckets(report.part),
    )


def _buckets(part: OverviewPart) -> list[wire.HeroBucket]:
    return [
        wire.HeroBucket(
            ts=seconds(bucket.at),
            regular_rate=bucket.totals.success_rate,
            shadow_rate=None,
            regular_n=bucket.totals.sessions,
            shadow_n=bucket.compared,
            avg_corrections=bucket.totals.mean_corrections,
            escalation_rate=bucket.totals.escalation_rate,
        )
        for bucket in part.buckets
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


def _rule(rule: CitedRule) -> wire.RuleAttributionRow:
    cited = rule.attribution
    return shaped(
        wire.RuleAttributionRow,
        rule,
        rule_id=cited.ref.id,
        kind=str(cited.ref.kind),
        successes_with=cited.successes,
        failures_with=cited.failures,
        net_sessions=cited.net,
        cited_session_ids=cited.sessions,
    )


def _distribution(part: OverviewPart) -> wire.ScoreDistribution:
    labels = [*map(str, range(MOST_CORRECTIONS)), f"{MOST_CORRECTIONS}+"]
    return wire.ScoreDistribution(current_bins=part.corrections, baseline_bins=part.corrections_before, labels=labels)


def _trend(report: Overview) -> wire.ShadowWinRateTrend:
    total = sum((wins for _, wins in report.wins), Wins())
    compared = total.compared
    return wire.ShadowWinRateTrend(
        daily=[shaped(wire.ShadowWinRateTrendPoint, wins, date=_date(at), n=wins.compared) for at, wins in report.wins],
        window_total=shaped(
            wire.ShadowWinRateTrendWindowTotal,
            total,
            n=compared,
            win_rate=total.wins / compared if compared else 0.0,
            net_win=(total.wins - total.losses) / compared if compared else 0.0,
        ),
        judge_prompt_version=COMPARE.hash,
    )


def _date(at: Millis) -> str:
    return datetime.fromtimestamp(seconds(at), UTC).date().isoformat()


def _comparison_of_sources(report: Overview) -> wire.SourceSetComparison:
    listed = [
        wire.SourceSessions(
            source=source,
            session_ids=[session for _, session in sessions],
            sessions=[wire.EvaluationSessionKey(user_id=who, session_id=session) for who, session in sessions],
        )
        for source, sessions in report.by_source.items()
    ]
    return wire.SourceSetComparison(
        available_sources=list(report.by_source),
        source_sessions=listed,
        sets=[_source_set(label, source_set) for label, source_set in report.sets.items()],
        unmatched_session_count=report.unmatched,
    )


def _source_set(label: str, source_set: SourceSet) -> wire.SourceSetEvaluationMetrics:
    return wire.SourceSetEvaluationMetrics(
        label=label,
        sources=list(source_set.sources),
        session_count=source_set.part.now.sessions,
        session_ids=[session for _, session in source_set.sessions],
        success_rate_pp=_percent(source_set.part.now.success_rate),
        buckets=_buckets(source_set.part),
        context_tiles=_tiles(source_set.part),
        score_distribution=_distribution(source_set.part),
        rule_attribution=[_rule(rule) for rule in source_set.part.rules],
    )


# --- dashboard -----------------------------------------------------------------------------------------------------


@answers(Calls.dashboard_stats)
async def get_dashboard(request: wire.GetDashboardStatsRequest, call: Call) -> wire.GetDashboardStatsResponse:
    totals = await dashboard.stats(request.days_back, call.deps)
    stats = wire.DashboardStats(
        current_period=_period(totals.now),
        previous_period=_period(totals.before),
        interactions_time_series=_series(totals.days, totals.interactions),
        profiles_time_series=_series(totals.days, totals.profiles),
        playbooks_time_series=_series(totals.days, totals.playbooks),
        evaluations_time_series=_success_series(totals),
    )
    return wire.GetDashboardStatsResponse(stats=stats, msg=f"The last {counted(request.days_back, 'day')}")


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


def _success_series(dashboard: Dashboard) -> list[wire.TimeSeriesDataPoint]:
    by_day = [(day, dashboard.ended.get(day, Totals())) for day in dashboard.days]
    return [
        wire.TimeSeriesDataPoint(
            timestamp=seconds(day), value=round(_percent(ended.success_rate)), count=ended.sessions
        )
        for day, ended in by_day
    ]
