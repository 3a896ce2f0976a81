"""Batch API of Voyage AI: files and batches, a third cheaper, within 12 hours.

Voyage's client has no methods for them; the requests are made through the class beneath it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.embeddings.batch_jobs.base import JobState
from commonplace.embeddings.batch_jobs.jsonl import request_file, vectors_in

if TYPE_CHECKING:
    from commonplace.embeddings.providers.voyage import VoyageEmbedder
    from commonplace.vectors import Vector

__all__ = ["VoyageJobs"]


class VoyageJobs:
    """Batch jobs of Voyage AI."""

    max_texts = 50_000

    def __init__(self, provider: VoyageEmbedder) -> None:
        self._client = provider.client
        self._parameters = provider.request_parameters
        self._timeout_s = provider.timeout_s

    def submit(self, texts: list[str]) -> str:
        """Upload the texts and start a job."""
        lines = request_file(texts, lambda text: {"body": {"input": text}})
        uploaded = self._request(
            "post",
            "/files",
            params={"purpose": "batch"},
            files={"file": ("texts.jsonl", lines, "application/jsonl")},
        )
        job = self._request(
            "post",
            "/batches",
            params={
                "endpoint": "/v1/embeddings",
                "completion_window": "12h",
                "input_file_id": uploaded["id"],
                "request_params": self._parameters("document"),
            },
        )
        return str(job["id"])

    def poll(self, job: str) -> JobState:
        """Return the state of a job."""
        batch = self._request("get", f"/batches/{job}")
        state = str(batch.get("status"))
        if batch.get("output_file_id") and state in ("completed", "expired", "cancelled"):
            return JobState("done", state)
        if state in ("completed", "failed", "expired", "cancelled"):
            return JobState("failed", state)
        return JobState("running", state)

    def results(self, job: str) -> dict[int, Vector]:
        """Return a done job's vectors by the text's place."""
        found = self._request("get", f"/batches/{job}").get("output_file_id")
        if not found:
            return {}
        answer = self._client().request_raw(
            "get", f"/files/{found}/content", request_timeout=self._timeout_s
        )
        answer.raise_for_status()
        return vectors_in(answer.content.decode().splitlines())

    def cancel(self, job: str) -> None:
        """Cancel a job."""
        self._request("post", f"/batches/{job}/cancel")

    def _request(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        answer = self._client().request(method, path, request_timeout=self._timeout_s, **request)
        return dict(answer.data)
