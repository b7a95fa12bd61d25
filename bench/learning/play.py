"""Play conversations through the app, without a model key: one after the other, or those of many users at once."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.app import LOCAL_ORG, App
from acumen.learn import memories
from acumen.model.conversation import Interaction, Request
from acumen.model.facts import Published
from acumen.model.ids import InteractionId, RequestId, SessionId, UserId, fresh_id, now
from acumen.model.job import Job
from acumen.model.playbook import UserPlaybook
from acumen.model.profile import Profile
from acumen.model.search import Filter
from acumen.observe import conversations
from acumen.settings import Settings
from acumen.storage.store import Tx
from bench.learning.cases import Conversation, Turn
from bench.learning.score import Memory, Scored, score

# Who talk at once; each says the next thing when what was said before is learned.
USERS = 32


class Played(Struct):
    """What came of a part, and how long the learning took."""

    scored: list[Scored] = field(default_factory=list)
    known: dict[str, frozenset[Memory]] = field(default_factory=dict)  # at the end, by user
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


class Watched(App):
    """Tells whoever waits for a user's job when it is done."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.done = dict[str, asyncio.Event]()

    async def run_job(self, job: Job) -> None:
        try:
            await super().run_job(job)
        finally:
            if job.scope in self.done:
                self.done[job.scope].set()


@asynccontextmanager
async def opened(*, embeddings: bool, work: bool = False) -> AsyncIterator[Watched]:
    """An empty app; without a worker of its own we say when jobs run."""
    with tempfile.TemporaryDirectory(prefix="acumen-learning-") as folder:
        app = Watched(Settings.model_validate({"data": Path(folder), "recall": {"embeddings": embeddings}}))
        await app.start(work=work)
        try:
            yield app
        finally:
            await app.stop()


def publishes(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """A user's turn with what the agent had said before it; what the agent says last goes by itself."""
    waiting: list[Turn] = []
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        waiting.append(turn)
        if turn.by_user or following is None or following.session_id != turn.session_id:
            yield waiting
            waiting = []


async def publish(user_id: str, said: Sequence[Turn], app: App) -> RequestId:
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


# --- one after the other ------------------------------------------------------------------------------------------


async def play(part: Sequence[Conversation], *, embeddings: bool = True) -> Played:
    played = Played()
    async with opened(embeddings=embeddings) as app:
        await _warm_up(part[0], app)
        for conversation in part:
            played.scored.append(await _play_one(conversation, app, played))
    return played


async def _warm_up(conversation: Conversation, app: App) -> None:
    """What is loaded when it is first needed is loaded then: the models, the weights, the patterns."""
    await _play_one(replace(conversation, user_id="somebody else"), app, Played())


async def _play_one(conversation: Conversation, app: App, played: Played) -> Scored:
    """Learns after each publish, as a server that is not busy does, and looks each time at what is known."""
    ever: dict[Memory, None] = {}
    current: list[Memory] = []
    for said in publishes(conversation.turns):
        await learn(await publish(conversation.user_id, said, app), conversation.user_id, app, played)
        current = await known(UserId(conversation.user_id), app)
        ever |= dict.fromkeys(current)
    played.known[conversation.user_id] = frozenset(current)
    return score(conversation, current, ever)


async def learn(request: RequestId, user_id: str, app: App, played: Played) -> None:
    """The steps that learn are timed; what else a publish causes, as making its turns findable, follows untimed."""
    fact, deps = Published(UserId(user_id), request), await app.deps_for(LOCAL_ORG)
    began, cpu_began = time.perf_counter(), time.process_time()
    await memories.update(fact, deps)
    played.seconds += time.perf_counter() - began
    played.cpu_seconds += time.process_time() - cpu_began
    played.windows += 1
    await app.worker.run_due()
    played.unlearned += await _is_unlearned(request, app)


async def _is_unlearned(request: RequestId, app: App) -> bool:
    return (await conversations.progress(request, await app.deps_for(LOCAL_ORG))).status != "done"


# --- many at once -------------------------------------------------------------------------------------------------


async def play_at_once(part: Sequence[Conversation], *, embeddings: bool = True) -> Played:
    """By the app's own worker, from the first publish to the end of the last job, with all that a job does."""
    played, requests, waiting = Played(), list[RequestId](), list(reversed(part))
    async with opened(embeddings=embeddings, work=True) as app:
        await _talk([replace(part[0], user_id="somebody else")], app, [])
        began, cpu_began = time.perf_counter(), time.process_time()
        await asyncio.gather(*(_talk(waiting, app, requests) for _ in range(USERS)))
        played.seconds, played.cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        played.windows = len(requests)
        for request in requests:
            played.unlearned += await _is_unlearned(request, app)
        for user in (conversation.user_id for conversation in part):
            played.known[user] = frozenset(await known(UserId(user), app))
    return played


async def _talk(waiting: list[Conversation], app: Watched, requests: list[RequestId]) -> None:
    """As one user, then as the next who waits to talk."""
    while waiting:
        conversation = waiting.pop()
        for said in publishes(conversation.turns):
            learned = app.done[conversation.user_id] = asyncio.Event()
            requests.append(await publish(conversation.user_id, said, app))
            app.wake_worker()
            await learned.wait()


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
