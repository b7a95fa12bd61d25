"""Learn from what was just published: facts about the user, and lessons for the agent."""

from acumen.deps import Deps
from acumen.learn import playbooks, profiles
from acumen.learn.reader import Path, read_all
from acumen.model.facts import Published, SessionEnded


async def update(fact: Published | SessionEnded, deps: Deps) -> None:
    """What each of the org's extractors has not read yet; those by hand read only when somebody asks."""
    kinds = ((profiles.READER, deps.config.profile_extractors), (playbooks.READER, deps.config.playbook_extractors))
    paths = [
        Path.regular(reader, fact.user_id, extractor, deps)
        for reader, extractors in kinds
        for extractor in extractors
        if not extractor.manual
    ]
    await read_all(paths, deps)
