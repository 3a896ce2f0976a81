"""Long runs through each vendor's batch interface: resumed, handed in again, given up."""

import numpy as np
import pytest

from commonplace.embeddings import vendor_batch
from commonplace.embeddings.vendor_batch import JobBook, VendorBatch
from commonplace.state import StateFile
from loopback_clients import expected

TEXTS = [f"note {n} on the printer" for n in range(6)]


@pytest.fixture(autouse=True)
def _nothing_given_up():
    vendor_batch._FAILURES.clear()
    yield
    vendor_batch._FAILURES.clear()


class EndOfProcessError(Exception):
    pass


def batch(vendor, folder, check=lambda: None, **settings):
    """Return what a process would make: a client of its own over the same state file."""
    encoder = vendor.encoder(batch=True, batch_min_texts=2, **settings)
    book = JobBook(StateFile(folder / "state.sqlite"), encoder.name)
    clock = vendor.clock
    return VendorBatch(
        encoder, book, vendor.settings(**settings), check=check, clock=clock, sleep=clock.sleep
    )


def vectors_of(found):
    return {text: row for one in found for text, row in zip(one.texts, one.vectors, strict=True)}


def test_a_run_is_one_job_whose_vectors_are_those_of_plain_requests(batching_vendor, tmp_path):
    found = vectors_of(batch(batching_vendor, tmp_path).fetch(TEXTS))
    assert np.allclose([found[text] for text in TEXTS], expected(TEXTS), atol=1e-6)
    assert batching_vendor.server.jobs.submitted == [TEXTS]
    assert not batching_vendor.server.embeddings()


def test_a_process_that_ends_leaves_its_job_to_the_next_one(batching_vendor, tmp_path):
    batching_vendor.server.jobs.polls = 4
    looks = iter(range(3))

    def check():
        if next(looks, None) is None:
            raise EndOfProcessError

    with pytest.raises(EndOfProcessError):
        list(batch(batching_vendor, tmp_path, check).fetch(TEXTS))
    found = vectors_of(batch(batching_vendor, tmp_path).fetch(TEXTS))
    assert set(found) == set(TEXTS)
    assert batching_vendor.server.jobs.submitted == [TEXTS]
    assert batching_vendor.server.texts.count(TEXTS[0]) == 1


def test_a_job_that_takes_too_long_is_handed_in_once_more_and_then_given_up(
    batching_vendor, tmp_path
):
    batching_vendor.server.jobs.polls = 10**9
    run = batch(batching_vendor, tmp_path, batch_timeout_minutes=1, batch_poll_s=10)
    assert not vectors_of(run.fetch(TEXTS))
    assert batching_vendor.server.jobs.submitted == [TEXTS, TEXTS]
    assert len(batching_vendor.server.jobs.cancelled) == 2
    assert run.is_given_up


def test_after_two_failures_no_job_is_made_any_more(batching_vendor, tmp_path):
    batching_vendor.server.jobs.broken = True
    run = batch(batching_vendor, tmp_path)
    assert not vectors_of(run.fetch(TEXTS))
    assert run.is_given_up
    batching_vendor.server.jobs.broken = False
    assert not vectors_of(batch(batching_vendor, tmp_path).fetch(TEXTS))
    assert batching_vendor.server.jobs.submitted == []


def test_texts_that_failed_are_left_to_plain_requests(batching_vendor, tmp_path):
    batching_vendor.server.jobs.unanswered = frozenset({0, 5})
    found = vectors_of(batch(batching_vendor, tmp_path).fetch(TEXTS))
    assert set(found) == set(TEXTS[1:5])
