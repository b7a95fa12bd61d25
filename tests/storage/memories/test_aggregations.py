"""How far aggregation has come."""

from acumen.model.ids import PlaybookId, UserId
from acumen.model.memories.cluster import AggregationBookmark
from acumen.storage.store import OrgStore
from tests.world import a_profile, a_user_playbook, keep

ADA, BOB = UserId("ada"), UserId("bob")


async def test_only_users_with_lessons_that_were_not_aggregated_make_a_count_necessary(org_store: OrgStore):
    async def users_with_new_lessons() -> list[UserId]:
        return await org_store.read(lambda tx: [user for user in (ADA, BOB) if tx.aggregations.has_new_lessons(user)])

    lesson = await org_store.write(lambda tx: keep(tx, a_user_playbook("Run the tests first", ADA)))
    await org_store.write(lambda tx: keep(tx, a_profile("Lives in Oslo", BOB)))
    before = await users_with_new_lessons()
    bookmark = AggregationBookmark(PlaybookId(int(lesson.id)))
    await org_store.write(lambda tx: tx.aggregations.move_bookmark("", bookmark))

    assert before == [ADA]
    assert await users_with_new_lessons() == []
