"""Agents that work against a server which may be killed at any moment, and keep a ledger of what it acknowledged."""

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from msgspec import Struct, field

from acumen_client.calls import Calls
from acumen_client.endpoint import Endpoint
from tests.faults.server import NO_REPLY, Caller, Reply, Server

# What a user may say. The first ones teach something, so that learning is under way when the server dies.
SAYINGS = (
    "No, that is wrong: we never deploy {} to us-east-1, always use us-west-2.",
    "I prefer {} over everything else, please remember that.",
    "Could you look at {} once more?",
    "The build of {} is green again, thank you.",
)

# Not for the server, which could take far more, but for the learning that has to be finished before the test is.
PAUSE_SECONDS = 0.04


class Ledger(Struct):
    """What one agent's user must find again."""

    turns: dict[str, list[str]] = field(default_factory=dict)  # by request id
    profiles: dict[str, str | None] = field(default_factory=dict)  # by id; None once deleted
    playbooks: set[str] = field(default_factory=set)  # by content
    # The server numbers playbooks, so an add that was not answered cannot be repeated: it is stored or it is not.
    perhaps: set[str] = field(default_factory=set)
    acknowledged: int = 0
    cut_off: int = 0  # sent, and never answered
    searches: int = 0


class Write(Struct, frozen=True):
    endpoint: Endpoint[..., Any]
    asked: Mapping[str, Any]
    note: Callable[[], None]
    # The statuses that say: it is so now. A repeated delete may find that the first one was carried out.
    settled_by: frozenset[int] = frozenset({200})
    give_up: Callable[[], None] | None = None


class Agent(threading.Thread):
    """Sends one write after the other, each until it is acknowledged, and searches in between."""

    def __init__(self, number: int, server: Server, *, keeps_memories: bool) -> None:
        super().__init__(name=f"agent-{number}", daemon=True)
        self.user = f"user{number}"
        self.ledger = Ledger()
        self.failure: BaseException | None = None
        self._port = server.port
        self._random = random.Random(number)
        # A memory is stored with its meaning, so after each start it waits for the model, and its writer with it.
        self._writes = self._memories() if keeps_memories else self._publishes()
        self._was_sent = False
        self._stop_asked = threading.Event()

    def run(self) -> None:
        try:
            with closing(Caller(self._port)) as caller:
                while not self._stop_asked.is_set():
                    self._settle(next(self._writes), caller)
                    if self._random.random() < 0.2:
                        self._search(caller)
                    time.sleep(self._random.uniform(0, PAUSE_SECONDS))
        except BaseException as failure:  # noqa: BLE001 - the test that owns the thread raises it
            self.failure = failure

    def finish(self) -> None:
        """Ends after the write under way is acknowledged."""
        self._stop_asked.set()
        self.join(120)
        assert not self.is_alive(), f"{self.name} is stuck"
        if self.failure:
            raise self.failure

    def _settle(self, write: Write, caller: Caller) -> None:
        while (reply := self._reply_to(lambda: caller.call(write.endpoint, write.asked))) is None:
            if write.give_up and self._was_sent:
                return write.give_up()
            time.sleep(0.05)
        assert reply.status in write.settled_by, (write.endpoint.name, write.asked, reply)
        self.ledger.acknowledged += 1
        return write.note()

    def _search(self, caller: Caller) -> None:
        """What was just acknowledged is found by its words at once; its meaning follows later."""
        request_id, turns = next(reversed(self.ledger.turns.items()))
        asked = {"user_id": self.user, "query": turns[0], "top_k": 3, "search_mode": "fts"}
        reply = self._reply_to(lambda: caller.call(Calls.search_interactions, asked))
        if reply is None:
            return
        assert reply.ok, reply
        assert turns[0] in [hit["content"] for hit in reply.json["interactions"]], (request_id, reply.json)
        self.ledger.searches += 1

    def _reply_to(self, send: Callable[[], Reply]) -> Reply | None:
        self._was_sent = True
        try:
            return send()
        except ConnectionRefusedError:
            self._was_sent = False
        except NO_REPLY:
            self.ledger.cut_off += 1
        return None

    # --- what is written -----------------------------------------------------------------------------------------

    def _publishes(self) -> Iterator[Write]:
        return map(self._publish, itertools.count())

    def _memories(self) -> Iterator[Write]:
        for number in itertools.count():
            yield self._publish(number)
            yield self._add_profile(number)
            if number % 2:
                yield self._update_profile(number)
            if number % 3 == 0:
                yield self._delete_profile(number)
            yield self._add_playbook(number)

    def _publish(self, number: int) -> Write:
        said = self._random.choice(SAYINGS).format(f"{self.user}project{number}")
        turns = [said, f"Noted, number {number}."]
        request_id = f"{self.user}-request-{number}"
        asked = {
            "request_id": request_id,
            "user_id": self.user,
            "session_id": f"{self.user}-session-{number // 10}",
            "interaction_data_list": [
                {"role": role, "content": text} for role, text in zip(("User", "Assistant"), turns, strict=True)
            ],
        }
        return Write(Calls.publish, asked, lambda: self.ledger.turns.update({request_id: turns}))

    def _add_profile(self, number: int) -> Write:
        profile_id, content = f"{self.user}-profile-{number}", f"Owns the repository {self.user}repo{number}"
        asked = {"user_profiles": [{"user_id": self.user, "profile_id": profile_id, "content": content}]}
        note = self._noting_profile(profile_id, content)
        return Write(Calls.add_profiles, asked, note, frozenset({200, 409}))

    def _update_profile(self, number: int) -> Write:
        profile_id, content = f"{self.user}-profile-{number}", f"Has sold the repository {self.user}repo{number}"
        asked = {"user_id": self.user, "profile_id": profile_id, "content": content}
        return Write(Calls.update_profile, asked, self._noting_profile(profile_id, content))

    def _delete_profile(self, number: int) -> Write:
        profile_id = f"{self.user}-profile-{number}"
        asked = {"user_id": self.user, "profile_id": profile_id}
        return Write(Calls.delete_profile, asked, self._noting_profile(profile_id, None), frozenset({200, 404}))

    def _noting_profile(self, profile_id: str, content: str | None) -> Callable[[], None]:
        return lambda: self.ledger.profiles.update({profile_id: content})

    def _add_playbook(self, number: int) -> Write:
        content = f"Run the linter before {self.user} merges branch {number}"
        asked = {"user_playbooks": [{"user_id": self.user, "content": content, "playbook_name": "kept"}]}
        ledger = self.ledger
        return Write(
            Calls.add_user_playbooks,
            asked,
            note=lambda: ledger.playbooks.add(content),
            give_up=lambda: ledger.perhaps.add(content),
        )


