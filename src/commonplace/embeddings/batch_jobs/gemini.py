"""Batch API of Gemini: asyncBatchEmbedContent over an uploaded file, half the price."""

from __future__ import annotations

import io
import json
import warnings
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.batch_jobs.base import JobState
from commonplace.embeddings.providers.common import vector_of
from commonplace.embeddings.providers.gemini import DOCUMENT_TASK

if TYPE_CHECKING:
    from commonplace.embeddings.providers.gemini import GeminiEmbedder
    from commonplace.vectors import Vector

__all__ = ["GeminiJobs"]


class GeminiJobs:
    """Batch jobs of Gemini, done within 24 hours."""

    max_texts = 50_000

    def __init__(self, provider: GeminiEmbedder) -> None:
        self._client = provider.client
        self._model = provider.name.model
        self._dimension = provider.dimension

    def submit(self, texts: list[str]) -> str:
        """Upload the texts and start a job."""
        client = self._client()
        lines = (
            json.dumps({"key": str(n), "request": self._request(text)}, ensure_ascii=False)
            for n, text in enumerate(texts)
        )
        # Google deletes uploaded files after two days.
        uploaded = client.files.upload(
            file=io.BytesIO("\n".join(lines).encode()),
            config={"mime_type": "application/jsonl", "display_name": "commonplace texts"},
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="batches.create_embeddings")
            job = client.batches.create_embeddings(
                model=self._model,
                src={"file_name": uploaded.name},
                config={"display_name": "commonplace"},
            )
        return str(job.name)

    def poll(self, job: str) -> JobState:
        """Return the state of a job."""
        found = self._client().batches.get(name=job)
        state = found.state.name.removeprefix("JOB_STATE_").lower() if found.state else "unknown"
        if state in ("succeeded", "partially_succeeded"):
            return JobState("done", state)
        if state in ("failed", "cancelled", "expired"):
            reason = found.error.message if found.error and found.error.message else ""
            return JobState("failed", f"{state}: {reason}" if reason else state)
        return JobState("running", state)

    def results(self, job: str) -> dict[int, Vector]:
        """Return a done job's vectors by the text's place."""
        client = self._client()
        found = client.batches.get(name=job)
        if not found.dest or not found.dest.file_name:
            return {}
        content = client.files.download(file=found.dest.file_name)
        vectors = {}
        for line in content.decode().splitlines():
            answer = json.loads(line) if line.strip() else {}
            values = ((answer.get("response") or {}).get("embedding") or {}).get("values")
            if values:
                vectors[int(answer["key"])] = vector_of(values)
        return vectors

    def cancel(self, job: str) -> None:
        """Cancel a job."""
        self._client().batches.cancel(name=job)

    def _request(self, text: str) -> dict[str, Any]:
        request = {
            "model": f"models/{self._model}",
            "content": {"parts": [{"text": text}]},
            "taskType": DOCUMENT_TASK,
        }
        length = {} if self._dimension is None else {"outputDimensionality": self._dimension}
        return request | length
