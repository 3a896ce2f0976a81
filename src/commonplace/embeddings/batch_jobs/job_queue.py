"""Queue of batch jobs: many texts embedded through a vendor's batch API.

Submission is idempotent: no text of a pending job is submitted again. A job is in the ledger from
its submission until its vectors were taken over, so that any run resumes the jobs of the runs
before it, after a restart or a crash too.
"""

from __future__ import annotations

import importlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from commonplace.embeddings.base import ModelName
from commonplace.embeddings.batch_jobs.base import BatchJobs, JobState
from commonplace.embeddings.batch_jobs.ledger import JobLedger, PendingJob, digest
from commonplace.embeddings.client import EmbeddingClient, EmbeddingResult
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
from commonplace.system.state import StateFile

__all__ = ["BatchJobQueue", "batch_jobs_of"]

logger = logging.getLogger(__name__)

_VENDOR_JOBS = {
    f"commonplace.embeddings.providers.{provider}": f"commonplace.embeddings.batch_jobs.{jobs}"
    for provider, jobs in (
        ("gemini.GeminiEmbedder", "gemini.GeminiJobs"),
        ("openai.OpenAIEmbedder", "openai.OpenAIJobs"),
        ("voyage.VoyageEmbedder", "voyage.VoyageJobs"),
    )
}
"""Providers of this package with a batch API, and the class that speaks it."""
_MAX_FAILURES = 2
_FAILURES: Counter[ModelName] = Counter()
"""Consecutive failures of each model's batch API in this process."""
_STEP_S = 0.1
"""How often `BatchJobQueue.wait` calls its `check`."""


def batch_jobs_of(provider: object) -> BatchJobs | None:
    """Return the batch API of a provider; None where there is none.

    A provider of another package brings its own as the attribute ``jobs``.
    """
    kind = type(provider)
    path = _VENDOR_JOBS.get(f"{kind.__module__}.{kind.__qualname__}")
    if path is None:
        return getattr(provider, "jobs", None)
    module, _, name = path.rpartition(".")
    jobs: BatchJobs = getattr(importlib.import_module(module), name)(provider)
    return jobs


