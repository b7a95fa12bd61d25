"""Fit the parts of a context into its token budget. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from acumen.model.echoes import CONTEXT_CLOSE, CONTEXT_OPEN, RenderedMemory, joined_words
from acumen.model.ids import Kind, MemoryRef
from acumen.recall.dedupe import dedupe_lines
from acumen.recall.lines import ContextCandidate
from acumen.recall.quotes import HEADING, LEAST_ROOM, Quote, quoted_lines

STANDING = "Always applies:"
HEADINGS = {
    Kind.PROFILE: "About this user:",
    Kind.USER_PLAYBOOK: "Learned from this user:",
    Kind.AGENT_PLAYBOOK: "Learned from all users:",
}
CITE = "Cite what you use by its handle in square brackets."

OVER_BUDGET = "over the token budget"
UNAPPROVED = "waits for a person's approval"
DUPLICATE = "duplicate of another line"

# Memories with a lower score take at most this part of their share before the quotes have had theirs. Measured on
# LoCoMo with poor memories (300 / 1,000 tokens): .71 / .79; .50 / .75 if they may take all of it, .73 / .79 if none.
STRONG = 0.55
WEAK_SHARE = 0.2

Count = Callable[[str], int]
# The quotes that fit into the token budget, without what these memories say.
Choose = Callable[[int, Sequence[RenderedMemory]], list[Quote]]


class Shares(Struct, frozen=True):
    """How much of the budget each part may take. A part with a share of 0 is left out.

    What a part does not use flows to the next, and at the end back to `relevant`, where the standing memories that had
    no room come last; never to `standing`, which would then depend on the question.
    """

    standing: float = 0.25
    relevant: float = 0.4
    quoted: float = 0.35


class Line(Struct, frozen=True):
    ref: MemoryRef
    text: str
    tokens: int
    left_out_because: str = ""


class Context(Struct, frozen=True):
    """`text` never has more than the budget's tokens; `left_out` is what did not fit or waits, best first."""

    text: str
    tokens: int
    shown: tuple[Line, ...]
    left_out: tuple[Line, ...]
    standing: str = ""  # the standing part of the text, without the frame
    quoted: tuple[Quote, ...] = ()


def compose(
    standing: Sequence[ContextCandidate],
    relevant: Sequence[ContextCandidate],
    choose: Choose | None,
    budget: int,
    count: Count,
    shares: Shares,
    *,
    cite: bool = False,
) -> Context:
    """`standing` in its order; `relevant` in any."""
    builder = _ContextBuilder(budget, count, cite=cite)
    standing, repeated = dedupe_lines(standing)
    builder.fill_standing(standing, _tokens(budget, shares.standing))
    relevant = [item for item in sorted(relevant, key=lambda item: -item.score) if item.ref not in builder.shown]
    fresh, more = dedupe_lines([item for item in relevant if not item.waits], builder.standing)
    blocks = _blocks(_newest_first(fresh)) if shares.relevant else []
    strong = [block for block in blocks if block[0].score >= STRONG]
    builder.fill_relevant(strong, _tokens(budget, shares.standing + shares.relevant) - builder.standing_tokens)
    builder.fill_relevant(blocks, _tokens(budget, shares.relevant * WEAK_SHARE))
    total = _tokens(budget, shares.standing + shares.relevant + shares.quoted) - builder.standing_tokens
    if choose is not None and shares.quoted:
        builder.fill_quotes(choose, total - builder.relevant_tokens)
    if total - builder.quoted_tokens - builder.relevant_tokens >= LEAST_ROOM:
        more_standing = _most_binding_first(standing) if shares.standing and shares.relevant else []
        unsaid = [block for block in (*blocks, *more_standing) if not builder.says(block)]
        builder.fill_relevant(unsaid, total - builder.quoted_tokens)
    duplicates = dict.fromkeys((item.ref for item in (*repeated, *more)), DUPLICATE)
    waiting = dict.fromkeys((item.ref for item in relevant if item.waits), UNAPPROVED)
    return builder.context([*relevant, *standing, *repeated], {**duplicates, **waiting})


def _tokens(budget: int, share: float) -> int:
    return int(budget * min(share, 1) + 1e-6)


def fit(candidates: Sequence[ContextCandidate], budget: int, count: Count) -> Context:
    """Only memories found for a question, best first; smaller ones fill what is left."""
    return compose((), candidates, None, budget, count, Shares(0, 1, 0))


Block = tuple[ContextCandidate, ...]


def _newest_first(candidates: Sequence[ContextCandidate]) -> list[ContextCandidate]:
    """Memories of one topic change places among each other."""
    ordered = list(candidates)
    places: dict[str, list[int]] = {}
    for place, item in enumerate(ordered):
        if item.topic:
            places.setdefault(item.topic, []).append(place)
    for same in places.values():
        newest = sorted((ordered[place] for place in same), key=lambda item: -item.at)
        for place, item in zip(same, newest, strict=True):
            ordered[place] = replace(item, score=candidates[place].score)
    return ordered


def _most_binding_first(standing: Sequence[ContextCandidate]) -> list[Block]:
    """Rules before preferences before identity, the newest first: the reverse of the order they are rendered in."""
    return _blocks(standing)[::-1]


