"""API keys, as rows. Only a hash is kept; the key itself is shown once, when it is made."""

import hashlib
from typing import Any

import sqlalchemy as sa

from acumen.model.account import ApiKey
from acumen.storage.engine.scope import OrgScope, row_of, value_of
from acumen.storage.tables import api_keys


def hashed(secret: str) -> str:
    """Keys are 256 random bits, so a plain hash cannot be reversed by guessing."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ApiKeys:
    def __init__(self, scope: OrgScope) -> None:
        self._scope = scope

    def add(self, key: ApiKey, secret: str) -> None:
        self._scope.insert(
            api_keys, [row_of(api_keys, key, key_id=key.id, key_hash=hashed(secret), created_at=self._scope.at)]
        )

    def all(self) -> list[ApiKey]:
        return [_key(row) for row in self._scope.all(self._scope.select(api_keys).order_by(api_keys.c.created_at))]

    def revoke(self, key_id: str) -> bool:
        """False when there is no such key, or it was revoked before."""
        c = api_keys.c
        return self._scope.update(api_keys, c.key_id == key_id, c.revoked_at.is_(None), revoked_at=self._scope.at) > 0


def by_secret(conn: sa.Connection, secret: str) -> ApiKey | None:
    """The one look-up that cannot be bound to an org: it finds out which."""
    row = conn.execute(sa.select(api_keys).where(api_keys.c.key_hash == hashed(secret))).first()
    return _key(row) if row else None


def by_id(conn: sa.Connection, key_id: str) -> ApiKey | None:
    """For callers that have already been authenticated with it."""
    row = conn.execute(sa.select(api_keys).where(api_keys.c.key_id == key_id)).first()
    return _key(row) if row else None


def any_exist(conn: sa.Connection) -> bool:
    query = sa.select(api_keys.c.key_id).where(api_keys.c.revoked_at.is_(None))
    return conn.execute(query.limit(1)).first() is not None


def _key(row: Any) -> ApiKey:
    return value_of(ApiKey, row, id=row.key_id)
