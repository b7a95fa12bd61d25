"""Learning that is late: storing goes on, and whoever publishes, watches or operates is told."""

from acumen.review.operations.alerts import problems
from tests.world import Clock, Start, local, said

LATE = {"jobs": {"delayed_seconds": 30}, "alerts": {"learning_minutes": 5}}


async def test_a_publish_while_learning_is_late_is_stored_and_says_how_late_it_is(start: Start, clock: Clock):
    org = local(await start(**LATE))
    first = await org.send("POST", "/api/publish_interaction", said("I live in Paris.", "agent: Noted."))
    clock.forward(minutes=10)
    await org.app.measure_lag()

    late = await org.send("POST", "/api/publish_interaction", said("My dog is called Rex.", user="bob"))
    state = await org.sdk.status()
    await org.learn()
    await org.app.measure_lag()
    caught_up = await org.send("POST", "/api/publish_interaction", said("I like tea.", user="eve"))

    assert [reply.status_code for reply in (first, late, caught_up)] == [200, 200, 200]
    assert 600 <= late.json()["learning_delay_seconds"] < 660
    assert late.headers["Acumen-Learning-Delay"] == str(late.json()["learning_delay_seconds"])
    for reply in (first, caught_up):
        assert reply.json().get("learning_delay_seconds") is None
        assert "Acumen-Learning-Delay" not in reply.headers
    assert (state.learning.turns_waiting, state.learning.seconds_left) == (3, None)
    assert 600 <= state.learning.oldest_seconds < 660


async def test_what_was_learned_lately_says_when_the_rest_will_be(start: Start):
    org = local(await start())
    await org.sdk.publish(**said("I live in Paris.", "My dog is called Rex."))
    await org.learn()
    await org.sdk.publish(**said("I like tea.", user="bob"))

    learning = (await org.sdk.status()).learning

    assert learning.turns_waiting == 1
    assert 0 < learning.turns_per_second <= 0.2
    assert learning.seconds_left >= 1 / 0.2


async def test_learning_that_is_late_for_long_raises_an_alert(start: Start, clock: Clock):
    org = local(await start(**LATE))
    await org.sdk.publish(**said("I live in Paris."))
    deps = await org.app.deps_for(org.id)
    clock.forward(minutes=4)
    early = await deps.store.read(lambda tx: problems(tx, deps))
    clock.forward(minutes=2)
    late = await deps.store.read(lambda tx: problems(tx, deps))

    assert early == {}
    (problem,) = late.values()
    assert (problem.kind, problem.detail["turns_waiting"]) == ("learning_late", 1)
    assert "the oldest for 6" in problem.said
