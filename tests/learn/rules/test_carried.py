"""A new value goes into the sentence that told the old one, where the new words are hardly more than that."""

import pytest

from acumen.learn.rules.carried import carried


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("User's B2 exam is on 12 December.", "it's 9 january now", "User's B2 exam is on 9 january."),
        ("Guarantee of 3 months.", "we do 6 now", "Guarantee of 6 months."),
        ("The dinner has 280 covers, black tie.", "we're down to 240", "The dinner has 240 covers, black tie."),
        ("Newsletter goes out at 5.45am.", "12.15 for those", "Newsletter goes out at 12.15."),
        ("Dialysis is Monday, Wednesday and Friday.", "tuesday and saturday now", "Dialysis is tuesday and saturday."),
        ("The company card ends 4410.", "9023.", "The company card ends 9023."),
        ("Rent is £48 a plot.", "it went up to £52", "Rent is £52 a plot."),
    ],
)
def test_a_fragment_changes_the_value_alone(old: str, new: str, expected: str):
    assert carried(old, new) == expected


@pytest.mark.parametrize(
    "old, new",
    [
        ("User lives in Paris.", "I live in Berlin"),  # no value that can be told from the words around it
        ("User has two kids, 9 and 6.", "she turned 10"),  # which of the two
        ("Nothing there before 11.", "9.30 is fine"),  # what was not so is so now
        ("Gas man is Dougie, he comes on Wednesdays.", "We've Stu Kemp doing gas, Fridays."),  # more than a value
        ("The exam is on 12 December.", "it is not on 9 January"),
        ("The exam is on 12 December.", "the room has 40 seats"),  # another kind of thing
        ("User is out of office until Friday.", "My deadline is Monday."),  # said of something else
        ("Truck 9 is in the workshop until Thursday.", "I'm on the day shift since Monday"),
        ("User takes sumatriptan 50 when it starts.", "My neurologist switched me to rizatriptan, 10 mg."),
        ("User takes amlodipine 10 mg.", "She took me off amlodipine, I am on candesartan 8 mg now."),
    ],
)
def test_what_says_more_or_is_unclear_stands_for_itself(old: str, new: str):
    assert carried(old, new) is None
