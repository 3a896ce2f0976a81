"""What else the profile of OpenClaw 2026.3.24 decides: files, transcripts, notes and flushes."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

import commonplace
from commonplace.errors import PathNotAllowedError, SettingsError
from commonplace.flush import FlushCycle, FlushLimits, flush_reason, token_limit
from commonplace.flush.turn import system_prompt, user_prompt
from commonplace.memory import Memory
from commonplace.profiles import from_settings
from commonplace.settings import FlushSettings, Settings
from commonplace.store.sqlite.store import SqliteStore
from commonplace.types import FlushMessage
from support.fakes import NOON, clock
from support.reference import vectors
from transcripts.talk import Talk, assistant, tool_noise, user
from workspace.files import posix, write

OPENCLAW = Settings.openclaw()


# Files.


@posix
@pytest.mark.parametrize(("given", "expected"), vectors("listMemoryFiles"))
def test_files_are_found_in_the_order_of_the_build(tmp_path, given, expected):
    write(tmp_path, *given["files"])
    settings = replace(OPENCLAW, extra_paths=tuple(given["extraPaths"]))
    with Memory.open(tmp_path, settings=settings, index="memory://") as memory:
        listed = [file.path for file in memory.workspace.scan().files]
    assert listed == [path for path in expected if path.endswith(".md")]  # it has pictures, too


@posix
@pytest.mark.parametrize(("given", "expected"), vectors("readMemoryFile"))
def test_the_same_files_are_read_and_refused(tmp_path, given, expected):
    write(tmp_path, *given["files"])
    settings = replace(OPENCLAW, extra_paths=tuple(given["extraPaths"]))
    with Memory.open(tmp_path, settings=settings, index="memory://") as memory:
        if "throws" in expected:
            with pytest.raises(PathNotAllowedError):
                memory.get(given["relPath"])
            return
        excerpt = memory.get(given["relPath"])
    assert (excerpt.text, excerpt.path) == (expected["text"], expected["path"])
    assert excerpt.status == ("ok" if expected["text"] else "not_found")


# Transcripts and session notes.


def test_transcripts_are_one_text_with_the_lines_of_the_file(tmp_path):
    talk = Talk(tmp_path)
    settings = replace(OPENCLAW, sessions=talk.settings.sessions)
    talk.say(user("one " * 300), *tool_noise(20), assistant("NO_REPLY"), assistant("cat " * 200))
    with Memory.open(
        talk.root, settings=settings, embedder=None, index=talk.index, now=clock(NOON)
    ) as memory:
        memory.index()
        (hit,) = memory.search("cat", min_score=0)
        assert (hit.start_line, hit.end_line) == (1, 43)  # the overlap is of whole lines
        assert "\nAssistant: NO_REPLY\nAssistant: cat cat" in memory.get(hit.path).text


def test_session_notes_have_the_day_and_the_time_of_utc(tmp_path):
    late = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    (tmp_path / "notes").mkdir()
    settings = replace(OPENCLAW, timezone="Asia/Tokyo")
    with Memory.open(
        tmp_path / "notes", settings=settings, embedder=None, index="memory://", now=lambda: late
    ) as memory:
        path = memory.write_session_note([FlushMessage("user", "Tea is at four.")])
        head = memory.get(path).text.splitlines()[0]
    assert path == "memory/2026-11-20-2330.md"
    assert head == "# Session: 2026-11-20 23:30:00 UTC"


# Flush.


def memory_of(settings):
    return SimpleNamespace(settings=settings, profile=from_settings(settings))


@pytest.mark.parametrize(("given", "expected"), vectors("resolveMemoryFlushSettings"))
def test_flush_prompts_are_those_of_the_build(given, expected):
    rules, day = from_settings(OPENCLAW).flush, NOON.date().isoformat()
    user_text = user_prompt(OPENCLAW, rules, moment=NOON)
    theirs = expected["prompt"].replace("YYYY-MM-DD", day)
    assert user_text.startswith(theirs)
    assert user_text.removeprefix(theirs).strip().startswith("Current time: Friday, November 20th")
    assert system_prompt(rules, moment=NOON) == expected["systemPrompt"].replace("YYYY-MM-DD", day)


@pytest.mark.parametrize(("given", "expected"), vectors("shouldRunMemoryFlush"))
def test_flushes_run_at_the_same_counts(given, expected):
    flush = FlushSettings(
        context_window=given["ctx"],
        reserve_tokens=given["reserve"],
        soft_threshold_tokens=given["soft"],
    )
    entry = given.get("entry", {})
    tokens = given.get("tokenCount") or entry.get("totalTokens", 0)
    flushed_at = entry.get("memoryFlushCompactionCount")
    cycle = FlushCycle(str(flushed_at), flushed=flushed_at is not None)
    cycle = cycle.for_compaction(str(entry.get("compactionCount")))
    limits = FlushLimits(token_limit(memory_of(replace(OPENCLAW, flush=flush))))
    assert (flush_reason(limits, tokens=tokens, cycle=cycle) == "tokens") is expected


@pytest.mark.parametrize(("given", "expected"), vectors("resolveMemoryFlushSettings"))
def test_flush_settings_are_those_of_the_build(given, expected):
    flush = OPENCLAW.flush
    changed = given["cfg"].get("agents", {}).get("defaults", {}).get("compaction", {})
    changed = changed.get("memoryFlush", {})
    transcript_bytes = changed.get("forceFlushTranscriptBytes", flush.transcript_bytes)
    assert expected["enabled"] is flush.enabled
    assert expected["softThresholdTokens"] == flush.soft_threshold_tokens
    assert expected["reserveTokensFloor"] == flush.reserve_tokens
    assert expected["forceFlushTranscriptBytes"] == transcript_bytes


@pytest.mark.parametrize(("window", "limit"), [(80_000, 56_000), (32_000, 8_000), (16_000, None)])
def test_a_small_window_is_never_flushed(window, limit):
    assert FlushLimits.of_memory(memory_of(OPENCLAW), context_window=window).tokens == limit


# What it needs, and what it refuses.


def test_an_engine_without_exact_bm25_is_refused_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    monkeypatch.setattr(SqliteStore, "capabilities", frozenset())
    index = tmp_path / "index.sqlite"
    with pytest.raises(SettingsError) as caught:
        Memory.open(tmp_path / "notes", settings=OPENCLAW, embedder=None, index=index)
    message = str(caught.value)
    assert "the profile 'openclaw' needs an index engine with exact-fts5-bm25" in message
    assert str(index) in message
    assert "\n" not in message
    with Memory.open(tmp_path / "notes", embedder=None, index=index) as memory:
        assert memory.search("anything") == []


def test_it_takes_no_reranker(tmp_path):
    (tmp_path / "notes").mkdir()
    with pytest.raises(SettingsError, match="the profile 'openclaw' takes no reranker"):
        Memory.open(
            tmp_path / "notes",
            settings=OPENCLAW,
            embedder=None,
            index="memory://",
            reranker=lambda query, passages: [0.0] * len(passages),
        )


# It can be taken out.

_USE_WITHOUT_OPENCLAW = """
import importlib, pkgutil, sys
import commonplace
from commonplace import Memory, Settings, errors

