"""Index runs and searches with a provider over the network: its real client, a server that fails.

The server is one of `loopback_vendors`, which speaks OpenAI's protocol.
"""

import asyncio
import logging
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.embeddings import retry
from commonplace.embeddings.base import RequestLimits
from commonplace.embeddings.requests import pack
from commonplace.embeddings.retry import RetryPolicy
from commonplace.errors import EmbedderError, StoreError
from commonplace.settings import EmbeddingSettings
from support.fakes import HashedWords
from support.loopback_clients import KEY, KEYS, OTHER_VARIABLES
from support.loopback_vendors import LoopbackVendor
from support.notes import CHUNKS, LINES, find
from support.sampling import sampled
from support.waiting import wait_for

pytest.importorskip("openai", reason="commonplace[openai] is missing")
pytestmark = [pytest.mark.vendors, pytest.mark.allow_hosts(["127.0.0.1"])]
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

DEADLINE_S = 60.0


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for variable in (*KEYS.values(), *OTHER_VARIABLES):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def server():
    with LoopbackVendor("openai") as server:
        yield server


@pytest.fixture
def soon(monkeypatch):
    """Wait a fiftieth of the time before a request is sent again."""
    monkeypatch.setattr(retry, "DEFAULT_POLICY", RetryPolicy(first_backoff_s=0.01))


def through(server, base=CHUNKS, **embedding):
    """Settings that send to a server."""
    given = {"provider": "openai", "base_url": server.base_url, "query_timeout_s": 10.0}
    return replace(base, embedding=EmbeddingSettings(**given | embedding))


def fill(notes, count, *, line="note {} about the printer and the VPN\n"):
    for number in range(count):
        notes.write(f"memory/{number}.md", line.format(number) * 3)


def twice(texts):
    return sorted({text for text in texts if texts.count(text) > 1})


# What is paid for.


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled([500, (429, "0"), "drop", "html"], every=2))
def test_each_text_is_embedded_once_though_every_fifth_request_fails(notes, server, soon, fault):
    fill(notes, 800, line="note {} about the printer and the VPN" + 12 * " and the rest" + "\n")
    server.fail_every(5, fault)
    with notes.open("auto", through(server)) as memory:
        report = memory.index()
        assert report.failed == ()
        assert (report.embedded, report.added) == (802, 802)
        assert twice(server.texts) == []
        least = len(list(pack(server.texts, RequestLimits())))
        assert len(server.embeddings()) <= 1.3 * least
        assert find(memory, "printer").mode == "hybrid"


@pytest.mark.parametrize("settings", [CHUNKS, LINES], ids=["chunks", "lines"])
def test_what_was_paid_for_is_not_paid_for_again(notes, server, settings):
    fill(notes, 40)
    settings = through(server, settings)
    with notes.open("auto", settings) as memory:
        memory.index()
        paid = len(server.texts)
        notes.write("memory/renamed.md", (notes.root / "memory" / "7.md").read_bytes())
        (notes.root / "memory" / "7.md").unlink()
        assert memory.index().embedded == 0
        eight = (notes.root / "memory" / "8.md").read_bytes()
        notes.write("memory/8.md", (notes.root / "memory" / "9.md").read_bytes())
        notes.write("memory/9.md", eight)
        assert memory.index().embedded == 0
        assert memory.index(force=True).embedded == 0
    with notes.open("auto", replace(settings, embedding=small(settings))) as memory:
        assert memory.index().embedded == paid
    with notes.open("auto", settings) as memory:
        report = memory.index()
        assert report.embedded == 0
        assert report.cached >= paid
    # And one of each model, to learn how long its vectors are.
    assert len(server.texts) == 2 * paid + server.texts.count("dimension")


def small(settings):
    return replace(settings.embedding, model="other-model")


@pytest.mark.slow
def test_a_line_that_stands_in_many_files_is_embedded_once(notes, server):
    for number in range(600):  # more than are embedded at a time
        notes.write(f"memory/{number}.md", f"# Day {number}\n- Standup at nine.\n")
    with notes.open("auto", through(server, LINES)) as memory:
        memory.index()
    assert twice(server.texts) == []


