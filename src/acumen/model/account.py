"""API keys, and an org's stored configuration."""

from typing import Any

from msgspec import Struct

from acumen.model.ids import Millis, OrgId


class StoredConfig(Struct, frozen=True):
    """`version` counts the changes, so that two writers cannot overwrite each other unseen."""

    version: int
    config: dict[str, Any] | None


class ApiKey(Struct, frozen=True):
    id: str
    org_id: OrgId
    name: str
    role: str
    hint: str  # the first characters, to tell keys apart
    created_at: Millis
    expires_at: Millis | None
    revoked_at: Millis | None

    def valid_at(self, at: Millis) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)
