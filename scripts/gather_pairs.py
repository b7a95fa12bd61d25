"""Gather the pairs that really meet when the conversations that may be read are learned from, for `train_rivals.py`.

    PYTHONPATH=src:. python -m scripts.gather_pairs > scripts/pairs/conversations.jsonl

A memory is a rival of what was said if the labels say that it was replaced or forgotten just then; where some words of
a turn tell what took its place, the others are left out. All that meets is gathered, not only what is worth asking.
To be read through: a turn says more than the sentence that replaces.
"""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from acumen.learn import questions
from acumen.learn.merge import Comparison
from acumen.learn.questions import Question
from acumen.learn.rules import rivals
from acumen.model.ids import UserId
from bench.learning import cases, play
from bench.learning.cases import Conversation, Past

_asked: list[Question] = []
_questions = Comparison.questions


def _watched(self: Any, *given: Any) -> list[Question]:
    """All that could be asked is noted, what is worth it is answered."""
    usual = questions.MOST_ASKED, rivals.ASKED
    questions.MOST_ASKED, rivals.ASKED = sys.maxsize, 0.0
    _asked.extend(_questions(self, *given))
    questions.MOST_ASKED, rivals.ASKED = usual
    return _questions(self, *given)


async def gathered(part: Sequence[Conversation]) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    async with play.opened(embeddings=True) as app:
        for conversation in part:
            turn = -1
            for said in play.publishes(conversation.turns):
                turn += len(said)
                request = await play.publish(conversation.user_id, said, app)
                await play.learn(request, UserId(conversation.user_id), app, play.Played())
                for pair in _pairs(conversation, turn):
                    found[pair["old"], pair["new"]] = pair
    return list(found.values())


def _pairs(conversation: Conversation, turn: int) -> Iterator[dict[str, Any]]:
    past = [one for one in (*conversation.superseded, *conversation.forgotten) if one.by == turn]
    new = {question.new for question in _asked}
    for question in _asked:
        ended = [one for one in past if one.matcher.fits(question.old)]
        if all(question.new in _telling(one, new, conversation) for one in ended):
            yield {"old": question.old, "new": question.new, "rival": bool(ended), "from": conversation.id}
    _asked.clear()


def _telling(past: Past, said: set[str], conversation: Conversation) -> set[str]:
    """Which of the words tell what took its place; all of them, if none do."""
    return {one for one in said if past.now and conversation.named(past.now).matcher.fits(one)} or said


def main() -> None:
    Comparison.questions = _watched  # type: ignore[method-assign]
    for part in ("open", cases.DEV):
        for pair in asyncio.run(gathered(cases.read(part))):
            sys.stdout.write(json.dumps(pair, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
