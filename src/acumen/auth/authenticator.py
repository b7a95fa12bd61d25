"""Who is calling: the holder of a key, or, while there are no keys, a program on this machine."""

import ipaddress
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from acumen.auth.headers import Scope, bearer_of, headers_of
from acumen.errors import NotAuthenticated, NotFound
from acumen.model.account import ApiKey
from acumen.model.ids import LOCAL_ORG, Millis, OrgId, fresh_id, now
from acumen.storage.accounts.api_keys import any_exist, by_id, by_secret, hashed
from acumen.storage.accounts.orgs import all_orgs
from acumen.storage.store import Store, Tx
from acumen_client.wire.shapes import Role

log = logging.getLogger(__name__)

# How long a key that another process creates or revokes may go unnoticed here.
CACHE_SECONDS = 2.0
# Headers that proxies add: behind one, the connection says nothing of the caller.
PROXY_HEADERS = frozenset(
    "via forwarded client-ip x-real-ip x-client-ip x-cluster-client-ip x-proxyuser-ip x-original-host "
    "x-original-forwarded-for true-client-ip cdn-loop cf-connecting-ip cf-connecting-ipv6 cf-ray cf-visitor "
    "fastly-client-ip x-envoy-external-address x-appengine-user-ip x-azure-clientip x-azure-socketip "
    "x-amzn-trace-id".split()
)
FORWARDED_PREFIX = "x-forwarded-"
# Set in the scope of a request whose key was not looked at.
KEY_IGNORED = "acumen.key_ignored"
MOST_WARNED = 1_000


class Caller(Struct, frozen=True):
    org: OrgId
    role: Role
    key_name: str | None = None
    key_id: str | None = None

    @property
    def actor(self) -> str:
        """The name in the audit log."""
        return "local" if self.key_id is None else f"{self.key_name} ({self.key_id})"


class KeyAuthenticator:
    """Finds the caller of a request; keys are cached for a moment."""

    def __init__(self, store: Store, open_org: Callable[[OrgId], Awaitable[None]]) -> None:
        self._store = store
        self._open_org = open_org
        self._cache: dict[str, tuple[float, ApiKey | None]] = {}
        self._keys_exist: tuple[float, bool] = (0.0, False)
        self._warned: set[str] = set()

    async def identify(self, scope: Scope) -> Caller:
        """Raises NotAuthenticated."""
        secret = bearer_of(scope)
        if secret is not None and await self.keys_exist():
            return await self.holder_of(secret)
        if await self.keys_exist():
            raise NotAuthenticated
        if not is_local(scope):
            raise NotAuthenticated(
                "Authentication required: until a key exists, only programs on this machine may call. "
                "Create a key with `acumen keys create`."
            )
        if secret is not None:
            self._note_ignored_key(scope)
        return Caller(LOCAL_ORG, Role.ADMIN)

    def _note_ignored_key(self, scope: Scope) -> None:
        scope[KEY_IGNORED] = True
        client = headers_of(scope).get("user-agent", "")[:100]
        if client not in self._warned and len(self._warned) < MOST_WARNED:
            self._warned.add(client)
            log.warning("the key that %r sends is ignored: there are no keys, so this machine needs none", client)

    async def holder_of(self, secret: str) -> Caller:
        """Raises NotAuthenticated if no valid key has this secret."""
        return _holder(await self._key(hashed(secret), lambda conn: by_secret(conn, secret)))

    async def holder_by_id(self, key_id: str) -> Caller:
        """For a session whose secret was checked before; raises NotAuthenticated if the key is no longer valid."""
        return _holder(await self._key(f"id:{key_id}", lambda conn: by_id(conn, key_id)))

    async def keys_exist(self) -> bool:
        checked_at, exist = self._keys_exist
        if time.monotonic() - checked_at > CACHE_SECONDS:
            if checked_at:  # other callers use the old answer meanwhile
                self._keys_exist = (time.monotonic(), exist)
            exist = await self._store.read(any_exist)
            self._keys_exist = (time.monotonic(), exist)
        return exist

    async def all_of(self, org: OrgId) -> list[ApiKey]:
        """The org's keys that are not revoked."""
        keys = await self._store.of(org).read(lambda tx: tx.api_keys.all())
        return [key for key in keys if key.revoked_at is None]

    async def create(self, org: OrgId, name: str, role: Role, expires_at: Millis | None) -> tuple[ApiKey, str]:
        """The key, and its secret, which is stored nowhere."""
        secret = f"acm_{secrets.token_urlsafe(32)}"
        key = ApiKey(fresh_id("key"), org, name, role, secret[:8], Millis(0), expires_at, None)

        def store(tx: Tx) -> ApiKey:
            tx.api_keys.add(key, secret)
            return next(stored for stored in tx.api_keys.all() if stored.id == key.id)

        await self._open_org(org)
        made = await self._store.of(org).write(store)
        self.forget()
        return made, secret

    async def all_keys(self) -> list[ApiKey]:
        """Of all orgs, revoked ones included."""
        orgs = await self._store.read(all_orgs)
        return [key for org in sorted(orgs) for key in await self._store.of(org).read(lambda tx: tx.api_keys.all())]

    async def revoke(self, org: OrgId, key_id: str) -> None:
        if not await self._store.of(org).write(lambda tx: tx.api_keys.revoke(key_id)):
            raise NotFound(f"Key {key_id!r} does not exist or is revoked already.")
        self.forget()

    def forget(self) -> None:
        """Read the database again at the next request."""
        self._cache.clear()
        self._keys_exist = (0.0, False)

    async def _key(self, name: str, query: Callable[[Any], ApiKey | None]) -> ApiKey | None:
        checked_at, key = self._cache.get(name, (0.0, None))
        if time.monotonic() - checked_at > CACHE_SECONDS:
            key = await self._store.read(query)
            if len(self._cache) > 10_000:
                self._cache.clear()
            self._cache[name] = (time.monotonic(), key)
        return key


def _holder(key: ApiKey | None) -> Caller:
    if key is None or not key.valid_at(now()):
        raise NotAuthenticated("This key is unknown, expired or revoked.")
    return Caller(key.org_id, Role(key.role), key.name, key.id)


def is_local(scope: Scope) -> bool:
    """From this machine, addressed to this machine, not by a web page of another origin, not through a proxy."""
    headers = headers_of(scope)
    if not PROXY_HEADERS.isdisjoint(headers) or any(name.startswith(FORWARDED_PREFIX) for name in headers):
        return False
    client, origin = scope.get("client"), headers.get("origin")
    return (
        client is not None
        and is_loopback(client[0])
        and is_loopback(_host_of(headers.get("host", "")))
        and (origin is None or is_loopback(_host_of(origin.partition("://")[2])))
    )


@lru_cache(256)
def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(256)
def _host_of(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
