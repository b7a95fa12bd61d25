"""Code blocks of a page, and how each language is run against a server."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acumen_client import Client
from acumen_client.observe import Observer

FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^>]+?) -->\n+)?```(?P<language>\w*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)
ADDRESS = "http://127.0.0.1:8061"
ACUMEN = (sys.executable, "-m", "acumen.cli.main")


@dataclass(frozen=True)
class Snippet:
    language: str
    text: str
    line: int  # of the page
    not_run: str = ""  # the reason, as the page states it

    @property
    def commands(self) -> list[str]:
        """Shell commands, continued lines joined, without prompts and the output below them."""
        if self.is_transcript:
            return [line[2:] for line in self._joined.splitlines() if line.startswith("$ ")]
        return _split(self._joined)

    @property
    def output(self) -> str:
        """What a transcript shows below its commands."""
        return "".join(f"{line}\n" for line in self._joined.splitlines() if not line.startswith("$ "))

    @property
    def is_transcript(self) -> bool:
        return self.language == "sh" and self.text.startswith("$ ")

    @property
    def _joined(self) -> str:
        return re.sub(r"\\\n\s*", " ", self.text)


def _split(script: str) -> list[str]:
    """A quoted argument may span lines, as the JSON of a curl call does."""
    commands: list[str] = []
    open_quote = False
    for line in script.splitlines():
        if open_quote:
            commands[-1] += "\n" + line
        elif line.strip() and not line.startswith("#"):
            commands.append(line)
        open_quote ^= line.count("'") % 2 == 1
    return commands


def without_ids(text: str) -> str:
    """Without ids, handles of memories, and dates."""
    named = re.sub(r"\b([a-z]+)_[0-9a-f]{20,}", r"\1_ID", text)
    return re.sub(r"(?<=_playbook:)\d+|(?<=\[m)\d+(?=\])|\b\d{4}-\d\d-\d\d\b", "ID", named)


def output_below(snippet: "Snippet", blocks: "list[Snippet]") -> str | None:
    """The text block that shows what a Python block prints."""
    following = blocks[blocks.index(snippet) + 1 :][:1]
    return following[0].text if following and following[0].language == "text" else None


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text()
    return [
        Snippet(match["language"], match["text"], text[: match.start()].count("\n") + 1, match["why"] or "")
        for match in FENCE.finditer(text)
    ]


class Runner:
    """Runs the snippets of one page in order: Python in one namespace, commands in a shell's words."""

    def __init__(self, page: Path, url: str, environ: dict[str, str]) -> None:
        self.page = page
        self.url = url
        self.environ = environ
        self.namespace: dict[str, Any] = {}

    def run(self, snippet: Snippet) -> str:
        """What it prints. Raises when it fails."""
        if snippet.language == "python":
            return self._python(snippet)
        return "".join(self._command(command) for command in snippet.commands)

    def close(self) -> None:
        """Closes the clients and observers that the page has made."""
        for value in self.namespace.values():
            if isinstance(value, Client | Observer):
                value.close()

    def _python(self, snippet: Snippet) -> str:
        padding = "\n" * snippet.line  # so that a traceback names the line of the page
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(padding + snippet.text, str(self.page), "exec"), self.namespace)
        return printed.getvalue()

    def _command(self, command: str) -> str:
        words = shlex.split(command.replace(ADDRESS, self.url), comments=True)
        if words[0] not in ("curl", "acumen", ".venv/bin/acumen"):
            raise ValueError(f"{self.page.name}: mark the block with `not run`, or teach the tests to run {words[0]!r}")
        words = [*words, "--fail-with-body", "--max-time", "30"] if words[0] == "curl" else [*ACUMEN, *words[1:]]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environ, timeout=60, check=False)
        assert done.returncode == 0, f"{self.page.name}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout
