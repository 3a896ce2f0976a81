"""First runs through the vendor's batch interface: OpenAI's real client, a server of ours."""

import contextlib
import logging
import threading
import time
from dataclasses import replace

import pytest

from commonplace.embeddings.batch_jobs import job_queue
from commonplace.errors import StoreError
from commonplace.settings import EmbeddingSettings
from commonplace.system.state import StateFile
from support.loopback_clients import KEY, KEYS, OTHER_VARIABLES
from support.loopback_vendors import LoopbackVendor
from support.notes import CHUNKS, LINES, find
from support.waiting import wait_for

pytest.importorskip("openai", reason="commonplace[openai] is missing")
pytestmark = [pytest.mark.vendors, pytest.mark.allow_hosts(["127.0.0.1"])]

DEADLINE_S = 30.0
COUNT = 302  # of the two that are always there, too


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for variable in (*KEYS.values(), *OTHER_VARIABLES):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(autouse=True)
def _nothing_given_up():
    job_queue._FAILURES.clear()
    yield
    job_queue._FAILURES.clear()


@pytest.fixture
def notes(notes):
    for number in range(COUNT - 2):
        notes.write(f"memory/{number}.md", f"note {number} on the printer{' and on' * 40}\n")
    return notes


@pytest.fixture
def server():
    with LoopbackVendor("openai") as server:
        yield server


def batched(server, base=CHUNKS, **embedding):
    given = {
        "provider": "openai",
        "base_url": server.base_url,
        "batch": True,
        "batch_min_texts": 100,
        "batch_poll_s": 0.02,
    }
    return replace(base, embedding=EmbeddingSettings(**given | embedding))


def noted(notes):
    """The jobs that the state file knows of."""
    file = StateFile(notes.state)
    return [job for (job,) in file.rows("SELECT job FROM embedding_jobs")]


@pytest.mark.parametrize("settings", [CHUNKS, LINES], ids=["chunks", "lines"])
def test_a_large_first_run_goes_through_one_job(notes, server, settings):
    server.jobs.polls = 3
    with notes.open("auto", batched(server, settings)) as memory:
        report = memory.index()
        assert (report.failed, report.added, report.updated) == ((), COUNT, 0)
        assert report.embedded == sum(map(len, server.jobs.submitted))
        assert server.embeddings() == []
        assert len(server.jobs.submitted) == 1
        assert find(memory, "printer").mode == "hybrid"
        assert memory.status().stale == ()
    assert noted(notes) == []


def test_a_small_run_is_no_job(notes, server):
    with notes.open("auto", batched(server, batch_min_texts=5000)) as memory:
        assert memory.index().failed == ()
    assert server.jobs.submitted == []
    assert server.embeddings()


def test_without_the_setting_there_is_no_job(notes, server):
    with notes.open("auto", batched(server, batch=False)) as memory:
        assert memory.index().failed == ()
    assert server.jobs.submitted == []


def test_words_are_found_while_a_job_takes_its_time(notes, server):
    server.jobs.polls = 10**9
    with notes.open("auto", batched(server)) as memory:
        running = threading.Thread(target=memory.index)
        running.start()
        wait_for(lambda: server.jobs.submitted)
        hits = find(memory, "printer 42")
        assert (hits.mode, bool(hits)) == ("keyword", True)
        server.jobs.polls = 0
        running.join(DEADLINE_S)
        assert find(memory, "printer 42").mode == "hybrid"


def test_a_pending_job_holds_up_no_other_memory(notes, server):
    server.jobs.polls = 10**9
    with notes.open("auto", batched(server)) as waiting, notes.open(None) as other:
        running = threading.Thread(target=waiting.index)
        running.start()
        wait_for(lambda: noted(notes))
        assert find(other, "printer 42")  # when the run that began the job is over
        notes.write("memory/new.md", "- The heron is back.")
        assert other.index().added == 1
        assert find(other, "heron")
        server.jobs.polls = 0
        running.join(DEADLINE_S)
        assert find(waiting, "heron").mode == "hybrid"
        assert waiting.status().stale == ()