def test_what_was_embedded_before_a_failure_is_kept(notes, server, soon):
    fill(notes, 300)
    answered = threading.Event()

    def fails_from_now_on(*_):
        if len(server.texts) > 100:
            server.fail_always(500)
            answered.set()

    server.dialect_answer = server.dialect.answer
    server.dialect.answer = lambda *args, **options: (
        fails_from_now_on(),
        server.dialect_answer(*args, **options),
    )[1]
    with notes.open("auto", through(server)) as memory:
        report = memory.index()
        assert answered.is_set()
        assert report.failed
        assert report.embedded >= 100
        server.fail_always(None)
        server.dialect.answer = server.dialect_answer
        again = memory.index()
        assert again.failed == ()
    assert report.embedded + again.embedded == 302
    assert twice(server.texts) == []


@pytest.mark.slow
@pytest.mark.processes
@posix
@pytest.mark.sqlite("another process writes the index")
def test_a_run_that_is_killed_leaves_the_next_one_only_what_is_missing(notes, server, tmp_path):
    fill(notes, 500, line="note {} about the printer and the VPN" + 12 * " and the rest" + "\n")
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from pathlib import Path
        from support.notes import CHUNKS, Notes
        from dataclasses import replace
        from commonplace.settings import EmbeddingSettings
        settings = replace(CHUNKS, embedding=EmbeddingSettings(
            provider="openai", base_url={server.base_url!r}))
        with Notes(Path({str(tmp_path)!r}), create=False).open("auto", settings) as memory:
            memory.index()
        """
    reached, killed = hold_back_after(server, 120)
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    try:
        assert reached.wait(DEADLINE_S)
    finally:
        process.kill()
        process.wait()
        before = len(server.texts)
        killed.set()
    assert 120 <= before < 502
    with notes.open("auto", through(server)) as memory:
        report = memory.index()
        assert report.failed == ()
    # Four requests may have been answered and not written down when the process died.
    largest = max(len(asked.body["input"]) for asked in server.embeddings())
    assert largest < 30
    texts = [text for text in server.texts if text != "dimension"]
    assert len(set(texts)) == 502
    assert len(texts) - 502 <= 4 * largest
    assert report.embedded <= 502 - before + 4 * largest


def hold_back_after(server, count):
    """Hold all answers back once the server has given so many vectors.

    Returns:
        What is set when it is that far, and what is to be set to have it answer again.
    """
    vectors, reached, released = server.vectors, threading.Event(), threading.Event()

    def held_back(texts, dimension):
        if len(server.texts) >= count and not released.is_set():
            reached.set()
            released.wait(DEADLINE_S)
        return vectors(texts, dimension)

    server.dialect.vectors = held_back
    return reached, released


def slow_down(server, seconds):
    vectors = server.vectors

    def slow(texts, dimension):
        time.sleep(seconds)
        return vectors(texts, dimension)

    server.dialect.vectors = slow if seconds else server.vectors


# A provider that is down.


def test_a_question_is_answered_by_words_when_the_provider_hangs(notes, server):
    settings = through(server, query_timeout_s=0.3)
    with notes.open("auto", settings) as memory:
        memory.index()
        server.fail_always("hang")
        started = time.monotonic()
        hits = find(memory, "printer")
        assert time.monotonic() - started < 5
        assert (hits.mode, bool(hits)) == ("keyword", True)
        assert "no answer within" in hits.fallback
        started = time.monotonic()
        hits = find(memory, "another printer")
        assert time.monotonic() - started < 0.25
        assert "asked again in" in hits.fallback


@pytest.mark.parametrize("fault", [500, "quota", "echo", "html", "nan", "short", "dimension"])
def test_a_question_is_answered_by_words_whatever_the_provider_says(
    notes, server, fault, monkeypatch
):
    monkeypatch.setattr(retry, "DEFAULT_POLICY", RetryPolicy(query_pause_s=0.0))
    with notes.open("auto", through(server, query_timeout_s=1.0)) as memory:
        memory.index()
        server.fail_always(fault)
        hits = find(memory, "printer")
        assert (hits.mode, bool(hits)) == ("keyword", True)
        assert "openai:text-embedding-3-small" in hits.fallback
        server.fail_always(None)
        assert find(memory, "printer").mode == "hybrid"


def test_closing_does_not_wait_for_a_provider_that_hangs(notes, server):
    with notes.open("auto", through(server, query_timeout_s=0.2)) as memory:
        memory.index()
        server.fail_always("hang")
        assert find(memory, "printer").mode == "keyword"
        started = time.monotonic()
    assert time.monotonic() - started < 1


def test_closing_does_not_wait_as_long_as_a_service_asks_for(notes, server, asks_for_a_minute):
    memory = notes.open("auto", through(server))
    failed = []

    def index():
        try:
            memory.index()
        except StoreError as error:
            failed.append(str(error))

    running = threading.Thread(target=index, name="commonplace-test")
    running.start()
    asks_for_a_minute(memory)
    closed_at_once(memory)
    assert "the memory is closed" in failed[0]


def test_closing_does_not_wait_as_long_for_a_run_in_the_background(
    notes, server, asks_for_a_minute
):
    server.fail_always(None)
    with notes.open("auto", through(server)) as memory:
        memory.index()
    notes.write("memory/new.md", "a note on the plotter")
    server.fail_always((429, "60"))
    memory = notes.open("auto", through(server), fresh=True)
    asks_for_a_minute(memory)
    closed_at_once(memory)


@pytest.fixture
def asks_for_a_minute(server):
    """Let the server ask for a minute's rest, and wait until it is granted in a memory."""
    server.fail_always((429, "60"))
    resting = []

    def rests(memory):
        service = memory._index.runner.client()._remote.service
        resting.append(service)
        wait_for(lambda: service.cooldown_left_s > 30)

    yield rests
    for one in resting:
        one.end_cooldown()  # the next server may have the same port


