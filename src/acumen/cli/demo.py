"""`acumen demo`: plays a day of agent work through the whole loop, over the real HTTP layer, on a clock of its own."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import httpx
from msgspec import Struct, field
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from acumen.api.server import web_app
from acumen.app import App
from acumen.cli import demo_report as report
from acumen.cli.day import DAY, PAST, WEEKS, Call, LogPrompt, Recall, Say, Session, Step
from acumen.errors import BadSettings, Unavailable
from acumen.model.facts import Hour, Minutes, SessionQuiet
from acumen.model.ids import Millis, now
from acumen.settings import Settings
from acumen_client.client import AsyncClient
from acumen_client.session import learnings_in
from acumen_client.wire.observe import Citation, InteractionData, PublishUserInteractionResponse, RetrievedLearning
from acumen_client.wire.operations import NewOperation
from acumen_client.wire.recall import UnifiedSearchViewResponse

# Metering starts a while before anything is learned, so that what it says of the past is complete.
STARTED_DAYS_BEFORE = 85
AGENT_VERSION = "1.0"
WIDEST = 118
SECONDS_BETWEEN_STEPS = 45
LOOK_EVERY_SECONDS = 0.02
PATIENCE_SECONDS = 30.0
UNDER_WAY = ("waiting", "running")
# Jobs that wait for their time: what is done again and again, and the end of sessions that may still go on.
SCHEDULED = (Hour.name, Minutes.name, SessionQuiet.name)


def run(data: Path | None, *, as_json: bool) -> None:
    folder = _folder(data)
    console = Console(quiet=as_json, highlight=False)
    console.width = min(console.width, WIDEST) if console.is_terminal else WIDEST
    summary = asyncio.run(_play(folder, console))
    report.show(summary, console, as_json=as_json)


def _folder(data: Path | None) -> Path:
    if data is None:
        return Path(tempfile.mkdtemp(prefix="acumen-demo-"))
    if data.exists() and any(data.iterdir()):
        raise BadSettings(f"{data} is not empty: the demo plays in a folder of its own, so name a new one.")
    return data


async def _play(folder: Path, console: Console) -> report.Summary:
    """The past, the day, and then a look at it from now."""
    clock = Clock(_moment(STARTED_DAYS_BEFORE, "08:00"))
    sessions = [*PAST, *WEEKS, *DAY]
    async with _server(folder, clock) as client:
        with _progress(console) as bar:
            task = bar.add_task("", total=sum(len(session.steps) for session in sessions))
            player = Player(client, clock, console, bar, task)
            report.tell_beginning(console, folder)
            for session in PAST:
                await player.play(session)
            await player.play_quietly(WEEKS)
            for session in DAY:
                await player.play(session)
        clock.set(now())
        return await report.gathered(client, folder, player.searches)


@asynccontextmanager
async def _server(folder: Path, clock: "Clock") -> AsyncIterator[AsyncClient]:
    """A whole server in this process, reached through its HTTP layer. What the environment says is not for it."""
    app = App(Settings(data=folder), clock)
    transport = httpx.ASGITransport(web_app(app), client=("127.0.0.1", 0))
    await app.start()
    try:
        async with AsyncClient("http://127.0.0.1", transport=transport) as client:
            yield client
    finally:
        await app.stop()


class Clock:
    """Goes on by itself from wherever it is set, and is not set back."""

    def __init__(self, at: Millis) -> None:
        self.set(at)

    def set(self, at: Millis) -> None:
        self._at, self._since = at, time.monotonic()

    def __call__(self) -> Millis:
        return Millis(self._at + int(1000 * (time.monotonic() - self._since)))


def _moment(days_before: int, at: str) -> Millis:
    """A local time of day, counted back from yesterday, which is the day that is played."""
    hour, minute = map(int, at.split(":"))
    day = datetime.now().astimezone() - timedelta(days=days_before + 1)
    return Millis(int(day.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp() * 1000))


def _progress(console: Console) -> Progress:
    percent = TextColumn("{task.percentage:>3.0f}%")
    told = TextColumn("{task.description}")
    return Progress(BarColumn(), percent, TimeElapsedColumn(), told, console=console, transient=True)


class Player(Struct):
    """Plays sessions, and tells what the server says as it goes."""

    client: AsyncClient
    clock: Clock
    console: Console
    bar: Progress
    task: TaskID
    searches: int = 0
    _shown: UnifiedSearchViewResponse | None = None
    _prompt: str = ""
    _said: list[InteractionData] = field(default_factory=list)

    async def play(self, session: Session) -> None:
        start = _moment(session.days_before, session.at)
        self.bar.update(self.task, description=f"{session.agent:8}{session.title}")
        report.tell_session(self.console, session, start)
        self._shown = None
        for place, step in enumerate(session.steps):
            self.clock.set(Millis(start + place * SECONDS_BETWEEN_STEPS * 1000))
            await self._step(session, step)
            self.bar.advance(self.task)
        if self._said:
            await self._publish(session)
        await self._settled()

    async def play_quietly(self, sessions: Sequence[Session]) -> None:
        """Routine is played like all else, and told in a line."""
        report.tell_weeks(self.console, len(sessions))
        told, self.console = self.console, Console(quiet=True)
        for session in sessions:
            await self.play(session)
        self.console = told

    async def _step(self, session: Session, step: Step) -> None:
        match step:
            case Recall():
                await self._recall(session, step.question)
            case Say():
                self._said.append(self._turn(step))
                if step.role == "User":
                    await self._publish(session)
            case LogPrompt():
                await self._log_prompt(session)
            case Call():
                await self._call(session, step)

    async def _recall(self, session: Session, question: str) -> None:
        self._shown = await self.client.search(
            query=question, user_id=session.user, session_id=_id(session), max_tokens=report.BUDGET
        )
        self._prompt = self._shown.context or ""
        self.searches += 1
        report.tell_recall(self.console, question, self._shown)

    def _turn(self, step: Say) -> InteractionData:
        turn = InteractionData.model_validate({"role": step.role, "content": step.text, "tools_used": step.tools})
        if step.role == "Assistant" and self._shown is not None:
            shown, self._shown = list(learnings_in(self._shown)), None
            if step.cites:
                turn.retrieved_learnings = shown
                turn.citations = [_citation(one) for one in shown]
                report.tell_citations(self.console, turn.citations)
        return turn

    async def _log_prompt(self, session: Session) -> None:
        """What we said comes back; nothing may be learned from it."""
        self._said.append(InteractionData(role="System", content=f"You are a helpful agent.\n{self._prompt}"))
        answer = await self._publish(session)
        report.tell_echo(self.console, answer)

    async def _call(self, session: Session, step: Call) -> None:
        kind, says = step.error
        done = NewOperation(
            source=session.agent,
            endpoint=step.tool,
            status="error" if step.fails else "ok",
            session_id=_id(session),
            user_id=session.user,
            agent_version=AGENT_VERSION,
            arguments=step.given,
            error_type=kind or None,
            error_message=says or None,
        )
        await self.client.record_operations(operations=[done])
        report.tell_call(self.console, step)

    async def _publish(self, session: Session) -> PublishUserInteractionResponse:
        said, self._said = self._said, []
        answer = await self.client.publish(
            user_id=session.user,
            session_id=_id(session),
            source=session.agent,
            agent_version=AGENT_VERSION,
            interaction_data_list=said,
            wait_for_response=True,
        )
        await report.tell_learned(self.client, self.console, session.user, answer)
        return answer

    async def _settled(self) -> None:
        """Until everything that the session caused is done, so that the clock may move on."""
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while any(job.state in UNDER_WAY and job.kind not in SCHEDULED for job in (await self.client.status()).jobs):
            if time.monotonic() > give_up_at:
                raise Unavailable("The background work does not come to an end, so the day cannot go on.")
            await asyncio.sleep(LOOK_EVERY_SECONDS)


def _id(session: Session) -> str:
    return f"{session.user}-{session.title.lower().replace(' ', '-')}"


def _citation(shown: RetrievedLearning) -> Citation:
    return Citation(kind=shown.kind, real_id=shown.learning_id)
