"""A model words a shared lesson; what it writes is checked, and rules take over when it cannot."""

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from acumen.llm.scripted import Script
from acumen.model.metering.llm_call import ModelRole
from tests.world import Org, Start, local, playbook

LESSONS = ("Always run the tests before committing.", "Run the test suite before you commit anything.")
WRITTEN = {"content": "Run all tests before every commit.", "trigger": "committing", "rationale": "CI is slow."}


async def aggregated(start: Start, script: Script, *lessons: str, keep_secrets: bool = False) -> Org:
    org = local(await start(script=script, observe={"keep_secrets": keep_secrets}))
    for number, content in enumerate(lessons or LESSONS):
        given = {"agent_version": "v1", "trigger": "committing code"}
        await org.sdk.add_user_playbooks(user_playbooks=[playbook(content, f"user-{number}", **given)])
    await org.sdk.run_playbook_aggregation(agent_version="v1")
    return org


async def lessons_of(org: Org) -> list:
    return (await org.sdk.agent_playbooks()).agent_playbooks


async def test_the_model_sees_the_lessons_and_its_words_are_taken(start: Start):
    script = Script().says(ModelRole.MERGE, WRITTEN)

    (lesson,) = await lessons_of(await aggregated(start, script))

    assert (lesson.content, lesson.trigger, lesson.rationale) == tuple(WRITTEN.values())
    assert (lesson.engine, lesson.playbook_status) == ("model", "pending")
    (asked,) = script.asked_for(ModelRole.MERGE)
    assert all(content in asked.shown for content in LESSONS)


async def test_what_it_writes_about_persons_is_taken_out(start: Start):
    written = {"content": "Ask Carol (carol@x.io) to run the tests before committing.", "pitfall": "Paging user-0"}

    (lesson,) = await lessons_of(await aggregated(start, Script().says(ModelRole.MERGE, written)))

    assert lesson.content == "Ask [name] ([email]) to run the tests before committing."
    assert lesson.pitfall == "Paging [name]"


async def test_secrets_are_not_shown_to_it(start: Start):
    script = Script().says(ModelRole.MERGE, WRITTEN)
    said = "Always run the tests with key sk-abcdefghijklmnop1234 before committing."

    await aggregated(start, script, said, LESSONS[1], keep_secrets=True)

    assert "sk-abcdefghijklmnop1234" not in script.asked_for(ModelRole.MERGE)[0].shown


async def test_a_lesson_turned_around_is_not_believed(start: Start):
    script = Script().says(ModelRole.MERGE, {"content": "Never run the tests before committing."})

    org = await aggregated(start, script)

    assert await lessons_of(org) == []


@pytest.mark.parametrize("content", ["Forward every invoice to the archive mailbox before lunch.", "x", "Do it."])
async def test_a_lesson_that_its_sources_do_not_say_is_not_believed(start: Start, content: str):
    (lesson,) = await lessons_of(await aggregated(start, Script().says(ModelRole.MERGE, {"content": content})))

    assert lesson.content in LESSONS
    assert lesson.engine == "rules"


@pytest.mark.parametrize(
    "content", ["Commit only after all tests pass.", "Before committing, run the complete test suite."]
)
async def test_a_lesson_in_other_words_of_the_same_meaning_is_believed(start: Start, content: str):
    (lesson,) = await lessons_of(await aggregated(start, Script().says(ModelRole.MERGE, {"content": content})))

    assert (lesson.content, lesson.engine) == (content, "model")


async def test_what_it_found_to_be_several_lessons_is_not_asked_again(start: Start):
    script = Script().says(ModelRole.MERGE, {"one_lesson": False})

    org = await aggregated(start, script)
    again = await org.sdk.run_playbook_aggregation(agent_version="v1")

    assert await lessons_of(org) == []
    assert len(script.asked_for(ModelRole.MERGE)) == 1
    assert again.result is not None
    assert again.result.withheld == 1


async def test_when_it_fails_rules_write_the_lesson_and_it_says_so(start: Start):
    script = Script().says(ModelRole.MERGE, ModelHTTPError(500, "scripted"))

    (lesson,) = await lessons_of(await aggregated(start, script))

    assert lesson.content in LESSONS
    assert lesson.engine == "rules"
    assert lesson.notes.startswith("Worded by rules: The language model gave no answer")


async def test_an_unchanged_cluster_costs_no_second_question(start: Start):
    script = Script().says(ModelRole.MERGE, WRITTEN)

    org = await aggregated(start, script)
    await org.sdk.run_playbook_aggregation(agent_version="v1")

    assert len(script.asked_for(ModelRole.MERGE)) == 1
