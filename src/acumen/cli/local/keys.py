"""`acumen keys`: API keys. Works on the database itself, because the first key cannot be created over HTTP."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

import typer

from acumen.auth.authenticator import KeyAuthenticator
from acumen.cli.local.setup import opened, settings_of
from acumen.cli.options import AsJson, ConfigFile, Data, examples
from acumen.cli.output import show, table, when
from acumen.errors import BadInput, Conflict, NotFound
from acumen.model.account import ApiKey
from acumen.model.ids import LOCAL_ORG, Millis, OrgId, now
from acumen.operate import database_exists
from acumen.settings import Settings
from acumen_client.wire.shapes import Role

app = typer.Typer()
keys = typer.Typer(help="Create, list and revoke API keys, in the database of this machine.", no_args_is_help=True)
app.add_typer(keys, name="keys")

UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
T = TypeVar("T")
RoleName = Literal["reader", "agent", "reviewer", "admin"]


@keys.command(
    epilog=examples(
        "acumen keys create laptop",
        "acumen keys create ci --role agent --expires 90d",
        "acumen keys create acme-admin --org acme",
    ),
)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.")],
    role: Annotated[
        RoleName, typer.Option(help="What the key allows; each role includes the ones before it.")
    ] = "admin",
    org: Annotated[str | None, typer.Option(show_default="self-host-org", help="Organization.")] = None,
    expires: Annotated[str | None, typer.Option(show_default="never", help="12h, 30d, 4w, or a date.")] = None,
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Create an API key. The secret is printed once and cannot be shown again."""
    if not name.strip():
        raise BadInput("The name of the key is empty: give it a name.")
    expires_at = None if expires is None else expiry(expires, now())
    org_id = OrgId(org or LOCAL_ORG)
    key, secret = _with_keys(
        settings_of(data, config), lambda keys: keys.create(org_id, name.strip(), Role(role), expires_at)
    )
    text = (
        f"{secret}\n\nKey {key.name!r} ({key.id}): role {key.role}, org {key.org_id}, {_expires(key)}.\n"
        "The secret cannot be shown again. From now on the server requires a key; a running server applies this\n"
        "within two seconds. To use it: export ACUMEN_KEY=… or send `Authorization: Bearer …`."
    )
    show(as_json, {**_fields(key), "secret": secret}, text)


def _with_keys(settings: Settings, step: Callable[[KeyAuthenticator], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        async with opened(settings) as parts:
            return await step(KeyAuthenticator(parts.store, parts.open_org))

    return asyncio.run(run())


@keys.command("list", epilog=examples("acumen keys list", "acumen keys list --json"))
def list_keys(data: Data = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the keys of all organizations, revoked ones included."""
    settings = settings_of(data, config)
    stored = _with_keys(settings, lambda keys: keys.all_keys()) if database_exists(settings) else []
    rows = [[k.id, k.name, k.role, k.org_id, f"{k.hint}…", _status(k), _time(k.created_at)] for k in stored]
    text = table(["id", "name", "role", "org", "prefix", "status", "created"], rows)
    none = "No keys. Only programs on this machine may call the server."
    show(as_json, {"keys": [_fields(key) for key in stored]}, text if stored else none)


@keys.command(epilog=examples("acumen keys revoke key_0006…"))
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Id from `acumen keys list`.")],
    data: Data = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a key permanently."""
    settings = settings_of(data, config)
    if not database_exists(settings):
        raise NotFound(f"No key {key_id!r}: there is no database at {settings.sqlite_path}.")
    key = _with_keys(settings, lambda keys: _revoke(keys, key_id))
    text = f"Revoked key {key.name!r} ({key.id}). A running server applies this within two seconds."
    show(as_json, {"revoked": key.id, "name": key.name}, text)


async def _revoke(keys: KeyAuthenticator, key_id: str) -> ApiKey:
    key = next((key for key in await keys.all_keys() if key.id == key_id), None)
    if key is None:
        raise NotFound(f"No key {key_id!r}; `acumen keys list` shows the ids.")
    if key.revoked_at is not None:
        raise Conflict(f"Key {key.name!r} ({key.id}) was already revoked on {_time(key.revoked_at)}.")
    await keys.revoke(key.org_id, key.id)
    return key


def expiry(text: str, at: Millis) -> Millis:
    """`12h`, `30d` or `4w` from `at`, or the start of a day in UTC; BadInput for a time that is past or unreadable."""
    span = re.fullmatch(r"(\d{1,5})([hdw])", text.strip().lower())
    expires_at = Millis(at + int((UNITS[span[2]] * int(span[1])).total_seconds() * 1000)) if span else _date(text)
    if expires_at <= at:
        raise BadInput(f"--expires {text!r} is not in the future.")
    return expires_at


def _date(text: str) -> Millis:
    try:
        day = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(f"--expires {text!r} is not a time: write 12h, 30d, 4w or a date such as 2031-01-31.") from None
    return Millis(int((day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp() * 1000))


def _fields(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "name": key.name,
        "role": key.role,
        "org_id": key.org_id,
        "hint": key.hint,
        "state": _status(key),
        "created_at": key.created_at // 1000,
        "expires_at": None if key.expires_at is None else key.expires_at // 1000,
    }


def _status(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "valid" if key.valid_at(now()) else "expired"


def _expires(key: ApiKey) -> str:
    return "never expires" if key.expires_at is None else f"expires {_time(key.expires_at)}"


def _time(millis: int) -> str:
    return when(millis / 1000) or ""
