"""What a memory costs when a model learns it, in tokens: ordinary talk, read by a script that knows what to keep.

How well a model reads is the model's affair; how much it is given to read and how often is ours, and that is measured.
The script answers as a perfect reader would, so that every question is asked that a good model would be asked.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acumen.app import LOCAL_ORG, App
from acumen.llm.gateway import Gateway
from acumen.llm.prices import Prices
from acumen.llm.scripted import Script
from acumen.model.conversation import Interaction, Request
from acumen.model.ids import InteractionId, Millis, RequestId, SessionId, UserId, fresh_id, now
from acumen.model.llm_call import Role, Spent
from acumen.model.search import Filter
from acumen.observe import conversations
from acumen.settings import Llm, Settings
from acumen.storage.store import Tx
from bench.figures import Figure, Run
from bench.memory.everyday_requests import ACKNOWLEDGED, FACTS, REQUESTS
from bench.memory.histories import Session, Turn
from bench.memory.standing import PREFERENCES, TALK, sessions

MAX_SESSIONS, QUICK_SESSIONS = 100, 3
# Turns an extractor waits for: every one, as by default, or the peer's usual eight.
STRIDES = (1, 8)
PRICED = "gpt-5.4-mini"
_NEW = re.compile(r"^\[(\d+)\] user \(new\): (.+)$", re.MULTILINE)


def measure(run: Run) -> Iterator[Figure]:
    chosen = _conversations()[: run.many(MAX_SESSIONS, QUICK_SESSIONS)]
    for stride in STRIDES:
        spent, memories = asyncio.run(_learned(chosen, stride))
        yield from _figures(spent, memories, f"read every {stride} turns" if stride > 1 else "read every turn")


def _conversations() -> list[Session]:
    """Facts and everyday requests of one user, preferences among other talk of another."""
    requests = iter(REQUESTS)
    facts = [
        [text for said in (fact, next(requests), next(requests)) for text in (said, ACKNOWLEDGED)] for fact in FACTS
    ]
    return [*sessions(facts, "facts"), *sessions(TALK, "preferences")]


def _figures(spent: Spent, memories: int, how: str) -> Iterator[Figure]:
    note = f"scripted answers; {spent.calls} questions for {memories} memories"
    yield Figure(f"{how}: tokens read per memory", spent.prompt_tokens / memories, "tokens", note=note)
    yield Figure(f"{how}: tokens written per memory", spent.completion_tokens / memories, "tokens")
    cost = Prices.of("").cost(PRICED, spent.prompt_tokens, spent.completion_tokens) or 0.0
    yield Figure(f"{how}: cost of 1,000 memories", cost / memories * 1000, "$", note=f"at the prices of {PRICED}")


async def _learned(talk: Sequence[Session], stride: int) -> tuple[Spent, int]:
    """What was asked, and how many memories came of it."""
    with tempfile.TemporaryDirectory(prefix="acumen-model-") as folder:
        app = App(Settings.model_validate({"data": Path(folder), "recall": {"embeddings": False}}))
        app.gateway = Gateway(Llm(url="http://127.0.0.1:9/v1"), connect=_reader().connect)
        await app.start(work=False)
        try:
            await _play(talk, stride, app)
            return await app.store.of(LOCAL_ORG).read(_counted)
        finally:
            await app.stop()


async def _play(talk: Sequence[Session], stride: int, app: App) -> None:
    store = app.store.of(LOCAL_ORG)
    await store.write(lambda tx: tx.orgs.set_config({"stride_size": stride}, tx.orgs.config().version))
    for session in talk:
        for start in range(0, len(session.turns), 2):
            last = start + 2 >= len(session.turns)
            await _publish(session.id, session.turns[start : start + 2], app, force_extraction=last)
            await app.worker.run_due()


async def _publish(session_id: str, turns: Sequence[Turn], app: App, *, force_extraction: bool) -> None:
    """The last turns of a session are read however few they are."""
    about = (UserId(session_id.rpartition("-")[0]), SessionId(session_id))
    request = Request(RequestId(fresh_id("req")), *about, now(), body_hash="bench", force_extraction=force_extraction)
    interactions = [Interaction(InteractionId(0), *about, request.id, now(), turn.role, turn.text) for turn in turns]
    await conversations.publish(request, interactions, await app.deps_for(LOCAL_ORG))


def _counted(tx: Tx) -> tuple[Spent, int]:
    everything = Filter(statuses=None)
    return tx.llm_calls.spent(Millis(0)), tx.profiles.count(everything) + tx.user_playbooks.count(everything)


# --- a reader who knows what is worth keeping ----------------------------------------------------------------------


def _reader() -> Script:
    def vote(shown: str) -> dict[str, Any]:
        notes = _notes(shown)
        return {"worth_reading": bool(notes["facts"] or notes["lessons"])}

    script = Script().says(Role.EXTRACTION, _notes).says(Role.GATE, vote)
    return script.says(Role.MERGE, {"verdicts": []})


def _notes(shown: str) -> dict[str, Any]:
    """The facts and preferences among the new turns of a prompt, each with its turn as quote."""
    notes: dict[str, list[dict[str, Any]]] = {"facts": [], "lessons": []}
    for number, text in _NEW.findall(shown):
        note = {"content": text, "turn": int(number), "quote": text, "trigger": ""}
        if text in FACTS:
            notes["facts"].append(note)
        elif _is_preference(text):
            notes["lessons"].append(note)
    return notes


def _is_preference(text: str) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in PREFERENCES.values())
