"""Write the output sample of `acumen demo` in the README from a run: part of `make docs`."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
SAMPLE = re.compile(r"(?<=\(parts of a real run\)</summary>\n\n```text\n).*?(?=```)", re.DOTALL)
# Of the day; the whole output is three times as long.
SHOWN = (
    "Morning deploy",
    "Release notes",
    "The sprint plan",
    "An invitation",
    "Two times for a standup",
    "In a hurry",
    "A rule that was forgotten",
)
HEADING = re.compile(r"\d\d \w{3} \d\d:\d\d  (.+?)  ")


def sample_of(output: str) -> str:
    """The parts of the day that are shown, and the summary up to the flagged memories."""
    day, _, end = output.partition("\n──")
    parts = [part.strip("\n") for part in re.split(r"\n\n+(?=\d\d \w{3} \d\d:\d\d)", day)]
    shown = [part for part in parts if (heading := HEADING.match(part)) and heading[1] in SHOWN]
    summary = "──" + end.partition("\nProposed lessons")[0].strip("\n")
    return "\n\n".join([*shown, summary]) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "acumen.cli.main", "demo", "--data", folder]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    README.write_text(SAMPLE.sub(lambda _: sample_of(output), README.read_text()))


if __name__ == "__main__":
    main()
