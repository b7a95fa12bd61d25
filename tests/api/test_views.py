"""From our values to the wire's shapes."""

from msgspec import Struct

from acumen.api.views import shaped
from acumen_client.wire.shapes import AnswerModel


class Thing(Struct, frozen=True):
    name: str
    made_at: int
    ended_at: int | None
    ours: str = "not for the wire"


class ThingView(AnswerModel):
    thing_id: int
    name: str
    made_at: int
    ended_at: int | None = None
    later: str = "unsaid"


def test_what_is_called_the_same_is_shown_and_our_times_are_told_in_seconds():
    shown = shaped(ThingView, Thing("tea", 1_999, None), thing_id=7)

    assert shown == ThingView(thing_id=7, name="tea", made_at=1, ended_at=None, later="unsaid")


def test_what_is_told_goes_before_what_is_called_the_same():
    shown = shaped(ThingView, Thing("tea", 1_999, 5_000), thing_id=7, name="coffee", made_at=1_999)

    assert (shown.name, shown.made_at, shown.ended_at) == ("coffee", 1_999, 5)


class Outer(Struct, frozen=True):
    name: str

    def later(self) -> str:
        return "a method is no field"


def test_of_several_things_the_first_that_has_a_field_gives_it():
    shown = shaped(ThingView, Outer("coffee"), None, Thing("tea", 1_999, None), thing_id=7)

    assert shown == ThingView(thing_id=7, name="coffee", made_at=1, ended_at=None, later="unsaid")
