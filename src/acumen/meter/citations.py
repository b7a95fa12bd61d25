"""Which memories an agent cites: by handles in its answer, by the wire's `citations`, or by a call."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from acumen.deps import Deps
from acumen.model.conversation import Interaction
from acumen.model.echoes import without_echoes
from acumen.model.handles import by_handle, cited_handles
from acumen.model.ids import Kind, MemoryRef, Millis, RequestId, SessionId, UserId
from acumen.model.memories.memory import owner
from acumen.model.metering.usage import CITED, UNRESOLVED, UsageEvent
from acumen.storage.store import Tx

K = TypeVar("K")

# Their text is not the agent's answer: prompts and tool outputs can contain a context with its handles.
_NOT_ANSWERS = frozenset({"system", "developer", "tool", "function"})


class Named(Struct, frozen=True):
    """What a turn or a call cites, before it is resolved."""

    session: SessionId | None
    refs: frozenset[MemoryRef] = frozenset()
    names: frozenset[str] = frozenset()  # handles or ids, without a kind
    handles: frozenset[str] = frozenset()  # in the text of an answer; one that names no memory may be ordinary text

    @property
    def is_explicit(self) -> bool:
        return bool(self.refs or self.names)


class Cited(Struct, frozen=True):
    """Memories that the user's agents can have seen, and names that belong to none of them."""

    memories: frozenset[MemoryRef] = frozenset()
    unresolved: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.memories or self.unresolved)


def named_by(turn: Interaction) -> Named:
    named = _named(turn.session_id, turn.citations)
    return Named(named.session, named.refs, named.names, frozenset(_handles_in(turn)))


def _handles_in(turn: Interaction) -> Iterable[str]:
    """Of memories, in what the agent answered; a context that the answer repeats cites nothing."""
    if turn.by_user or turn.role.strip().lower() in _NOT_ANSWERS or "[" not in turn.content:
        return ()
    return filter(_of_memory, cited_handles(without_echoes(turn.content, ()).text))


def _named(session: SessionId | None, citations: Iterable[Mapping[str, Any]]) -> Named:
    """Handles of quoted turns are left out: no memory is cited by them."""
    listed = [(citation.get("kind"), str(citation["real_id"]).strip()) for citation in citations]
    refs = frozenset(MemoryRef(_kind(kind), name) for kind, name in listed if kind)
    # With or without brackets, several in one.
    names = (handle for kind, name in listed if not kind for handle in cited_handles(f"[{name.strip('[]')}]") or [name])
    return Named(session, refs, frozenset(filter(_of_memory, names)))


def _of_memory(name: str) -> bool:
    return not (name.startswith("t") and name[1:].isdecimal())


def _kind(cited_as: str) -> Kind:
    """`playbook` is the older word for what a user taught."""
    return Kind.USER_PLAYBOOK if cited_as == "playbook" else Kind(cited_as)


# --- resolved --------------------------------------------------------------------------------------------------------


def resolve(
    tx: Tx, user: UserId, cites: Mapping[K, Named], injected: Sequence[MemoryRef], at: Millis
) -> dict[K, Cited]:
    """By turn or call. `injected` are the memories that this user's agents were shown lately, in any session."""
    named = {key: cite for key, cite in cites.items() if cite.is_explicit or cite.handles}
    sessions = {cite.session for cite in named.values() if cite.session and (cite.names or cite.handles)}
    of_session = {
        name: [shown.ref for shown in tx.injections.find_recent_memories(user, at, name)] for name in sessions
    }
    by_name = {key: _by_names(cite, of_session, injected) for key, cite in named.items()}
    refs = {ref for key, cite in named.items() for ref in (*cite.refs, *by_name[key].values())}
    present = frozenset(existing(tx, refs, user))
    return {key: _cited(cite, by_name[key], present) for key, cite in named.items()}


def _by_names(
    cite: Named, of_session: Mapping[SessionId, Sequence[MemoryRef]], of_user: Sequence[MemoryRef]
) -> dict[str, MemoryRef]:
    """The memories of some names: of the session's injections, or else of the user's."""
    names = cite.names | cite.handles
    if not names:
        return {}
    in_session = of_session.get(cite.session, ()) if cite.session else ()
    by_name = _named_refs({*in_session, *of_user}) | _named_refs(in_session)
    return {name: by_name[name] for name in names if name in by_name}


def _named_refs(refs: Iterable[MemoryRef]) -> dict[str, MemoryRef]:
    """By id and by handle; a name that several memories share belongs to none."""
    refs = set(refs)
    ids: dict[str, list[MemoryRef]] = {}
    for ref in refs:
        ids.setdefault(ref.id, []).append(ref)
    return {name: same[0] for name, same in ids.items() if len(same) == 1} | by_handle(refs)


def _cited(cite: Named, by_name: Mapping[str, MemoryRef], present: frozenset[MemoryRef]) -> Cited:
    memories = (cite.refs | {*by_name.values()}) & present
    no_memory = {f"{ref.kind}:{ref.id}" for ref in cite.refs - present}
    no_memory |= {name for name in cite.names if by_name.get(name) not in memories}
    return Cited(memories, frozenset(no_memory))


def existing(tx: Tx, refs: Iterable[MemoryRef], user: UserId) -> Iterable[MemoryRef]:
    """Of some memories, those of this user and those without a user."""
    refs = list(refs)
    for kind in Kind:
        ids = [ref.id for ref in refs if ref.kind == kind]
        for memory_id, memory in tx.by_kind[kind].get_many(ids).items() if ids else ():
            if owner(memory) in ("", user):
                yield MemoryRef(kind, memory_id)


# --- counted ---------------------------------------------------------------------------------------------------------


def of_memory(like: UsageEvent, cause: str, name: str, ref: MemoryRef) -> UsageEvent:
    """An event of a memory with what `like` says; the same memory counts once per cause."""
    return replace(like, id=f"{cause}:{name}:{ref.kind}:{ref.id}", name=name, kind=str(ref.kind), memory_id=ref.id)


def cited_events(like: UsageEvent, cause: str, cited: Cited) -> Iterable[UsageEvent]:
    for ref in sorted(cited.memories):
        yield of_memory(like, cause, CITED, ref)
    for name in sorted(cited.unresolved):
        yield replace(like, id=f"{cause}:{UNRESOLVED}:{name}", name=UNRESOLVED, detail={**like.detail, "name": name})


async def cite(
    user: UserId, session: SessionId | None, call: RequestId, citations: Sequence[Mapping[str, Any]], deps: Deps
) -> Cited:
    """Count what an agent says it went by. The same call again counts nothing twice."""
    at = deps.now()

    def store(tx: Tx) -> Cited:
        injected = [shown.ref for shown in tx.injections.find_recent_memories(user, at)]
        cited = resolve(tx, user, {call: _named(session, citations)}, injected, at).get(call, Cited())
        like = UsageEvent(id="", name="", at=at, user_id=user, session_id=session, request_id=call)
        tx.usage.add([*cited_events(like, f"cite:{call}", cited)])
        return cited

    return await deps.store.write_shared(store)
