"""Batch API of OpenAI: files and batches, half the price, within 24 hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.embeddings.batch_jobs.base import JobState
from commonplace.embeddings.batch_jobs.jsonl import request_file, vectors_in

if TYPE_CHECKING:
    from commonplace.embeddings.providers.openai import OpenAIEmbedder
    from commonplace.vectors import Vector

__all__ = ["OpenAIJobs"]

_RETENTION_S = 7 * 24 * 3600
"""Notes should not lie with the vendor for longer than a job and a week-end need."""


class OpenAIJobs:
    """Batch jobs of OpenAI."""

    max_texts = 20_000
    """Of 8,000 bytes each they stay below the 200 MB that a file may have."""

    def __init__(self, provider: OpenAIEmbedder) -> None:
        self._client = provider.client
        self._parameters = provider.request_parameters

    def submit(self, texts: list[str]) -> str:
        """Upload the texts and start a job."""
        client = self._client()
        lines = request_file(
            texts,
            lambda text: {
                "method": "POST",
                "url": "/v1/embeddings",
                "body": {"input": text, **self._parameters()},
            },
        )
        uploaded = client.files.create(
            file=("texts.jsonl", lines, "application/jsonl"),
            purpose="batch",
            expires_after={"anchor": "created_at", "seconds": _RETENTION_S},
        )
        job = client.batches.create(
            input_file_id=uploaded.id,
            endpoint="/v1/embeddings",
            completion_window="24h",
            output_expires_after={"anchor": "created_at", "seconds": _RETENTION_S},
        )
        return job.id

    def poll(self, job: str) -> JobState:
        """Return the state of a job."""
        batch = self._client().batches.retrieve(job)
        if batch.status in ("validating", "in_progress", "finalizing", "cancelling"):
            return JobState("running", batch.status)
        # What was made before a job expired is paid for and can be fetched.
        if batch.output_file_id:
            return JobState("done", batch.status)
        errors = [error.message or "" for error in (batch.errors and batch.errors.data) or ()]
        return JobState("failed", ": ".join([batch.status, *errors[:1]]))

    def results(self, job: str) -> dict[int, Vector]:
        """Return a done job's vectors by the text's place."""
        client = self._client()
        found = client.batches.retrieve(job).output_file_id
        if not found:
            return {}
        with client.files.with_streaming_response.content(found) as answer:
            return vectors_in(answer.iter_lines())

    def cancel(self, job: str) -> None:
        """Cancel a job."""
        self._client().batches.cancel(job)
