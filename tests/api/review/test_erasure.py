"""Whoever is erased is erased from shared lessons, too, and from what is told about them."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.world import Org, Start, local, playbook, said

OURS = "Always run the tests before committing."
ZEBRA = "Always run the zebra tests before committing anything."


async def teach(org: Org, content: str, user: str, **more) -> None:
    given = {"trigger": "committing code", "agent_version": "v1", **more}
    await org.sdk.add_user_playbooks(user_playbooks=[playbook(content, user, **given)])


async def shared_by(org: Org, *lessons: tuple[str, str]):
    """The lesson that these users' lessons become."""
    for user, content in lessons:
        await teach(org, content, user)
    await org.sdk.run_playbook_aggregation(agent_version="v1")
    (lesson,) = (await org.sdk.agent_playbooks()).agent_playbooks
    return lesson


async def lesson_of(org: Org, lesson_id: int):
    found = await org.sdk.agent_playbooks(agent_playbook_id=lesson_id, status_filter=[None, "archived"])
    return found.agent_playbooks[0]


async def test_a_lesson_is_retired_when_too_few_who_taught_it_are_left(org: Org):
    lesson = await shared_by(org, ("zoe", ZEBRA), ("bob", OURS))
    await org.sdk.search(query="run the tests before committing", user_id="carl")

    cleared = await org.sdk.clear_user_data(user_id="zoe")

    assert cleared.retired_agent_playbooks == [lesson.agent_playbook_id]
    assert cleared.rewritten_agent_playbooks == []
    retired = await lesson_of(org, lesson.agent_playbook_id)
    assert (retired.status, retired.content) == ("archived", "(erased)")
    assert (await org.sdk.search(query="run the tests before committing")).agent_playbooks == []
    assert "zebra" not in str(await org.rows()).lower()
    assert "zoe" not in str(await org.rows())


async def renewed(org: Org, *lessons: tuple[str, str]) -> None:
    """These users' lessons, made anew by a rerun; what they were before the last one is deleted."""
    for user, content in lessons:
        await teach(org, content, user, status="pending")
    await org.sdk.upgrade_user_playbooks()


async def test_words_of_an_outdated_version_are_erased_from_the_lesson_that_was_written_from_it(org: Org):
    users = (("zoe", ZEBRA), ("bob", OURS))
    lesson = await shared_by(org, *users)
    await renewed(org, *users)
    await renewed(org, *users)

    cleared = await org.sdk.clear_user_data(user_id="zoe")

    assert cleared.retired_agent_playbooks == [lesson.agent_playbook_id]
    assert "zebra" not in str(await org.rows()).lower()


async def test_deleting_what_a_user_taught_reaches_lessons_written_from_its_outdated_version(org: Org):
    users = (("zoe", ZEBRA), ("bob", OURS))
    lesson = await shared_by(org, *users)
    await renewed(org, *users)
    await renewed(org, *users)
    ids = (await org.sdk.user_playbooks(user_id="zoe", status_filter=[None, "archived"])).user_playbooks

    await org.sdk.delete_user_playbooks(user_playbook_ids=[one.user_playbook_id for one in ids])

    assert (await lesson_of(org, lesson.agent_playbook_id)).content == "(erased)"
    assert "zebra" not in str((await org.rows())["agent_playbooks"]).lower()


async def test_a_lesson_is_reworded_when_enough_who_taught_it_are_left(org: Org):
    lesson = await shared_by(org, ("zoe", ZEBRA), ("zoe", f"{ZEBRA} Zebra!"), ("bob", OURS), ("carl", OURS))
    await org.sdk.update_agent_playbook(agent_playbook_id=lesson.agent_playbook_id, content=ZEBRA)
    await org.sdk.update_agent_playbook_status(agent_playbook_id=lesson.agent_playbook_id, playbook_status="approved")
    await org.sdk.search(query="run the tests before committing", user_id="dora")

    cleared = await org.sdk.clear_user_data(user_id="zoe")

    assert (cleared.rewritten_agent_playbooks, cleared.retired_agent_playbooks) == ([lesson.agent_playbook_id], [])
    reworded = await lesson_of(org, lesson.agent_playbook_id)
    assert (reworded.content, reworded.status, reworded.playbook_status) == (OURS, None, "pending")
    assert reworded.confidence == 0.75
    assert "zebra" not in str(await org.rows()).lower()
    found = await org.sdk.search(query="run the tests before committing")
    assert [one.content for one in found.agent_playbooks] == [OURS]


