"""Embedding through a vendor's batch interface: half the price, minutes to hours.

A job is noted in the state file as soon as it is handed in, and taken off when its results were
handed over: whoever runs next, after a restart or a crash, goes on waiting for it.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.embeddings.base import BatchJobs, JobState, ModelName
from commonplace.embeddings.client import EmbeddingClient, EmbeddingResult
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings
from commonplace.system.state import StateFile

__all__ = ["BatchJobQueue", "JobLedger"]

logger = logging.getLogger(__name__)

_DIGEST_BYTES = 16
_GIVE_UP_AFTER = 2
_FAILURES: Counter[ModelName] = Counter()
"""Failures of each model's batch interface in this process, since the last success."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job that was handed in.

    Attributes:
        id: The vendor's.
        digests: Which text stands at which place.
        submitted: When, in seconds since the epoch.
        tries: How often these texts were handed in.
    """

    id: str
    digests: tuple[bytes, ...]
    submitted: float
    tries: int = 1


class JobLedger:
    """The jobs of a model that are under way, in the state file.

    Args:
        file: Indexes of one folder share it.
        name: Whose jobs.
        index: Name of the index that they are for.
    """

    def __init__(self, file: StateFile, name: ModelName, index: str = "") -> None:
        self._file = file
        self._key = name.provider, name.model, f"{name.endpoint}/{index}"

    def jobs(self) -> list[Job]:
        """Return them, the oldest first."""
        rows = self._file.rows(
            """SELECT job, texts, submitted, tries FROM embedding_jobs
            WHERE provider = ? AND model = ? AND endpoint = ? ORDER BY submitted, job""",
            self._key,
        )
        return [Job(job, _cut(texts), submitted, tries) for job, texts, submitted, tries in rows]

    def add(self, job: Job) -> None:
        """Note a job."""
        with self._file.transaction() as connection:
            connection.execute(
                """INSERT OR REPLACE INTO embedding_jobs
                (provider, model, endpoint, job, texts, submitted, tries)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (*self._key, job.id, b"".join(job.digests), job.submitted, job.tries),
            )

    def drop(self, job: Job) -> None:
        """Take a job off."""
        with self._file.transaction() as connection:
            connection.execute(
                """DELETE FROM embedding_jobs
                WHERE provider = ? AND model = ? AND endpoint = ? AND job = ?""",
                (*self._key, job.id),
            )


