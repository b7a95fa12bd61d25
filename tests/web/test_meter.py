"""What the overview makes of the counters."""

from acumen.model.usage import Use
from acumen.web.meter import funnel
from tests.web.test_server import visit
from tests.world import Org, playbook


def test_each_step_from_question_to_success_tells_how_many_of_how_many():
    use = Use(searches=10, zero_hits=4, shown=8, cited_shown=2)

    parts = [(part.count, part.of) for part in funnel(use, ended=5, well=3)]

    assert parts == [(6, 10), (2, 8), (3, 5)]


def test_where_nothing_is_known_no_share_is_told():
    assert [(part.of, part.share) for part in funnel(Use(), 0, 0)] == [(0, 0.0)] * 3


async def test_questions_that_found_nothing_are_listed_and_those_that_did_are_not(org: Org):
    await org.sdk.add_user_playbooks(user_playbooks=[playbook("Always deploy to us-west-2.")])
    for question in ("how tall is <the> tower", "how tall is <the> tower", "where do we deploy"):
        await org.sdk.search(query=question, user_id="ada", search_mode="fts")

    page = (await visit(org, org.key).get("/ui")).text

    _, _, listed = page.partition("nothing was found")
    assert "how tall is &lt;the&gt; tower" in listed
    assert "where do we deploy" not in listed
    assert '<td class="num">2</td>' in listed