async def test_a_lesson_that_owes_no_words_to_the_erased_user_stays_as_it_is(org: Org):
    lesson = await shared_by(org, ("zoe", OURS), ("bob", OURS), ("carl", OURS))
    await org.sdk.update_agent_playbook_status(agent_playbook_id=lesson.agent_playbook_id, playbook_status="approved")

    cleared = await org.sdk.clear_user_data(user_id="zoe")

    kept = await lesson_of(org, lesson.agent_playbook_id)
    assert (kept.content, kept.playbook_status) == (OURS, "approved")
    assert (cleared.rewritten_agent_playbooks, cleared.retired_agent_playbooks) == ([], [])
    again = await org.sdk.run_playbook_aggregation(agent_version="v1")
    assert again.result is not None
    assert again.result.unchanged == 1


async def test_only_what_the_erased_user_alone_had_said_goes_from_the_log(org: Org):
    lesson = await shared_by(org, ("zoe", OURS), ("bob", OURS), ("carl", OURS))

    await org.sdk.clear_user_data(user_id="zoe")

    (log,) = (await org.sdk.playbook_aggregation_changes(playbook_name="playbook", agent_version="v1")).change_logs
    assert [one.content for one in log.added_agent_playbooks] == [OURS]
    rows = await org.rows()
    events = [row for row in rows["lineage"] if row["kind"] == "agent_playbook"]
    assert all(event["after"] for event in events if event["entity_id"] == str(lesson.agent_playbook_id))


async def test_words_that_a_user_has_changed_since_are_erased_from_the_log_too(org: Org):
    lesson = await shared_by(org, ("zoe", ZEBRA), ("zoe", f"{ZEBRA} Zebra!"), ("bob", OURS), ("carl", OURS))
    await org.sdk.update_agent_playbook(agent_playbook_id=lesson.agent_playbook_id, content=ZEBRA)
    for one in (await org.sdk.user_playbooks(user_id="zoe")).user_playbooks:
        await org.sdk.update_user_playbook(user_playbook_id=one.user_playbook_id, content=OURS)
    await org.sdk.update_agent_playbook(agent_playbook_id=lesson.agent_playbook_id, content=OURS)

    await org.sdk.clear_user_data(user_id="zoe")

    assert "zebra" not in str(await org.rows()).lower()


@pytest.mark.parametrize("zoes", [OURS, ZEBRA], ids=["as the others", "in other words"])
async def test_who_is_erased_is_no_longer_counted_among_those_who_teach_it(org: Org, zoes: str):
    lesson = await shared_by(org, ("zoe", zoes), ("bob", OURS), ("carl", OURS))
    assert json.loads(lesson.playbook_metadata) == {"users": 3, "user_playbooks": 3}

    await org.sdk.clear_user_data(user_id="zoe")

    kept = await lesson_of(org, lesson.agent_playbook_id)
    assert json.loads(kept.playbook_metadata) == {"users": 2, "user_playbooks": 2}
    assert (lesson.confidence, kept.confidence) == (0.83, 0.75)


async def test_a_lesson_that_a_person_wrote_stays_when_those_who_teach_it_go(org: Org):
    by_hand = {"content": "Test, then commit.", "trigger": "committing code", "agent_version": "v1"}
    await org.sdk.add_agent_playbooks(agent_playbooks=[by_hand])
    lesson = await shared_by(org, ("zoe", "Test first, then commit."), ("bob", "Always test, then commit."))

    cleared = await org.sdk.clear_user_data(user_id="zoe")
    await org.sdk.run_playbook_aggregation(agent_version="v1")

    kept = await lesson_of(org, lesson.agent_playbook_id)
    assert (kept.content, kept.status) == ("Test, then commit.", None)
    assert (cleared.rewritten_agent_playbooks, cleared.retired_agent_playbooks) == ([], [])


async def test_the_receipt_names_all_that_went_by_kind_and_id(org: Org):
    await org.sdk.publish(**said("I live in Paris.", user="zoe", request_id="r1"))
    await org.learn()
    await teach(org, ZEBRA, "zoe")
    rows = await org.rows()

    cleared = await org.sdk.clear_user_data(user_id="zoe")

    assert cleared.deleted_ids["requests"] == ["r1"]
    for kind, column in (
        ("interactions", "interaction_id"),
        ("profiles", "profile_id"),
        ("user_playbooks", "playbook_id"),
        ("lineage", "event_id"),
    ):
        assert cleared.deleted_ids[kind] == [str(row[column]) for row in rows[kind]], kind
        assert cleared.deleted_counts[kind] == len(rows[kind])


