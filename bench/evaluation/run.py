"""`python -m bench.evaluation.run`: how far the rules agree with the labelled sessions.

Of the held part only the figures are told: whoever works on the rules must not read it.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence

from acumen.learn.evaluate.judge_rules import judge
from acumen.model.metering.evaluation import Judgement
from bench.evaluation.cases import PARTS, Case, cases
from bench.figures import Figure, Run, at_least

Judged = tuple[Case, Judgement]


def measure(_run: Run) -> Iterator[Figure]:
    """The bench line."""
    for part in PARTS:
        judged = judged_all(cases(part))
        of = f"{len(judged)} sessions, {part} part"
        yield Figure(f"success agrees ({part})", share(judged, right_success), "", at_least(0.85), note=of)
        yield Figure(f"failure type agrees ({part})", share(_typed(judged), right_type), "", note="of failures found")
        yield Figure(f"corrections agree ({part})", share(judged, right_corrections), "")
        yield Figure(f"escalation agrees ({part})", share(judged, right_escalation), "", at_least(0.9))
        yield Figure(f"turns to resolution agree ({part})", share(_resolved(judged), right_turns), "")
    yield Figure("sessions judged per second", _pace(), "/s")


def judged_all(sessions: Sequence[Case]) -> list[Judged]:
    """Sessions about which the rules say nothing count as wrong in every respect."""
    return [(case, judge(case.turns) or Judgement(not case.success, corrections=-1)) for case in sessions]


def share(judged: Sequence[Judged], right: Callable[[Judged], bool]) -> float:
    return sum(map(right, judged)) / len(judged) if judged else 0.0


def right_success(one: Judged) -> bool:
    return one[0].success == one[1].is_success


def right_type(one: Judged) -> bool:
    return one[0].failure_type == one[1].failure_type


def right_corrections(one: Judged) -> bool:
    return one[0].corrections == one[1].corrections


def right_escalation(one: Judged) -> bool:
    return one[0].escalated == one[1].is_escalated


def right_turns(one: Judged) -> bool:
    return one[0].turns_to_resolution == one[1].turns_to_resolution


def _typed(judged: Sequence[Judged]) -> list[Judged]:
    return [one for one in judged if one[0].failure_type and not one[1].is_success]


def _resolved(judged: Sequence[Judged]) -> list[Judged]:
    return [one for one in judged if one[0].turns_to_resolution and one[1].is_success]


def _pace() -> float:
    sessions = [case for part in PARTS for case in cases(part)]
    began = time.perf_counter()
    judged_all(sessions)
    return len(sessions) / (time.perf_counter() - began)


def main() -> None:
    for case, judged in judged_all(cases("open")):
        one = (case, judged)
        checks = [right_success(one), right_corrections(one), right_escalation(one)]
        if case.failure_type and not judged.is_success:
            checks.append(right_type(one))
        if case.turns_to_resolution and judged.is_success:
            checks.append(right_turns(one))
        if not all(checks):
            sys.stdout.write(f"{case.name}: wanted {case.success} {case.failure_type} {case.corrections} ")
            sys.stdout.write(f"{case.turns_to_resolution}; got {judged}\n")
    for figure in measure(None):  # type: ignore[arg-type]
        sys.stdout.write(f"{figure.name}: {figure.value:.3f} {figure.note}\n")


if __name__ == "__main__":
    main()
