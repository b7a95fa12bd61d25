"""Many memories, fast: rows as learning would leave them, with vectors mixed from a few that were really embedded.

What learning writes beside them (their lineage) is left out: no search reads it.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from acumen.index.documents import ANALYSER
from acumen.index.tokenizer import terms
from acumen.llm.embedding import NAME, load_embedder
from acumen.model.ids import Kind, Millis, PlaybookId, ProfileId, UserId, now
from acumen.model.memories.memory import Memory, owner, searchable
from acumen.model.memories.playbook import AgentPlaybook, Lesson, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.memories.search import SearchRow
from acumen.storage.store import OrgStore, Tx
from bench import texts

Vectors = NDArray[np.float32]

CACHE = Path(__file__).parent / "results" / "vectors"
STATEMENTS = 600
ROWS_AT_ONCE = 2_000


class Statements:
    """What memories are put together from: statements, and the vectors of their meanings by the real model."""

    def __init__(self, count: int = STATEMENTS) -> None:
        random = Random(count)
        self.texts = list(dict.fromkeys(texts.statement(random) for _ in range(count)))
        self.vectors = _embedded(self.texts)

    def memory(self, random: Random) -> tuple[str, Vectors]:
        """Two statements and a ticket; the meaning of the first one leads, and no two memories mean quite the same."""
        first, second = random.randrange(len(self.texts)), random.randrange(len(self.texts))
        share = random.uniform(0.55, 0.85)
        noise = np.frombuffer(random.randbytes(self.vectors.shape[1]), np.int8).astype(np.float32) * (0.015 / 74)
        mixed = share * self.vectors[first] + (1 - share) * self.vectors[second] + noise
        text = f"{self.texts[first]} {self.texts[second]} See {texts.ticket(random)}."
        return text, mixed / np.float32(np.linalg.norm(mixed))


def _embedded(said: Sequence[str]) -> Vectors:
    """Kept between runs: embedding is what the other lines measure, not this one."""
    name = hashlib.sha256("\n".join([NAME, *said]).encode()).hexdigest()[:16]
    kept = CACHE / f"{name}.npy"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, load_embedder().embed(said))
    vectors: Vectors = np.load(kept)
    return vectors


def profiles(user: UserId, count: int, statements: Statements, random: Random) -> Iterator[tuple[Memory, Vectors]]:
    for _ in range(count):
        text, vector = statements.memory(random)
        at = _some_time_ago(random)
        yield Profile(ProfileId(f"prof_{random.getrandbits(64):016x}"), user, text, at, at), vector


def user_playbooks(
    user: UserId, count: int, statements: Statements, random: Random, first: int = 1
) -> Iterator[tuple[Memory, Vectors]]:
    for number in range(first, first + count):
        lesson, vector = _lesson(statements, random)
        at = _some_time_ago(random)
        yield UserPlaybook(PlaybookId(number), user, lesson, at, at, agent_version="1.0"), vector


def agent_playbooks(count: int, statements: Statements, random: Random) -> Iterator[tuple[Memory, Vectors]]:
    for number in range(1, count + 1):
        lesson, vector = _lesson(statements, random)
        at = _some_time_ago(random)
        yield AgentPlaybook(PlaybookId(number), lesson, at, at, agent_version="1.0"), vector


async def store(kind: Kind, made: Iterable[tuple[Memory, Vectors]], into: OrgStore) -> None:
    """Committed when this returns."""
    await into.write(lambda tx: tx.orgs.ensure())
    remaining = iter(made)
    while some := list(itertools.islice(remaining, ROWS_AT_ONCE)):
        await into.write(lambda tx, some=some: _insert(tx, kind, some))  # type: ignore[misc]


def _insert(tx: Tx, kind: Kind, made: Sequence[tuple[Memory, Vectors]]) -> None:
    mapping: Any = tx.by_kind[kind].mapping
    rows = [tx.scope.stamp(mapping.to_row(memory)) for memory, _ in made]
    tx.scope.conn.execute(sa.insert(mapping.table), rows)
    tx.search_rows.upsert([_search_row(kind, memory, vector) for memory, vector in made])


def _search_row(kind: Kind, memory: Memory, vector: Vectors) -> SearchRow:
    return SearchRow(
        kind=kind,
        entity_id=str(memory.id),
        user_id=owner(memory),
        terms=" ".join(terms(searchable(memory))),
        analyser=ANALYSER,
        vector=vector.astype(np.float16).tobytes(),
        model=NAME,
    )


def _lesson(statements: Statements, random: Random) -> tuple[Lesson, Vectors]:
    text, vector = statements.memory(random)
    return Lesson(text, trigger=texts.situation(random)), vector


def _some_time_ago(random: Random) -> Millis:
    return Millis(now() - random.randrange(90 * 86_400_000))