async def test_the_log_of_aggregations_tells_that_words_were_erased(org: Org):
    lesson = await shared_by(org, ("zoe", ZEBRA), ("bob", OURS))

    await org.sdk.clear_user_data(user_id="zoe")

    logs = (await org.sdk.playbook_aggregation_changes(playbook_name="playbook", agent_version="v1")).change_logs
    assert [one.content for one in logs[1].added_agent_playbooks] == ["(erased)"]
    assert [one.agent_playbook_id for one in logs[0].removed_agent_playbooks] == [lesson.agent_playbook_id]


async def test_words_of_who_taught_it_once_are_erased_from_its_history_too(org: Org):
    """The lesson was worded by zoe, who then put hers away; others reworded it, and the old words are history."""
    lesson = await shared_by(org, ("zoe", ZEBRA), ("bob", ZEBRA), ("carl", OURS), ("dora", OURS))
    for user in ("zoe", "bob"):
        (own,) = (await org.sdk.user_playbooks(user_id=user)).user_playbooks
        await org.sdk.update_user_playbook(user_playbook_id=own.user_playbook_id, status="archived")
    await org.sdk.run_playbook_aggregation(agent_version="v1")

    cleared = [await org.sdk.clear_user_data(user_id=user) for user in ("zoe", "bob")]

    assert (await lesson_of(org, lesson.agent_playbook_id)).content == OURS
    assert "zebra" not in str(await org.rows()).lower()
    assert [one.retired_agent_playbooks for one in cleared] == [[], []]


async def test_a_lesson_that_was_retired_before_is_emptied_as_well(org: Org):
    lesson = await shared_by(org, ("zoe", ZEBRA), ("bob", OURS))
    (bobs,) = (await org.sdk.user_playbooks(user_id="bob")).user_playbooks
    await org.sdk.update_user_playbook(user_playbook_id=bobs.user_playbook_id, status="archived")
    await org.sdk.run_playbook_aggregation(agent_version="v1")
    assert (await lesson_of(org, lesson.agent_playbook_id)).status == "archived"

    await org.sdk.clear_user_data(user_id="zoe")

    assert "zebra" not in str(await org.rows()).lower()


@pytest.mark.parametrize("how", ["one", "several", "all"])
async def test_deleting_what_users_taught_reaches_the_shared_lesson(org: Org, how: str):
    lesson = await shared_by(org, ("zoe", ZEBRA), ("bob", OURS))
    (zoes,) = (await org.sdk.user_playbooks(user_id="zoe")).user_playbooks

    if how == "one":
        await org.sdk.delete_user_playbook(user_playbook_id=zoes.user_playbook_id)
    elif how == "several":
        await org.sdk.delete_user_playbooks(user_playbook_ids=[zoes.user_playbook_id])
    else:
        await org.sdk.delete_all_user_playbooks()

    assert (await lesson_of(org, lesson.agent_playbook_id)).status == "archived"
    assert "zebra" not in str(await org.rows()).lower()


async def test_a_retired_lesson_is_written_anew_when_enough_users_teach_it_again(org: Org):
    lesson = await shared_by(org, ("zoe", ZEBRA), ("bob", OURS))
    await org.sdk.clear_user_data(user_id="zoe")
    await teach(org, "Run the tests before each commit.", "carl")

    await org.sdk.run_playbook_aggregation(agent_version="v1")

    (anew,) = (await org.sdk.agent_playbooks()).agent_playbooks
    assert anew.agent_playbook_id != lesson.agent_playbook_id
    assert "zebra" not in anew.content.lower()


async def test_who_is_erased_while_others_aggregate_is_in_no_lesson(org: Org):
    await teach(org, ZEBRA, "zoe")
    await teach(org, OURS, "bob")

    await asyncio.gather(
        org.sdk.run_playbook_aggregation(agent_version="v1"),
        org.sdk.clear_user_data(user_id="zoe"),
        org.sdk.run_playbook_aggregation(agent_version="v1"),
    )

    assert "zebra" not in str(await org.rows()).lower()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_no_byte_of_an_erased_user_is_left_in_the_files(start: Start, tmp_path: Path):
    org = local(await start(data=tmp_path))
    await shared_by(org, ("zoe", ZEBRA), ("bob", OURS))
    await org.sdk.publish(**said("My zebra lives in Quokkaville.", user="zoe"))
    await org.learn()
    await org.sdk.search(query="run the tests before committing", user_id="bob")
    await org.app.flush_usage()
    assert b"quokkaville" in _bytes(tmp_path)
    assert b"zebra" in _bytes(tmp_path)

    await org.sdk.clear_user_data(user_id="zoe")

    assert b"zebra" not in _bytes(tmp_path)
    assert b"quokkaville" not in _bytes(tmp_path)
    assert b"zoe" not in _bytes(tmp_path)


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("acumen.db*"))).lower()
