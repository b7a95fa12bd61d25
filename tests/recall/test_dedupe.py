"""Of a shared lesson and the own one it was written from, the better is shown."""

from acumen.model.ids import Kind, MemoryRef
from acumen.recall.dedupe import dedupe_lessons

SHARED, OWN = Kind.AGENT_PLAYBOOK, Kind.USER_PLAYBOOK


def kept(hits: dict[tuple[Kind, str], float], taught: dict[int, set[int]]) -> set[tuple[Kind, str]]:
    found = [(MemoryRef(kind, name), score) for (kind, name), score in hits.items()]
    left = dedupe_lessons(found, taught, lambda hit: hit[0], lambda hit: hit[1])
    return {(ref.kind, ref.id) for ref, _ in left}


def test_the_better_one_stays():
    assert kept({(SHARED, "1"): 0.9, (OWN, "7"): 0.5}, {1: {7}}) == {(SHARED, "1")}
    assert kept({(SHARED, "1"): 0.5, (OWN, "7"): 0.9}, {1: {7}}) == {(OWN, "7")}


def test_of_equals_the_own_one_stays():
    assert kept({(SHARED, "1"): 0.5, (OWN, "7"): 0.5}, {1: {7}}) == {(OWN, "7")}


def test_several_own_ones_go_or_stay_together():
    hits = {(SHARED, "1"): 0.6, (OWN, "7"): 0.5, (OWN, "8"): 0.4}

    assert kept(hits, {1: {7, 8}}) == {(SHARED, "1")}
    assert kept({**hits, (OWN, "8"): 0.7}, {1: {7, 8}}) == {(OWN, "7"), (OWN, "8")}


def test_what_has_nothing_to_do_with_each_other_stays():
    hits = {(SHARED, "7"): 0.9, (OWN, "7"): 0.5, (Kind.PROFILE, "7"): 0.1}

    assert kept(hits, {}) == set(hits)
    assert kept(hits, {2: {7}, 7: {3}}) == set(hits)


def test_the_order_of_the_others_is_kept():
    refs = [MemoryRef(OWN, "3"), MemoryRef(SHARED, "1"), MemoryRef(OWN, "7"), MemoryRef(OWN, "2")]

    assert dedupe_lessons(refs, {1: {7}}, lambda ref: ref, lambda ref: float(ref.id)) == [refs[0], refs[2], refs[3]]
