"""`python -m bench.learning.run`: play the labelled set through the app, without a model key, and score the learning.

Of the held part only the figures are told: whoever works on the rules must not read it.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table

from acumen.app import LOCAL_ORG, App
from acumen.learn import memories
from acumen.model.conversation import Interaction, Request
from acumen.model.facts import Published
from acumen.model.ids import InteractionId, RequestId, SessionId, UserId, fresh_id, now
from acumen.model.playbook import UserPlaybook
from acumen.model.profile import Profile
from acumen.model.search import Filter
from acumen.observe import conversations
from acumen.settings import Settings
from acumen.storage.store import Tx
from bench.figures import Figure, Run, Target, at_least
from bench.learning import cases
from bench.learning.cases import Conversation, Turn
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
    score,
)

TARGETS: dict[str, Target] = {
    "recall": at_least(0.85),
    "precision": at_least(0.85),
    "contradictions resolved": at_least(0.9),
    "time to live, limited": at_least(0.8),
    "windows per second": at_least(50),
}
# Enough to show that it works.
QUICK_CONVERSATIONS = 3

console = Console(width=180, highlight=False)


# --- playing ------------------------------------------------------------------------------------------------------


class Played(Struct):
    """What came of a part, and how long the learning took."""

    scored: list[Scored] = field(default_factory=list)
    windows: int = 0
    unlearned: int = 0  # publishes whose learning failed: with these the figures mean little
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def windows_per_second(self) -> float:
        return self.windows / self.seconds if self.seconds else 0.0

    @property
    def windows_per_cpu_second(self) -> float:
        return self.windows / self.cpu_seconds if self.cpu_seconds else 0.0


@asynccontextmanager
async def opened(*, embeddings: bool) -> AsyncIterator[App]:
    """An empty app without a worker of its own: we say when jobs run."""
    with tempfile.TemporaryDirectory(prefix="acumen-learning-") as folder:
        app = App(Settings.model_validate({"data": Path(folder), "recall": {"embeddings": embeddings}}))
        await app.start(work=False)
        try:
            yield app
        finally:
            await app.stop()


async def play(part: Sequence[Conversation], *, embeddings: bool = True) -> Played:
    played = Played()
    async with opened(embeddings=embeddings) as app:
        # What is loaded when it is first needed is loaded then: the models, the weights, the patterns.
        await _play_one(replace(part[0], user_id="somebody else"), app, Played())
        for conversation in part:
            played.scored.append(await _play_one(conversation, app, played))
    return played


async def _play_one(conversation: Conversation, app: App, played: Played) -> Scored:
    """Learns after each publish, as a server that is not busy does, and looks each time at what is known."""
    ever: dict[Memory, None] = {}
    current: list[Memory] = []
    for said in publishes(conversation.turns):
        await _learn(await _publish(conversation.user_id, said, app), conversation.user_id, app, played)
        current = await known(UserId(conversation.user_id), app)
        ever |= dict.fromkeys(current)
    return score(conversation, current, ever)


def publishes(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """A user's turn with what the agent had said before it; what the agent says last goes by itself."""
    waiting: list[Turn] = []
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        waiting.append(turn)
        if turn.by_user or following is None or following.session_id != turn.session_id:
            yield waiting
            waiting = []


async def _publish(user_id: str, said: Sequence[Turn], app: App) -> RequestId:
    deps = await app.deps_for(LOCAL_ORG)
    request = Request(
        RequestId(fresh_id("req")), UserId(user_id), SessionId(said[0].session_id), created_at=now(), body_hash="bench"
    )
    await conversations.publish(request, [_interaction(turn, request) for turn in said], deps)
    return request.id


def _interaction(turn: Turn, request: Request) -> Interaction:
    return Interaction(
        InteractionId(0), request.user_id, request.session_id, request.id, request.created_at, turn.role, turn.content
    )