class BatchJobQueue:
    """Queue of the batch jobs of one model and index.

    After two consecutive failures of the batch API, this process leaves all texts to plain
    requests.

    Args:
        client: The client of the model.
        jobs: Its batch API.
        ledger: The pending jobs.
        settings: How long a job may take, and how often it is polled.
        check: Called between the steps; what it raises ends them, and the jobs stay pending.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        client: EmbeddingClient,
        jobs: BatchJobs,
        ledger: JobLedger,
        *,
        settings: EmbeddingSettings,
        check: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client = client
        self._jobs = jobs
        self._ledger = ledger
        self._settings = settings
        self._check = check
        self._clock = clock
        self._by_digest: dict[bytes, str] = {}
        self._refusal: str | None = None

    @classmethod
    def of(
        cls,
        client: EmbeddingClient | None,
        settings: EmbeddingSettings,
        state: Path,
        *,
        index: str = "",
        check: Callable[[], object] = lambda: None,
    ) -> BatchJobQueue | None:
        """Return the queue for a client; None where its provider has no batch API.

        Args:
            client: The client of the model; None for keyword search.
            settings: How long a job may take, and how often it is polled.
            state: Path of the state database.
            index: Name of the index that the jobs are for.
            check: As in the constructor.
        """
        jobs = None if client is None else batch_jobs_of(client.embedder)
        if client is None or jobs is None:
            return None
        ledger = JobLedger(StateFile(state), client.name, index)
        return cls(client, jobs, ledger, settings=settings, check=check)

    @property
    def has_jobs(self) -> bool:
        """Whether jobs are pending: their texts are left alone until their results are fetched."""
        return bool(self._ledger.jobs())

    def is_busy(self) -> bool:
        """Return whether jobs are pending and none of them is done, failed or late."""
        pending = self._ledger.jobs()
        return bool(pending) and all(
            self._is_running(job) and not self._is_late(job) for job in pending
        )

    def fetch(self, texts: Sequence[str]) -> Iterator[EmbeddingResult]:
        """Submit the texts that no job holds, and yield the vectors of each job that is done.

        It does not wait: while `has_jobs`, call it again later. Texts that are in no job by then,
        for whatever reason, are left to plain requests.

        Raises:
            StateError: The state database cannot be written.
        """
        self._by_digest = {digest(text): text for text in texts}
        pending = self._resume()
        held = {key for job in pending for key in job.digests}
        rest = [key for key in self._by_digest if key not in held]
        if len(rest) >= self._settings.batch_min_texts:
            for at in range(0, len(rest), self._jobs.max_texts):
                self._submit(rest[at : at + self._jobs.max_texts])
        for job in pending:
            self._check()
            yield from self._settle(job)

    def wait(self) -> bool:
        """Wait until `fetch` has something to do; False when there is nothing to wait for.

        That is when no job is pending, or when the vendor refuses the requests: the jobs then stay
        pending, for a later run.
        """
        if not self.has_jobs:
            return False
        while True:
            self._pause(self._settings.batch_poll_s)
            is_busy = self.is_busy()
            if self._refusal is not None:
                logger.warning("the vendor's jobs are left to a later run: %s", self._refusal)
                return False
            if not is_busy:
                return True

    # -- steps -----------------------------------------------------------------------------------

    @property
    def _is_disabled(self) -> bool:
        return _FAILURES[self._client.name] >= _MAX_FAILURES

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _STEP_S))
            self._check()

    def _resume(self) -> list[PendingJob]:
        """Return the pending jobs; cancel those whose texts are all gone."""
        wanted = []
        for job in self._ledger.jobs():
            if any(key in self._by_digest for key in job.digests):
                logger.info("resuming the job %s of %s", job.id, self._client.label)
                wanted.append(job)
            else:
                self._cancel(job)
        return wanted

    def _submit(self, digests: Sequence[bytes], tries: int = 1) -> None:
        texts = [self._by_digest[key] for key in digests if key in self._by_digest]
        while texts and not self._is_disabled:
            self._check()
            try:
                made = self._jobs.submit(texts)
            except Exception as error:  # noqa: BLE001 - whatever the vendor's client raises
                self._record_failure(error)
                continue
            self._ledger.add(PendingJob(made, tuple(map(digest, texts)), self._clock(), tries))
            logger.info("submitted %d texts to %s", len(texts), self._client.label)
            return

    def _settle(self, job: PendingJob) -> Iterator[EmbeddingResult]:
        state = self._poll(job)
        if state is None or state.state == "running":
            if self._is_late(job):
                self._resubmit(job)
        elif state.state == "failed":
            self._record_failure(EmbedderError(f"the job {job.id} failed: {state.detail}"))
            self._ledger.remove(job)
        else:
            yield from self._results(job)

    def _is_running(self, job: PendingJob) -> bool:
        state = self._poll(job)
        return state is None or state.state == "running"

    def _poll(self, job: PendingJob) -> JobState | None:
        """Return the state of a job; None when the vendor did not say it this time."""
        try:
            return self._jobs.poll(job.id)
        except Exception as error:  # noqa: BLE001 - as above
            message = self._client.failure_of(error).message
            logger.info("the job %s could not be polled: %s", job.id, message)
            return None if self._may_pass(error) else JobState("failed", message)

    def _may_pass(self, error: Exception) -> bool:
        """Return whether a failure is of the request and not of the job; note a refusal."""
        failure = self._client.failure_of(error)
        if failure.kind in ("refused", "quota"):
            self._refusal = failure.message
        return failure.kind in ("transient", "refused", "quota")

    def _is_late(self, job: PendingJob) -> bool:
        return self._clock() >= job.submitted + 60 * self._settings.batch_timeout_minutes

    def _resubmit(self, job: PendingJob) -> None:
        self._cancel(job)
        late = EmbedderError(
            f"the job {job.id} took longer than {self._settings.batch_timeout_minutes:g} minutes"
        )
        if job.tries > 1:
            self._record_failure(late, times=_MAX_FAILURES)
            return
        logger.warning("%s; its texts are submitted once more", late)
        self._submit(job.digests, tries=2)

    def _results(self, job: PendingJob) -> Iterator[EmbeddingResult]:
        try:
            found = self._jobs.results(job.id)
            pairs = [
                (self._by_digest[key], vector)
                for place, key in enumerate(job.digests)
                if key in self._by_digest and (vector := found.get(place)) is not None
            ]
            texts = [text for text, _ in pairs]
            vectors = self._client.unit_rows([vector for _, vector in pairs], len(pairs))
        except Exception as error:  # noqa: BLE001 - as above, and what the vectors are
            if self._may_pass(error) and not self._is_late(job):
                return  # the vectors are made and paid for: the next call fetches them
            self._record_failure(error)
        else:
            _FAILURES[self._client.name] = 0
            yield EmbeddingResult(texts, vectors)
        # Only now: the consumer of the vectors has stored them.
        self._ledger.remove(job)

    def _cancel(self, job: PendingJob) -> None:
        self._ledger.remove(job)
        try:
            self._jobs.cancel(job.id)
        except Exception as error:  # noqa: BLE001 - it ends by itself some day
            message = self._client.failure_of(error).message
            logger.info("the job %s could not be cancelled: %s", job.id, message)

    def _record_failure(self, error: Exception, *, times: int = 1) -> None:
        _FAILURES[self._client.name] += times
        then = "plain requests are made" if self._is_disabled else "it is tried once more"
        logger.warning(
            "the batch interface of %s failed, %s: %s",
            self._client.label,
            then,
            self._client.error_of(error),
        )
