"""What a memory costs when a model learns it, in tokens: the labelled set, read by a script that knows the labels.

How well a model reads is the model's affair; how much it is given to read and how often is ours, and that is measured.
The script answers as a perfect reader would, so that every question is asked that a good model would be asked.
"""

import asyncio
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
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
from bench.learning import cases
from bench.learning.cases import Conversation, Turn
from bench.learning.play import publishes

QUICK_CONVERSATIONS = 2
# Turns an extractor waits for: every one, as by default, or the peer's usual eight.
STRIDES = (1, 8)
PRICED = "gpt-5.4-mini"
_NEW = re.compile(r"^\[(\d+)\] user \(new\): (.+)$", re.MULTILINE)


def measure(run: Run) -> Iterator[Figure]:
    part = cases.read("open")
    chosen = part[:QUICK_CONVERSATIONS] if run.quick else part
    for stride in STRIDES:
        spent, memories = asyncio.run(_learned(chosen, stride))
        yield from _figures(spent, memories, f"read every {stride} turns" if stride > 1 else "read every turn")


def _figures(spent: Spent, memories: int, how: str) -> Iterator[Figure]:
    note = f"scripted answers; {spent.calls} questions for {memories} memories"
    yield Figure(f"{how}: tokens read per memory", spent.prompt_tokens / memories, "tokens", note=note)
    yield Figure(f"{how}: tokens written per memory", spent.completion_tokens / memories, "tokens")
    cost = Prices.of("").cost(PRICED, spent.prompt_tokens, spent.completion_tokens) or 0.0
    yield Figure(f"{how}: cost of 1,000 memories", cost / memories * 1000, "$", note=f"at the prices of {PRICED}")


async def _learned(part: Sequence[Conversation], stride: int) -> tuple[Spent, int]:
    """What was asked, and how many memories came of it."""
    with tempfile.TemporaryDirectory(prefix="acumen-model-") as folder:
        app = App(Settings.model_validate({"data": Path(folder), "recall": {"embeddings": False}}))
        app.gateway = Gateway(Llm(url="http://127.0.0.1:9/v1"), connect=_reader(part).connect)
        await app.start(work=False)
        try:
            await _play(part, stride, app)
            return await app.store.of(LOCAL_ORG).read(_counted)
        finally:
            await app.stop()


async def _play(part: Sequence[Conversation], stride: int, app: App) -> None:
    store = app.store.of(LOCAL_ORG)
    await store.write(lambda tx: tx.orgs.set_config({"stride_size": stride}, tx.orgs.config().version))
    for conversation in part:
        for said in publishes(conversation.turns):
            await _publish(conversation, said, app)
            await app.worker.run_due()


async def _publish(conversation: Conversation, said: Sequence[Turn], app: App) -> None:
    """The last of a user's turns are read however few they are."""
    about = (UserId(conversation.user_id), SessionId(said[0].session_id))
    last = said[-1] is conversation.turns[-1]
    request = Request(RequestId(fresh_id("req")), *about, now(), body_hash="bench", force_extraction=last)
    turns = [Interaction(InteractionId(0), *about, request.id, now(), turn.role, turn.content) for turn in said]
    await conversations.publish(request, turns, await app.deps_for(LOCAL_ORG))


def _counted(tx: Tx) -> tuple[Spent, int]:
    everything = Filter(statuses=None)
    return tx.llm_calls.spent(Millis(0)), tx.profiles.count(everything) + tx.user_playbooks.count(everything)


# --- a reader who knows the labels ---------------------------------------------------------------------------------


def _reader(part: Sequence[Conversation]) -> Script:
    def read(shown: str) -> dict[str, Any]:
        return _notes(part, shown)

    def vote(shown: str) -> dict[str, Any]:
        notes = _notes(part, shown)
        return {"worth_reading": bool(notes["facts"] or notes["lessons"])}

    script = Script().says(Role.EXTRACTION, read).says(Role.GATE, vote)
    return script.says(Role.MERGE, {"verdicts": []})


def _notes(part: Sequence[Conversation], shown: str) -> dict[str, Any]:
    """All that the labels say about the new turns that are shown."""
    notes: dict[str, list[dict[str, Any]]] = {"facts": [], "lessons": []}
    new = {text.strip(): int(number) for number, text in _NEW.findall(shown)}
    for conversation in part:
        for label in conversation.expected:
            with suppress(KeyError):
                turn = conversation.turns[label.turn].content.split("\n")[0].strip()
                note = {"content": label.about, "turn": new[turn], "quote": turn[:300], "trigger": ""}
                notes["facts" if label.kind == "profile" else "lessons"].append(note)
    return notes
