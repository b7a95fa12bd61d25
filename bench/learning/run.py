"""`python -m bench.learning.run`: play the labelled set through the app, without a model key, and score the learning.

Of the held part only the figures are told: whoever works on the rules must not read it.
"""

import argparse
import asyncio
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from bench.figures import Figure, Run, Target, at_least
from bench.learning import cases
from bench.learning.play import USERS, Played, play, play_at_once
from bench.learning.score import (
    Figures,
    Memory,
    Scored,
    Verdict,
    by_domain,
    by_kind,
    by_saying,
    details,
    figures,
)

SPEED = f"windows per second, {USERS} users at once"
TARGETS: dict[str, Target] = {
    "recall": at_least(0.85),
    "precision": at_least(0.85),
    "contradictions resolved": at_least(0.9),
    "time to live, limited": at_least(0.8),
    SPEED: at_least(50),
}
# Enough to show that it works.
QUICK_CONVERSATIONS = 3
# More are not told apart.
MOST_DOMAINS = 6

console = Console(width=180, highlight=False)


# --- telling ------------------------------------------------------------------------------------------------------


def measure(run: Run) -> Iterator[Figure]:
    """The lines of the bench: the whole set's figures, each part's apart, and how fast the open part is learned."""
    whole: list[Scored] = []
    for name in cases.PARTS:
        part = cases.read(name)
        played = asyncio.run(play(part[:QUICK_CONVERSATIONS] if run.quick else part))
        whole += played.scored
        yield from _figures(name, played.scored)
        if name == cases.PARTS[0]:
            yield Figure(f"{name}: windows per second of CPU, one user", played.windows_per_cpu_second, "/s")
            at_once = asyncio.run(play_at_once(part[:QUICK_CONVERSATIONS] if run.quick else part))
            yield Figure(
                f"{name}: {SPEED}", at_once.windows_per_second, "/s", TARGETS[SPEED], note=_same(played, at_once)
            )

    yield from _figures("the whole set", whole)


def _figures(name: str, scored: Sequence[Scored]) -> Iterator[Figure]:
    for figure, share in figures(scored).items():
        yield Figure(f"{name}: {figure}", share.value, "", TARGETS.get(figure), note=f"{share.right} of {share.of}")


def _same(played: Played, at_once: Played) -> str:
    unlike = sum(known != at_once.known[user] for user, known in played.known.items())
    return f"of {len(played.known)} users {unlike} are known otherwise than one after the other"


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _parser().parse_args(arguments)
    for name in cases.PARTS if asked.part == "both" else (asked.part,):
        played = asyncio.run(play(cases.read(name), embeddings=not asked.words_only))
        _tell(name, played)
        if asked.at_once:
            _tell_at_once(played, asyncio.run(play_at_once(cases.read(name), embeddings=not asked.words_only)))
        if asked.show and name in cases.READ:
            _show(played.scored)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.learning.run", description=__doc__)
    parser.add_argument("--part", choices=(*cases.PARTS, *cases.LATER, "both"), default="both")
    parser.add_argument(
        "--show", action="store_true", help="list what was missed and what is junk (of parts that may be read)"
    )
    parser.add_argument("--words-only", action="store_true", help="as where the embedding model is missing")
    parser.add_argument("--at-once", action="store_true", help=f"then {USERS} users at once, by the app's own worker")
    return parser


def _tell(name: str, played: Played) -> None:
    console.print(f"\n[bold]{name}[/]: {len(played.scored)} conversations, {played.windows} windows")
    if played.unlearned:
        console.print(f"[red]{played.unlearned} publishes were not learned from; the figures mean little.")
    domains = by_domain(played.scored)
    domains = domains if len(domains) <= MOST_DOMAINS else {}
    told = Table("figure", "all", *domains)
    for figure, share in figures(played.scored).items():
        target = TARGETS.get(figure)
        of_domains = [str(of_domain[figure]) for of_domain in domains.values()]
        told.add_row(f"{figure} {target or ''}", str(share), *of_domains)
    console.print(told)
    _tell_more(played)


def _tell_more(played: Played) -> None:
    for kind, shares in by_kind(played.scored).items():
        console.print(f"{kind}: {_in_words(shares)}")
    console.print(f"recall of each kind of statement: {_in_words(by_saying(played.scored))}")
    console.print(f"details: {_in_words(details(played.scored))}")
    console.print(
        f"windows per second, one user: {played.windows_per_second:.0f}, "
        f"per second of CPU: {played.windows_per_cpu_second:.0f}"
    )


def _tell_at_once(played: Played, at_once: Played) -> None:
    if at_once.unlearned:
        console.print(f"[red]{at_once.unlearned} publishes were not learned from.")
    console.print(
        f"{SPEED}: {at_once.windows_per_second:.0f} {TARGETS[SPEED]}, "
        f"per second of CPU: {at_once.windows_per_cpu_second:.0f}; {_same(played, at_once)}"
    )


def _in_words(shares: Figures) -> str:
    return ", ".join(f"{name} {share}" for name, share in shares.items())


def _show(scored: Sequence[Scored]) -> None:
    for one in scored:
        lines = list(_faults(one))
        if lines:
            console.print(f"\n[bold]{one.conversation.id}[/]")
            for line in lines:
                console.print(f"  {line}", markup=False)


def _faults(one: Scored) -> Iterator[str]:
    turns = one.conversation.turns
    for expected in one.missed:
        yield f"missed {expected.kind} ({expected.says}): {expected.about} ← {_short(turns[expected.turn].content)}"
    for memory, verdict in one.imprecise:
        yield f"{verdict} {memory.kind} [{memory.ttl}]: {_short(memory.whole)} ← {_reason(memory, verdict, one)}"
    for past, right in one.resolved:
        if not right:
            yield f"unresolved: {past.about} ← {_short(turns[past.by].content)}"
    for past, right in one.forgotten:
        if not right:
            yield f"not forgotten: {past.about} ← {_short(turns[past.by].content)}"
        elif past.about not in one.once_known:
            yield f"never known, so not forgotten either: {past.about} ← {_short(turns[past.turn].content)}"
    for expected, found in one.found:
        if found and expected.ttl and found.ttl not in expected.ttl:
            yield f"lives too long or too short: {expected.about}: {found.ttl}, not {sorted(expected.ttl)}"


def _reason(memory: Memory, verdict: Verdict, one: Scored) -> str:
    said = [one.conversation.turns[place] for place in sorted(memory.turns)]
    why = {turn.nothing for turn in said if turn.nothing} if verdict != Verdict.STALE else set()
    return "; ".join([*sorted(why), *(_short(turn.content) for turn in said)])


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 160 else f"{flat[:160]}…"


if __name__ == "__main__":
    main()
