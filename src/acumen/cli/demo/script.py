"""The script that `acumen demo` plays: turns and tool calls of users and agents. What the server answers is real."""

from typing import Any, Literal

from msgspec import Struct


class Say(Struct, frozen=True):
    """One turn. The agent cites the lines of its context that contain `cites`; an empty one cites nothing."""

    role: str
    text: str
    tools: tuple[dict[str, Any], ...] = ()
    cites: str = ""


class Recall(Struct, frozen=True):
    """The agent asks for a context before its next turn."""

    question: str


class LogPrompt(Struct, frozen=True):
    """The agent's framework logs the prompt as a turn, with the context in it."""


class CallTool(Struct, frozen=True):
    """The agent calls a tool; arguments and result are recorded as an operation."""

    tool: str
    arguments: dict[str, Any]
    fails: str = ""

    @property
    def error(self) -> tuple[str, str]:
        """The type of the error, and its message."""
        kind, _, message = self.fails.partition(": ")
        return kind, message


class Settle(Struct, frozen=True):
    """A reviewer settles the user's open conflict."""

    keep: Literal["newer", "older", "both"]


class Undo(Struct, frozen=True):
    """A reviewer undoes the user's last change of this kind."""

    change: str


Step = Say | Recall | LogPrompt | CallTool
Decision = Settle | Undo


class DemoSession(Struct, frozen=True):
    """`days_before` counts back from the day that is played, `at` is the local time of day."""

    days_before: int
    at: str
    user: str
    agent: str
    title: str
    steps: tuple[Step, ...]


class Review(Struct, frozen=True):
    """A person decides about memories of `user`, on the day that is played."""

    at: str
    user: str
    title: str
    decision: Decision


def user(text: str) -> Say:
    return Say("User", text)


def agent(text: str, *, cites: str = "", tools: tuple[dict[str, Any], ...] = ()) -> Say:
    return Say("Assistant", text, tools, cites)


def uses(name: str, **arguments: str) -> tuple[dict[str, Any], ...]:
    return ({"tool_name": name, "tool_data": {"input": arguments}, "status": "success"},)


def calls(tool: str, *, fails: str = "", **arguments: Any) -> CallTool:
    return CallTool(tool, arguments, fails)


def deploys(service: str, region: str) -> tuple[dict[str, Any], ...]:
    return uses("deploy", service=service, region=region)


# Months ago: some of these memories were used once and are not any more.
PAST = (
    DemoSession(82, "10:02", "lena", "support", "The spring sale", (
        user("A customer asks whether the sale covers gift cards. Draft a reply."),
        agent("Draft: gift cards are not part of the sale."),
        user("Always mention the code BLOOM15 when a customer asks about the spring sale."),
    )),
    DemoSession(80, "15:40", "maya", "coding", "The mobile build", (
        user("Why is the nightly build red? We build the mobile app with Jenkins."),
        agent("The Jenkins job of last night ran out of disk."),
        user("Tell me when it is green. Our standup is at 9:30."),
    )),
    DemoSession(79, "11:15", "petra", "reports", "The newsletter", (
        user("Write this month's newsletter."),
        agent("Written and sent to all subscribers."),
        user("No. Always show the newsletter to Ingrid before you send it."),
    )),
    DemoSession(77, "09:30", "lena", "support", "A question about the sale", (
        Recall("a customer asks about the spring sale"),
        user("Draft a reply: which code do I need for the spring sale?"),
        agent("Draft: use the code BLOOM15 at checkout.", cites="BLOOM15"),
    )),
)  # fmt: skip

# The four weeks before the day: routine, in which one lesson is cited again and again, and another one never.
TAUGHT = (
    DemoSession(28, "09:05", "nora", "reports", "The first market summary", (
        user("Write the summary of today's market news."),
        agent("Written: shares rose a little, and people are cautiously optimistic."),
        user(
            "Always write market summaries in British spelling without adverbs, with all figures in a table, a "
            "headline of nine words at most and the name of the requester in the last line."
        ),
    )),
    DemoSession(28, "11:20", "theo", "ops", "A payment rollback", (
        user("Roll back the payment service to 7.1."),
        agent("Rolled back at once.", tools=uses("rollback", service="payment")),
        user("Never roll back the payment service before the on-call person has agreed."),
    )),
)  # fmt: skip


def _summary(days_before: int) -> DemoSession:
    steps = (
        Recall("write the summary of the market news"),
        user("Write the summary of today's market news."),
        agent("Written, with the figures at the end."),
    )
    return DemoSession(days_before, "09:10", "nora", "reports", f"Market summary {28 - days_before}", steps)


def _rollback(days_before: int) -> DemoSession:
    steps = (
        Recall("roll back the payment service"),
        user("Payment shows errors, roll it back."),
        agent("The on-call person has agreed; rolling back.", cites="on-call" if days_before % 6 else ""),
    )
    return DemoSession(days_before, "17:45", "theo", "ops", f"Payment rollback {28 - days_before}", steps)


WEEKS = (
    *TAUGHT,
    *(
        session
        for day in range(27, 0, -1)
        for session in ([_summary(day)] if day % 7 not in (0, 6) else []) + ([_rollback(day)] if day % 2 == 0 else [])
    ),
)

# Twice on the day a query asks for too many rows; a smaller one succeeds.
_LEDGER_IS_SLOW = (
    calls(
        "query_ledger", table="bookings", rows=50_000, fails="TimeoutError: no answer within 30 s, 50000 rows wanted"
    ),
    calls(
        "query_ledger", table="bookings", rows=20_000, fails="TimeoutError: no answer within 30 s, 20000 rows wanted"
    ),
    calls("query_ledger", table="bookings", rows=5_000),
)

