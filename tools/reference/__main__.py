"""Write docs/reference/endpoints*, cli.md and sdk.md from the descriptions in the code: `make docs`."""

import re
from pathlib import Path

from tools.reference import client, commands, endpoints, roles
from tools.reference.scenario import play

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def pages() -> dict[Path, str]:
    """The text of every generated page."""
    examples = play()
    texts = {
        "endpoints.md": endpoints.contents(),
        "cli.md": commands.page(),
        "sdk.md": client.page(),
        "roles.md": roles.page(),
    }
    verbs = {f"endpoints/{verb}.md": endpoints.verb_page(verb, examples) for verb in endpoints.VERBS}
    return {FOLDER / name: re.sub(r"\n{3,}", "\n\n", text).strip() + "\n" for name, text in (texts | verbs).items()}


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        print(path.relative_to(FOLDER.parent))


if __name__ == "__main__":
    main()
