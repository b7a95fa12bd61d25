"""Making memories anew from what was said before: a rerun over all of it, or a look at the last window by hand."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from acumen.deps import Deps
from acumen.errors import BadInput
from acumen.learn import memories
from acumen.learn.extract.windows import LOOK_AHEAD, Ahead, Due, WindowCache, due, look_ahead, may_read
from acumen.learn.pipeline import ExtractorRun, ExtractorsFailed, read_all
from acumen.learn.runs.runs import Cancelled, carry
from acumen.learn.runs.status import end_lost
from acumen.model.config import Extractor, OrgConfig
from acumen.model.conversation import versions_meant
from acumen.model.ids import InteractionId, Kind, Millis, UserId
from acumen.model.jobs.events import GenerationAsked
from acumen.model.jobs.run import Run, RunId, RunState
from acumen.model.memories.base import Status
from acumen.model.memories.search import Filter
from acumen.storage.conversations.bookmarks import of_run
from acumen.storage.conversations.request_users import RequestFilter
from acumen.storage.memories.lineage import Because
from acumen.storage.store import Tx

MADE_ANEW = Because("a new rerun makes it anew")
HALF = Because("the rerun that was making it did not come to its end")


class Mode(StrEnum):
    RERUN = "rerun"  # all that was said; the outcome waits as PENDING for an upgrade
    MANUAL = "manual"  # each user's last window; the outcome is CURRENT


class Wish(Struct, frozen=True):
    """What is to be made anew; None means any. Times are those of arrival, in milliseconds."""

    mode: Mode
    user_id: str | None = None
    source: str | None = None
    agent_version: str | None = None
    since: int | None = None
    until: int | None = None
    extractors: tuple[str, ...] | None = None

    @staticmethod
    def of(request: Mapping[str, Any]) -> "Wish":
        """As it was kept with its run."""
        named = request.get("extractors")
        return Wish(**{**request, "mode": Mode(request["mode"]), "extractors": None if named is None else tuple(named)})

    @property
    def subject(self) -> str:
        """One rerun at a time, and one run by hand for each user or for all."""
        return "" if self.mode is Mode.RERUN else f"{self.mode}:{self.user_id or ''}"

    @property
    def heard(self) -> RequestFilter:
        return RequestFilter(
            user_id=None if self.user_id is None else UserId(self.user_id),
            source=self.source,
            agent_versions=None if self.agent_version is None else versions_meant(self.agent_version),
            since=None if self.since is None else Millis(self.since),
            until=None if self.until is None else Millis(self.until),
        )


class Service(Struct, frozen=True):
    """One kind of generation, under the name by which its runs are watched and cancelled."""

    name: str
    kind: Kind
    extractors: Callable[[OrgConfig], tuple[Extractor, ...]]

    def chosen(self, wish: Wish, config: OrgConfig) -> tuple[Extractor, ...]:
        """The ones that are named, or all of the org's; those by hand only where somebody asks by hand."""
        known = self.extractors(config)
        strangers = set(wish.extractors or ()) - {one.name for one in known}
        if strangers:
            names = ", ".join(one.name for one in known) or "none"
            raise BadInput(f"There is no extractor {min(strangers)!r}; the org has: {names}.")
        if wish.extractors is not None:
            return tuple(one for one in known if one.name in wish.extractors)
        return tuple(one for one in known if wish.mode is Mode.MANUAL or not one.manual)


PROFILES = Service("profile_generation", Kind.PROFILE, lambda config: config.profile_extractors)
PLAYBOOKS = Service("playbook_generation", Kind.USER_PLAYBOOK, lambda config: config.playbook_extractors)
SERVICES = {service.name: service for service in (PROFILES, PLAYBOOKS)}


async def start(service: Service, wish: Wish, deps: Deps) -> Run:
    """Admitted when this returns, done in the background. What an earlier rerun left pending is made anew."""
    chosen = service.chosen(wish, deps.config)

    def store(tx: Tx) -> Run:
        users = tx.request_users.find(wish.heard)
        end_lost(tx, service.name)
        run = tx.runs.start(service.name, wish.subject, asdict(wish), users)
        if not users:
            return tx.runs.finish(run.id, RunState.COMPLETED, {})
        if wish.mode is Mode.RERUN:
            _discard(tx, service.kind, users, wish, chosen, MADE_ANEW)
        tx.jobs.add(GenerationAsked(run.id))
        return run

    return await deps.store.write(store)


