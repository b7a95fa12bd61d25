"""The README's first lesson is what really happens."""

import json
import re
from pathlib import Path

from tests.world import Org

README = (Path(__file__).parents[2] / "README.md").read_text()


async def test_the_curl_example_teaches_and_shows_exactly_what_the_readme_says(org: Org):
    published, asked = (json.loads(body) for body in re.findall(r"-d '(\{.*?\})'", README, re.DOTALL)[:2])
    shown = re.search(r"```text\n(<acumen-context>.*?</acumen-context>)\n```", README, re.DOTALL)

    await org.sdk.publish(**published)
    await org.learn()
    found = await org.sdk.search(**asked)

    assert shown is not None
    assert found.context == shown[1]
    assert len(found.profiles) == len(found.user_playbooks) == 1
