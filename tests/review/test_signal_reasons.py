"""The words of review signals."""

from acumen.model.ids import Kind, MemoryRef, Millis
from acumen.model.metering.usage import Use
from acumen.model.review.signal import QueueItem, ReviewWindow, ScoredSignal, SignalEvidence, Thresholds
from acumen.model.times import DAY_MS
from acumen.review.signal_reasons import Signal, describe

NOW = Millis(1_000 * DAY_MS)
SINCE = Millis(NOW - 60 * DAY_MS)
LONG_AGO = Millis(NOW - 100 * DAY_MS)
WINDOW = ReviewWindow(SINCE, NOW, LONG_AGO)


def described(evidence: SignalEvidence, signal: ScoredSignal) -> Signal:
    item = QueueItem(MemoryRef(Kind.PROFILE, "p"), "ada", 1, evidence, [signal])
    (described,) = describe(item, WINDOW, Thresholds())
    return described


def test_a_stale_memory_is_described_by_the_window_and_its_age():
    signal = described(SignalEvidence(LONG_AGO, LONG_AGO), ScoredSignal("stale", 64, 0.0, 100))

    assert "60 days" in signal.why
    assert "100 days" in signal.why
    assert signal.since == LONG_AGO + 60 * DAY_MS


def test_an_expensive_memory_is_described_by_its_citations_and_its_tokens():
    use = Use(shown=10, tokens=500, cited_shown=1, cited_tokens=50, judged_shown=10, judged_tokens=500, first_at=NOW)

    signal = described(SignalEvidence(LONG_AGO, LONG_AGO, use), ScoredSignal("high_cost_low_cite", 40, 7.5, 450))

    assert "1 of 10 injections" in signal.why
    assert "450 of 500 tokens" in signal.why
    assert (signal.since, signal.saving, signal.measure) == (NOW, 7.5, 450)
