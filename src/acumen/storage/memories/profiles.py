"""Profiles, as rows."""

from typing import Any

from acumen.model.ids import Kind
from acumen.model.memories.base import Category, Status
from acumen.model.memories.profile import Profile, TimeToLive
from acumen.model.memories.search import Facet
from acumen.storage.memories.memory_rows import MemoryTable, memory_row, reading
from acumen.storage.tables import profiles


def _to_row(profile: Profile) -> dict[str, Any]:
    columns = {"profile_id": profile.id, "ttl": str(profile.ttl), "extractors": profile.extractors or None}
    return memory_row(profiles, profile, **columns)


def _complete(row: dict[str, Any]) -> None:
    row["ttl"] = TimeToLive(row["ttl"])
    row["category"] = Category(row["category"])
    row["extractors"] = row["extractors"] or []


def _facet(row: Any) -> Facet:
    return Facet(
        user_id=row.user_id,
        status=Status(row.status),
        created_at=row.created_at,
        updated_at=row.updated_at,
        expires_at=row.expires_at,
        source=row.source or "",
        tags=frozenset(row.tags or ()),
        request_id=row.request_id,
        extractors=frozenset(row.extractors or ()),
        standing=row.standing,
    )


PROFILES = MemoryTable(
    kind=Kind.PROFILE,
    table=profiles,
    id_column="profile_id",
    to_row=_to_row,
    from_row=reading(Profile, "profile_id", _complete),
    facet=_facet,
    facet_columns=("user_id", "expires_at", "request_id", "extractors", "standing"),
    parse_id=str,
)
