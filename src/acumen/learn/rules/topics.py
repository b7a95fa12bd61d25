"""What a statement is about, where two statements share no word: things of which a person mostly has one at a time."""

from collections.abc import Iterable

# The words of each row speak of one thing.
_ROWS = """
live move relocate reside address flat apartment house street
earn salary raise wage income pay payday paycheck
rent landlord lease
smoke cigarette smoker smoke-free nicotine vape
alcohol beer wine sober booze
vegan vegetarian pescatarian meat fish omnivore diet
weigh weight kilo kg kilos pound lbs
marry married single wife husband spouse divorce divorced engaged wedding separated
job work employ employer hire retire retired unemployed freelance career
plan tier subscription upgrade downgrade basic premium starter pro
phone iphone android pixel galaxy nokia smartphone
laptop mac macbook macos windows window linux thinkpad pc computer ubuntu fedora
car drive diesel petrol
bike bicycle
mg dose tablet pill dosage medication medicine meds
exam exams
pregnant baby birth expecting
knee leg cast crutches surgery injury physio
seat aisle window
parcel deliver delivery package neighbour neighbor pickup doorstep
people person employee headcount staff
shift nights mornings lates
pager on-call rota oncall
jump jumping
squat depth
save aside
limit max maximum cap budget
deadline due launch release
standup meeting sync retro
region us-east-1 us-west-2 eu-west-1 eu-central-1
thousand thousands million millions decimal
bank iban account
owe debt loan mortgage
birthday birth born
vote politics party
sick illness health diagnosis diabetic diabetes asthma
school grade university
gym train workout
"""
_TOPICS: dict[str, set[str]] = {}
for _row in _ROWS.split("\n"):
    for _word in _row.split():
        _TOPICS.setdefault(_word, set()).add(_row.split()[0])


def topics(roots: Iterable[str]) -> frozenset[str]:
    """The topics that the words of a statement name."""
    return frozenset(topic for root in roots for topic in _TOPICS.get(root, ()))
