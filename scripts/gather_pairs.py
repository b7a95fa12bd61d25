"""Gather the pairs that really meet when the conversations that may be read are learned from, for `train_rivals.py`.

    PYTHONPATH=src:. python -m scripts.gather_pairs > scripts/pairs/conversations.jsonl

A memory is a rival of what was said if the labels say that it was replaced or forgotten just then.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from acumen.learn import reader
from acumen.learn.merge import Answers, Question
from acumen.model.ids import UserId
from bench.learning import cases, run
from bench.learning.cases import Conversation

_asked: list[Question] = []
_answers = reader.Reader._answers  # noqa: SLF001 - what it asks is what we are here for


async def _watched(self: Any, known: Any, notes: Any, at: Any, near: Any, deps: Any) -> Answers | None:
    _asked.extend(self.merge.questions(known, notes, at, near))
    return await _answers(self, known, notes, at, near, deps)


async def gathered(part: Sequence[Conversation]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    async with run.opened(embeddings=True) as app:
        for conversation in part:
            turn = -1
            for said in run.publishes(conversation.turns):
                turn += len(said)
                request = await run._publish(conversation.user_id, said, app)  # noqa: SLF001 - as the bench plays it
                await run._learn(request, UserId(conversation.user_id), app, run.Played())  # noqa: SLF001 - as above
                for pair in _pairs(conversation, turn):
                    found[pair["old"], pair["new"]] = pair
    return list(found.values())


def _pairs(conversation: Conversation, turn: int) -> Iterator[dict[str, Any]]:
    past = [one for one in (*conversation.superseded, *conversation.forgotten) if one.by == turn]
    for question in _asked:
        rival = any(one.matcher.fits(question.old) for one in past)
        yield {"old": question.old, "new": question.new, "rival": rival, "from": conversation.id}
    _asked.clear()


def main() -> None:
    reader.Reader._answers = _watched  # type: ignore[method-assign]  # noqa: SLF001 - as above
    for part in ("open", cases.DEV):
        for pair in asyncio.run(gathered(cases.read(part))):
            sys.stdout.write(json.dumps(pair, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
