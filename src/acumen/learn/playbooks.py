"""Learn lessons for the agent: trigger, instruction, pitfall, with the words they rest on."""

from msgspec.structs import replace

from acumen.learn import merge
from acumen.learn.extract.extraction import playbook_notes
from acumen.learn.reader import Learned, Reader
from acumen.learn.rules import keys
from acumen.model.config import PLAYBOOKS
from acumen.model.conversation import Window
from acumen.model.ids import Kind, Millis, PlaybookId
from acumen.model.playbook import PlaybookNote, UserPlaybook


def extractor_of(playbook: UserPlaybook) -> str:
    """A lesson carries the name of its extractor, but for the one that every org has."""
    return playbook.name or PLAYBOOKS.name


def _make(note: PlaybookNote, window: Window, learned: Learned) -> UserPlaybook:
    turn = window.turn(note.evidence.interaction_id)
    return UserPlaybook(
        id=PlaybookId(0),
        user_id=window.user_id,
        lesson=note.lesson,
        created_at=learned.at,
        updated_at=learned.at,
        agent_version=turn.agent_version,
        request_id=note.request_id,
        name="" if learned.extractor == PLAYBOOKS.name else learned.extractor,
        source=turn.source or None,
        tags=list(note.tags),
        notes=learned.because or None,
        interaction_ids=[note.evidence.interaction_id],
        source_span=note.evidence.text,
        subject=note.subject,
        value=note.value,
        origin=replace(learned.origin, confidence=note.confidence),
    )


def _refresh(known: UserPlaybook, note: PlaybookNote, _said_at: Millis) -> UserPlaybook:
    return replace(
        known,
        mentions=known.mentions + 1,
        interaction_ids=[*known.interaction_ids, note.evidence.interaction_id],
    )


def _rest(known: UserPlaybook, content: str, at: Millis) -> UserPlaybook:
    """As of a fact: it names its turn, not the words."""
    subject, value = keys.of_text(content)
    lesson = replace(known.lesson, content=content)
    told = replace(known, lesson=lesson, subject=subject, value=value, source_span=None, updated_at=at)
    return replace(told, id=PlaybookId(0), version=1)


READER = Reader(Kind.USER_PLAYBOOK, playbook_notes, merge.playbooks, _make, _refresh, _rest)
