"""Long runs through each vendor's batch interface: resumed, handed in again, given up."""

import numpy as np
import pytest

from commonplace.embeddings.batch_jobs import job_queue
from commonplace.embeddings.batch_jobs.job_queue import BatchJobQueue, batch_jobs_of
from commonplace.embeddings.batch_jobs.ledger import JobLedger
from commonplace.embeddings.client import EmbeddingClient
from commonplace.system.state import StateFile
from support.fakes import HashedWords
from support.loopback_clients import expected

pytestmark = pytest.mark.vendors

TEXTS = [f"note {n} on the printer" for n in range(6)]


@pytest.fixture(autouse=True)
def _nothing_given_up():
    job_queue._FAILURES.clear()
    yield
    job_queue._FAILURES.clear()


def batch(vendor, folder, **settings):
    """Return what a process would make: a client of its own over the same state file."""
    settings = {"batch": True, "batch_min_texts": 2, **settings}
    client = vendor.client(**settings)
    return BatchJobQueue(
        client,
        batch_jobs_of(client.embedder),
        JobLedger(StateFile(folder / "state.sqlite"), client.name),
        settings=vendor.settings(**settings),
        clock=vendor.clock,
    )


def waited_for(run, vendor, poll_s=10.0):
    """Hand texts in, look until nothing is under way any more, and return what came of it."""
    found = list(run.fetch(TEXTS))
    while run.has_jobs:
        vendor.clock.sleep(poll_s)
        if not run.is_busy():
            found += run.fetch(TEXTS)
    return {text: row for one in found for text, row in zip(one.texts, one.vectors, strict=True)}


def test_a_run_is_one_job_whose_vectors_are_those_of_plain_requests(batching_vendor, tmp_path):
    found = waited_for(batch(batching_vendor, tmp_path), batching_vendor)
    assert np.allclose([found[text] for text in TEXTS], expected(TEXTS), atol=1e-6)
    assert batching_vendor.server.jobs.submitted == [TEXTS]
    assert not batching_vendor.server.embeddings()


def test_a_process_that_ends_leaves_its_job_to_the_next_one(batching_vendor, tmp_path):
    batching_vendor.server.jobs.polls = 4
    ended = batch(batching_vendor, tmp_path)
    assert not list(ended.fetch(TEXTS))
    assert ended.is_busy()
    found = waited_for(batch(batching_vendor, tmp_path), batching_vendor)
    assert set(found) == set(TEXTS)
    assert batching_vendor.server.jobs.submitted == [TEXTS]
    assert batching_vendor.server.texts.count(TEXTS[0]) == 1


def test_a_job_that_takes_too_long_is_handed_in_once_more_and_then_given_up(
    batching_vendor, tmp_path
):
    batching_vendor.server.jobs.polls = 10**9
    run = batch(batching_vendor, tmp_path, batch_timeout_minutes=1)
    assert not waited_for(run, batching_vendor)
    assert batching_vendor.server.jobs.submitted == [TEXTS, TEXTS]
    assert len(batching_vendor.server.jobs.cancelled) == 2
    assert job_queue._FAILURES.total() >= 2


def test_after_two_failures_no_job_is_made_any_more(batching_vendor, tmp_path):
    batching_vendor.server.jobs.broken = True
    run = batch(batching_vendor, tmp_path)
    assert not waited_for(run, batching_vendor)
    assert job_queue._FAILURES.total() >= 2
    batching_vendor.server.jobs.broken = False
    assert not waited_for(batch(batching_vendor, tmp_path), batching_vendor)
    assert batching_vendor.server.jobs.submitted == []


def test_texts_that_failed_are_left_to_plain_requests(batching_vendor, tmp_path):
    batching_vendor.server.jobs.unanswered = frozenset({0, 5})
    run = batch(batching_vendor, tmp_path, batch_min_texts=3)  # what is left is no job
    found = waited_for(run, batching_vendor)
    assert set(found) == set(TEXTS[1:5])
    assert batching_vendor.server.jobs.submitted == [TEXTS]


def test_a_queue_is_made_only_where_there_is_a_batch_api(batching_vendor, tmp_path):
    client, state = batching_vendor.client(), tmp_path / "state.sqlite"
    settings = batching_vendor.settings(batch=True)
    assert BatchJobQueue.of(client, settings, state) is not None
    assert BatchJobQueue.of(None, settings, state) is None
    assert BatchJobQueue.of(EmbeddingClient(HashedWords()), settings, state) is None


def test_a_provider_of_another_package_brings_its_own_batch_api():
    embedder = HashedWords()
    embedder.jobs = object()
    assert batch_jobs_of(embedder) is embedder.jobs


def test_waiting_ends_at_once_without_jobs_and_when_the_vendor_refuses(
    batching_vendor, tmp_path, monkeypatch
):
    run = batch(batching_vendor, tmp_path, batch_poll_s=0.01)
    assert not run.wait()
    assert not list(run.fetch(TEXTS))
    dialect = batching_vendor.server.dialect
    refusal = dialect.failure(401, "Incorrect API key")
    monkeypatch.setattr(dialect, "answer", lambda *_, **__: refusal)
    assert not run.wait()
    assert run.has_jobs
