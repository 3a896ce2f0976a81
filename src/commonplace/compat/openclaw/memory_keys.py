"""Keys of OpenClaw's memory, and the settings of this package that stand for them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

__all__ = [
    "JOINED_KEYS",
    "KEYS_NOT_TAKEN",
    "OTHER_KEYS",
    "OTHER_KEYS_NOT_TAKEN",
    "SEARCH_KEYS",
]

_UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30}


def _same(value: Any) -> Any:
    return value


def _share(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


def _count(low: int, high: int = 2**53) -> Callable[[Any], int]:
    return lambda value: min(high, max(low, int(value)))


def _bytes(value: Any) -> int:
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmg]?b)?\s*", str(value).lower())
    if found is None:
        raise ValueError("no size")
    return int(float(found[1]) * _UNITS[found[2] or "b"])


def _minutes(value: Any) -> float:
    found = re.fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h|d)?\s*", str(value).lower())
    if found is None:
        raise ValueError("no duration")
    return (
        float(found[1])
        * {"ms": 1 / 60_000, "s": 1 / 60, "m": 1.0, "h": 60.0, "d": 1440.0}[found[2] or "m"]
    )


def _seconds(value: Any) -> float:
    return max(0.001, float(value) / 1000)


SEARCH_KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "outputDimensionality": ("embedding.dimensions", _same),
    "remote.batch.enabled": ("embedding.batch", _same),
    "remote.batch.pollIntervalMs": ("embedding.batch_poll_s", _seconds),
    "remote.batch.timeoutMinutes": ("embedding.batch_timeout_minutes", float),
    "chunking.tokens": ("chunking.tokens", _count(1)),
    "chunking.overlap": ("chunking.overlap", _count(0)),
    "sync.onSessionStart": ("sync.on_open", _same),
    "sync.onSearch": ("sync.on_search", _same),
    "sync.watch": ("sync.watch", _same),
    "sync.watchDebounceMs": ("sync.debounce_ms", _count(0)),
    "sync.intervalMinutes": ("sync.interval_minutes", float),
    "sync.sessions.deltaBytes": ("sessions.delta_bytes", _count(0)),
    "sync.sessions.deltaMessages": ("sessions.delta_messages", _count(0)),
    "query.maxResults": ("search.max_results", _count(1)),
    "query.minScore": ("search.min_score", _share),
    "query.hybrid.vectorWeight": ("search.vector_weight", _share),
    "query.hybrid.textWeight": ("search.text_weight", _share),
    "query.hybrid.candidateMultiplier": ("search.candidate_multiplier", _count(1, 20)),
    "query.hybrid.mmr.enabled": ("search.mmr", _same),
    "query.hybrid.mmr.lambda": ("search.mmr_lambda", _share),
    "query.hybrid.temporalDecay.enabled": ("search.decay", _same),
    "query.hybrid.temporalDecay.halfLifeDays": ("search.half_life_days", _count(1)),
    "cache.enabled": ("cache.enabled", _same),
    "cache.maxEntries": ("cache.max_entries", _count(1)),
    "store.vector.extensionPath": ("search.vector_extension", os.path.expanduser),
}
"""Keys of ``memorySearch`` that have a setting of their own here, and how a value is converted."""

JOINED_KEYS = frozenset(
    (
        "provider",
        "model",
        "fallback",
        "remote.baseUrl",
        "remote.apiKey",
        "remote.headers",
        "local.modelPath",
        "local.modelCacheDir",
        "sources",
        "experimental.sessionMemory",
        "extraPaths",
        "query.hybrid.enabled",
    )
)
"""Keys of ``memorySearch`` that several settings are made of."""

KEYS_NOT_TAKEN = {
    "enabled": "searching here is not switched on and off: a memory is searched when it is asked",
    "multimodal": "images and sound are not indexed here",
    "store.driver": "the index here is SQLite by default, too",
    "store.path": "the index here is another file; neither program writes into the other's",
    "store.vector.enabled": "vectors are searched with sqlite-vec, to the same results",
    "remote.batch.wait": "an index run never keeps a search waiting",
    "remote.batch.concurrency": "batch jobs are sent as the vendor allows",
    "sync.sessions.postCompactionForce": "a transcript that was rewritten is read at once",
}
"""Keys of ``memorySearch`` without a counterpart, and why; one above others speaks for them."""

OTHER_KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "memory.citations": ("citations", _same),
    "memory.backend": ("search.backend", _same),
    "memory.qmd.command": ("qmd.command", _same),
    "memory.qmd.searchMode": ("qmd.mode", _same),
    "memory.qmd.update.interval": ("qmd.refresh", _minutes),
    "memory.qmd.limits.timeoutMs": ("qmd.timeout_s", _seconds),
    "agents.defaults.userTimezone": ("timezone", _same),
    "agents.defaults.contextTokens": ("flush.context_window", _count(0)),
    "agents.defaults.bootstrapMaxChars": ("context.file_chars", _count(100)),
    "agents.defaults.bootstrapTotalMaxChars": ("context.total_chars", _count(100)),
    "agents.defaults.compaction.reserveTokensFloor": ("flush.reserve_tokens", _count(0)),
    "agents.defaults.compaction.memoryFlush.enabled": ("flush.enabled", _same),
    "agents.defaults.compaction.memoryFlush.softThresholdTokens": (
        "flush.soft_threshold_tokens",
        _count(0),
    ),
    "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes": (
        "flush.transcript_bytes",
        _bytes,
    ),
    "agents.defaults.compaction.memoryFlush.prompt": ("flush.prompt", _same),
}
"""Keys besides ``memorySearch`` that concern a memory."""

OTHER_KEYS_NOT_TAKEN = {
    "memory.qmd": "QMD's other keys have no counterpart here",
    "agents.defaults.compaction.memoryFlush.systemPrompt": "only the user prompt can be replaced",
}
