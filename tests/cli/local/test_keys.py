"""`acumen keys`: made on the machine, demanded by the server, gone when revoked."""

import json
import time
from pathlib import Path

import pytest

from acumen.cli.local.keys import expiry
from acumen.errors import BadInput
from acumen.model.ids import Millis
from tests.cli.conftest import Run, serving

HOUR = 3_600_000


def test_a_key_is_made_listed_without_its_secret_and_revoked(run: Run, tmp_path: Path):
    data = ("--data", str(tmp_path))

    made = run("keys", "create", "laptop", "--role", "agent", "--json", *data).json
    listed = run("keys", "list", *data).out
    revoked = run("keys", "revoke", made["key_id"], *data)
    states = {key["name"]: key["state"] for key in run("keys", "list", "--json", *data).json["keys"]}

    assert made["secret"].startswith("acm_")
    assert "laptop" in listed
    assert made["secret"] not in listed
    assert revoked.code == 0
    assert states == {"laptop": "revoked"}


def test_a_server_demands_a_key_as_soon_as_there_is_one_and_only_a_valid_one_will_do(run: Run, tmp_path: Path):
    with serving(tmp_path) as served:
        url, data = ("--url", served.url), ("--data", str(tmp_path))
        open_door = run("status", *url).code

        made = run("keys", "create", "me", "--json", *data).json
        _wait_until(lambda: run("status", *url).code == 1)
        without, with_key = run("status", *url), run("status", *url, "--key", made["secret"])

        run("keys", "create", "other", *data)
        run("keys", "revoke", made["key_id"], *data)
        _wait_until(lambda: run("status", *url, "--key", made["secret"]).code == 1)

    assert open_door == 0
    assert "pass --key or set ACUMEN_KEY" in without.err
    assert with_key.code == 0


def test_with_a_key_other_machines_may_be_served(run: Run, tmp_path: Path):
    run("keys", "create", "me", "--data", str(tmp_path))

    with serving(tmp_path, "--host", "0.0.0.0") as served:
        assert served.url.startswith("http://0.0.0.0:")


def test_each_key_belongs_to_its_org(run: Run, tmp_path: Path):
    data = ("--data", str(tmp_path))

    run("keys", "create", "a", "--org", "acme", *data)
    run("keys", "create", "b", *data)

    orgs = {key["name"]: key["org_id"] for key in run("keys", "list", "--json", *data).json["keys"]}
    assert orgs == {"a": "acme", "b": "self-host-org"}


def test_a_key_that_is_not_there_cannot_be_revoked(run: Run, tmp_path: Path):
    run("keys", "create", "laptop", "--data", str(tmp_path))
    result = run("keys", "revoke", "key_none", "--data", str(tmp_path))

    assert result.code == 1
    assert "acumen keys list" in result.err


@pytest.mark.parametrize(
    "text, expected",
    [("12h", 12 * HOUR), ("2d", 48 * HOUR), ("1w", 168 * HOUR), ("1970-01-02", 24 * HOUR)],
)
def test_a_key_may_end_after_a_while_or_on_a_day(text: str, expected: int):
    assert expiry(text, Millis(0)) == expected


@pytest.mark.parametrize("text", ["soon", "0h", "1969-12-31", "12m"])
def test_an_end_that_is_past_or_unreadable_is_refused(text: str):
    with pytest.raises(BadInput, match="--expires"):
        expiry(text, Millis(0))


def _wait_until(holds) -> None:
    """A server looks for new keys every two seconds."""
    give_up_at = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.1)


def test_a_key_that_was_revoked_before_is_not_called_unknown(run: Run, tmp_path: Path):
    data = ("--data", str(tmp_path))
    made = run("keys", "create", "laptop", "--json", *data).json
    run("keys", "revoke", made["key_id"], *data)

    again = run("keys", "revoke", made["key_id"], *data)

    assert again.code == 1
    assert "was already revoked" in again.err


def test_with_json_a_failure_is_json_too(run: Run, tmp_path: Path):
    result = run("keys", "revoke", "key_none", "--json", "--data", str(tmp_path))

    assert result.code == 1
    assert "key_none" in json.loads(result.err)["error"]


def test_without_a_database_there_are_no_keys_and_none_is_created(run: Run, tmp_path: Path):
    data = ("--data", str(tmp_path / "none"))

    listed, revoked = run("keys", "list", *data), run("keys", "revoke", "key_1", *data)

    assert listed.out.startswith("No keys.")
    assert (revoked.code, "No key 'key_1'" in revoked.err) == (1, True)
    assert not (tmp_path / "none").exists()
