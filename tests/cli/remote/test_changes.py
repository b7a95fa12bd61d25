"""`acumen changes`, and settling conflicts, against a server that runs."""

import asyncio
import itertools

import pytest

from acumen.model.ids import LOCAL_ORG, MemoryRef, UserId
from acumen.model.memories.search import Filter
from acumen.settings import Settings
from acumen.storage.store import Store, Tx, connect
from tests.cli.conftest import Run, Served
from tests.review.memories import put_in_conflict, supersede, two_ports

_NUMBERS = itertools.count()


def fill(tx: Tx, user: str) -> tuple[MemoryRef, MemoryRef, str]:
    """A memory that was superseded, and another pair in conflict."""
    old, new = two_ports(tx, user)
    supersede(tx, old, new, "not 8080 but \x1b[31m9090")
    return old, new, put_in_conflict(tx, *two_ports(tx, user), "9090, I think", user)


@pytest.fixture
def user(server: Served) -> str:
    """Stored as learning does, by a second process on the server's database."""
    name = f"changed-{next(_NUMBERS)}"
    store = Store(connect(Settings(data=server.data)))
    asyncio.run(store.of(LOCAL_ORG).write(lambda tx: fill(tx, name)))
    store.close()
    return name


def test_changes_are_listed_a_line_each_with_the_words_behind_them(ask: Run, user: str):
    result = ask("changes", "--user", user, "--json").json
    lines = ask("changes", "--user", user).out

    assert [entry["change"] for entry in result["changes"]] == [
        "conflict",
        *["learned"] * 2,
        "superseded",
        *["learned"] * 2,
    ]
    assert all(word in lines for word in ("conflict", "superseded", "8080", "“9090, I"))
    assert "\x1b" not in lines


def test_changes_are_filtered_and_paged(ask: Run, user: str):
    superseded = ask("changes", "--user", user, "--kind", "superseded", "--session", "s2", "--json").json
    first = ask("changes", "--user", user, "--limit", "4", "--json").json
    shown = ask("changes", "--user", user, "--limit", "4")
    rest = ask("changes", "--user", user, "--cursor", str(first["next_cursor"]), "--json").json
    none = ask("changes", "--user", user, "--since", "2099-01-01")
    wrong = ask("changes", "--kind", "odd")

    assert [entry["change"] for entry in superseded["changes"]] == ["superseded"]
    assert len(rest["changes"]) == 2
    assert f"--cursor {first['next_cursor']}" in shown.out
    assert none.out == "No changes.\n"
    assert (wrong.code, "restated" in wrong.err) == (1, True)


def test_a_change_is_undone_and_the_conflict_that_comes_of_it_settled(ask: Run, user: str):
    (change,) = ask("changes", "--user", user, "--kind", "superseded", "--json").json["changes"]
    name = str(change["change_id"])

    undone = ask("changes", "undo", name, "--reason", "both hold")
    again = ask("changes", "undo", name)
    conflicts = ask("memory-review", "conflicts", "--user", user, "--json").json["conflicts"]
    listed = ask("memory-review", "conflicts", "--user", user)
    settled = ask("memory-review", "settle", conflicts[0]["conflict_id"], "newer", "--json").json
    back = ask("memory-review", "undo", settled["action_id"])

    assert "stays current and in conflict with it" in undone.out.replace("\n", " ")
    assert "acumen memory-review settle con_" in undone.out
    assert (again.code, "already undone" in again.err) == (1, True)
    assert len(conflicts) == 2
    assert "The staging port is 8080" in listed.out.replace("\n", " ")
    assert (settled["changed_count"], settled["items"][0]["changes"]["status"]) == (1, ["current", "superseded"])
    assert back.code == 0
    assert len(ask("memory-review", "conflicts", "--user", user, "--json").json["conflicts"]) == 2


def test_conflicts_need_a_user_or_all_users(ask: Run):
    assert "--all-users" in ask("memory-review", "conflicts").err


def test_a_memory_without_words_is_told_as_erased(ask: Run, server: Served, user: str):
    store = Store(connect(Settings(data=server.data)))

    def erase(tx: Tx) -> None:
        ids = list(tx.profiles.find_owners(Filter(user_id=UserId(user), statuses=None)))
        tx.lineage.erase_words(tx.profiles.mapping.kind, ids)

    asyncio.run(store.of(LOCAL_ORG).write(erase))
    store.close()

    assert "(erased)" in ask("changes", "--user", user, "--kind", "superseded").out
