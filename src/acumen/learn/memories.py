"""Learn from what was just published, and let memories whose stated time is over expire."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.learn.extract.notes import Note
from acumen.model.config import PLAYBOOKS, Extractor
from acumen.model.conversation import Window
from acumen.model.ids import Kind, MemoryRef, Millis, PlaybookId, ProfileId, fresh_id
from acumen.model.jobs.events import Hour
from acumen.model.memories.base import Cause, Origin, Status
from acumen.model.memories.playbook import UserPlaybook
from acumen.model.memories.profile import NEVER, Profile
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx


class LearnedBy(Struct, frozen=True):
    """By which extractors, by rules or a model, when; `because` says why by rules where a model should have read."""

    extractors: Mapping[Kind, Extractor]
    origin: Origin
    at: Millis
    because: str = ""
    status: Status = Status.CURRENT


def new_memory(note: Note, window: Window, by: LearnedBy) -> Profile | UserPlaybook:
    turn, name = window.turn(note.evidence.interaction_id), by.extractors[note.kind].name
    said_at = turn.at or by.at
    shared: dict[str, Any] = {
        "user_id": window.user_id,
        "created_at": by.at,
        "updated_at": by.at,
        "request_id": note.request_id,
        "status": by.status,
        "source": turn.source or None,
        "tags": list(note.tags),
        "notes": by.because or None,
        "interaction_ids": [turn.id],
        "source_span": note.evidence.text,
        "subject": note.subject,
        "value": note.value,
        "said_at": said_at,
        "valid_from": note.valid_from,
        "valid_until": note.valid_until,
        "category": note.category,
        "standing": note.standing,
        "origin": replace(by.origin, confidence=note.confidence),
    }
    if note.kind is Kind.USER_PLAYBOOK:
        own_name = "" if name == PLAYBOOKS.name else name
        return UserPlaybook(
            id=PlaybookId(0), lesson=note.lesson, agent_version=turn.agent_version, name=own_name, **shared
        )
    return Profile(
        id=ProfileId(fresh_id("prof")),
        content=note.lesson.content,
        ttl=note.ttl,
        expires_at=_expires(note, said_at),
        extractors=[name],
        custom_features=dict(note.features) or None,
        **shared,
    )


def restated(memory: Profile | UserPlaybook, note: Note, window: Window) -> Profile | UserPlaybook:
    """Said again: counted, dated again, and valid for as long as the new words say."""
    said_at = window.turn(note.evidence.interaction_id).at or memory.said_at
    turns = [*memory.interaction_ids, note.evidence.interaction_id]
    newest = max(memory.said_at or Millis(0), said_at or Millis(0)) or None
    again = replace(memory, mentions=memory.mentions + 1, interaction_ids=turns, said_at=newest)
    if isinstance(again, Profile):
        return replace(again, ttl=note.ttl, expires_at=_expires(note, said_at or again.created_at))
    return again


def _expires(note: Note, said_at: Millis) -> Millis:
    return note.ttl.expires(said_at) if note.expires_at is None else min(note.expires_at, NEVER)


def extractor_of(playbook: UserPlaybook) -> str:
    """A lesson carries the name of its extractor, except that of the default one."""
    return playbook.name or PLAYBOOKS.name


async def expire(_fact: Hour, deps: Deps) -> None:
    """Marks what is past its stated time; search has skipped it since that moment."""

    def store(tx: Tx) -> None:
        with tx.memories.batch():
            for profile in tx.profiles.find_expired(deps.now()):
                after = replace(profile, status=Status.EXPIRED)
                because = Because("Its stated time is over", cause=Cause.EXPIRED, quote=profile.source_span)
                tx.memories.update(MemoryRef(Kind.PROFILE, profile.id), profile, after, None, because)

    await deps.store.write(store)