# --- what must be found again ----------------------------------------------------------------------------------------


class Findings(Struct, frozen=True):
    """Where the server and the ledger disagree; empty lists are good."""

    lost: list[str]
    doubled: list[str]
    wrong: list[str]


def compare(agent: Agent, server: Server) -> Findings:
    lost: list[str] = []
    doubled: list[str] = []
    wrong: list[str] = []
    for compared in (_turns(agent, server), _profiles(agent, server), _playbooks(agent, server)):
        lost += compared.lost
        doubled += compared.doubled
        wrong += compared.wrong
    return Findings(lost, doubled, wrong)


def _turns(agent: Agent, server: Server) -> Findings:
    found = server.call(Calls.interactions, {"user_id": agent.user, "top_k": 1_000_000}).json["interactions"]
    stored = Counter((turn["request_id"], turn["content"]) for turn in found)
    expected = {(request, text) for request, texts in agent.ledger.turns.items() for text in texts}
    return Findings(
        lost=[str(key) for key in expected if key not in stored],
        doubled=[str(key) for key, times in stored.items() if times > 1],
        wrong=[str(key) for key in stored if key not in expected],
    )


# What was learned since may have replaced a memory: it has left search then, and is kept.
KEPT = {"status_filter": [None, "superseded", "archived"]}


def _profiles(agent: Agent, server: Server) -> Findings:
    asked = {"user_id": agent.user, "top_k": 1_000_000, **KEPT}
    found = server.call(Calls.profiles, asked).json["user_profiles"]
    by_hand = [one for one in found if one["profile_id"].startswith(f"{agent.user}-profile-")]
    stored = {one["profile_id"]: one["content"] for one in by_hand}
    expected = {key: content for key, content in agent.ledger.profiles.items() if content is not None}
    return Findings(
        lost=[key for key in expected if key not in stored],
        doubled=[key for key, times in Counter(one["profile_id"] for one in by_hand).items() if times > 1],
        wrong=[key for key, content in stored.items() if expected.get(key) != content],
    )


def _playbooks(agent: Agent, server: Server) -> Findings:
    asked = {"user_id": agent.user, "playbook_name": "kept", "limit": 1_000_000, **KEPT}
    found = server.call(Calls.user_playbooks, asked).json["user_playbooks"]
    stored = Counter(one["content"] for one in found)
    return Findings(
        lost=[content for content in agent.ledger.playbooks if content not in stored],
        doubled=[content for content, times in stored.items() if times > 1],
        wrong=[one for one in stored if one not in agent.ledger.playbooks | agent.ledger.perhaps],
    )