def closed_at_once(memory):
    started = time.monotonic()
    memory.close()
    assert time.monotonic() - started < 2
    wait_for(lambda: not [t for t in threading.enumerate() if t.name.startswith("commonplace")], 2)


@pytest.mark.slow
def test_a_run_does_not_wait_three_times_for_a_provider_that_hangs(notes, server):
    fill(notes, 300)
    server.fail_always("hang")
    with notes.open("auto", through(server, timeout_s=0.5, query_timeout_s=0.2)) as memory:
        started = time.monotonic()
        report = memory.index()
        assert time.monotonic() - started < 10
        assert len(report.failed) == 302
        assert len(server.embeddings()) <= 2 * 4 + 1
        assert find(memory, "printer 42")


def test_a_missing_key_does_not_keep_words_from_being_found(notes, server, monkeypatch):
    with notes.open("auto", through(server)) as memory:
        memory.index()
    monkeypatch.delenv("OPENAI_API_KEY")
    with notes.open("openai") as memory:
        hits = find(memory, "printer")
        assert (hits.mode, bool(hits)) == ("keyword", True)
        assert "OPENAI_API_KEY" in hits.fallback
        with pytest.raises(EmbedderError, match="OPENAI_API_KEY"):
            memory.index()


# The fallback.


@pytest.mark.parametrize("fault", ["quota", "echo", 500])
def test_a_first_run_that_fails_for_good_is_done_by_the_fallback(notes, server, soon, fault):
    fill(notes, 20)
    server.fail_always(fault)
    fallback = "bundled"
    pytest.importorskip("wordllama", reason="no wheel for this platform")
    with notes.open("auto", through(server, fallback=fallback)) as memory:
        report = memory.index()
        assert report.failed == ()
        hits = find(memory, "printer")
        assert (hits.mode, hits.provider) == ("hybrid", "bundled")
        status = memory.status()
        assert status.provider == "bundled"
        assert any("fallback" in warning for warning in status.warnings)
        assert KEY not in repr(status)
        asked = len(server.embeddings())
        notes.write("memory/new.md", "another note")
        assert memory.index().failed == ()
        assert len(server.embeddings()) == asked


def test_an_outage_does_not_replace_vectors_that_were_paid_for(notes, server, soon):
    with notes.open("auto", through(server, fallback="bundled")) as memory:
        memory.index()
        server.fail_always(503)
        notes.write("memory/new.md", "a note on the plotter")
        report = memory.index()
        assert [path for path, _ in report.failed] == ["memory/new.md"]
        assert memory.status().provider == "openai"
        server.fail_always(None)
        assert memory.index().failed == ()
    assert twice(server.texts) == []


# Another model.


@pytest.mark.slow
def test_the_old_vectors_answer_until_the_new_ones_are_complete(notes, server):
    fill(notes, 50)
    with notes.open("auto", through(server)) as memory:
        memory.index()
    other = through(server, model="another-model")
    with notes.open("auto", other) as memory:
        hits = find(memory, "printer")
        assert (hits.mode, hits.model) == ("hybrid", "text-embedding-3-small")
        slow_down(server, 0.2)
        running = threading.Thread(target=memory.index)
        running.start()
        models = set()
        while running.is_alive():
            hits = find(memory, "printer")
            assert hits.mode == "hybrid"
            models.add(hits.model)
        running.join(DEADLINE_S)
        assert "text-embedding-3-small" in models
        assert find(memory, "printer").model == "another-model"


@pytest.mark.slow
def test_a_switch_that_fails_keeps_the_old_vectors_and_goes_on_later(notes, server, soon):
    fill(notes, 300, line="note {} about the printer" + 20 * " and the rest" + "\n")
    with notes.open("auto", through(server)) as memory:
        memory.index()
    with notes.open("auto", through(server, model="another-model")) as memory:
        limit(server, len(server.texts) + 100)
        report = memory.index()
        assert 100 <= report.embedded < 250
        assert report.failed
        notes.write("memory/new.md", "a note on the plotter")
        limit(server, None)
        hits = find(memory, "printer")
        assert (hits.mode, hits.model) == ("hybrid", "text-embedding-3-small")
        server.texts.clear()
        assert memory.index().failed == ()
        assert find(memory, "printer").model == "another-model"
        assert find(memory, "plotter")
        assert len(server.texts) <= 303 - report.embedded + 3


def limit(server, count):
    """Let the server fail once it has given so many vectors."""
    answer = type(server.dialect).answer.__get__(server.dialect)

    def limited(*args, **options):
        if len(server.texts) >= count:
            server.fail_always(500)
        return answer(*args, **options)

    if count is None:
        server.fail_always(None)
        server.dialect.answer = answer
    else:
        server.dialect.answer = limited


def test_another_dimension_is_another_index(notes, server):
    with notes.open("auto", through(server)) as memory:
        memory.index()
        assert memory.status().dimension == 32
    with notes.open("auto", through(server, dimensions=16)) as memory:
        assert find(memory, "printer").mode == "hybrid"
        memory.index()
        assert memory.status().dimension == 16
        assert find(memory, "printer").mode == "hybrid"


# Objects.


class Async(HashedWords):
    """Embeds on the event loop that it was first used on, and on no other."""

    is_local = False
    loop = None

    async def embed_documents(self, texts):
        self.check()
        await asyncio.sleep(0)
        return super().embed_documents(texts)

    async def embed_query(self, text):
        self.check()
        return super().embed_query(text)

    def check(self):
        loop = asyncio.get_running_loop()
        self.loop = self.loop or loop
        if loop is not self.loop:
            raise RuntimeError("Event loop is closed")


def test_an_async_object_meets_one_event_loop_however_often_it_is_used(notes):
    embedder = Async()
    for round_ in range(2):
        notes.write("memory/more.md", f"round {round_}")
        with notes.open(embedder) as memory:
            assert memory.index().failed == ()
            assert find(memory, f"printer {round_}").mode == "hybrid"
        assert not [t for t in threading.enumerate() if t.name == "commonplace-embeddings"]

    async def inside():
        with notes.open(embedder) as memory:
            return await memory.asearch("where is the printer")

    assert asyncio.run(inside()).mode == "hybrid"


def test_an_object_that_is_only_async_will_do(notes):
    class Only:
        model_id = "only"

        async def aembed_documents(self, texts):
            return [[1.0, float(len(text))] for text in texts]

        async def aembed_query(self, text):
            return [1.0, float(len(text))]

    with notes.open(Only()) as memory:
        assert memory.index().failed == ()
        assert find(memory, "printer").mode == "hybrid"


def test_an_object_that_hangs_does_not_hold_a_search_up(notes):
    released = threading.Event()

    class Hanging(HashedWords):
        is_local = False
        hangs = False

        def embed_query(self, text):
            if self.hangs:
                released.wait(DEADLINE_S)
            return super().embed_query(text)

    embedder = Hanging()
    settings = replace(CHUNKS, embedding=EmbeddingSettings(query_timeout_s=0.2))
    with notes.open(embedder, settings) as memory:
        memory.index()
        embedder.hangs = True
        assert find(memory, "printer").mode == "keyword"
    released.set()


# Keys.


@pytest.mark.parametrize("fault", ["echo", "quota", 500, "drop", "html"])
def test_keys_are_told_nowhere(notes, server, soon, fault, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    header = "open-sesame-1234"
    settings = through(server, headers={"X-Gateway": header}, query_timeout_s=1.0)
    told = []
    with notes.open("auto", settings) as memory:
        server.fail_always(fault)
        told += [memory.index(), find(memory, "printer").fallback, memory.status(deep=True)]
        server.fail_always(None)
        told += [memory.index(), memory.status(deep=True), settings]
    told += [*caplog.messages, *capfd.readouterr()]
    for path in notes.root.parent.iterdir():
        if path.is_file():
            told.append(path.read_bytes())
    for secret in (KEY, header):
        assert secret not in "".join(map(repr, told))
        assert secret.encode() in b"".join(
            value.encode() for asked in server.requests for value in asked.headers.values()
        )


def test_nothing_of_a_run_stays_in_the_cache_twice(notes, server):
    fill(notes, 300)
    with notes.open("auto", through(server)) as memory:
        memory.index()
    assert notes.cached_texts() == 0


@pytest.mark.slow
def test_a_model_that_was_used_before_costs_nothing_though_it_does_not_answer_at_first(notes):
    with LoopbackVendor("openai") as server:
        for model in ("A", "B"):
            with notes.open("auto", through(server, CHUNKS, model=model)) as memory:
                memory.index()
        retry._SERVICES.clear()
        before = len(server.texts)
        server.fail_next(500, 500, 500)
        with notes.open("auto", through(server, CHUNKS, model="A")) as memory:
            assert memory.index().embedded == 0
        assert len(server.texts) == before


@pytest.mark.slow
@pytest.mark.parametrize("then", ["force", "another model"])
def test_what_an_unfinished_switch_has_embedded_is_not_paid_again(notes, then):
    for number in range(200):
        notes.write(f"memory/{number}.md", f"note {number} on the printer{' and on' * 100}\n")
    with LoopbackVendor("openai") as server:
        with notes.open("auto", through(server, CHUNKS, model="A")) as memory:
            memory.index()
        server.fail_next(*[None] * 8, *["quota"] * 50)
        before = len(server.texts)
        with notes.open("auto", through(server, CHUNKS, model="B")) as memory:
            memory.index()
        made = len(server.texts) - before
        server.fail_next()
        server._next.clear()
        if then == "another model":
            with notes.open("auto", through(server, CHUNKS, model="C")) as memory:
                memory.index()
        before = len(server.texts)
        with notes.open("auto", through(server, CHUNKS, model="B")) as memory:
            assert memory.index(force=then == "force").failed == ()
        assert 0 < len(server.texts) - before <= 202 - made + 4  # and a few questions


@pytest.mark.sqlite("the bytes of the file")
def test_a_token_in_a_header_is_never_told(notes, caplog):
    token = "wq7Zk2Lr9Xs4Tm1Vb"
    with LoopbackVendor("openai") as server:
        server.dialect.answer = lambda asked, *_, **__: server.dialect.failure(
            401, f"unknown token {asked.headers['x-gateway-auth'].split()[1]}"
        )
        headers = {"X-Gateway-Auth": f"Bearer {token}"}
        with notes.open("auto", through(server, headers=headers)) as memory:
            told = [memory.index(), find(memory, "printer").fallback, memory.status(deep=True)]
    assert token not in repr(told) + caplog.text
    assert "unknown token ***" in caplog.text
    assert token.encode() not in notes.index.read_bytes()


@pytest.mark.slow
def test_a_time_to_wait_that_is_no_date_is_as_none(notes):
    with LoopbackVendor("openai") as server:
        server.fail_next((429, "Fri, 31 Dec 99999 23:59:59 GMT"))
        with notes.open("auto", through(server)) as memory:
            assert memory.index().failed == ()
