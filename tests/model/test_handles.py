"""Handles name memories and turns in a context, and are found again in what an agent says."""

from acumen.model.handles import by_handle, cited_handles, memory_handle, turn_handle, without_handles
from acumen.model.ids import InteractionId, Kind, MemoryRef

FACT = MemoryRef(Kind.PROFILE, "prof-1")


def test_a_memory_keeps_its_handle():
    assert memory_handle(FACT) == memory_handle(MemoryRef(Kind.PROFILE, "prof-1"))
    assert memory_handle(FACT) != memory_handle(MemoryRef(Kind.USER_PLAYBOOK, "prof-1"))


def test_handles_are_found_in_brackets_alone_or_in_a_list():
    text = f"We deploy to us-west-2 [{memory_handle(FACT)}], as you said [t345; m00001]. See [1] and m00002."

    assert cited_handles(text) == [memory_handle(FACT), "t345", "m00001"]


def test_handles_can_be_stripped_from_an_answer():
    assert without_handles("Use uv [m00001], not pip [m00002, t3].") == "Use uv, not pip."


def test_a_handle_names_its_memory():
    assert by_handle([FACT, FACT]) == {memory_handle(FACT): FACT}
    assert turn_handle(InteractionId(345)) == "t345"
