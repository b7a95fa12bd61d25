"""Do standing preferences reach every prompt? Five, stated in passing among other talk, and twenty ordinary prompts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from acumen.llm.tokens import count_tokens
from bench import places
from bench.figures import Figure, Run, at_least, at_most
from bench.memory.api import Api
from bench.memory.histories import ASSISTANT, USER, Session, Turn
from bench.memory.played import reading_file
from bench.memory.stored import wait_until_quiet
from bench.server import serving

USER_ID = "teodoro"
# The default budget of a search, and a small one.
BUDGETS = (1_500, 300)
MAX_SHARE = 0.25
FIRST_SESSION = 1_772_442_000  # 2 March 2026, 09:00 UTC
DAY_SECONDS = 86_400

# A preference by name, with a pattern that only a line about it matches.
PREFERENCES = {
    "short answers": r"\bshort\b",
    "metric units": r"celsius|kilomet",
    "name": r"\bteo\b",
    "British spelling": r"british",
    "no emojis": r"emoji",
}

# Each session is one conversation; the user speaks first and the speakers take turns.
TALK = (
    (
        "Morning! Which day is best for planting tulip bulbs on a north-facing balcony?",
        "Mid October to late November, as long as the soil is not frozen.",
        "Thanks. I prefer short answers, two or three sentences are plenty for me.",
        "Understood.",
        "How deep should the bulbs go?",
        "About three times their own height.",
    ),
    (
        "We had a leak in the cellar last night. What should I check first?",
        "Close the main valve, then look at the joints of the boiler and the washing machine.",
        "The valve is closed and the joints look dry.",
        "Then look for a crack in the waste pipe behind the boiler.",
        "Found it, there is a hairline crack. The plumber is on his way.",
    ),
    (
        "What is a good oven setting for a sourdough loaf?",
        "450 degrees Fahrenheit with steam for twenty minutes, then 425 without.",
        "Please always give temperatures in Celsius and distances in kilometres, I never got used to the other ones.",
        "230 degrees Celsius with steam for twenty minutes, then 220 without.",
        "And how do I know that it is done?",
        "It sounds hollow when you knock on its base.",
    ),
    (
        "I am drafting a toast for my brother's wedding. Any idea for an opening?",
        "Start with the first thing the two of you ever built together.",
        "A raft that sank after ten metres, that works.",
        "It is a fine picture for a marriage that floats better.",
        "Ha, I will take that line. Everyone calls me Teo, by the way, Teodoro is only for my passport.",
        "Good to know, Teo.",
    ),
    (
        "Can you explain what a bond ladder is?",
        "Bonds that mature one after the other, so that some money comes back every year.",
        "So I could spread it over five years?",
        "Yes, a fifth in each year is the usual way.",
    ),
    (
        "I have to send the conference abstract tonight. Does 'color grading' need a hyphen?",
        "No hyphen is needed.",
        "From now on write everything for me in British English, my editor complains otherwise.",
        "Then it is 'colour grading', without a hyphen.",
        "Great, the abstract is out.",
    ),
    (
        "What is a sensible first hike near Trento with a six-year-old?",
        "The path around Lake Lamar is short, shaded and has places to stop.",
        "Lovely, we did it yesterday and she wants to go again.",
        "Then try the forest trail above Vason next. 🌲🎉",
        "Never use emojis when you write to me, they look odd in my notes.",
        "Of course, none from now on.",
    ),
    (
        "The printer in the study says 'paper jam' but there is no paper in it.",
        "Open the rear cover and look for a scrap under the roller.",
        "There was one. Fixed.",
        "Good.",
        "While we are at it, what does a duplex unit cost?",
        "Between 80 and 120 euros for most models.",
    ),
)

PROMPTS = (
    "What should I pack for three days in Lisbon in April?",
    "Explain how a heat pump works.",
    "Write a note to the neighbours about the stairwell light.",
    "Which houseplants survive in a dark corridor?",
    "How long does it take to drive from Verona to Munich?",
    "Give me an idea for dinner with chickpeas and spinach.",
    "Summarise the plot of The Leopard.",
    "How do I remove red wine from a linen tablecloth?",
    "What is the difference between a mutex and a semaphore?",
    "Draft an e-mail to move Thursday's meeting to Friday.",
    "How warm must a greenhouse be for basil in winter?",
    "Suggest a title for a talk about old bridges.",
    "What questions should I ask before I rent a flat?",
    "How often should a bicycle chain be oiled?",
    "Explain compound interest to a ten-year-old.",
    "Plan a rainy Sunday in Vienna.",
    "Why does my bread have big holes on one side?",
    "Compare two ways to back up family photos.",
    "What is a good warm-up before running?",
    "Translate 'see you on the platform' into Italian.",
)


class Shown(Struct, frozen=True):
    """A prompt and the preferences that its context shows; `standing` is None where the server returns no such part."""

    prompt: str
    preferences: frozenset[str]
    standing: str | None


def sessions(talk: Sequence[Sequence[str]], user_id: str, start: int = FIRST_SESSION) -> list[Session]:
    """One session a day, one turn a minute."""
    return [
        Session(
            f"{user_id}-{number}",
            tuple(
                Turn(ASSISTANT if place % 2 else USER, text, start + number * DAY_SECONDS + place * 60)
                for place, text in enumerate(turns)
            ),
        )
        for number, turns in enumerate(talk)
    ]


def shown(prompt: str, answer: Mapping[str, Any]) -> Shown:
    context = answer.get("context") or ""
    preferences = [name for name, pattern in PREFERENCES.items() if re.search(pattern, context, re.IGNORECASE)]
    return Shown(prompt, frozenset(preferences), answer.get("standing"))


def measure(run: Run) -> Iterator[Figure]:
    with places.sqlite(run) as place, serving(place.environ) as server:
        api = Api(server.port)
        api.publish_sessions(USER_ID, sessions(TALK, USER_ID))
        wait_until_quiet(place.data)
        reading_file("standing-memories.txt").write_text("\n".join(api.current_memories(USER_ID).values()))
        for budget in BUDGETS:
            yield from _asked(api, budget, PROMPTS[: run.many(len(PROMPTS), 3)])


def _asked(api: Api, budget: int, prompts: Sequence[str]) -> Iterator[Figure]:
    answers = [(prompt, api.search(USER_ID, prompt, budget)) for prompt in prompts]
    results = [shown(prompt, answer) for prompt, answer in answers]
    file: Path = reading_file(f"standing-{budget}.txt")
    file.write_text("\n\n".join(f"=== {prompt}\n{answer.get('context') or '(empty)'}" for prompt, answer in answers))
    pairs, count = len(PREFERENCES) * len(prompts), sum(len(result.preferences) for result in results)
    missing = [name for name in PREFERENCES if any(name not in result.preferences for result in results)]
    note = f"{count} of {pairs} pairs" + (f"; not always: {', '.join(missing)}" if missing else "")
    target = at_least(1) if budget == BUDGETS[0] else None
    yield Figure(f"preferences shown, {budget:,} tokens", count / pairs, "", target, note=note)
    parts = [result.standing for result in results if result.standing is not None]
    if parts:
        share = max(count_tokens(part) for part in parts) / budget
        yield Figure(f"standing part, share of {budget:,} tokens", share, "", at_most(MAX_SHARE))
        yield Figure(f"different standing parts, {budget:,} tokens", len(set(parts)), "", at_most(1))
