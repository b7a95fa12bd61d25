"""Memories that say nearly the same come together, however they hang together."""

from acumen.model.ids import Kind
from acumen.review import duplicate_clusters
from acumen.review.duplicate_clusters import connected
from acumen.storage.review.memory_flags import SimilarPair
from tests.world import Org, profile


def pair(left: str, right: str, similarity: float = 0.95, kind: Kind = Kind.PROFILE) -> SimilarPair:
    return SimilarPair(kind, left, right, "ada", similarity, "meaning")


def names(found: list[list[SimilarPair]]) -> list[set[str]]:
    return [{own for pair in some for own in (pair.left, pair.right)} for some in found]


def test_pairs_that_share_a_memory_are_one_cluster_even_if_the_link_comes_last():
    found = [pair("a", "b", 0.99), pair("x", "y", 0.98), pair("c", "d", 0.97), pair("b", "c", 0.96)]

    assert names(connected(found)) == [{"a", "b", "c", "d"}, {"x", "y"}]


def test_the_same_id_of_another_kind_is_another_memory():
    found = [pair("1", "2"), pair("2", "3", kind=Kind.USER_PLAYBOOK)]

    assert names(connected(found)) == [{"1", "2"}, {"2", "3"}]


async def test_a_cluster_is_merged_into_the_one_that_stays(org: Org):
    same = ("Keeps three zebras in the garden", "keeps three zebras in the garden.", "Keeps three Zebras in the garden")
    await org.sdk.add_profiles(user_profiles=[profile(text, profile_id=f"z{n}") for n, text in enumerate(same)])
    await org.sdk.search(query="zebras", user_id="ada")
    pairs = await org.sdk.memory_duplicates(user_id="ada")

    (cluster,), total = await duplicate_clusters.clusters(None, 10, 0, await org.app.deps_for(org.id))
    items = [{"kind": "profile", "id": one.id} for one in cluster.members]
    await org.sdk.review_memories(action="merge", items=items, into="z1")

    assert (total, pairs.total) == (1, 3)
    assert {one.id for one in cluster.members} == {"z0", "z1", "z2"}
    assert await duplicate_clusters.clusters(None, 10, 0, await org.app.deps_for(org.id)) == ([], 0)
