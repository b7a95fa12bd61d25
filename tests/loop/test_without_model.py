"""Without an embedding model search goes by words, and says so."""

from tests.world import Start, local, profile, said


async def test_without_embeddings_search_goes_by_words_and_says_so(start: Start):
    org = local(await start(recall={"embeddings": False}))
    await org.sdk.add_profiles(user_profiles=[profile("Likes zebras")])
    await org.sdk.publish(**said("The zebra escaped"))
    await org.learn()

    by_words = await org.sdk.search(query="zebras", user_id="ada")
    by_meaning = await org.sdk.search(query="striped animals", user_id="ada", search_mode="vector")
    turns = await org.sdk.search_interactions(user_id="ada", query="zebra")

    assert (len(by_words.profiles), by_meaning.profiles, len(turns.interactions)) == (1, [], 1)
    for answer in (by_words, by_meaning, turns):
        assert (answer.degraded, answer.search_mode_effective) == (True, "fts")
    assert "recall.embeddings" in by_words.msg


async def test_asking_for_words_alone_is_no_degradation(start: Start):
    org = local(await start(recall={"embeddings": False}))
    await org.sdk.add_profiles(user_profiles=[profile("Likes zebras")])

    found = await org.sdk.search(query="zebras", user_id="ada", search_mode="fts")

    assert not found.degraded
    assert found.profiles[0].reasons.keys() == {"fts"}


async def test_learning_needs_no_model(start: Start):
    org = local(await start(recall={"embeddings": False}))
    await org.sdk.publish(**said("we never deploy production to us-east-1, always use us-west-2"))
    await org.learn()

    found = await org.sdk.search(query="which region do I deploy to", user_id="ada")

    assert "us-west-2" in found.user_playbooks[0].content
