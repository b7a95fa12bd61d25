"""How sessions ended, as rows: one per session, the caller's word before a judge's guess."""

from typing import Any

from acumen.model.ids import InteractionId, Millis, SessionId, UserId
from acumen.model.memories.base import Origin
from acumen.model.metering.evaluation import (
    Evaluation,
    EvaluationFilter,
    EvaluationId,
    Judgement,
    Outcome,
    Preference,
    ShadowVerdict,
)
from acumen.storage.store import OrgStore

ADA = UserId("ada")
S1 = SessionId("s1")


def an_evaluation(session: str = "s1", user: str = "ada", *, success: bool = True, **more: Any) -> Evaluation:
    given = {
        "ended_at": Millis(1_000),
        "created_at": Millis(2_000),
        "updated_at": Millis(2_000),
        "judged": Judgement(success, confidence=0.8),
        "origin": Origin("rules", confidence=0.8),
        **more,
    }
    return Evaluation(EvaluationId(0), UserId(user), SessionId(session), success, **given)


def a_verdict(turn: int = 1, session: str = "s1", **more: Any) -> ShadowVerdict:
    given = {"preference": Preference.TIED, "reason": "alike", "regular_first": True, "created_at": Millis(1), **more}
    return ShadowVerdict(0, ADA, SessionId(session), InteractionId(turn), "v1", **given)


async def test_a_session_has_one_evaluation_and_a_later_one_takes_its_place(org_store: OrgStore):
    first = await org_store.write(lambda tx: tx.evaluations.upsert(an_evaluation()))
    later = an_evaluation(success=False, created_at=Millis(9_000), updated_at=Millis(9_000))

    again = await org_store.write(lambda tx: tx.evaluations.upsert(later))

    (found,) = await org_store.read(lambda tx: tx.evaluations.find(EvaluationFilter()))
    assert again == first == found.id
    assert (found.is_success, found.created_at, found.updated_at) == (False, 2_000, 9_000)
    assert found.judged == later.judged


async def test_success_is_told_of_many_sessions_at_once(org_store: OrgStore):
    def store(tx: Any) -> None:
        for number in range(1_200):
            tx.evaluations.upsert(an_evaluation(f"s{number}", success=number % 2 == 0))

    await org_store.write(store)
    asked = [(ADA, SessionId(f"s{number}")) for number in range(1_300)]

    found = await org_store.read(lambda tx: tx.evaluations.find_verdicts(asked))

    assert len(found) == 1_200
    assert found[ADA, S1].is_success is False
    assert found[ADA, SessionId("s2")].is_success is True


async def test_the_same_session_id_with_two_users_is_two_sessions(org_store: OrgStore):
    await org_store.write(lambda tx: tx.evaluations.upsert(an_evaluation(user="bob", success=False)))

    found = await org_store.read(lambda tx: tx.evaluations.find_verdicts([(ADA, S1), (UserId("bob"), S1)]))

    assert list(found) == [(UserId("bob"), S1)]


async def test_a_word_of_the_caller_is_sure_and_an_unknown_one_is_none(org_store: OrgStore):
    stated = an_evaluation("stated", success=False, stated=Outcome.FAILURE, judged=Judgement(True, confidence=0.6))
    unknown = an_evaluation("unknown", stated=Outcome.UNKNOWN)
    await org_store.write(lambda tx: [tx.evaluations.upsert(one) for one in (stated, unknown)])

    asked = [(ADA, SessionId("stated")), (ADA, SessionId("unknown"))]
    found = await org_store.read(lambda tx: tx.evaluations.find_verdicts(asked))

    told = {one.session_id: (one.is_success, one.stated, one.confidence) for one in found.values()}
    assert told == {"stated": (False, True, 1.0), "unknown": (True, False, 0.8)}


async def test_an_answer_has_one_verdict_against_its_shadow(org_store: OrgStore):
    await org_store.write(lambda tx: tx.evaluations.upsert_shadow_verdicts([a_verdict(1), a_verdict(2)]))
    changed = a_verdict(1, preference=Preference.SHADOW, created_at=Millis(5))
    await org_store.write(lambda tx: tx.evaluations.upsert_shadow_verdicts([changed]))

    newest, *others = await org_store.read(lambda tx: tx.evaluations.find_shadow_verdicts(10))

    assert (newest.interaction_id, newest.preference) == (1, Preference.SHADOW)
    assert [one.interaction_id for one in others] == [2]


async def test_what_is_erased_is_the_users_alone(org_store: OrgStore):
    def store(tx: Any) -> None:
        for user in ("ada", "bob"):
            tx.evaluations.upsert(an_evaluation(user=user))
        tx.evaluations.upsert_shadow_verdicts([a_verdict(1)])

    await org_store.write(store)

    counts = await org_store.write(lambda tx: tx.evaluations.delete_user(ADA))

    left = await org_store.read(
        lambda tx: (tx.evaluations.find(EvaluationFilter()), tx.evaluations.find_shadow_verdicts(10))
    )
    assert counts == {"evaluations": 1, "shadow_verdicts": 1}
    assert ([one.user_id for one in left[0]], left[1]) == (["bob"], [])
