"""Exports of several years, in each form: found by day, changed by a later one, taken back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.importers import import_notes
from commonplace.memory import Memory
from commonplace.settings import Settings, SyncSettings
from support.sampling import sampled

WEEKS = 209  # four years
BEGAN = datetime(2022, 1, 5, 10, tzinfo=UTC)
SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False), timezone="UTC")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def times(weeks):
    return [(week, BEGAN + timedelta(weeks=week)) for week in range(weeks)]


def said(week):
    return f"Which port has pump {week}?", f"It listens on {50_000 + week}."


def chatgpt(folder, weeks):
    entries = []
    for week, when in times(weeks):
        ask, answer = (
            {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}
            for role, text in zip(("user", "assistant"), said(week), strict=True)
        )
        nodes = {"a": {"message": ask}, "b": {"message": answer, "parent": "a"}}
        entries.append({"id": f"c{week}", "title": f"Pump {week}", "mapping": nodes,
                        "create_time": when.timestamp(), "current_node": "b"})  # fmt: skip
    (folder / "conversations.json").write_text(json.dumps(entries))


def claude(folder, weeks):
    entries = [
        {"uuid": f"c{week}", "name": f"Pump {week}", "created_at": when.isoformat(),
         "chat_messages": [{"sender": role, "text": text} for role, text in
                           zip(("human", "assistant"), said(week), strict=True)]}
        for week, when in times(weeks)
    ]  # fmt: skip
    (folder / "conversations.json").write_text(json.dumps(entries))


def claude_code(folder, weeks):
    for week, when in times(weeks):
        path = folder / f"projects/-home-pump{week % 5}/{week:032x}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        records = [
            {"type": role, "message": {"role": role, "content": text},
             "timestamp": when.isoformat()}
            for role, text in zip(("user", "assistant"), said(week), strict=True)
        ]  # fmt: skip
        path.write_text("\n".join(map(json.dumps, records)))


def mem0(folder, weeks):
    entries = [
        {"id": f"m{week}", "memory": f"Pump {week} listens on {50_000 + week}.",
         "user_id": "ann", "created_at": when.isoformat()}
        for week, when in times(weeks)
    ]  # fmt: skip
    (folder / "m.json").write_text(json.dumps({"results": entries}))


def langmem(folder, weeks):
    entries = [
        {"namespace": ["pumps"], "key": f"k{week}", "created_at": when.isoformat(),
         "value": {"content": f"Pump {week} listens on {50_000 + week}."}}
        for week, when in times(weeks)
    ]  # fmt: skip
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, entries)))


def obsidian(folder, weeks):
    for week, when in times(weeks):
        path = folder / f"{when.year}/{when.date()}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Pump {week}\n\n- It listens on {50_000 + week}. [[Well]]\n")


FORMS = [chatgpt, claude, claude_code, mem0, langmem, obsidian]


@pytest.mark.parametrize("form", sampled(FORMS, every=6), ids=lambda form: form.__name__)
def test_years_are_found_by_their_days_and_taken_back_as_one(tmp_path, form):
    (tmp_path / "notes").mkdir()
    export = tmp_path / ".claude"
    export.mkdir()
    source = form.__name__.replace("_", "-")
    index = tmp_path / "index.sqlite"
    with Memory.open(tmp_path / "notes", settings=SETTINGS, embedder=None, index=index) as memory:
        memory.append("- My own pump.")
        form(export, WEEKS - 20)
        first = import_notes(memory, source, export)
        assert first.added == WEEKS - 20
        form(export, WEEKS)
        assert import_notes(memory, source, export, dry_run=True).added == 20
        later = import_notes(memory, source, export)
        assert (later.added, later.unchanged, later.updated) == (20, WEEKS - 20, 0)
        for week in (0, 100, WEEKS - 1):
            day = (BEGAN + timedelta(weeks=week)).date()
            hits = memory.search("pump listens", after=day, before=day)
            assert {str(50_000 + week) in hit.snippet for hit in hits} == {True}
        assert str(50_077) in memory.search("pump 77 port 50077")[0].snippet
        memory.undo(later.id)
        memory.undo(first.id)
        assert len(memory.paths()) == 1
