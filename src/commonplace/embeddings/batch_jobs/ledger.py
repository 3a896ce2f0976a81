"""Ledger of the batch jobs that are pending, in the state database."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from commonplace.embeddings.base import ModelName
from commonplace.system.state import StateFile

__all__ = ["JobLedger", "PendingJob", "digest"]

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class PendingJob:
    """Job that was submitted and whose results were not fetched yet.

    Attributes:
        id: The vendor's.
        digests: Digests of its texts, in the order of submission.
        submitted: When, in seconds since the epoch.
        tries: How often these texts were submitted.
    """

    id: str
    digests: tuple[bytes, ...]
    submitted: float
    tries: int = 1


class JobLedger:
    """Pending jobs of one model and one index.

    Args:
        file: The state database; the indexes of one folder share it.
        name: The model.
        index: Name of the index that the jobs are for.
    """

    def __init__(self, file: StateFile, name: ModelName, index: str = "") -> None:
        self._file = file
        self._key = name.provider, name.model, f"{name.endpoint}/{index}"

    def jobs(self) -> list[PendingJob]:
        """Return the pending jobs, the oldest first."""
        rows = self._file.rows(
            """SELECT job, texts, submitted, tries FROM embedding_jobs
            WHERE provider = ? AND model = ? AND endpoint = ? ORDER BY submitted, job""",
            self._key,
        )
        return [
            PendingJob(job, tuple(_split(texts)), submitted, tries)
            for job, texts, submitted, tries in rows
        ]

    def add(self, job: PendingJob) -> None:
        """Write a job."""
        with self._file.transaction() as connection:
            connection.execute(
                """INSERT OR REPLACE INTO embedding_jobs
                (provider, model, endpoint, job, texts, submitted, tries)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                (*self._key, job.id, b"".join(job.digests), job.submitted, job.tries),
            )

    def remove(self, job: PendingJob) -> None:
        """Remove a job."""
        with self._file.transaction() as connection:
            connection.execute(
                """DELETE FROM embedding_jobs
                WHERE provider = ? AND model = ? AND endpoint = ? AND job = ?""",
                (*self._key, job.id),
            )


def digest(text: str) -> bytes:
    """Return the digest of a text in the ledger."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:_DIGEST_BYTES]


def _split(digests: bytes) -> Iterator[bytes]:
    for at in range(0, len(digests), _DIGEST_BYTES):
        yield digests[at : at + _DIGEST_BYTES]
