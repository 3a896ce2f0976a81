"""When a conversation is flushed."""

from types import SimpleNamespace

import pytest

from commonplace.flush import FlushCycle, FlushLimits, flush_reason, token_limit
from commonplace.profiles import FlushRules, from_settings
from commonplace.settings import FlushSettings, Settings
from commonplace.types import FlushReport


def memory_of(settings=None, **flush):
    """The part of a memory that has thresholds."""
    settings = settings or Settings(flush=FlushSettings(**flush))
    return SimpleNamespace(settings=settings, profile=from_settings(settings))


@pytest.mark.parametrize(
    ("window", "ours", "unscaled"),
    [
        (200_000, 176_000, 176_000),
        (1_000_000, 976_000, 976_000),
        (80_000, 56_000, 56_000),
        (32_000, 20_000, 8_000),
        (24_000, 14_000, None),
        (16_000, 8_000, None),
        (8_000, 3_000, None),
        (4_000, 1_500, None),
        (100, 38, None),
        (1, 1, None),
        (0, None, None),
    ],
)
def test_small_windows_are_flushed_before_they_are_full(window, ours, unscaled):
    assert token_limit(memory_of(), context_window=window) == ours
    plain = memory_of()
    plain.profile = SimpleNamespace(flush=FlushRules("", "", fits_small_windows=False))
    assert token_limit(plain, context_window=window) == unscaled


def test_the_window_is_that_of_the_model_or_of_the_setting():
    memory = memory_of(context_window=100_000)
    assert token_limit(memory) == 76_000
    assert token_limit(memory, context_window=50_000) == 33_500


def test_limits_come_from_the_settings():
    assert FlushLimits.of_memory(memory_of()) == FlushLimits(176_000, 2 * 1024 * 1024)
    assert FlushLimits.of_memory(memory_of(), context_window=16_000).tokens == 8_000
    assert FlushLimits.of_memory(memory_of(transcript_bytes=0)).transcript_bytes is None
    assert FlushLimits.of_memory(memory_of(enabled=False)) == FlushLimits(None, None)


LIMITS = FlushLimits(tokens=1000, transcript_bytes=5000)
NEW, HAD = FlushCycle("c1"), FlushCycle("c1", flushed=True)


@pytest.mark.parametrize(
    ("tokens", "transcript_bytes", "compacting", "cycle", "expected"),
    [
        (999, 4999, False, NEW, None),
        (1000, 0, False, NEW, "tokens"),
        (0, 5000, False, NEW, "transcript"),
        (1000, 5000, False, NEW, "tokens"),
        (0, 0, True, NEW, "compaction"),
        (9999, 9999, True, NEW, "compaction"),
        (9999, 9999, False, HAD, None),
        (9999, 9999, True, HAD, "compaction"),
        (1000, 0, False, None, "tokens"),
    ],
)
def test_whatever_comes_first_flushes(tokens, transcript_bytes, compacting, cycle, expected):
    found = flush_reason(
        LIMITS, tokens=tokens, transcript_bytes=transcript_bytes, compacting=compacting, cycle=cycle
    )
    assert found == expected


def test_a_limit_that_is_off_never_flushes():
    off = FlushLimits(None, None)
    assert flush_reason(off, tokens=10**9, transcript_bytes=10**9) is None
    assert flush_reason(off, compacting=True) == "compaction"


def test_a_cycle_has_one_flush_until_the_next_compaction():
    done = FlushReport("tokens")
    failed = FlushReport("tokens", failed="the model raised")
    kept = FlushReport("tokens", failed="three times", transcript="x.jsonl")
    cycle = FlushCycle().for_compaction("summary-1")
    assert cycle.after(failed) == cycle
    assert cycle.after(done).flushed
    assert cycle.after(kept).flushed
    assert cycle.after(done).after(failed).flushed
    assert cycle.after(done).for_compaction("summary-1").flushed
    assert not cycle.after(done).for_compaction("summary-2").flushed
