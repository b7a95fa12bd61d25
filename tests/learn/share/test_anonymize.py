"""What tells whom a text came from is taken out before it is shared."""

import pytest

from acumen.learn.share.anonymize import anonymize, names_of, without_case_numbers


@pytest.mark.parametrize(
    "text, cleaned",
    [
        ("Write to ana@acme.io first.", "Write to [email] first."),
        ("Call +49 170 1234567 at once.", "Call [phone] at once."),
        ("Call (555) 123-4567 at once.", "Call [phone] at once."),
        ("Ask Bob before restarting.", "Ask [name] before restarting."),
        ("Ask Bob Miller before restarting.", "Ask [name] before restarting."),
        ("Never email Dr. Smith.", "Never email [name]."),
        ("Ping @ana_l in the channel.", "Ping [name] in the channel."),
        ("Close ticket 48213.", "Close ticket [number]."),
        ("Look at account 123456789.", "Look at account [number]."),
        ("Log in to 10.0.0.12:5432.", "Log in to [address]."),
        ("Use cus_9f8a7b6c5d.", "Use [id]."),
        ("Pay DE44 5001 0517 5407 3249 31.", "Pay [account]."),
        ("Born on 1987-04-12.", "Born on [date]."),
        ("The password is hunter2 now.", "The password is [redacted password] now."),
    ],
)
def test_it_is_taken_out(text: str, cleaned: str):
    result = anonymize(text)

    assert result.text == cleaned
    assert result.removed >= 1


@pytest.mark.parametrize(
    "text",
    [
        "Deploy production to us-west-2.",
        "Retry three times, wait 250 ms, listen on port 8080.",
        "Answer in German on Mondays.",
        "Write dates as YYYY-MM-DD, e.g. 2025-03-04.",
        "Use Python 3.12 and version 2.10.3 of it.",
        "Refunds above $100 need approval.",
        "Use TypeScript, not JavaScript.",
        "",
    ],
)
def test_what_is_nobodys_stays(text: str):
    assert anonymize(text).text == text
    assert anonymize(text).removed == 0


def test_a_name_that_several_used_is_the_name_of_a_thing():
    assert anonymize("Use the Atlas portal.").text == "Use the [name] portal."
    assert anonymize("Use the Atlas portal.", shared={"atlas"}).text == "Use the Atlas portal."


def test_users_are_known_by_their_ids_and_by_what_they_told():
    names = names_of("ana.lopez@acme.io", ["The user's name is Anita Lopez"])

    assert anonymize("anita wants it; so does ana.", names).text == "[name] wants it; so does [name]."
    assert anonymize("Remind ana.lopez@acme.io.", names).text == "Remind [email]."


@pytest.mark.parametrize("user", ["user-1", "u", "12345", "test-user", "deploy"])
def test_plain_words_in_a_user_id_are_no_names(user: str):
    text = "Let the user run one test and deploy."

    assert anonymize(text, names_of(user)).text == text


def test_numbers_of_cases_are_no_part_of_a_rule():
    assert (
        without_case_numbers("Ask before closing ticket 48213 twice.").split()
        == "Ask before closing ticket twice.".split()
    )


def test_cleaning_twice_changes_nothing():
    once = anonymize("Ask Bob (bob@x.io) about order 123456.").text

    assert anonymize(once).text == once
