"""`acumen demo`: plays a script of agent work through the whole loop, over the real HTTP layer, on its own clock."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import httpx
import typer
from msgspec import Struct, field
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from acumen.api.server import web_app
from acumen.app import App
from acumen.cli.demo import report
from acumen.cli.demo.script import DAY, PAST, WEEKS, CallTool, DemoSession, LogPrompt, Recall, Review, Say, Settle, Step
from acumen.cli.options import AsJson, examples
from acumen.errors import BadSettings, Unavailable
from acumen.model.ids import Millis, now
from acumen.model.jobs.events import Hour, Minutes, SessionQuiet
from acumen.settings import Settings
from acumen_client.client import AsyncClient
from acumen_client.handles import handles_in
from acumen_client.session import learnings_in
from acumen_client.wire.changes import MemoryChangeKind
from acumen_client.wire.observe import Citation, InteractionData, PublishUserInteractionResponse
from acumen_client.wire.operations import NewOperation
from acumen_client.wire.recall import UnifiedSearchViewResponse
from acumen_client.wire.review import ConflictChoice

# Metering starts some days before the first memory, so that its history is complete.
STARTED_DAYS_BEFORE = 85
AGENT_VERSION = "1.0"
MAX_WIDTH = 118
SECONDS_BETWEEN_STEPS = 45
POLL_SECONDS = 0.02
TIMEOUT_SECONDS = 30.0
UNDER_WAY = ("waiting", "running")
# Jobs that wait for their time: periodic ones, and the end of sessions that may still go on.
SCHEDULED = (Hour.name, Minutes.name, SessionQuiet.name)


app = typer.Typer()


@app.command(epilog=examples("acumen demo", "acumen demo --data ./demo && acumen serve --data ./demo"))
def demo(
    data: Annotated[
        Path | None, typer.Option(show_default="a new one", help="Empty folder to store the data in.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play a day of agent work and show the result."""
    folder = _folder(data)
    console = Console(quiet=as_json, highlight=False)
    console.width = min(console.width, MAX_WIDTH) if console.is_terminal else MAX_WIDTH
    summary = asyncio.run(_play(folder, console))
    report.show(summary, console, as_json=as_json)


def _folder(data: Path | None) -> Path:
    if data is None:
        return Path(tempfile.mkdtemp(prefix="acumen-demo-"))
    if data.exists() and any(data.iterdir()):
        raise BadSettings(f"{data} is not empty. The demo needs a new folder: name another one.")
    return data


async def _play(folder: Path, console: Console) -> report.Summary:
    """Plays the past, the weeks and the day; then reads the summary at the present time."""
    clock = Clock(_moment(STARTED_DAYS_BEFORE, "08:00"))
    parts = [*PAST, *WEEKS, *DAY]
    async with _server(folder, clock) as client:
        with _progress(console) as bar:
            task = bar.add_task("", total=len(parts))
            player = Player(client, clock, console, bar, task)
            report.show_beginning(console, folder)
            for session in PAST:
                await player.play(session)
            await player.play_quietly(WEEKS)
            for part in DAY:
                await (player.review(part) if isinstance(part, Review) else player.play(part))
        clock.set(now())
        return await report.gather(client, folder, player.searches)


@asynccontextmanager
async def _server(folder: Path, clock: "Clock") -> AsyncIterator[AsyncClient]:
    """A whole server in this process, reached through its HTTP layer. It ignores the settings of the environment."""
    parts = App(Settings(data=folder), clock)
    transport = httpx.ASGITransport(web_app(parts), client=("127.0.0.1", 0))
    await parts.start()
    try:
        async with AsyncClient("http://127.0.0.1", transport=transport) as client:
            yield client
    finally:
        await parts.stop()


class Clock:
    """Runs from the time it is set to, and is never set back."""

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
    description = TextColumn("{task.description}")
    return Progress(BarColumn(), percent, TimeElapsedColumn(), description, console=console, transient=True)


