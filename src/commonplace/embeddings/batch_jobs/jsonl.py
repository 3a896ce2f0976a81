"""JSON Lines files of OpenAI's batch API, which Voyage's shares."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from commonplace.embeddings.providers.common import vector_of

if TYPE_CHECKING:
    from commonplace.vectors import Vector

__all__ = ["request_file", "vectors_in"]


def request_file(texts: Iterable[str], request: Callable[[str], Mapping[str, Any]]) -> bytes:
    """Return a file of one request for each text; its ``custom_id`` is the text's place."""
    lines = (
        json.dumps({"custom_id": str(n), **request(text)}, ensure_ascii=False)
        for n, text in enumerate(texts)
    )
    return "\n".join(lines).encode()


def vectors_in(lines: Iterable[str]) -> dict[int, Vector]:
    """Return the vectors of a results file by the text's place; failed texts are absent."""
    vectors = {}
    for answer in _objects(lines):
        response = answer.get("response") or {}
        if answer.get("error") or response.get("status_code") != 200:
            continue
        vectors[int(answer["custom_id"])] = vector_of(response["body"]["data"][0]["embedding"])
    return vectors


def _objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.strip():
            yield json.loads(line)
