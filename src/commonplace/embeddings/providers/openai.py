"""OpenAI, and servers that speak its protocol, through OpenAI's own client (extra ``openai``)."""

from __future__ import annotations

import os
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import JobState, ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import (
    LazyClient,
    api_key,
    endpoint_key,
    job_lines,
    job_vectors,
    vector_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openai import OpenAI

__all__ = ["OpenAIEmbedder", "OpenAIJobs"]

_MODEL = "text-embedding-3-small"
_FILES_KEPT_S = 7 * 24 * 3600

# Read on 2026-11-21 from developers.openai.com/api/docs/models/text-embedding-3-large, and the last
# one from openrouter.ai/openai/text-embedding-ada-002.
_PRICES = {
    "text-embedding-3-small": 0.02,
    "text-embedding-3-large": 0.13,
    "text-embedding-ada-002": 0.10,
}


class OpenAIEmbedder:
    """Vectors of OpenAI, or of a server of another one under `ProviderOptions.base_url`."""

    is_local = False
    limits = RequestLimits(max_texts=2048)

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; the client is imported when it is first used."""
        self._options = options
        self._model = options.model or _MODEL
        # The client reads this variable too; it names another endpoint all the same.
        self._base_url = options.base_url or os.environ.get("OPENAI_BASE_URL") or None
        self.name = ModelName(
            "openai", self._model, endpoint_key(self._base_url, options.dimensions)
        )
        self.dimension = options.dimensions
        self.price = None if self._base_url else _PRICES.get(self._model)
        self._client: LazyClient[OpenAI] = LazyClient(self._connect, methodcaller("close"))
        self.jobs = OpenAIJobs(self._client, self._request)

    def embed_documents(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return one vector for each text, from one request."""
        answer: Any = self._client().embeddings.create(input=texts, **self._request())
        if isinstance(answer, str):  # the client gives what is not JSON as it is
            raise ValueError(f"it answered with no JSON: {answer[:200]}")
        return [vector_of(item.embedding) for item in answer.data]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query; OpenAI makes no difference between the two."""
        return self.embed_documents([text])[0]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self) -> dict[str, Any]:
        # A quarter of the bytes; servers of others do not all know base64.
        encoding = "float" if self._base_url else "base64"
        chosen = {} if self.dimension is None else {"dimensions": self.dimension}
        return {"model": self._model, "encoding_format": encoding, **chosen}

    def _connect(self) -> OpenAI:
        from openai import OpenAI

        return OpenAI(
            api_key=api_key(self._options),
            base_url=self._base_url,
            timeout=self._options.timeout_s,
            max_retries=0,
            default_headers=dict(self._options.headers),
        )


class OpenAIJobs:
    """Files and batches: half the price, within 24 hours."""

    max_texts = 20_000
    """Of 8,000 bytes each they stay below the 200 MB that a file may have."""

    def __init__(self, client: LazyClient[OpenAI], request: Any) -> None:
        self._client = client
        self._request = request

    def submit(self, texts: list[str]) -> str:
        """Upload the texts and begin a job."""
        client = self._client()
        lines = job_lines(
            texts,
            lambda text: {
                "method": "POST",
                "url": "/v1/embeddings",
                "body": {"input": text, **self._request()},
            },
        )
        # Notes should not lie with the vendor for longer than the job and a week-end need.
        uploaded = client.files.create(
            file=("texts.jsonl", lines, "application/jsonl"),
            purpose="batch",
            expires_after={"anchor": "created_at", "seconds": _FILES_KEPT_S},
        )
        job = client.batches.create(
            input_file_id=uploaded.id,
            endpoint="/v1/embeddings",
            completion_window="24h",
            output_expires_after={"anchor": "created_at", "seconds": _FILES_KEPT_S},
        )
        return job.id

    def poll(self, job: str) -> JobState:
        """Ask how a job stands."""
        batch = self._client().batches.retrieve(job)
        if batch.status in ("validating", "in_progress", "finalizing", "cancelling"):
            return JobState("running", batch.status)
        # What was made before a job expired is paid for and can be had.
        if batch.output_file_id:
            return JobState("done", batch.status)
        errors = [error.message or "" for error in (batch.errors and batch.errors.data) or ()]
        return JobState("failed", ": ".join([batch.status, *errors[:1]]))

    def results(self, job: str) -> dict[int, NDArray[np.float32]]:
        """Fetch a done job's vectors by the text's place."""
        client = self._client()
        found = client.batches.retrieve(job).output_file_id
        if not found:
            return {}
        with client.files.with_streaming_response.content(found) as answer:
            return job_vectors(answer.iter_lines())

    def cancel(self, job: str) -> None:
        """Tell OpenAI that nobody waits for the job."""
        self._client().batches.cancel(job)
