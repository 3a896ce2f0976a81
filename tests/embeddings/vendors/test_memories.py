"""Memories over each vendor: found by meaning, and by words when the vendor fails."""

import json
import logging
from dataclasses import replace

import pytest

from commonplace.embeddings import retry
from commonplace.embeddings.retry import RetryPolicy
from commonplace.tools.answers import search_answer
from support.notes import LINES, Notes, find

pytestmark = pytest.mark.vendors

FAULTS = [429, (429, "0"), 500, "cut", "drop", "short", "dimension", "nan", "html", "quota", "echo"]


@pytest.fixture
def notes(tmp_path):
    return Notes(tmp_path)


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """Wait a fiftieth of the time, and ask again a provider that has just failed."""
    policy = RetryPolicy(first_backoff_s=0.01, query_pause_s=0.0)
    monkeypatch.setattr(retry, "DEFAULT_POLICY", policy)


def opened(notes, vendor, **settings):
    return notes.open("auto", replace(LINES, embedding=vendor.settings(**settings)))


def test_notes_are_found_by_meaning_and_each_text_is_embedded_once(notes, vendor):
    with opened(notes, vendor) as memory:
        assert memory.index().failed == ()
        texts = list(vendor.server.texts)
        assert len(set(texts)) == len(texts)
        found = find(memory, "the printer is called")
        assert (found.mode, found.fallback, found.provider) == ("hybrid", None, vendor.name)
        assert found[0].path == "MEMORY.md"
        memory.index(force=True)
        assert vendor.server.texts == [*texts, "the printer is called"]
        assert memory.status().provider == vendor.name


@pytest.mark.slow
def test_a_question_is_answered_by_words_whatever_the_vendor_does(notes, vendor):
    with opened(notes, vendor, query_timeout_s=30.0) as memory:
        memory.index()
        for fault in FAULTS:
            vendor.server.fail_always(fault)
            found = find(memory, f"printer {fault}")
            assert (found.mode, found[0].path) == ("keyword", "MEMORY.md"), fault
            assert found.fallback.startswith(f"the embedder {vendor.name}:"), fault
            assert "\n" not in found.fallback
        vendor.server.fail_always(None)
        assert find(memory, "printer").mode == "hybrid"


@pytest.mark.slow
def test_a_question_is_answered_by_words_when_the_vendor_hangs(notes, vendor):
    with opened(notes, vendor, query_timeout_s=0.3) as memory:
        memory.index()
        vendor.server.fail_always("hang")
        found = find(memory, "printer")
        assert (found.mode, found[0].path) == ("keyword", "MEMORY.md")
        assert "no answer within" in found.fallback


@pytest.mark.slow
@pytest.mark.full
def test_what_could_not_be_embedded_is_found_by_words_and_embedded_by_a_later_run(notes, vendor):
    with opened(notes, vendor) as memory:
        # Vectors of any length are good while none are known.
        for fault in (fault for fault in FAULTS if fault != "dimension"):
            vendor.server.fail_always(fault)
            memory.index()
            assert find(memory, f"printer {fault}").mode == "keyword", fault
        vendor.server.fail_always(None)
        memory.index()
        found = find(memory, "printer")
        assert (found.mode, found.fallback) == ("hybrid", None)


@pytest.mark.slow
def test_secrets_are_in_no_answer_no_log_and_no_file(notes, vendor, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    shown = []
    with opened(notes, vendor, query_timeout_s=30.0) as memory:
        for fault in (None, "echo", "html", 500):
            vendor.server.fail_always(fault)
            notes.write(f"memory/{fault}.md", f"- a note of its own for {fault}\n")
            shown += [repr(memory.index()), repr(find(memory, f"note {fault}"))]
            shown += [json.dumps(search_answer(memory, {"query": f"its own {fault}"}))]
            shown += [repr(memory.status(deep=True)), repr(memory.settings)]
    shown += [*caplog.messages, *capfd.readouterr()]
    files = [path.read_bytes() for path in notes.index.parent.rglob("*") if path.is_file()]
    sent = " ".join(value for asked in vendor.server.requests for value in asked.headers.values())
    for secret in vendor.secrets:
        assert secret in sent
        assert not any(secret in text for text in shown)
        assert not any(secret.encode() in content for content in files)