async def carry_out(event: GenerationAsked, deps: Deps) -> None:
    """User by user, from wherever the run stands."""
    await carry(event.run_id, _make_anew, deps)


async def _make_anew(run: Run, user: str, deps: Deps) -> Mapping[str, int]:
    """All windows of one user. Each is written with the run's own bookmark, so none is read twice."""
    service, wish = SERVICES[run.service], Wish.of(run.request)
    chosen = service.chosen(wish, deps.config)
    runs = [_extractor_run(service.kind, run.id, UserId(user), extractor, wish) for extractor in chosen]
    # Whoever asks for it wants it read: whether a window is worth it is not asked again.
    asked_for = replace(deps, config=replace(deps.config, skip_gate=True))
    try:
        await read_all(runs, asked_for)
    except (Cancelled, ExtractorsFailed):
        if wish.mode is Mode.RERUN:  # half a user's memories must not replace the whole of them
            await deps.store.write(lambda tx: _drop_half(tx, run, user, service, wish, chosen))
        raise
    return await deps.store.read(lambda tx: tx.run_items.get_counts(run.id, user))


def _drop_half(tx: Tx, run: Run, user: str, service: Service, wish: Wish, chosen: Sequence[Extractor]) -> None:
    _discard(tx, service.kind, [UserId(user)], wish, chosen, HALF)
    tx.run_items.reset_counts(run.id, user)


def _extractor_run(kind: Kind, run_id: RunId, user: UserId, extractor: Extractor, wish: Wish) -> ExtractorRun:
    bookmark = of_run(run_id, extractor.bookmark)

    def following(tx: Tx, _found: WindowCache) -> Due | None:
        run = tx.runs.get(run_id)
        if run is None or run.cancel_asked:
            raise Cancelled
        seen = tx.bookmarks.get(user, bookmark)
        find = _next_window if wish.mode is Mode.RERUN else _last_window
        ahead = find(tx, user, seen, extractor, wish.heard)
        at = ahead.last_request.created_at if ahead and ahead.last_request else run.created_at
        return None if ahead is None else due(tx, user, seen, ahead, extractor, at)

    status = Status.PENDING if wish.mode is Mode.RERUN else Status.CURRENT
    return ExtractorRun(
        *(kind, user, extractor, bookmark, following, status),
        count=lambda tx, counts: tx.run_items.add_counts(run_id, user, counts),
    )


def _next_window(tx: Tx, user: UserId, seen: InteractionId, extractor: Extractor, heard: RequestFilter) -> Ahead | None:
    return look_ahead(tx, user, seen, extractor, heard.admits)


def _last_window(tx: Tx, user: UserId, seen: InteractionId, extractor: Extractor, heard: RequestFilter) -> Ahead | None:
    """The newest turns, once."""
    newest = [] if seen else tx.conversations.find_newest(user, LOOK_AHEAD)
    requests = tx.conversations.get_requests(list({turn.request_id for turn in newest}))
    mine = [turn for turn in newest if may_read(requests.get(turn.request_id), extractor, heard.admits)]
    return Ahead(mine[-extractor.window :], mine[-1].id, requests) if mine else None


def _discard(
    tx: Tx, kind: Kind, users: Sequence[UserId], wish: Wish, extractors: Sequence[Extractor], because: Because
) -> None:
    """What reruns have made for these users, and what gave way to it within the rerun."""
    rows = tx.by_kind[kind]
    covered = set(users)
    pending = rows.find_owners(Filter(statuses=(Status.PENDING,), user_id=users[0] if len(users) == 1 else None))
    ids = [one for one, owner in pending.items() if owner in covered and owner]
    if wish.extractors is not None or wish.agent_version is not None:
        names, versions = {one.name for one in extractors}, wish.heard.agent_versions
        ids = [one for one, memory in rows.get_many(ids).items() if _made_by(memory, names, versions)]
    tx.memories.delete_outdated(kind, [*ids, *rows.find_superseded_by(ids)], because)


def _made_by(memory: Any, extractors: set[str], versions: tuple[str, ...] | None) -> bool:
    """Facts carry the names of their extractors, lessons the name of theirs and the version of their agent."""
    if isinstance(named := getattr(memory, "extractors", None), list):
        return not extractors.isdisjoint(named)
    return memories.extractor_of(memory) in extractors and (versions is None or memory.agent_version in versions)