for module in pkgutil.walk_packages(commonplace.__path__, "commonplace."):
    if not module.name.endswith(("__main__", "pytest_plugin")):
        importlib.import_module(module.name)
assert not [name for name in sys.modules if name.startswith("commonplace.compat.openclaw")]
with Memory.open(sys.argv[1], index=sys.argv[2], embedder="bundled") as memory:
    assert memory.index().added == 1
    assert "51820" in memory.search("which port does the VPN use?")[0].snippet
    memory.append("- Tea is at four.")
    assert "four" in memory.search("when is tea?")[0].snippet
for use in (
    lambda: Memory.open(sys.argv[1], settings=Settings.openclaw(), index=sys.argv[2]),
    lambda: Settings.from_openclaw(sys.argv[1]),
):
    try:
        use()
    except errors.SettingsError as error:
        print(error)
sys.argv[1:] = ["import", "openclaw"]
commonplace.cli.main()
"""


@pytest.mark.slow
@pytest.mark.full
def test_deleting_the_folder_and_one_line_deletes_it(tmp_path):
    """The folder of the profile, and its line in the registry; everything else works on."""
    package = tmp_path / "src/commonplace"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(commonplace.__file__).parent, package, ignore=ignored)
    shutil.rmtree(package / "compat/openclaw")
    registry = package / "profiles.py"
    lines = registry.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if "openclaw" not in line]
    assert len(kept) == len(lines) - 1
    registry.write_text("".join(kept), "utf-8")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/MEMORY.md").write_text("- The VPN listens on 51820.\n")
    run = subprocess.run(
        [
            *(sys.executable, "-c", _USE_WITHOUT_OPENCLAW),
            *(str(tmp_path / "notes"), str(tmp_path / "index.sqlite")),
        ],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    missing = (
        "this installation does not have OpenClaw's rules, the package "
        "commonplace.compat.openclaw; reinstall commonplace."
    )
    assert run.stdout.splitlines() == [
        "profile is 'openclaw', which this installation does not have; known: default.",
        missing,
    ]
    assert run.returncode == 1
    assert missing in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr
