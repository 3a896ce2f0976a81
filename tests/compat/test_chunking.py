import hashlib
from dataclasses import replace
from typing import Any

import pytest

from commonplace.compat.openclaw.chunking import openclaw_chunks
from commonplace.profiles import from_settings
from commonplace.settings import ChunkingSettings, Settings
from commonplace.types import Chunk
from support.reference import vectors


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("given_", "expected"), vectors("chunkMarkdown"))
def test_chunks_are_those_of_the_build(given_: Any, expected: Any) -> None:
    chunks = openclaw_chunks(given_["content"], **given_["chunking"])
    assert [
        {
            "startLine": chunk.start_line,
            "endLine": chunk.end_line,
            "chars": len(chunk.text.encode("utf-16-le")) // 2,
            "hash": chunk.hash,
        }
        for chunk in chunks
    ] == [{key: value for key, value in chunk.items() if key != "text"} for chunk in expected]


@pytest.mark.parametrize(("given_", "expected"), vectors("chunkMarkdown"))
def test_the_profile_chunks_by_the_settings(given_: Any, expected: Any) -> None:
    tokens, overlap = given_["chunking"]["tokens"], given_["chunking"]["overlap"]
    if overlap >= tokens:
        pytest.skip("settings refuse an overlap as large as the chunk")
    settings = replace(Settings.openclaw(), chunking=ChunkingSettings(tokens, overlap))
    chunks = from_settings(settings).chunk(given_["content"])
    assert [chunk.hash for chunk in chunks] == [chunk["hash"] for chunk in expected]


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    chunks = openclaw_chunks("a" + "😀" * 20, tokens=8, overlap=0)
    assert chunks[0].text == "a" + "😀" * 15 + "\ufffd"
    assert chunks[1].text == "\ufffd" + "😀" * 4
    assert chunks[0].hash == sha256(chunks[0].text)


def test_an_empty_text_has_one_empty_chunk_which_is_dropped() -> None:
    assert openclaw_chunks("", tokens=400, overlap=80) == [Chunk(1, 1, "", sha256(""))]
    assert from_settings(Settings.openclaw()).chunk("") == []
