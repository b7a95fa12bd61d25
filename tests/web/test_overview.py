"""What the overview makes of the counters."""

from acumen.meter.memory_health import MemoryHealth
from acumen.model.handles import memory_handle
from acumen.model.ids import Kind, MemoryRef
from acumen.model.metering.usage import Use
from acumen.web.pages.overview import funnel
from acumen_client import AsyncSession
from tests.web.test_server import visit
from tests.world import Org, playbook, profile


def health(sessions: int, successes: int) -> MemoryHealth:
    return MemoryHealth(0, 0, sessions, successes, (), {})


def test_each_step_from_question_to_success_tells_how_many_of_how_many():
    use = Use(searches=10, zero_hits=4, shown=8, cited_shown=2)

    parts = [(part.count, part.of) for part in funnel(use, health(5, 3))]

    assert parts == [(6, 10), (2, 8), (3, 5)]


def test_where_nothing_is_known_no_share_is_told():
    assert [(part.of, part.share) for part in funnel(Use(), health(0, 0))] == [(0, 0.0)] * 3


def test_where_no_agent_cites_nothing_is_known_of_citations():
    cited = funnel(Use(searches=1, shown=8), health(0, 0), cites=False)[1]

    assert (cited.of, cited.unknown) == (0, "no agent has cited a memory")


async def shown_zebras(org: Org) -> AsyncSession:
    """A session in which two memories were injected."""
    facts = [profile(f"Keeps {number} zebras", profile_id=number) for number in ("ten", "six")]
    await org.sdk.add_profiles(user_profiles=facts)
    session = org.sdk.session("ada", "s1")
    await session.context("zebras")
    return session


async def test_memories_are_called_uncited_only_when_an_agent_cites(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile(f"Keeps {what} zebras", profile_id=what) for what in ("ten", "six")]
    )
    session = org.sdk.session("ada", "s1")
    await session.context("zebras")

    before = [(await visit(org, org.key).get(path)).text for path in ("/ui", "/ui/costs")]
    await session.cite("ten")
    after = [(await visit(org, org.key).get(path)).text for path in ("/ui", "/ui/costs")]

    assert all("No agent has cited a memory yet" in page for page in before)
    assert "never cited" not in before[0]
    assert not any("No agent has cited a memory yet" in page for page in after)
    assert "never cited" in after[0]


async def test_a_session_shows_what_was_cited_by_handle_and_by_call(org: Org):
    await org.sdk.add_profiles(
        user_profiles=[profile(f"Keeps {what} zebras", profile_id=what) for what in ("ten", "six")]
    )
    session = org.sdk.session("ada", "s1")
    await session.context("zebras")
    await session.say("assistant", f"Ten [{memory_handle(MemoryRef(Kind.PROFILE, 'ten'))}].")
    await org.learn()
    await session.cite("six")

    page = (await visit(org, org.key).get("/ui/session?user=ada&id=s1")).text

    cited = page.split('<span class="chip success">cited</span>')[1:]
    assert [("ten" in part[:200], "six" in part[:200]) for part in cited] == [(False, True), (True, False)]


async def test_questions_that_found_nothing_are_listed_and_those_that_did_are_not(org: Org):
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Always deploy to us-west-2.")])
    for question in ("how tall is <the> tower", "how tall is <the> tower", "where do we deploy"):
        await org.sdk.search(query=question, user_id="ada", search_mode="fts")

    page = (await visit(org, org.key).get("/ui")).text

    _, _, listed = page.partition("Unanswered searches")
    assert "how tall is &lt;the&gt; tower" in listed
    assert "where do we deploy" not in listed
    assert '<td class="num">2</td>' in listed
