"""What is lost while whole histories are learned: memories that ended, by cause, and gold turns that search hides."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from msgspec import Struct, field

from bench.figures import Figure, Run, at_most
from bench.memory.api import Api
from bench.memory.histories import LOCOMO, LONGMEMEVAL, History, Turn, chosen
from bench.memory.played import played, reading_file, served
from bench.memory.stored import Ending, changes

SAMPLED_ENDINGS = 60
SEED = 16
# A turn is asked for by its own words: one that search may show is among the first of these.
GOLD_TOP_K = 50
QUERY_CHARACTERS = 300


class Losses(Struct):
    """Summed over histories."""

    made: int = 0
    endings: list[Ending] = field(default_factory=list)
    expired: int = 0
    turns: int = 0
    hidden: int = 0
    gold_turns: int = 0
    hidden_gold: int = 0


def measure(run: Run) -> Iterator[Figure]:
    histories, losses = [*chosen(LONGMEMEVAL, run), *chosen(LOCOMO, run)], Losses()
    for history in histories:
        learned = changes(played(history, learning=True))
        losses.made += learned.made
        losses.endings += learned.endings
        losses.expired += learned.expired
        with served(history, run) as server:
            _count_hidden(history, Api(server.port), losses)
    file = reading_file("endings.tsv")
    write_sample(losses.endings, file)
    yield from _figures(losses, f"{len(histories)} histories")
    yield Figure("endings to read", min(len(losses.endings), SAMPLED_ENDINGS), "", note=f"written to {file}")


def _figures(losses: Losses, note: str) -> Iterator[Figure]:
    made, endings = losses.made, losses.endings
    yield Figure("memories made", made, "", note=note)
    yield Figure("memories ended", len(endings), "", note=f"{len(endings) / max(1, made):.1%} of those made")
    for cause, count in sorted(Counter(ending.cause or "no cause" for ending in endings).items()):
        yield Figure(f"ended: {cause}", count, "")
    yield Figure("current, but their stated time is over", losses.expired, "")
    silent = sum(not ending.is_explicit for ending in endings)
    yield Figure("ended without explicit cause", silent / max(1, made), "", at_most(0.01), note=f"{silent} of {made}")
    yield Figure("gold turns hidden from search", losses.hidden_gold, "", at_most(0), note=f"of {losses.gold_turns}")
    yield Figure("turns hidden from search", losses.hidden, "", note=f"of {losses.turns}")


def _count_hidden(history: History, api: Api, losses: Losses) -> None:
    """A gold turn must be found by its own words; of all turns those that are not listed are hidden."""
    gold = [turn for turn in history.turns if turn.gold]
    losses.gold_turns += len(gold)
    losses.hidden_gold += sum(not _is_found(turn, history.user_id, api) for turn in gold)
    losses.turns += len(history.turns)
    losses.hidden += len(history.turns) - len(api.list_turns(history.user_id))


def _is_found(turn: Turn, user_id: str, api: Api) -> bool:
    rows = api.search_turns(user_id, turn.text[:QUERY_CHARACTERS], GOLD_TOP_K)
    return any(row["content"] == turn.text for row in rows)


def sample(endings: Sequence[Ending]) -> list[Ending]:
    """The same endings for the same input, in the order in which they happened."""
    places = Random(SEED).sample(range(len(endings)), min(SAMPLED_ENDINGS, len(endings)))
    return [endings[place] for place in sorted(places)]


def write_sample(endings: Sequence[Ending], file: Path) -> None:
    """One ending per line; the first column is for the reader: right or wrong."""
    header = ("verdict", "cause", "kind", "user", "old", "new", "quote")
    rows = [
        header,
        *(("", end.cause, end.kind, end.user_id, end.old, end.new, end.quote) for end in sample(endings)),
    ]
    file.write_text("".join("\t".join(" ".join(cell.split()) for cell in row) + "\n" for row in rows))