async def _learn(request: RequestId, user_id: str, app: App, played: Played) -> None:
    """The steps that learn are timed; what else a publish causes, as making its turns findable, follows untimed."""
    fact, deps = Published(UserId(user_id), request), await app.deps_for(LOCAL_ORG)
    began, cpu_began = time.perf_counter(), time.process_time()
    await memories.update(fact, deps)
    played.seconds += time.perf_counter() - began
    played.cpu_seconds += time.process_time() - cpu_began
    played.windows += 1
    await app.worker.run_due()
    progress = await conversations.progress(request, await app.deps_for(LOCAL_ORG))
    played.unlearned += progress.status != "done"


# --- reading back -------------------------------------------------------------------------------------------------


async def known(user: UserId, app: App) -> list[Memory]:
    """What is current, oldest first."""

    def read(tx: Tx) -> list[Memory]:
        places = {turn.id: place for place, turn in enumerate(tx.conversations.after(user, InteractionId(0)))}
        return [
            *(_profile(one, places) for one in reversed(tx.profiles.find(Filter(user_id=user)))),
            *(_playbook(one, places) for one in reversed(tx.user_playbooks.find(Filter(user_id=user)))),
        ]

    return await app.store.of(LOCAL_ORG).read(read)


def _profile(profile: Profile, places: dict[InteractionId, int]) -> Memory:
    return Memory("profile", profile.content, str(profile.ttl), _evidence(profile.interaction_ids, places))


def _playbook(playbook: UserPlaybook, places: dict[InteractionId, int]) -> Memory:
    lesson = playbook.lesson
    return Memory(
        "playbook",
        lesson.content,
        turns=_evidence(playbook.interaction_ids, places),
        trigger=lesson.trigger or "",
        pitfall=lesson.pitfall or "",
    )


def _evidence(ids: Sequence[InteractionId], places: dict[InteractionId, int]) -> frozenset[int]:
    return frozenset(places[one] for one in ids if one in places)


# --- telling ------------------------------------------------------------------------------------------------------


def measure(run: Run) -> Iterator[Figure]:
    """The lines of the bench: each part's figures, the held part's apart."""
    for name in cases.PARTS:
        part = cases.read(name)
        played = asyncio.run(play(part[:QUICK_CONVERSATIONS] if run.quick else part))
        for figure, share in figures(played.scored).items():
            yield Figure(f"{name}: {figure}", share.value, "", TARGETS.get(figure), note=f"{share.right} of {share.of}")
        note = f"{played.windows_per_cpu_second:.0f} per second of CPU"
        speed = played.windows_per_second
        yield Figure(f"{name}: windows per second", speed, "/s", TARGETS["windows per second"], note=note)


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _parser().parse_args(arguments)
    for name in cases.PARTS if asked.part == "both" else (asked.part,):
        played = asyncio.run(play(cases.read(name), embeddings=not asked.words_only))
        _tell(name, played)
        if asked.show and name not in ("held", cases.SEALED):
            _show(played.scored)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.learning.run", description=__doc__)
    parser.add_argument("--part", choices=(*cases.PARTS, cases.DEV, cases.SEALED, "both"), default="both")
    parser.add_argument(
        "--show", action="store_true", help="list what was missed and what is junk (not of held and sealed)"
    )
    parser.add_argument("--words-only", action="store_true", help="as where the embedding model is missing")
    return parser


def _tell(name: str, played: Played) -> None:
    console.print(f"\n[bold]{name}[/]: {len(played.scored)} conversations, {played.windows} windows")
    if played.unlearned:
        console.print(f"[red]{played.unlearned} publishes were not learned from; the figures mean little.")
    told = Table("figure", "all", *by_domain(played.scored))
    for figure, share in figures(played.scored).items():
        target = TARGETS.get(figure)
        of_domains = [str(of_domain[figure]) for of_domain in by_domain(played.scored).values()]
        told.add_row(f"{figure} {target or ''}", str(share), *of_domains)
    console.print(told)
    _tell_more(played)


def _tell_more(played: Played) -> None:
    for kind, shares in by_kind(played.scored).items():
        console.print(f"{kind}: {_in_words(shares)}")
    console.print(f"recall of each kind of statement: {_in_words(by_saying(played.scored))}")
    console.print(f"details: {_in_words(details(played.scored))}")
    console.print(
        f"windows per second: {played.windows_per_second:.0f} {TARGETS['windows per second']}, "
        f"per second of CPU: {played.windows_per_cpu_second:.0f}"
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
