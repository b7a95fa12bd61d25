"""How long what was said holds, by its own words about time."""

from datetime import UTC, datetime

import pytest

from acumen.learn.rules.cues import surface
from acumen.learn.rules.lifetimes import lifetime
from acumen.model.profile import TimeToLive

# A Wednesday.
SAID = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp() * 1000)


def holds(said: str, before: str = "") -> str:
    return str(lifetime(surface(said).low, SAID, surface(before).low))


@pytest.mark.parametrize(
    "said, expected",
    [
        ("just for today, answer in French", "one_day"),
        ("i-40 bridge is shut thru sunday", "one_week"),
        ("Use my assistant Tilly for everything this weekend, I'm at my own anniversary", "one_week"),
        ("I'm only in till two this week, childcare", "one_week"),
        ("change freeze from Thursday through Sunday because of the sale", "one_week"),
        ("I'm on call from today to next tuesday", "one_week"),
        ("until the pentest is over on friday don't block it", "one_week"),
        ("I'm away for another week", "one_week"),
        ("I'm off for the rest of the week", "one_week"),
        ("back on Thursday", "one_week"),
        ("The trial ends on Friday", "one_week"),
        ("send it before Friday", "one_week"),
        ("On-call this week is Tomasz", "one_week"),
        ("keep the feature flag off until Monday morning", "one_week"),
        ("for the next 48 hours page me for everything", "one_week"),
        ("closed over the weekend", "one_week"),
        ("half board until Saturday, then full board", "one_week"),
        ("temporarily use the staging database", "one_week"),
        ("We had a burst pipe so this Thursday only, we're in the church hall", "one_week"),
        ("im fasting till the end of ramadan, so meals only after sunset", "one_month"),
        ("The physio says two weeks with no running whatsoever", "one_month"),
        ("FROST15 is our code till the 7th dec", "one_month"),
        ("From 10th to 14th I will be on leave for my sister's marriage", "one_month"),
        ("For the time of the audit (to the 9th) every batch gets photographed", "one_month"),
        ("till the magnet comes next week head 7 stays blanked off", "one_month"),
        ("autumn sale runs through november, 15% on everything", "one_month"),
        ("two more weeks on antibiotics", "one_month"),
        ("No calls while I'm on holiday", "one_month"),
        ("Ben does the payroll while Ann is on maternity leave", "one_month"),
        ("use the annex while they renovate the hall", "one_month"),
        ("the lift is out of order for the next couple of weeks", "one_month"),
        ("I'm travelling until the 3rd", "one_month"),
        ("I'm in Lisbon next week", "one_month"),
        ("we keep logs for 30 days", "one_month"),
        ("nobody may bump dependencies until the 1.8 release is out", "one_month"),
        ("hiring freeze until we close the round", "one_month"),
        ("no hills for three weeks, achilles", "one_month"),
        ("pay it by the 9th", "one_month"),
        ("the code is valid 1 to 15 December", "one_month"),
        ("we are shut between the 24th and the 27th", "one_month"),
        ("I am on night shifts until the end of the month", "one_month"),
        ("for the time being send invoices to Ola", "one_month"),
        ("firmware 2.3 goes to the customer on the 30th, till then only bug fixes", "one_month"),
        ("we are closed until 30 December, not 27", "one_quarter"),
        ("From 20 to 27 December we are closed", "one_quarter"),
        ("until christmas the hours are 9 to 21", "one_quarter"),
        ("interviews are in the Annexe until mid december while they do the roof", "one_quarter"),
        ("through December the heating's paid by the city", "one_quarter"),
        ("six weeks in a cast", "one_quarter"),
        ("over the summer I'm in Portugal", "one_quarter"),
        ("he's on parental leave up until the end of January", "one_quarter"),
        ("this semester I have statistics with Mrs Lund", "one_quarter"),
        ("We're in the mountains over the holidays, back on 3 January", "one_quarter"),
        ("Until 15 of September we don't deliver to the islands", "one_year"),
        ("Exams are on until 21 June", "one_year"),
        ("until the audit is finished on 30 June the production tables are read-only", "one_year"),
        ("cutting now til the wedding end of may", "one_year"),
        ("until mothers day I need the cash report every evening", "one_year"),
        ("the visa is good until 2028", "infinity"),
        ("she has until March to decide", "one_year"),
        ("I'm pregnant", "one_year"),
        ("my sister stays with us till Easter", "one_year"),
        ("I retired at the end of term, so your people may come on any day", "infinity"),
        ("Window's moved to Wednesday, 01:00 till 04:00, since the Sunday crew was disbanded", "infinity"),
        ("I'm Fen, 34, I run a lot, or did until my left knee started clicking in May", "infinity"),
        ("The shop is open until 8 pm", "infinity"),
        ("we work till six", "infinity"),
        ("I lived in Oslo until 2019", "infinity"),
        ("I was vegetarian until last year", "infinity"),
        ("I'm out of office until further notice", "infinity"),
        ("our fiscal year ends in April", "infinity"),
        ("Our fiscal year ends on 31 March", "infinity"),
        ("payday is the 15th there", "infinity"),
        ("my exam is on the 3rd of december", "infinity"),
        ("the opening slid to the 24th", "infinity"),
        ("they moved it to 26 June", "infinity"),
        ("I've worked here for ten years", "infinity"),
        ("we deploy every Friday", "infinity"),
        ("Never deploy on Fridays, always wait until Monday.", "infinity"),
        ("rent 910 from april", "infinity"),
        ("since monday we're on databricks", "infinity"),
        ("please answer before noon", "infinity"),
        ("Next Monday I start at Siemens", "infinity"),
        ("I take the car every weekend", "infinity"),
        ("I drink coffee only until noon", "infinity"),
        ("we moved offices this month", "infinity"),
        ("I got married this year", "infinity"),
        ("On 2026-12-24 we close at noon", "infinity"),
        ("web was ported to Solid over the weekend", "infinity"),
        ("bumped to go 1.23 over the weekend", "infinity"),
        ("asleep by quarter past, 9 nights running", "infinity"),
    ],
)
def test_words_about_time_tell_how_long_it_holds(said: str, expected: str):
    assert holds(said) == expected


def test_until_then_is_until_the_day_that_was_named_before():
    assert holds("Nothing leaves this chat before that.", before="The board meets on the 27th.") == "one_month"
    assert holds("The firmware goes out on the 30th, till then only bug fixes.") == "one_month"
    assert holds("Only bug fixes until then.", before="The firmware goes out.") == "one_month"


@pytest.mark.parametrize("said", ["until 29 february", "until 31 november", "until 99 may", "until 2019", "until 2026"])
def test_no_day_that_people_name_is_too_odd(said: str):
    leap = int(datetime(2028, 3, 1, tzinfo=UTC).timestamp() * 1000)

    assert lifetime(f"we are closed {said}", SAID) in TimeToLive
    assert lifetime(f"we are closed {said}", leap) in TimeToLive


def test_a_year_that_is_over_ends_nothing():
    assert holds("My licence was good until 2019.") == "infinity"
    assert holds("We are in the old building until 2025.") == "infinity"
