"""The vendors' batch interfaces, each through its client: what goes in, and what comes out."""

import numpy as np
import pytest

from commonplace.embeddings.batch_jobs.job_queue import batch_jobs_of
from support.loopback_clients import expected

pytestmark = pytest.mark.vendors

TEXTS = ["one two", "two three", "日本語 🎉\nand a second line", "four"]

OUTCOMES = {"gemini": "BATCH_STATE_{}", "openai": "{}", "voyage": "{}"}


def jobs_of(vendor, **settings):
    return batch_jobs_of(vendor.client(**settings).embedder)


def outcome(vendor, word):
    form = OUTCOMES[vendor.name]
    return form.format(word.upper() if vendor.name == "gemini" else word)


def test_a_job_gives_the_vectors_of_its_texts_whatever_their_order(batching_vendor):
    jobs = jobs_of(batching_vendor)
    job = jobs.submit(TEXTS)
    assert batching_vendor.server.jobs.submitted == [TEXTS]
    assert jobs.poll(job).state == "running"
    assert jobs.poll(job).state == "done"
    found = jobs.results(job)
    matrix = np.array([found[n] for n in range(len(TEXTS))])
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    assert np.allclose(matrix, expected(TEXTS), atol=1e-6)


def test_a_job_asks_for_the_same_vectors_as_plain_requests(batching_vendor):
    jobs = jobs_of(batching_vendor, dimensions=16)
    job = jobs.submit(TEXTS)
    assert [jobs.poll(job).state for _ in range(2)] == ["running", "done"]
    assert {len(vector) for vector in jobs.results(job).values()} == {16}
    asked = str(batching_vendor.server.jobs.jobs)
    assert {"gemini": "RETRIEVAL_DOCUMENT", "voyage": "'input_type': 'document'"}.get(
        batching_vendor.name, "text-embedding-3-small"
    ) in asked
    window = {"openai": "24h", "voyage": "12h"}.get(batching_vendor.name, "")
    assert window in asked


def test_another_process_goes_on_with_a_job_by_its_id(batching_vendor):
    job = jobs_of(batching_vendor).submit(TEXTS)
    later = jobs_of(batching_vendor)
    assert [later.poll(job).state for _ in range(2)] == ["running", "done"]
    assert len(later.results(job)) == len(TEXTS)
    assert len(batching_vendor.server.jobs.submitted) == 1


def test_a_text_that_failed_is_absent_from_the_results(batching_vendor):
    batching_vendor.server.jobs.unanswered = frozenset({1, 3})
    jobs = jobs_of(batching_vendor)
    job = jobs.submit(TEXTS)
    assert [jobs.poll(job).state for _ in range(2)] == ["running", "done"]
    assert sorted(jobs.results(job)) == [0, 2]


@pytest.mark.parametrize("word", ["failed", "expired", "cancelled"])
def test_a_job_that_came_to_nothing_has_failed(batching_vendor, word):
    batching_vendor.server.jobs.outcome = outcome(batching_vendor, word)
    jobs = jobs_of(batching_vendor)
    job = jobs.submit(TEXTS)
    assert jobs.poll(job).state == "running"
    state = jobs.poll(job)
    assert state.state == "failed"
    assert word in state.detail


def test_a_job_can_be_cancelled(batching_vendor):
    jobs = jobs_of(batching_vendor)
    job = jobs.submit(TEXTS)
    jobs.cancel(job)
    assert batching_vendor.server.jobs.cancelled == [job.removeprefix("batches/")]


def test_the_key_and_the_headers_are_sent_with_every_request_of_a_job(batching_vendor):
    jobs = jobs_of(batching_vendor)
    job = jobs.submit(TEXTS)
    assert [jobs.poll(job).state for _ in range(2)] == ["running", "done"]
    jobs.results(job)
    assert len(batching_vendor.server.requests) >= 5
    # What goes to a signed address needs neither.
    signed = [asked for asked in batching_vendor.server.requests if "upload_id" in asked.path]
    assert len(signed) == (batching_vendor.name == "gemini")
    for asked in (asked for asked in batching_vendor.server.requests if asked not in signed):
        assert asked.headers["x-gateway"] == "open-sesame-1234", asked.path
        assert asked.headers.get("x-goog-api-key") or asked.headers.get("authorization")


def test_a_job_that_cannot_be_made_is_the_client_s_own_exception(batching_vendor):
    batching_vendor.server.jobs.broken = True
    with pytest.raises(Exception, match=r"no jobs today|not available|failed to process"):
        jobs_of(batching_vendor).submit(TEXTS)


def test_an_unknown_job_is_the_client_s_own_exception(batching_vendor):
    with pytest.raises(Exception, match="there is no"):
        jobs_of(batching_vendor).poll(
            {"gemini": "batches/job-99"}.get(batching_vendor.name, "job-99")
        )
