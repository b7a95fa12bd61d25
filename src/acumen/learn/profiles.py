"""Learn about the user: facts, with the words they rest on."""

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.learn import merge
from acumen.learn.extract.extraction import profile_notes
from acumen.learn.reader import Learned, Reader
from acumen.learn.rules import keys
from acumen.model.conversation import Window
from acumen.model.facts import Hour
from acumen.model.ids import Kind, MemoryRef, Millis, ProfileId, fresh_id
from acumen.model.memory import Status
from acumen.model.profile import Profile, ProfileNote
from acumen.storage.lineage import Because
from acumen.storage.store import Tx


async def expire(_fact: Hour, deps: Deps) -> None:
    """What is past its time is marked so; search has passed it over since that moment."""

    def store(tx: Tx) -> None:
        with tx.memories.changing_many():
            for profile in tx.profiles.past(deps.now()):
                after = replace(profile, status=Status.EXPIRED)
                ref = MemoryRef(Kind.PROFILE, profile.id)
                tx.memories.change(ref, profile, after, None, Because("its time to live has passed"))

    await deps.store.write(store)


def _make(note: ProfileNote, window: Window, learned: Learned) -> Profile:
    turn = window.turn(note.evidence.interaction_id)
    return Profile(
        id=ProfileId(fresh_id("prof")),
        user_id=window.user_id,
        content=note.content,
        created_at=learned.at,
        updated_at=learned.at,
        request_id=note.request_id,
        ttl=note.ttl,
        expires_at=note.ttl.expires(turn.at or learned.at),
        source=turn.source or None,
        extractors=[learned.extractor],
        tags=list(note.tags),
        custom_features=dict(note.features) or None,
        notes=learned.because or None,
        interaction_ids=[note.evidence.interaction_id],
        source_span=note.evidence.text,
        subject=note.subject,
        value=note.value,
        origin=replace(learned.origin, confidence=note.confidence),
    )


def _refresh(known: Profile, note: ProfileNote, said_at: Millis) -> Profile:
    return replace(
        known,
        mentions=known.mentions + 1,
        interaction_ids=[*known.interaction_ids, note.evidence.interaction_id],
        ttl=note.ttl,
        expires_at=note.ttl.expires(said_at),
    )


def _rest(known: Profile, content: str, at: Millis) -> Profile:
    """It names its turn, not the words: these told more, and a lesson taught by them is not its twin."""
    subject, value = keys.of_text(content)
    told = replace(known, content=content, subject=subject, value=value, source_span=None, updated_at=at)
    return replace(told, id=ProfileId(fresh_id("prof")), version=1)


READER = Reader(Kind.PROFILE, profile_notes, merge.profiles, _make, _refresh, _rest)
