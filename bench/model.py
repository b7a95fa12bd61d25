"""What a memory costs when a model learns it, in calls and tokens: one LoCoMo conversation, window by window.

How well a model reads is up to the model; how much it reads and how often is up to us, and that is measured. Without an
endpoint a script answers as a good model would, so that every question is asked. With `ACUMEN_LLM_URL` set, the model
that answers there reads the first windows, and the figures are its own.
"""

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from acumen.errors import ModelUnavailable
from acumen.learn.extract import by_model
from acumen.learn.extract.notes import Note
from acumen.llm.gateway import Gateway, Llm
from acumen.llm.prices import Prices
from acumen.llm.scripted import Script
from acumen.model.config import DEFAULT_WINDOW, PLAYBOOKS, PROFILES
from acumen.model.conversation import Turn, Window
from acumen.model.ids import InteractionId, Kind, Millis, PlaybookId, ProfileId, RequestId, SessionId, UserId
from acumen.model.memories.memory import Memory
from acumen.model.memories.playbook import UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.metering.llm_call import LlmCall, ModelRole
from acumen.model.metering.llm_choice import LlmChoice
from acumen.settings import LlmSettings
from bench.figures import Figure, Run
from bench.retrieval import data_folder, locomo

# User turns after which a window is read: every one, or four.
STRIDES = (1, 4)
WINDOWS, QUICK_WINDOWS = 1_000, 5
# A real model on a small machine takes minutes for more.
WINDOWS_OF_REAL_MODEL = 12
PRICED = "gpt-5.4-mini"
URL = "ACUMEN_LLM_URL"
LEAST_CONTEXT = 2
# Words in a turn that the script keeps a fact of; about nine in ten of a conversation's longer turns have one.
WORTH_KEEPING = 12
ANN, REQUEST = UserId("ann"), RequestId("req")
EXTRACTORS = {Kind.PROFILE: PROFILES, Kind.USER_PLAYBOOK: PLAYBOOKS}
_NEW = re.compile(r"^\[(\d+)\] \w{3} [\d-]{10} user \(new\): (.+(?:\n    .+)*)$", re.MULTILINE)


class Calls(Struct):
    """What the model was asked, and what came of it."""

    answered: list[LlmCall] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    failures: int = 0

    async def spent_today(self) -> int:
        return 0

    async def note(self, call: LlmCall) -> None:
        self.answered.append(call)


def measure(run: Run) -> Iterator[Figure]:
    turns = _turns()
    url = os.environ.get(URL)
    for stride in STRIDES:
        windows = list(_windows(turns, stride))[: run.many(WINDOWS_OF_REAL_MODEL if url else WINDOWS, QUICK_WINDOWS)]
        calls = asyncio.run(_read(windows, url))
        every = f"every {stride} user turns" if stride > 1 else "every user turn"
        yield from _figures(calls, len(windows), every, "the endpoint" if url else "scripted answers")


def _figures(calls: Calls, windows: int, every: str, who: str) -> Iterator[Figure]:
    memories = len(calls.memories) or 1
    read = sum(call.prompt_tokens for call in calls.answered)
    written = sum(call.completion_tokens for call in calls.answered)
    note = f"{who}; {windows} windows, {len(calls.memories)} memories, {calls.failures} left to the rules"
    yield Figure(f"{every}: calls per memory", len(calls.answered) / memories, "", note=note)
    yield Figure(f"{every}: tokens read per memory", read / memories, "tokens")
    yield Figure(f"{every}: tokens written per memory", written / memories, "tokens")
    cost = Prices.of("").cost(PRICED, read, written) or 0.0
    yield Figure(f"{every}: cost of 1,000 memories", cost / memories * 1000, "$", note=f"at the prices of {PRICED}")


# --- windows -------------------------------------------------------------------------------------------------------


def _turns() -> list[Turn]:
    """The first conversation; its first speaker is the user, as in the lines about answers."""
    corpus = next(locomo(data_folder()))
    user = corpus.turns[0].role
    return [
        Turn(
            InteractionId(number),
            RequestId("req"),
            SessionId(turn.session),
            turn.role == user,
            turn.text,
            at=Millis(turn.at),
        )
        for number, turn in enumerate(corpus.turns, 1)
    ]


def _windows(turns: Sequence[Turn], stride: int) -> Iterator[Window]:
    """As many user turns as `stride`, with the answers to them; fewer at the end of a session."""
    before: list[Turn] = []
    for _, session in groupby(turns, key=lambda turn: turn.session_id):
        for new in _parts(list(session), stride):
            context = before[-max(LEAST_CONTEXT, DEFAULT_WINDOW - len(new)) :]
            yield Window(ANN, (*(replace(turn, is_new=False) for turn in context), *new))
            before += new


def _parts(session: Sequence[Turn], stride: int) -> Iterator[list[Turn]]:
    part: list[Turn] = []
    for turn in session:
        if turn.by_user and sum(each.by_user for each in part) == stride:
            yield part
            part = []
        part.append(turn)
    yield part


# --- reading -------------------------------------------------------------------------------------------------------


async def _read(windows: Sequence[Window], url: str | None) -> Calls:
    calls = Calls()
    gateway = _gateway(url)
    llm = gateway.of(LlmChoice(), calls)
    assert llm is not None
    try:
        for window in windows:
            await _read_window(window, llm, calls)
    finally:
        await gateway.close()
    return calls


def _gateway(url: str | None) -> Gateway:
    if url:
        return Gateway(LlmSettings(url=url, request_seconds=600, total_seconds=900))
    return Gateway(LlmSettings(url="http://127.0.0.1:9/v1"), Script().says(ModelRole.EXTRACTION, _edits).connect)


async def _read_window(window: Window, llm: Llm, calls: Calls) -> None:
    """The newest memories are shown as the known ones."""
    known = calls.memories[: -by_model.MOST_KNOWN - 1 : -1]
    try:
        extraction = await by_model.extract(window, EXTRACTORS, known, llm, "")
    except ModelUnavailable:
        calls.failures += 1
    else:
        calls.memories += [_memory(note, len(calls.memories) + place) for place, note in enumerate(extraction.notes)]


def _memory(note: Note, number: int) -> Memory:
    at = Millis(0)
    if note.kind is Kind.PROFILE:
        return Profile(ProfileId(str(number)), ANN, note.lesson.content, at, at)
    return UserPlaybook(PlaybookId(number), ANN, note.lesson, at, at)


def _edits(shown: str) -> dict[str, Any]:
    """A fact for each new user turn that is long enough to contain one."""
    turns = [(int(number), text) for number, text in _NEW.findall(shown)]
    facts = [
        {**(quoted := _quoted(number, text)), "category": "fact", "op": "ADD", "content": f"User: {quoted['quote']}"}
        for number, text in turns
        if len(text.split()) >= WORTH_KEEPING
    ]
    return {
        "edits": facts or [{**_quoted(number, text), "category": "talk", "op": "NONE"} for number, text in turns[:1]]
    }


def _quoted(number: int, text: str) -> dict[str, Any]:
    """By the longest line: a turn has one for each sentence."""
    return {"turn": number, "quote": max(text.splitlines(), key=len).strip()[:300]}
