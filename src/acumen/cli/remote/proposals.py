"""`acumen proposals`: lessons that were proposed from tool calls."""

from typing import Annotated

import typer

from acumen.cli.options import Approval, Limit, Reply, examples, remote
from acumen.cli.output import listed
from acumen.errors import BadInput
from acumen.model.plural import counted
from acumen.model.prompt_injection import visible
from acumen_client.client import Client
from acumen_client.wire.failures import DecideProposalResponse, ProposalView

app = typer.Typer()
group = typer.Typer()
app.add_typer(group, name="proposals")

LessonId = Annotated[int, typer.Argument(metavar="ID", min=1, help="Id from `acumen proposals`.")]


@group.callback(
    invoke_without_command=True,
    epilog=examples("acumen proposals", "acumen proposals --approval approved", "acumen proposals approve 7"),
)
@remote
def proposals(
    client: Client,
    approval: Approval = None,
    flagged: Annotated[bool, typer.Option("--flagged", help="Only flagged ones.")] = False,
    limit: Limit = 50,
) -> Reply:
    """List lessons proposed from tool calls; approve, edit or reject. Not shown to agents until approved."""
    page = client.proposals(approval=approval, flagged=flagged, limit=limit)
    headings = ["id", "approval", "from", "occurrences", "confidence", "lesson", "flags"]
    rows = [_row(proposal) for proposal in page.proposals]
    total = counted(len(rows), "proposal") if rows else "No proposals"
    return Reply(page, listed(headings, rows, f"{total}."))


def _row(proposal: ProposalView) -> list[object]:
    return [
        proposal.agent_playbook_id,
        proposal.approval,
        proposal.about,
        f"{proposal.count} in {counted(proposal.distinct_sessions, 'session')}",
        f"{proposal.confidence:.2f}",
        proposal.content,
        "; ".join(filter(None, [proposal.flag, *proposal.hazards])) or None,
    ]


@group.command(epilog=examples("acumen proposals approve 7"))
@remote
def approve(client: Client, lesson: LessonId) -> Reply:
    """Approve a lesson. From now on it is injected."""
    return _decided(client.decide_proposal(agent_playbook_id=lesson, decision="approve"))


@group.command(epilog=examples("acumen proposals reject 7"))
@remote
def reject(client: Client, lesson: LessonId) -> Reply:
    """Reject a lesson. It is not proposed again."""
    return _decided(client.decide_proposal(agent_playbook_id=lesson, decision="reject"))


@group.command(epilog=examples('acumen proposals edit 7 --content "Ask for at most 100 rows at once."'))
@remote
def edit(
    client: Client,
    lesson: LessonId,
    content: Annotated[str | None, typer.Option(help="Instruction: what the agent should do.")] = None,
    trigger: Annotated[str | None, typer.Option(help="Trigger: when it applies.")] = None,
    rationale: Annotated[str | None, typer.Option(help="Rationale: why.")] = None,
    pitfall: Annotated[str | None, typer.Option(help="Pitfall: what to avoid.")] = None,
) -> Reply:
    """Edit the text of a lesson. It stays pending."""
    fields = {"content": content, "trigger": trigger, "rationale": rationale, "pitfall": pitfall}
    if all(field is None for field in fields.values()):
        raise BadInput("Pass --content, --trigger, --rationale or --pitfall.")
    return _decided(client.decide_proposal(agent_playbook_id=lesson, decision="edit", **fields))


def _decided(answer: DecideProposalResponse) -> Reply:
    proposal = answer.proposal
    return Reply(answer, visible(f"Lesson {proposal.agent_playbook_id}: {proposal.approval}. {proposal.content}"))
