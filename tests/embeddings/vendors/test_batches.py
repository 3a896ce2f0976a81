"""Long runs through each vendor's batch interface: resumed, handed in again, given up."""

import numpy as np
import pytest

from commonplace.embeddings.batch_jobs import job_queue
from commonplace.embeddings.batch_jobs.job_queue import BatchJobQueue, JobLedger
from commonplace.system.state import StateFile
from support.loopback_clients import expected

TEXTS = [f"note {n} on the printer" for n in range(6)]


@pytest.fixture(autouse=True)
def _nothing_given_up():
    job_queue._FAILURES.clear()
    yield
    job_queue._FAILURES.clear()


def batch(vendor, folder, **settings):
    """Return what a process would make: a client of its own over the same state file."""
    settings = {"batch": True, "batch_min_texts": 2, **settings}
    encoder = vendor.encoder(**settings)
    book = JobLedger(StateFile(folder / "state.sqlite"), encoder.name)
    return BatchJobQueue(encoder, book, vendor.settings(**settings), clock=vendor.clock)


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
    assert run.is_given_up


def test_after_two_failures_no_job_is_made_any_more(batching_vendor, tmp_path):
    batching_vendor.server.jobs.broken = True
    run = batch(batching_vendor, tmp_path)
    assert not waited_for(run, batching_vendor)
    assert run.is_given_up
    batching_vendor.server.jobs.broken = False
    assert not waited_for(batch(batching_vendor, tmp_path), batching_vendor)
    assert batching_vendor.server.jobs.submitted == []


def test_texts_that_failed_are_left_to_plain_requests(batching_vendor, tmp_path):
    batching_vendor.server.jobs.unanswered = frozenset({0, 5})
    run = batch(batching_vendor, tmp_path, batch_min_texts=3)  # what is left is no job
    found = waited_for(run, batching_vendor)
    assert set(found) == set(TEXTS[1:5])
    assert batching_vendor.server.jobs.submitted == [TEXTS]
