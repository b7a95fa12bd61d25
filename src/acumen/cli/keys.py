"""`acumen keys`: who may call. Works on the database itself, since the first key must be made where it lies."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from acumen.app import LOCAL_ORG, App
from acumen.auth.authenticator import KeyAuthenticator
from acumen.cli.local import opened
from acumen.cli.output import show, table, when
from acumen.errors import BadInput, Conflict, NotFound
from acumen.model.account import ApiKey
from acumen.model.ids import Millis, OrgId, now
from acumen.settings import Settings
from acumen.storage.accounts.orgs import all_orgs
from acumen_client.wire.shapes import Role

UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def create(settings: Settings, name: str, role: str, org: str | None, expires: str | None, *, as_json: bool) -> None:
    if not name.strip():
        raise BadInput("A key needs a name, to tell it from the others.")
    expires_at = None if expires is None else moment(expires, now())
    key, secret = asyncio.run(_create(settings, name.strip(), Role(role), OrgId(org or LOCAL_ORG), expires_at))
    words = (
        f"{secret}\n\nThis is the key {key.name!r} ({key.id}), {_role(key.role)} of org {key.org_id}, {_until(key)}.\n"
        "It is shown this once and cannot be read again. From now on the server answers only callers with a key;\n"
        "one that is running notices within two seconds. Use it: export ACUMEN_KEY=… or `Authorization: Bearer …`."
    )
    show(as_json, {**_told(key), "secret": secret}, words)


async def _create(
    settings: Settings, name: str, role: Role, org: OrgId, expires_at: Millis | None
) -> tuple[ApiKey, str]:
    async with opened(settings) as app:
        return await KeyAuthenticator(app).create(org, name, role, expires_at)


def list_all(settings: Settings, *, as_json: bool) -> None:
    keys = asyncio.run(_all(settings))
    rows = [[k.id, k.name, k.role, k.org_id, f"{k.hint}…", _state(k), _when(k.created_at)] for k in keys]
    words = table(["id", "name", "role", "org", "begins with", "state", "made"], rows)
    none = "There are no keys: only this machine is served."
    show(as_json, {"keys": [_told(key) for key in keys]}, words if keys else none)


async def _all(settings: Settings) -> list[ApiKey]:
    async with opened(settings) as app:
        return await _keys_of_all(app)


async def _keys_of_all(app: App) -> list[ApiKey]:
    orgs = await app.store.read(all_orgs)
    return [key for org in sorted(orgs) for key in await app.store.of(org).read(lambda tx: tx.api_keys.all())]


def revoke(settings: Settings, key_id: str, *, as_json: bool) -> None:
    key = asyncio.run(_revoke(settings, key_id))
    words = f"The key {key.name!r} ({key.id}) is revoked; a server that is running notices within two seconds."
    show(as_json, {"revoked": key.id, "name": key.name}, words)


async def _revoke(settings: Settings, key_id: str) -> ApiKey:
    async with opened(settings) as app:
        key = next((key for key in await _keys_of_all(app) if key.id == key_id), None)
        if key is None:
            raise NotFound(f"There is no key {key_id!r}; `acumen keys list` shows the ids.")
        if key.revoked_at is not None:
            raise Conflict(f"The key {key.name!r} ({key.id}) was revoked before, on {_when(key.revoked_at)}.")
        await KeyAuthenticator(app).revoke(key.org_id, key.id)
        return key


def moment(text: str, at: Millis) -> Millis:
    """`12h`, `30d` or `4w` from `at`, or the beginning of a day in UTC; BadInput for what is past or unreadable."""
    counted = re.fullmatch(r"(\d{1,5})([hdw])", text.strip().lower())
    span = UNITS[counted[2]] * int(counted[1]) if counted else None
    found = _date(text) if span is None else Millis(at + int(span.total_seconds() * 1000))
    if found <= at:
        raise BadInput(f"--expires {text!r} is not in the future: such a key would never work.")
    return found


def _date(text: str) -> Millis:
    try:
        day = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(f"--expires {text!r} is not a time: write 12h, 30d, 4w or a date such as 2031-01-31.") from None
    return Millis(int((day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp() * 1000))


def _told(key: ApiKey) -> dict[str, Any]:
    return {
        "key_id": key.id,
        "name": key.name,
        "role": key.role,
        "org_id": key.org_id,
        "hint": key.hint,
        "state": _state(key),
        "created_at": key.created_at // 1000,
        "expires_at": None if key.expires_at is None else key.expires_at // 1000,
    }


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "valid" if key.valid_at(now()) else "expired"


def _until(key: ApiKey) -> str:
    return "until it is revoked" if key.expires_at is None else f"until {_when(key.expires_at)}"


def _when(millis: int) -> str:
    return when(millis / 1000) or ""


def _role(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"
