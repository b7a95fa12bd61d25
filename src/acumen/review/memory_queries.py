"""List and count memories by filter."""

from msgspec import Struct

from acumen.deps import Deps
from acumen.model.ids import Kind, Millis, UserId
from acumen.model.memories.base import Status
from acumen.model.memories.playbook import AgentPlaybook, UserPlaybook
from acumen.model.memories.profile import Profile
from acumen.model.memories.search import Filter
from acumen.model.times import DAY_MS
from acumen.storage.memories.lineage import words_of
from acumen.storage.store import Tx

SOON_DAYS = 7


async def profiles(query: Filter, limit: int | None, deps: Deps) -> list[Profile]:
    return await deps.store.read(lambda tx: tx.profiles.find(query, limit))


async def user_playbooks(query: Filter, limit: int | None, deps: Deps) -> list[UserPlaybook]:
    return await deps.store.read(lambda tx: tx.user_playbooks.find(query, limit))


async def agent_playbooks(query: Filter, limit: int | None, deps: Deps) -> list[AgentPlaybook]:
    return await deps.store.read(lambda tx: tx.agent_playbooks.find(query, limit))


class ProfileCounts(Struct, frozen=True):
    current: int
    pending: int
    archived: int
    expiring_soon: int


async def count_profiles(deps: Deps) -> ProfileCounts:
    now = deps.now()
    soon = Millis(now + SOON_DAYS * DAY_MS)

    def count(tx: Tx) -> ProfileCounts:
        current = tx.profiles.count(Filter(unexpired_at=now))
        return ProfileCounts(
            current=current,
            pending=tx.profiles.count(Filter(statuses=(Status.PENDING,))),
            archived=tx.profiles.count(Filter(statuses=(Status.ARCHIVED, Status.FORGOTTEN))),
            expiring_soon=current - tx.profiles.count(Filter(unexpired_at=soon)),
        )

    return await deps.store.read(count)


class UserCounts(Struct, frozen=True):
    """A user's current memories, and when the oldest and the newest profile were modified."""

    profiles: int
    playbooks: int
    oldest: Millis | None
    newest: Millis | None


async def count_of_user(user: UserId, deps: Deps) -> UserCounts:
    query = Filter(user_id=user)
    (number, oldest, newest), playbooks = await deps.store.read(
        lambda tx: (tx.profiles.get_span(query), tx.user_playbooks.count(query))
    )
    return UserCounts(number, playbooks, oldest, newest)


async def profiles_containing(text: str, user: UserId, deps: Deps) -> list[str]:
    """Ids of a user's profiles with the text, including outdated ones of which only the lineage has a record."""

    def read(tx: Tx) -> list[str]:
        ids = tx.profiles.find_owners(Filter(user_id=user, statuses=None, text=text))
        outdated = tx.lineage.find_outdated(Kind.PROFILE, user)
        return [*ids, *(name for name, entry in outdated.items() if text.lower() in words_of(entry).lower())]

    return await deps.store.read(read)