def test_the_first_search_does_not_wait_for_the_job_that_it_begins(notes, server):
    server.jobs.polls = 10**9
    with notes.open("auto", batched(server)) as memory:
        hits = find(memory, "printer 42")
        assert (hits.mode, bool(hits)) == ("keyword", True)
        assert len(server.jobs.submitted) == 1
        assert "batch interface is still at work" in repr(memory.status().stale)
        server.jobs.polls = 0
        assert memory.index().embedded == COUNT
        assert find(memory, "printer 42").mode == "hybrid"
    assert len(server.jobs.submitted) == 1


@pytest.mark.slow
def test_a_job_is_gone_on_with_after_a_restart(notes, server):
    server.jobs.polls = 10**9
    memory = notes.open("auto", batched(server))
    running = threading.Thread(target=ignoring(memory.index))
    running.start()
    wait_for(lambda: noted(notes))
    memory.close()
    running.join(DEADLINE_S)
    assert len(noted(notes)) == 1
    notes.write("memory/5.md", "this one has changed meanwhile")
    server.jobs.polls = 0
    with notes.open("auto", batched(server)) as memory:
        assert memory.index().failed == ()
        assert find(memory, "changed meanwhile").mode == "hybrid"
    assert len(server.jobs.submitted) == 1
    assert noted(notes) == []
    plain = [text for asked in server.embeddings() for text in asked.body["input"]]
    assert set(plain) - {"dimension"} == {"this one has changed meanwhile", "changed meanwhile"}


def test_closing_does_not_wait_until_a_job_is_asked_for_again(notes, server):
    server.jobs.polls = 10**9
    memory = notes.open("auto", batched(server, batch_poll_s=60.0))
    running = threading.Thread(target=ignoring(memory.index))
    running.start()
    wait_for(lambda: noted(notes))
    assert find(memory, "printer 42")  # when the run that began the job is over
    started = time.monotonic()
    memory.close()
    running.join(DEADLINE_S)
    assert time.monotonic() - started < 5


def test_a_job_is_fetched_though_most_of_its_texts_are_gone(notes, server):
    server.jobs.polls = 10**9
    memory = notes.open("auto", batched(server))
    running = threading.Thread(target=ignoring(memory.index))
    running.start()
    wait_for(lambda: noted(notes))
    memory.close()
    running.join(DEADLINE_S)
    for number in range(40, COUNT - 2):
        (notes.root / "memory" / f"{number}.md").unlink()
    server.jobs.polls = 0
    with notes.open("auto", batched(server)) as memory:
        assert memory.index().failed == ()
    assert noted(notes) == []
    assert server.embeddings() == []
    assert len(server.jobs.submitted) == 1


def ignoring(call):
    def called():
        with contextlib.suppress(StoreError):
            call()

    return called


def test_texts_that_a_job_leaves_out_are_sent_as_plain_requests(notes, server):
    server.jobs.unanswered = frozenset({3, 77})
    with notes.open("auto", batched(server)) as memory:
        assert memory.index().failed == ()
    assert sum(len(asked.body["input"]) for asked in server.embeddings()) == 2


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_handed_in_once_more_and_then_given_up(notes, server, caplog):
    server.jobs.polls = 10**9
    settings = batched(server, batch_timeout_minutes=0.002)
    with notes.open("auto", settings) as memory:
        report = memory.index()
        assert (report.failed, report.embedded) == ((), COUNT)
    assert len(server.jobs.submitted) == 2
    assert len(server.jobs.cancelled) == 2
    assert noted(notes) == []
    assert "plain requests are made" in caplog.text
    assert KEY not in caplog.text


@pytest.mark.slow
def test_after_two_failures_the_process_makes_plain_requests(notes, server, caplog):
    caplog.set_level(logging.INFO)
    server.jobs.broken = True
    with notes.open("auto", batched(server)) as memory:
        report = memory.index()
        assert (report.failed, report.embedded) == ((), COUNT)
        asked = [one for one in server.requests if one.path.endswith("/batches")]
        assert len(asked) == 2
        server.jobs.broken = False
        for number in range(COUNT):
            notes.write(f"memory/{number}.md", f"another note {number} {' and on' * 20}\n")
        assert memory.index().failed == ()
    assert server.jobs.submitted == []


