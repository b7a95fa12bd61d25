"""The server's API as JSON over HTTP, without the client library: answers keep the fields that it does not know yet."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from bench.memory.histories import Session, Turn

TIMEOUT_SECONDS = 120
# Waits between attempts when the server is busy (429, 503); then the error is raised.
RETRY_SECONDS = (1, 3, 10, 30)
MAX_ROWS = 10_000
# More results per kind than fit into the largest budget that is measured.
TOP_K = 50


class Api(Struct, frozen=True):
    port: int

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        for wait in (*RETRY_SECONDS, None):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                    answer: dict[str, Any] = json.load(response)
                    return answer
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503) or wait is None:
                    raise RuntimeError(f"{path}: {error.code} {error.read()[:500]!r}") from error
                time.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def publish(self, user_id: str, session_id: str, turns: Iterable[Turn]) -> None:
        """Returns once the turns are stored and learned; after a minute the learning goes on without us."""
        data = [{"role": turn.role, "content": turn.text, "created_at": turn.at} for turn in turns]
        body = {"user_id": user_id, "session_id": session_id, "interaction_data_list": data}
        self.post("publish_interaction?wait_for_response=true", body)

    def publish_sessions(self, user_id: str, sessions: Iterable[Session]) -> None:
        for session in sessions:
            if session.turns:
                self.publish(user_id, session.id, session.turns)

    def search(self, user_id: str, query: str, max_tokens: int | None = None) -> dict[str, Any]:
        return self.post("search", search_body(user_id, query, max_tokens))

    def search_turns(self, user_id: str, query: str, top_k: int) -> list[dict[str, Any]]:
        body = {"user_id": user_id, "query": query, "top_k": top_k}
        rows: list[dict[str, Any]] = self.post("search_interactions", body)["interactions"]
        return rows

    def list_turns(self, user_id: str) -> list[dict[str, Any]]:
        """All turns that search may show, newest first."""
        body = {"user_id": user_id, "top_k": MAX_ROWS, "most_recent_k": MAX_ROWS}
        rows: list[dict[str, Any]] = self.post("search_interactions", body)["interactions"]
        return rows

    def current_memories(self, user_id: str) -> dict[tuple[str, str], str]:
        """The text of each current memory, by kind and id."""
        profiles = self.post("get_profiles", {"user_id": user_id, "status_filter": [None], "top_k": MAX_ROWS})
        playbooks = self.post("get_user_playbooks", {"user_id": user_id, "status_filter": [None], "limit": MAX_ROWS})
        return {
            **{("profile", row["profile_id"]): row["content"] for row in profiles["user_profiles"]},
            **{("playbook", str(row["user_playbook_id"])): row["content"] for row in playbooks["user_playbooks"]},
        }

    def switch_learning_off(self) -> None:
        self.post("update_config", {"profile_extractor_config": None, "user_playbook_extractor_config": None})


def search_body(user_id: str, query: str, max_tokens: int | None) -> dict[str, Any]:
    return {"user_id": user_id, "query": query, "max_tokens": max_tokens, "top_k": TOP_K}