def _blocks(candidates: Sequence[ContextCandidate]) -> list[Block]:
    """Lines that belong together, at the place of the first of them."""
    blocks: dict[object, list[ContextCandidate]] = {}
    for item in candidates:
        blocks.setdefault(item.block or item.ref, []).append(item)
    return [tuple(block) for block in blocks.values()]


class _ContextBuilder:
    """What was taken into the context so far. Costs are estimated from above, line by line."""

    def __init__(self, budget: int, count: Count, *, cite: bool) -> None:
        self._budget = budget
        self._count = count
        self._cite = cite
        self._frame = count(f"{CONTEXT_OPEN}\n{CONTEXT_CLOSE}") + (count(CITE) + 1 if cite else 0)
        self._standing: list[ContextCandidate] = []
        self._relevant: list[ContextCandidate] = []
        self._quotes: list[Quote] = []
        self.quoted_tokens = 0
        self.shown: set[MemoryRef] = set()
        self.standing_tokens = 0
        self.relevant_tokens = 0

    @property
    def standing(self) -> Sequence[ContextCandidate]:
        return self._standing

    @property
    def room(self) -> int:
        return self._budget - self._frame - self.standing_tokens - self.relevant_tokens - self.quoted_tokens

    def fill_standing(self, candidates: Sequence[ContextCandidate], share: int) -> None:
        """Rendered in their order; where not all fit, rules go first."""
        for block in _most_binding_first(candidates):
            opens = 0 if self.shown else self._count(f"{STANDING}\n")
            cost = opens + self._cost(block)
            if self.standing_tokens + cost <= share and cost <= self.room:
                self.shown |= {item.ref for item in block}
                self.standing_tokens += cost
        self._standing = [item for item in candidates if item.ref in self.shown]

    def fill_relevant(self, blocks: Sequence[Block], share: int) -> None:
        """`share` is what the part may have in all."""
        for block in blocks:
            if any(item.ref in self.shown for item in block):
                continue
            kinds = {item.ref.kind for item in block} - {item.ref.kind for item in self._relevant}
            cost = sum(self._count(f"{HEADINGS[kind]}\n") for kind in kinds) + self._cost(block)
            if self.relevant_tokens + cost <= share and cost <= self.room:
                self._relevant = sorted([*self._relevant, *block], key=lambda item: -item.score)
                self.shown |= {item.ref for item in block}
                self.relevant_tokens += cost

    def fill_quotes(self, choose: Choose, share: int) -> None:
        room = min(share, self.room)
        rendered = (*self._standing, *self._relevant)
        memories = [RenderedMemory(item.ref, text) for item in rendered for text in item.statements or (item.text,)]
        self._quotes = choose(room, memories) if room > 0 else []
        if self._quotes:
            self.quoted_tokens = sum(self._count(f"{line}\n") for line in [HEADING, *quoted_lines(self._quotes)])

    def says(self, block: Block) -> bool:
        """Whether a quote says the same as one of these lines."""
        texts = [joined_words(item.text) for item in block]
        return any(text in words for words in self._quoted_words for text in texts)

    @cached_property
    def _quoted_words(self) -> list[str]:
        return [joined_words(quote.text) for quote in self._quotes]

    def context(self, candidates: Iterable[ContextCandidate], because: Mapping[MemoryRef, str]) -> Context:
        """Counted as a whole: what the estimate was wrong by is taken off the end. `because`: why some are left out."""
        text = self._text()
        while text and (tokens := self._count(text)) > self._budget:
            (self._quotes or self._relevant or self._standing).pop()
            text = self._text()
        shown = [*self._standing, *self._relevant]
        refs = {item.ref for item in shown}
        left_out = {item.ref: item for item in reversed(list(candidates)) if item.ref not in refs}
        return Context(
            text=text,
            tokens=tokens if text else 0,
            shown=tuple(map(self._line, shown)),
            left_out=tuple(
                self._line(item, because.get(item.ref, OVER_BUDGET))
                for item in sorted(left_out.values(), key=lambda item: -item.score)
            ),
            standing="\n".join(self._standing_lines()) if text else "",
            quoted=tuple(self._quotes),
        )

    def _line(self, item: ContextCandidate, reason: str = "") -> Line:
        return Line(item.ref, item.line, self._count(item.line), reason)

    def _cost(self, block: Block) -> int:
        return sum(self._count(f"{item.line}\n") for item in block)

    def _standing_lines(self) -> list[str]:
        return [STANDING, *(item.line for item in self._standing)] if self._standing else []

    def _text(self) -> str:
        lines = self._standing_lines()
        for kind, items in groupby(_by_kind_and_date(self._relevant), key=lambda pair: pair[0]):
            lines += [HEADINGS[kind], *(item.line for _, item in items)]
        if self._quotes:
            lines += [HEADING, *quoted_lines(self._quotes)]
        if lines and self._cite:
            lines.append(CITE)
        return "\n".join([CONTEXT_OPEN, *lines, CONTEXT_CLOSE]) if lines else ""


def _by_kind_and_date(candidates: Sequence[ContextCandidate]) -> list[tuple[Kind, ContextCandidate]]:
    """Kinds in the order of their headings, newest first within a kind, so that an updated value precedes the old one.

    A block stays together, under the kind of its first line: the sides of a conflict may be of two kinds.
    """
    kinds = list(HEADINGS)
    blocks = sorted(_blocks(candidates), key=lambda block: (kinds.index(block[0].ref.kind), -block[0].at))
    return [(block[0].ref.kind, item) for block in blocks for item in block]