class Player(Struct):
    """Plays sessions and prints what the server answers."""

    client: AsyncClient
    clock: Clock
    console: Console
    bar: Progress
    task: TaskID
    searches: int = 0
    _answer: UnifiedSearchViewResponse | None = None  # of the last search, until the agent's turn
    _prompt: str = ""
    _turns: list[InteractionData] = field(default_factory=list)
    _last_change: int = 0

    async def play(self, session: DemoSession) -> None:
        start = _moment(session.days_before, session.at)
        self.bar.update(self.task, description=f"{session.agent:8}{session.title}")
        report.show_heading(self.console, session.title, f"{session.user} with the {session.agent} agent", start)
        self._answer = None
        for place, step in enumerate(session.steps):
            self.clock.set(Millis(start + place * SECONDS_BETWEEN_STEPS * 1000))
            await self._step(session, step)
        if self._turns:
            await self._publish(session)
        await self._settled()
        self.bar.advance(self.task)

    async def play_quietly(self, sessions: Sequence[DemoSession]) -> None:
        """Routine is played like everything else, and printed as one line."""
        report.show_weeks(self.console, len(sessions))
        console, self.console = self.console, Console(quiet=True)
        for session in sessions:
            await self.play(session)
        self.console = console

    async def review(self, review: Review) -> None:
        start = _moment(0, review.at)
        self.clock.set(start)
        self.bar.update(self.task, description=f"review  {review.title}")
        report.show_heading(self.console, review.title, f"a reviewer, about {review.user}", start)
        if isinstance(review.decision, Settle):
            await self._settle_conflict(review.user, ConflictChoice(review.decision.keep))
        else:
            await self._undo(review.user, MemoryChangeKind(review.decision.change))
        await self._settled()
        self.bar.advance(self.task)

    async def _settle_conflict(self, user: str, keep: ConflictChoice) -> None:
        (conflict,) = (await self.client.memory_conflicts(user_id=user)).conflicts
        await self.client.settle_conflict(conflict_id=conflict.conflict_id, keep=keep)
        report.show_settled(self.console, conflict, keep)

    async def _undo(self, user: str, kind: MemoryChangeKind) -> None:
        (change,) = (await self.client.memory_changes(user_id=user, kinds=[kind], limit=1)).changes
        await self.client.undo_memory_change(change_id=change.change_id)
        report.show_undone(self.console, change)

    async def _step(self, session: DemoSession, step: Step) -> None:
        match step:
            case Recall():
                await self._recall(session, step.question)
            case Say():
                self._turns.append(self._turn(step))
                if step.role == "User":
                    await self._publish(session)
            case LogPrompt():
                await self._log_prompt(session)
            case CallTool():
                await self._call(session, step)

    async def _recall(self, session: DemoSession, question: str) -> None:
        self._answer = await self.client.search(
            query=question, user_id=session.user, session_id=_id(session), max_tokens=report.BUDGET
        )
        self._prompt = self._answer.context or ""
        self.searches += 1
        report.show_recall(self.console, question, self._answer)

    def _turn(self, step: Say) -> InteractionData:
        turn = InteractionData.model_validate({"role": step.role, "content": step.text, "tools_used": step.tools})
        if step.role == "Assistant" and self._answer is not None:
            turn.retrieved_learnings = list(learnings_in(self._answer))
            lines = [line for line in self._prompt.splitlines() if step.cites and step.cites in line and "[m" in line]
            turn.citations = [Citation(real_id=handle) for handle in handles_in("\n".join(lines))]
            self._answer = None
            if turn.citations:
                report.show_citations(self.console, turn.citations)
        return turn

    async def _log_prompt(self, session: DemoSession) -> None:
        """The injected text is published again; nothing may be learned from it."""
        self._turns.append(InteractionData(role="System", content=f"You are a helpful agent.\n{self._prompt}"))
        report.show_echo(self.console, await self._publish(session))

    async def _call(self, session: DemoSession, step: CallTool) -> None:
        kind, message = step.error
        operation = NewOperation(
            source=session.agent,
            endpoint=step.tool,
            status="error" if step.fails else "ok",
            session_id=_id(session),
            user_id=session.user,
            agent_version=AGENT_VERSION,
            arguments=step.arguments,
            error_type=kind or None,
            error_message=message or None,
        )
        await self.client.record_operations(operations=[operation])
        report.show_call(self.console, step)

    async def _publish(self, session: DemoSession) -> PublishUserInteractionResponse:
        turns, self._turns = self._turns, []
        answer = await self.client.publish(
            user_id=session.user,
            session_id=_id(session),
            source=session.agent,
            agent_version=AGENT_VERSION,
            interaction_data_list=turns,
            wait_for_response=True,
        )
        page = await self.client.memory_changes(session_id=_id(session), user_id=session.user)
        changes = [change for change in reversed(page.changes) if change.change_id > self._last_change]
        self._last_change = max([self._last_change, *(change.change_id for change in changes)])
        await report.show_changes(self.client, self.console, changes)
        return answer

    async def _settled(self) -> None:
        """Returns when all jobs that the session caused are done, so that the clock may move on."""
        give_up_at = time.monotonic() + TIMEOUT_SECONDS
        while any(job.state in UNDER_WAY and job.kind not in SCHEDULED for job in (await self.client.status()).jobs):
            if time.monotonic() > give_up_at:
                raise Unavailable(f"Background work did not end within {TIMEOUT_SECONDS:.0f} seconds.")
            await asyncio.sleep(POLL_SECONDS)


def _id(session: DemoSession) -> str:
    return f"{session.user}-{session.title.lower().replace(' ', '-')}"