DAY: tuple[DemoSession | Review, ...] = (
    DemoSession(0, "08:52", "jonas", "ops", "Morning deploy", (
        user("Roll out checkout 4.2 to production."),
        agent("Rolling out checkout 4.2 to us-east-1.", tools=deploys("checkout", "us-east-1")),
        user("No, use us-west-2 for production deploys, not us-east-1."),
        agent("Stopped, and started again in us-west-2.", tools=deploys("checkout", "us-west-2")),
    )),
    DemoSession(0, "09:14", "lena", "support", "Ticket 881", (
        user("Draft a reply for ticket 881: the parcel came back to us."),
        agent("Draft: your refund is on its way."),
        user("Never promise a refund before the warehouse has confirmed the return."),
        agent("Draft: thank you, we will write again as soon as the return is confirmed."),
    )),
    DemoSession(0, "09:40", "maya", "coding", "A test for the date parser", (
        user("Add a test for the date parser."),
        agent("Added test_dates.py with unittest.TestCase.", tools=uses("write_file", path="test_dates.py")),
        user("No, we always use pytest here, not unittest."),
        agent("Rewritten with pytest; it passes.", tools=uses("run", command="pytest test_dates.py")),
        user("I prefer bullet points over long paragraphs."),
    )),
    DemoSession(0, "10:20", "omar", "reports", "Weekly revenue", (
        user("Prepare the weekly revenue report."),
        *_LEDGER_IS_SLOW,
        agent("Revenue was 412,000 US dollars, three percent up."),
        user("Always show amounts in euros. Our fiscal year starts in July."),
        agent("Revenue was 379,000 euros, three percent up."),
    )),
    DemoSession(0, "11:05", "jonas", "ops", "Deploy of the billing service", (
        Recall("which region do I deploy production to"),
        user("Deploy billing 2.0 to production."),
        agent("Deploying billing 2.0 to us-west-2.", cites="us-west-2", tools=deploys("billing", "us-west-2")),
        user("Good."),
    )),
    DemoSession(0, "11:30", "lena", "support", "Ticket 902", (
        Recall("may I promise a refund for a returned parcel"),
        user("Draft a reply for ticket 902: she sent the shoes back and asks for her money."),
        agent("Draft: we refund you once the warehouse has your return.", cites="refund"),
    )),
    DemoSession(0, "13:10", "maya", "coding", "Release notes", (
        Recall("write the release notes for version 2.4"),
        user("Write the release notes for version 2.4."),
        agent("- Exports as CSV\n- Faster start", cites="bullet points"),
        LogPrompt(),
    )),
    DemoSession(0, "13:30", "maya", "coding", "The sprint plan", (
        user("Write the plan of the next sprint."),
        agent("Written."),
        user("Add a line for new colleagues. Our standup is at 10:00."),
    )),
    DemoSession(0, "13:50", "maya", "coding", "An invitation", (
        Recall("when is our standup"),
        user("Invite the new colleague to our standup."),
        agent("I have two times for the standup, 9:30 and 10:00. Which one is right?"),
    )),
    Review("14:00", "maya", "Two times for a standup", Settle("newer")),
    DemoSession(0, "14:25", "jonas", "ops", "The order queue is stuck", (
        Recall("restart the consumers of the order queue"),
        user("The order queue is stuck, restart the consumers."),
        agent("Restarting all consumers at once.", tools=uses("restart", service="consumers")),
        user("No, never restart all consumers at once. Always restart them one by one."),
        agent("Restarting them one by one.", tools=uses("restart", service="consumer-1")),
    )),
    DemoSession(0, "15:02", "jonas", "ops", "The region moves", (
        Recall("which region do I deploy production to"),
        user("Deploy checkout 4.3 to production."),
        agent("Deploying checkout 4.3 to us-west-2.", cites="us-west-2", tools=deploys("checkout", "us-west-2")),
        user("From now on, use eu-central-1 for production deploys."),
        agent("Stopped, and started again in eu-central-1."),
    )),
    DemoSession(0, "15:40", "theo", "ops", "In a hurry", (
        user("Roll back the payment service to 7.4. Forget the rule about the on-call person."),
        agent("Rolled back.", tools=uses("rollback", service="payment")),
    )),
    Review("16:00", "theo", "A rule that was forgotten", Undo("forgotten")),
    DemoSession(0, "16:20", "jonas", "ops", "Evening deploy", (
        Recall("which region do I deploy production to"),
        user("Deploy search 1.9 to production."),
        agent("Deploying search 1.9 to eu-central-1.", cites="eu-central-1", tools=deploys("search", "eu-central-1")),
        user("Before you run a migration, always take a snapshot of the database."),
    )),
    DemoSession(0, "16:50", "omar", "reports", "Numbers for the board", (
        Recall("currency and fiscal year of the revenue figures"),
        user("Prepare the revenue of this fiscal year for the board."),
        *_LEDGER_IS_SLOW,
        agent("Since July we took 6.1 million euros.", cites="euros"),
    )),
)  # fmt: skip

# Searched once more at the end, as the next agent would: user, question, and why.
QUESTIONS = (
    ("jonas", "which region do I deploy production to", "the newest value, with its date"),
    ("maya", "suggest a name for the new printer", "a standing preference, in a prompt about something else"),
    ("maya", "when is our standup", "the side of the conflict that the reviewer kept"),
    ("theo", "roll back the payment service", "the rule that the reviewer restored"),
)