class BatchJobQueue:
    """Embeds many texts through jobs, as far as that goes.

    Args:
        encoder: Whose jobs.
        book: Where they are noted.
        settings: How long to wait.
        check: Called between the steps; what it raises ends them, and the jobs stay noted.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        encoder: EmbeddingClient,
        book: JobLedger,
        settings: EmbeddingSettings,
        *,
        check: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._encoder = encoder
        self._book = book
        self._settings = settings
        self._check = check
        self._clock = clock
        self._by_digest: dict[bytes, str] = {}
        self.refusal: str | None = None
        """Why the vendor does not talk to us any more: waiting for its jobs is no use today."""

    @property
    def is_given_up(self) -> bool:
        """Whether jobs have failed so often in this process that plain requests are made."""
        return _FAILURES[self._encoder.name] >= _GIVE_UP_AFTER

    @property
    def has_jobs(self) -> bool:
        """Whether jobs were handed in whose results were not fetched yet."""
        return bool(self._book.jobs())

    def is_busy(self) -> bool:
        """Whether there are jobs and the vendor still works at each of them: nothing can be done.

        Whoever waits asks again after `EmbeddingSettings.batch_poll_s`.
        """
        jobs, under_way = self._encoder.jobs, self._book.jobs()
        if jobs is None or not under_way:
            return False
        return all(self._is_running(jobs, job) and not self._is_late(job) for job in under_way)

    def fetch(self, texts: Sequence[str]) -> Iterator[EmbeddingResult]:
        """Hand in texts that no job has, and yield the vectors of each job that is done.

        It does not wait: while `has_jobs`, their texts are to be left alone, and this is to be
        called again later. What is in no job then, for whatever reason, is left to plain requests.

        Raises:
            StateError: The state file cannot be written.
        """
        jobs = self._encoder.jobs
        if jobs is None:
            return
        self._by_digest = {_digest(text): text for text in texts}
        under_way = self._resumed(jobs)
        held = {digest for job in under_way for digest in job.digests}
        rest = tuple(digest for digest in self._by_digest if digest not in held)
        if len(rest) >= self._settings.batch_min_texts:
            for at in range(0, len(rest), jobs.max_texts):
                self._submit(jobs, rest[at : at + jobs.max_texts])
        for job in under_way:
            self._check()
            yield from self._settled(jobs, job)

    def _resumed(self, jobs: BatchJobs) -> list[Job]:
        """The jobs of an earlier run; those whose texts are all gone are told off."""
        wanted = []
        for job in self._book.jobs():
            if any(digest in self._by_digest for digest in job.digests):
                logger.info("going on with the job %s of %s", job.id, self._encoder.label)
                wanted.append(job)
            else:
                self._cancel(jobs, job)
        return wanted

    def _submit(self, jobs: BatchJobs, digests: Sequence[bytes], tries: int = 1) -> None:
        texts = [self._by_digest[digest] for digest in digests if digest in self._by_digest]
        while texts and not self.is_given_up:
            self._check()
            try:
                made = jobs.submit(texts)
            except Exception as error:  # noqa: BLE001 - whatever the vendor's client raises
                self._failed(error)
                continue
            self._book.add(Job(made, tuple(map(_digest, texts)), self._clock(), tries))
            logger.info("%d texts were handed in to %s", len(texts), self._encoder.label)
            return

    def _settled(self, jobs: BatchJobs, job: Job) -> Iterator[EmbeddingResult]:
        state = self._polled(jobs, job)
        if state is None or state.state == "running":
            if self._is_late(job):
                self._try_again(jobs, job)
        elif state.state == "failed":
            self._failed(EmbedderError(f"the job {job.id} failed: {state.detail}"))
            self._book.drop(job)
        else:
            yield from self._results(jobs, job)

    def _is_running(self, jobs: BatchJobs, job: Job) -> bool:
        state = self._polled(jobs, job)
        return state is None or state.state == "running"

    def _polled(self, jobs: BatchJobs, job: Job) -> JobState | None:
        """Ask how a job stands; None when that could not be learned this time."""
        try:
            return jobs.poll(job.id)
        except Exception as error:  # noqa: BLE001 - as above
            told = self._encoder.judged(error).message
            logger.info("the job %s could not be asked for: %s", job.id, told)
            return None if self._may_pass(error) else JobState("failed", told)

    def _may_pass(self, error: Exception) -> bool:
        """Tell whether a failure is none of the job, which goes on; note a refusal."""
        fault = self._encoder.judged(error)
        if fault.kind in ("refused", "quota"):
            self.refusal = fault.message
        return fault.kind in ("transient", "refused", "quota")

    def _is_late(self, job: Job) -> bool:
        return self._clock() >= job.submitted + 60 * self._settings.batch_timeout_minutes

    def _try_again(self, jobs: BatchJobs, job: Job) -> None:
        self._cancel(jobs, job)
        late = EmbedderError(
            f"the job {job.id} took longer than {self._settings.batch_timeout_minutes:g} minutes"
        )
        if job.tries > 1:
            self._failed(late, times=_GIVE_UP_AFTER)
            return
        logger.warning("%s; its texts are handed in once more", late)
        self._submit(jobs, job.digests, tries=2)

    def _results(self, jobs: BatchJobs, job: Job) -> Iterator[EmbeddingResult]:
        try:
            found = jobs.results(job.id)
            pairs = [
                (self._by_digest[digest], vector)
                for place, digest in enumerate(job.digests)
                if digest in self._by_digest and (vector := found.get(place)) is not None
            ]
            texts = [text for text, _ in pairs]
            vectors = self._encoder.checked([vector for _, vector in pairs], len(pairs))
        except Exception as error:  # noqa: BLE001 - as above, and what the vectors are
            if self._may_pass(error) and not self._is_late(job):
                return  # they are made and paid for: fetched at the next look
            self._failed(error)
        else:
            _FAILURES[self._encoder.name] = 0
            yield EmbeddingResult(texts, vectors)
        # Only now: whoever took the vectors has kept them.
        self._book.drop(job)

    def _cancel(self, jobs: BatchJobs, job: Job) -> None:
        self._book.drop(job)
        try:
            jobs.cancel(job.id)
        except Exception as error:  # noqa: BLE001 - it ends by itself some day
            told = self._encoder.judged(error).message
            logger.info("the job %s could not be told off: %s", job.id, told)

    def _failed(self, error: Exception, *, times: int = 1) -> None:
        _FAILURES[self._encoder.name] += times
        what = self._encoder.told(error)
        then = "plain requests are made" if self.is_given_up else "it is tried once more"
        logger.warning("the batch interface of %s failed, %s: %s", self._encoder.label, then, what)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:_DIGEST_BYTES]


def _cut(texts: Any) -> tuple[bytes, ...]:
    return tuple(texts[at : at + _DIGEST_BYTES] for at in range(0, len(texts), _DIGEST_BYTES))