@pytest.mark.slow
def test_another_model_may_come_through_a_job_while_the_old_one_answers(notes, server):
    with notes.open("auto", batched(server, batch=False)) as memory:
        memory.index()
    server.jobs.polls = 10**9
    with notes.open("auto", batched(server, model="other")) as memory:
        running = threading.Thread(target=memory.index)
        running.start()
        wait_for(lambda: server.jobs.submitted)
        hits = find(memory, "printer 42")
        assert (hits.mode, hits.model) == ("hybrid", "text-embedding-3-small")
        server.jobs.polls = 0
        running.join(DEADLINE_S)
        assert find(memory, "printer 42").model == "other"


@pytest.mark.slow
def test_what_a_long_run_is_about_to_cost_is_told_before_it(notes, server, caplog):
    caplog.set_level(logging.INFO)

    class Bar:
        told = ()

        def __call__(self, done, total, path):
            self.told = (*self.told, (done, total))

        def estimated(self, estimate):
            assert not server.texts
            self.told = (*self.told, estimate)

    for number in range(COUNT, 1200):
        notes.write(f"memory/{number}.md", f"note {number} on the printer{' and on' * 40}\n")
    bar = Bar()
    with notes.open("auto", batched(server, batch=False)) as memory:
        memory.index(progress=bar)
    estimate = bar.told[0]
    assert estimate.texts == 1202 - 2
    assert 70_000 < estimate.tokens < 110_000
    assert "1,200 texts, about " in caplog.text
    assert "openai:text-embedding-3-small" in str(estimate)
    assert bar.told[-1] == (1200, 1200)


def answering(server, answer):
    """Let the server say something else where `answer` returns it."""
    usual = server.dialect.answer
    server.dialect.answer = lambda asked, root, **more: answer(asked) or usual(asked, root, **more)
    return usual


@pytest.mark.slow
def test_a_download_that_fails_for_once_is_tried_again_and_nothing_is_paid_twice(notes, server):
    failed = []

    def busy(asked):
        if asked.path.endswith("/content") and not failed:
            failed.append(asked)
            return server.dialect.failure(503, "busy")
        return None

    answering(server, busy)
    with notes.open("auto", batched(server)) as memory:
        report = memory.index()
        assert (report.embedded, report.failed) == (COUNT, ())
    assert failed
    assert len(server.jobs.submitted) == 1
    assert server.embeddings() == []


@pytest.mark.slow
def test_a_job_outlives_a_run_with_a_wrong_key(notes, server):
    server.jobs.polls = 10**9
    with notes.open("auto", batched(server)) as memory:
        find(memory, "printer")
    usual = answering(server, lambda asked: server.dialect.failure(401, "Incorrect API key"))
    with notes.open("auto", batched(server)) as memory:
        memory.index()
    server.dialect.answer, server.jobs.polls = usual, 0
    with notes.open("auto", batched(server)) as memory:
        assert memory.index().failed == ()
        assert find(memory, "printer 42").mode == "hybrid"
    assert len(server.jobs.submitted) == 1


@pytest.mark.slow
def test_the_jobs_of_two_indexes_in_one_folder_do_not_touch_each_other(notes, server):
    server.jobs.polls = 10**9
    with notes.open("auto", batched(server)) as memory:
        find(memory, "printer")
    other = notes.index_at("other.sqlite")
    for name in range(COUNT - 2):
        notes.write(f"memory/{name}.md", f"another note {name} on the heron{' and on' * 40}\n")
    with notes.open("auto", batched(server), other) as memory:
        find(memory, "heron")
    assert len(server.jobs.submitted) == 2
    assert server.jobs.cancelled == []


def test_a_forced_run_tells_its_cost_and_begins_no_job(notes, server, caplog, monkeypatch):
    monkeypatch.setattr("commonplace.indexing.cost_estimate._REPORTED_FROM_TEXTS", COUNT)
    with caplog.at_level(logging.INFO), notes.open("auto", batched(server)) as memory:
        assert memory.index(force=True).failed == ()
    assert f"embedding {COUNT} texts, about" in caplog.text
    assert server.jobs.submitted == []
