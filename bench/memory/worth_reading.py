"""Would its owner sign it? 100 memories learned from real talk, sampled into a file that a person fills in.

`python -m bench.memory.worth_reading FILE` scores a filled file: the first column says good, ok or junk.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from bench.figures import Figure, Run, median
from bench.memory.histories import LOCOMO, LONGMEMEVAL, chosen
from bench.memory.played import played, reading_file
from bench.memory.stored import Memory, memories

SAMPLED = 100
SEED = 16
VERDICTS = ("good", "ok", "junk")
COLUMNS = ("verdict", "kind", "category", "said on", "memory", "trigger", "pitfall", "sentence", "user")


def measure(run: Run) -> Iterator[Figure]:
    histories = [*chosen(LONGMEMEVAL, run), *chosen(LOCOMO, run)]
    learned = [memory for history in histories for memory in memories(played(history, learning=True))]
    file = reading_file("worth-reading.tsv")
    write(sample(learned), file)
    per_user = [sum(memory.user_id == history.user_id for memory in learned) for history in histories]
    yield Figure("memories per user, p50", median(per_user), "", note=f"{min(per_user)} to {max(per_user)}")
    for kind, count in sorted(Counter(f"{memory.kind}, {memory.category}" for memory in learned).items()):
        yield Figure(kind, count, "", note=f"{count / len(learned):.1%} of {len(learned)}")
    note = f"good, ok or junk? Fill in {file}"
    yield Figure("memories to read", min(SAMPLED, len(learned)), "", note=note)


def sample(learned: Sequence[Memory], size: int = SAMPLED) -> list[Memory]:
    """The same memories for the same input, whatever its order."""
    ordered = sorted(learned, key=lambda memory: (memory.user_id, memory.said_at, memory.kind, memory.text))
    return Random(SEED).sample(ordered, min(size, len(ordered)))


def write(sampled: Iterable[Memory], file: Path) -> None:
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream, dialect="excel-tab")
        writer.writerow(COLUMNS)
        writer.writerows(_row(memory) for memory in sampled)


def _row(memory: Memory) -> tuple[str, ...]:
    said_on = f"{datetime.fromtimestamp(memory.said_at / 1000, UTC):%Y-%m-%d}" if memory.said_at else ""
    cells = (memory.text, memory.trigger, memory.pitfall, memory.sentence, memory.user_id)
    return ("", memory.kind, memory.category, said_on, *(" ".join(cell.split()) for cell in cells))


def score(file: Path) -> dict[str, float]:
    """The share of each verdict among the rows that have one; a row with any other word is an error."""
    with file.open(newline="") as stream:
        verdicts = [row["verdict"].strip().lower() for row in csv.DictReader(stream, dialect="excel-tab")]
    filled = [verdict for verdict in verdicts if verdict]
    if unknown := sorted(set(filled) - set(VERDICTS)):
        raise ValueError(f"{file}: {', '.join(unknown)}: a verdict is one of {', '.join(VERDICTS)}")
    return {verdict: filled.count(verdict) / max(1, len(filled)) for verdict in VERDICTS}


if __name__ == "__main__":
    for name, share in score(Path(sys.argv[1])).items():
        sys.stdout.write(f"{name} {share:.2f}\n")
