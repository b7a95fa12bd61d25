"""One lesson out of several: the best wording, completed by the others, with nothing personal in it."""

import numpy as np
from msgspec.structs import replace

from acumen.learn.share.plan import UserLesson
from acumen.learn.share.wording import contains_erased_text, materially_different, supports, write
from acumen.model.ids import Millis, PlaybookId
from acumen.model.memories.playbook import Lesson
from tests.world import a_user_playbook

_NEXT = iter(range(1, 10_000))


def taught(content: str, user: str, vector: tuple[float, ...] = (1.0, 0.0), mentions: int = 1, at: int = 1, **parts):
    playbook = replace(
        a_user_playbook(content, user),
        id=PlaybookId(next(_NEXT)),
        lesson=Lesson(content, **parts),
        mentions=mentions,
        updated_at=Millis(at),
    )
    direction = np.array(vector, np.float32)
    return UserLesson(playbook, direction / np.linalg.norm(direction))


def test_the_most_central_wording_is_chosen():
    off = taught("Do run some tests maybe.", "ada", (1.0, 1.5))
    middle = taught("Run the tests.", "bob", (1.0, 0.2))
    near = taught("Run all tests.", "carl", (1.0, 0.0))

    assert write([off, middle, near], ()).content in ("Run the tests.", "Run all tests.")


def test_of_equally_central_ones_the_most_said_then_the_newest():
    said_once = taught("Run the tests.", "ada", at=9)
    said_often = taught("Run all tests.", "bob", mentions=5)
    newer = taught("Run every test.", "carl", mentions=5, at=8)

    assert write([said_once, said_often], ()).content == "Run all tests."
    assert write([said_often, newer], ()).content == "Run every test."


def test_a_wording_without_anything_personal_goes_before_all():
    named = taught("Ask Bob before restarting.", "ada", mentions=9)
    plain = taught("Ask before restarting.", "carl", (1.0, 0.4))

    assert write([named, plain], ()).content == "Ask before restarting."


def test_what_the_best_wording_lacks_is_taken_from_others():
    best = taught("Run the tests.", "ada", mentions=9)
    other = taught("Run all tests.", "bob", trigger="committing", rationale="CI is slow.", pitfall="Committing unseen.")

    lesson = write([best, other], ())

    assert lesson == Lesson("Run the tests.", "committing", "CI is slow.", "Committing unseen.")


def test_a_reason_that_would_tell_on_somebody_is_left_out():
    one = taught("Run the tests.", "ada", rationale="Because Priya lost order 123456.", pitfall="Mailing ada@x.io")

    lesson = write([one, taught("Run the tests.", "bob")], ())

    assert (lesson.rationale, lesson.pitfall) == (None, None)


def test_users_are_not_named():
    one = taught("Do as quentin says.", "quentin")

    assert write([one], {"quentin"}).content == "Do as [name] says."


def test_an_obstacle_is_told_when_half_of_them_met_it():
    issue = {"kind": "missing_tool", "details": "No access for ana@x.io"}
    one = taught("Run the tests.", "ada", blocking_issue=issue)
    without = [taught("Run the tests.", user) for user in ("bob", "carl")]

    assert write([one, without[0]], ()).blocking_issue == {"kind": "missing_tool", "details": "No access for [email]"}
    assert write([one, *without], ()).blocking_issue is None


def test_it_works_without_vectors():
    one, other = (replace(taught(text, user), vector=None) for text, user in (("Run it.", "ada"), ("Run it!", "bob")))

    assert write([one, other], ()).content.startswith("Run it")


def test_order_case_and_filler_do_not_change_what_is_said():
    before = Lesson("Always run the tests before committing.", "a commit")

    assert not materially_different(before, Lesson("Before committing, always RUN the tests!", "a commit"))
    assert not materially_different(before, replace(before, rationale="CI is slow."))


def test_another_word_value_sign_or_situation_does():
    before = Lesson("Always run the tests before committing.", "a commit")

    for content in ("Never run the tests before committing.", "Always run the linter before committing."):
        assert materially_different(before, replace(before, content=content))
    assert materially_different(before, replace(before, trigger="a release"))
    assert materially_different(before, replace(before, pitfall="Committing unseen."))


def test_a_lesson_is_supported_by_who_still_says_it():
    one = taught("Run the tests.", "ada")

    assert supports(Lesson("Run the tests.", "whenever"), [one], ())
    assert not supports(Lesson("Run the linter."), [one], ())


def test_a_lesson_tells_what_only_the_gone_had_said():
    gone, left = [Lesson("Run the zebra tests.")], [Lesson("Run the tests first.")]

    assert contains_erased_text(Lesson("Run zebra tests."), gone, left)
    assert contains_erased_text(Lesson("Run the tests", pitfall="ZEBRA"), gone, left)
    assert not contains_erased_text(Lesson("Run the tests."), gone, left)


def test_a_sentence_copied_from_the_gone_is_theirs_even_in_common_words():
    gone, left = [Lesson("Run first the tests.")], [Lesson("Run the tests first.")]

    assert contains_erased_text(Lesson("run first  the tests."), gone, left)
    assert not contains_erased_text(Lesson("Run the tests first."), gone, left)
