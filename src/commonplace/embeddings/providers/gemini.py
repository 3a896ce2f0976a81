"""Google's Gemini API through Google's own client (extra ``gemini``)."""

from __future__ import annotations

import io
import json
import os
import warnings
from collections.abc import Callable
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.base import JobState, ModelName, ProviderOptions, RequestLimits
from commonplace.embeddings.providers.common import (
    LazyClient,
    api_key,
    endpoint_key,
    told_of_pages,
    vector_of,
    without_suffix,
)

if TYPE_CHECKING:
    import numpy as np
    from google.genai import Client
    from numpy.typing import NDArray

__all__ = ["GeminiEmbedder", "GeminiJobs"]

_MODEL = "gemini-embedding-001"
_API_VERSION = "v1beta"
_DOCUMENT, _QUERY = "RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"

# Read on 2026-11-21 from opencode.ai/data/google/gemini-embedding-001 and
# tokencost.app/blog/gemini-embedding-2-pricing, which quote Google's price list.
_PRICES = {
    "gemini-embedding-001": 0.15,
    "gemini-embedding-2-preview": 0.20,
}


class GeminiEmbedder:
    """Vectors of the Gemini API, with the task types that retrieval has there."""

    is_local = False
    limits = RequestLimits(max_texts=100)  # batchEmbedContents takes no more

    def __init__(self, options: ProviderOptions) -> None:
        """Name the model; the client is imported when it is first used."""
        self._options = options
        self._model = (options.model or _MODEL).removeprefix("models/")
        self._base_url = options.base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or None
        self.name = ModelName(
            "gemini", self._model, endpoint_key(self._base_url, options.dimensions)
        )
        self.dimension = options.dimensions
        self.price = None if self._base_url else _PRICES.get(self._model)
        self._client: LazyClient[Client] = LazyClient(self._connect, methodcaller("close"))
        self.jobs = GeminiJobs(self._client, self._model, self._job_request)

    def embed_documents(self, texts: list[str]) -> list[NDArray[np.float32]]:
        """Return one vector for each text, from one request."""
        return self._embed(texts, _DOCUMENT)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return self._embed([text], _QUERY)[0]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _embed(self, texts: list[str], task: str) -> list[NDArray[np.float32]]:
        with told_of_pages():
            answer = self._client().models.embed_content(
                model=self._model,
                # Each in a content of its own: plain texts are taken for parts of one.
                contents=[{"parts": [{"text": text}]} for text in texts],  # type: ignore[arg-type]
                config={"task_type": task, "output_dimensionality": self.dimension},
            )
        return [vector_of(item.values or ()) for item in answer.embeddings or ()]

    def _job_request(self, text: str) -> dict[str, Any]:
        request = {
            "model": f"models/{self._model}",
            "content": {"parts": [{"text": text}]},
            "taskType": _DOCUMENT,
        }
        return request | (
            {} if self.dimension is None else {"outputDimensionality": self.dimension}
        )

    def _connect(self) -> Client:
        from google.genai import Client
        from google.genai.types import HttpOptions, HttpRetryOptions

        url = self._base_url and without_suffix(self._base_url, f"/{_API_VERSION}")
        return Client(
            api_key=api_key(self._options),
            vertexai=False,  # what a variable of the environment would make of it
            http_options=HttpOptions(
                base_url=url,
                api_version=_API_VERSION,
                headers=dict(self._options.headers),
                timeout=int(self._options.timeout_s * 1000),
                retry_options=HttpRetryOptions(attempts=1),
            ),
        )


class GeminiJobs:
    """asyncBatchEmbedContent over an uploaded file: half the price, within 24 hours."""

    max_texts = 50_000

    def __init__(
        self, client: LazyClient[Client], model: str, request: Callable[[str], dict[str, Any]]
    ) -> None:
        self._client = client
        self._model = model
        self._request = request

    def submit(self, texts: list[str]) -> str:
        """Upload the texts and begin a job."""
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
        """Ask how a job stands."""
        found = self._client().batches.get(name=job)
        state = found.state.name.removeprefix("JOB_STATE_").lower() if found.state else "unknown"
        if state in ("succeeded", "partially_succeeded"):
            return JobState("done", state)
        if state in ("failed", "cancelled", "expired"):
            reason = found.error.message if found.error and found.error.message else ""
            return JobState("failed", f"{state}: {reason}" if reason else state)
        return JobState("running", state)

    def results(self, job: str) -> dict[int, NDArray[np.float32]]:
        """Fetch a done job's vectors by the text's place."""
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
        """Tell Google that nobody waits for the job."""
        self._client().batches.cancel(name=job)
