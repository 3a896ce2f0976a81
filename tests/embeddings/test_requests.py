"""How texts become requests, and what becomes of requests that fail."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.embeddings.base import RequestLimits
from commonplace.embeddings.failures import classify
from commonplace.embeddings.requests import RequestQueue, RequestSizer, pack
from commonplace.embeddings.retry import DEFAULT_POLICY, RetryPolicy, ServiceState
from support.fakes import StatusError
from support.loopback_clients import Clock
from support.waiting import wait_for

DEADLINE_S = 20.0


class Server:
    """Answers each text with its length, after the failures of a script."""

    def __init__(self, *script, clock=None):
        self.script = list(script)
        self.asked = []
        self.times = []
        self.clock = clock or Clock()
        self.lock = threading.Lock()

    def __call__(self, texts):
        with self.lock:
            self.asked.append(list(texts))
            self.times.append(self.clock())
            failure = self.script.pop(0) if self.script else None
        if failure is not None:
            raise failure
        return [[float(len(text))] for text in texts]


def requests(call, **options):
    """Return a queue over a server; unless it has a service, its clock is the server's."""
    given = {
        "classify": classify,
        "limits": RequestLimits(max_texts=2, concurrency=1),
        "sizer": RequestSizer(),
        "policy": DEFAULT_POLICY,
    }
    if "service" not in options:
        given["service"] = ServiceState(clock=call.clock, sleep=call.clock.sleep)
    return RequestQueue(call, **given | options)


def outcome(answers):
    """Which texts were embedded, and what the others failed of."""
    made, failed = [], {}
    for answer in answers:
        if answer.error is None:
            assert [[float(len(text))] for text in answer.texts] == answer.vectors
            made += answer.texts
        else:
            failed |= dict.fromkeys(answer.texts, answer.failure.kind)
    return sorted(made), failed


# Packing.


@pytest.mark.slow
@given(
    st.lists(st.text(max_size=30)),
    st.integers(min_value=1, max_value=6),
    st.integers(min_value=1, max_value=60),
)
def test_packing_keeps_all_texts_in_order_and_within_the_limits(texts, max_texts, max_bytes):
    packed = list(pack(texts, RequestLimits(max_texts=max_texts, max_bytes=max_bytes)))
    assert [text for request in packed for text in request] == texts
    for request in packed:
        assert 1 <= len(request) <= max_texts
        sizes = [len(text.encode()) for text in request]
        assert sum(sizes) <= max_bytes or len(request) == 1


def test_bytes_and_not_characters_are_counted():
    limits = RequestLimits(max_bytes=8000)
    assert [len(request) for request in pack(["é" * 1000] * 8, limits)] == [4, 4]
    assert [len(request) for request in pack(["a", "漢" * 9000, "b"], limits)] == [1, 1, 1]


def test_eight_thousand_bytes_are_the_limit_unless_a_provider_says_otherwise():
    assert RequestLimits().max_bytes == 8000
    assert RequestLimits().concurrency == 4


# Trying again.


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_three_times_with_growing_waits(status):
    server = Server(*[StatusError(status)] * 3)
    made, failed = outcome(requests(server).send(["a"]))
    assert (made, failed) == ([], {"a": "transient"})
    assert len(server.asked) == 3
    first, second = server.times[1] - server.times[0], server.times[2] - server.times[1]
    assert 0.5 <= first <= 0.6 + 1e-6
    assert 1.0 <= second <= 1.2 + 1e-6


def test_a_request_that_succeeds_at_the_third_try_is_a_success():
    server = Server(StatusError(500), StatusError(429))
    assert outcome(requests(server).send(["a"])) == (["a"], {})


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 501])
def test_what_does_not_pass_is_not_tried_again(status):
    server = Server(StatusError(status))
    outcome(requests(server).send(["a"]))
    assert len(server.asked) == 1
    assert server.clock.slept == []


def test_waits_grow_up_to_eight_seconds():
    waits = [RetryPolicy(jitter=0).backoff_s(n, classify(StatusError(500))) for n in range(1, 8)]
    assert waits == [0.5, 1, 2, 4, 8, 8, 8]


def test_a_wait_that_the_service_asks_for_is_granted_up_to_a_minute():
    for asked, granted in (("3", 3.0), ("0", 0.0), ("600", 60.0)):
        server = Server(StatusError(429, retry_after=asked))
        assert outcome(requests(server).send(["a"])) == (["a"], {})
        assert server.times[1] - server.times[0] == pytest.approx(granted)


def test_an_exhausted_quota_is_not_tried_again_and_nothing_more_is_sent():
    server = Server(StatusError(429, "You exceeded your current quota: insufficient_quota"))
    sending = requests(server)
    made, failed = outcome(sending.send(["a", "b", "c", "d"]))
    assert made == []
    assert failed == dict.fromkeys("abcd", "quota")
    assert len(server.asked) == 1
    assert outcome(sending.send(["e"])) == ([], {"e": "quota"})
    assert len(server.asked) == 1


def test_a_refused_key_is_not_tried_with_every_text():
    server = Server(*[StatusError(401)] * 9)
    failed = outcome(requests(server).send([str(n) for n in range(100)]))[1]
    assert len(failed) == 100
    assert len(server.asked) == 1


def test_a_service_that_is_down_is_given_up_after_three_requests_in_a_row():
    server = Server(*[StatusError(500)] * 100)
    made, failed = outcome(requests(server).send([str(n) for n in range(100)]))
    assert (made, len(failed)) == ([], 100)
    assert len(server.asked) <= 3 * 3 + 2


def test_a_service_that_comes_back_is_asked_again_when_it_is_forgiven():
    server = Server(*[StatusError(500)] * 11)
    sending = requests(server)
    assert outcome(sending.send(list("abcdefgh")))[0] == []
    server.script.clear()
    sending.resume()
    assert outcome(sending.send(list("abcdefgh"))) == (list("abcdefgh"), {})


def test_all_threads_wait_when_one_is_told_to():
    service = ServiceState()
    server = Server(StatusError(429, retry_after="0.3"), clock=time.monotonic)
    limits = RequestLimits(max_texts=1, concurrency=4)
    texts = [str(n) for n in range(40)]
    assert outcome(requests(server, limits=limits, service=service).send(texts))[1] == {}
    # Those that were under way before the first answer came, and then none for 0.3 s.
    gaps = [later - sooner for sooner, later in zip(server.times, server.times[1:], strict=False)]
    assert max(gaps) >= 0.25
    assert gaps.index(max(gaps)) <= 5


def test_a_server_error_of_one_request_does_not_stop_the_others():
    server = Server(StatusError(500))
    sending = requests(server, limits=RequestLimits(max_texts=1, concurrency=1))
    list(sending.send(["a", "b", "c"]))
    assert server.asked == [["a"], ["b"], ["c"], ["a"]]


def test_four_requests_are_under_way_at_once_and_no_more():
    under_way, most = 0, 0
    lock, four = threading.Lock(), threading.Barrier(4, timeout=DEADLINE_S)

    def call(texts):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        four.wait()
        with lock:
            under_way -= 1
        return [[1.0]] * len(texts)

    sending = requests(
        call, limits=RequestLimits(max_texts=1), service=ServiceState(), timeout_s=DEADLINE_S
    )
    answers = list(sending.send([str(n) for n in range(16)]))
    assert [answer.error for answer in answers] == [None] * 16
    assert most == 4


def test_every_fifth_request_fails_and_no_text_is_embedded_twice_or_left():
    class Flaky(Server):
        def __call__(self, texts):
            with self.lock:
                self.count = getattr(self, "count", 0) + 1
                fails = self.count % 5 == 0
            self.asked.append([] if fails else list(texts))
            if fails:
                raise StatusError(500)
            return [[float(len(text))] for text in texts]

    server = Flaky()
    texts = [f"text {n}" for n in range(10_000)]
    limits = RequestLimits(max_texts=5, concurrency=4)
    sending = requests(server, limits=limits)
    made, failed = outcome(sending.send(texts))
    sending.resume()
    again, left = outcome(sending.send(failed))
    assert (sorted(made + again), left) == (sorted(texts), {})
    assert sorted(text for request in server.asked for text in request) == sorted(texts)
    assert len(server.asked) <= 1.3 * len(texts) / 5


def test_a_thread_that_never_comes_back_is_given_up_and_does_not_keep_the_others():
    hung = threading.Event()

    def call(texts):
        if texts == ["hang"]:
            hung.wait()
        return [[1.0]] * len(texts)

    sending = requests(
        call,
        limits=RequestLimits(max_texts=1, concurrency=2),
        service=ServiceState(),
        policy=RetryPolicy(max_attempts=1),
        timeout_s=0.3,
    )
    made, failed = [], []
    for answer in sending.send(["a", "hang", "b", "c"]):
        (failed if answer.error else made).extend(answer.texts)
    assert (sorted(made), failed) == (["a", "b", "c"], ["hang"])
    hung.set()
    wait_for(lambda: not [t for t in threading.enumerate() if t.name == "commonplace-embed"])


def test_a_run_that_is_broken_off_leaves_no_threads():
    server = Server(clock=time.monotonic)
    sending = requests(server, limits=RequestLimits(max_texts=1), service=ServiceState())
    answers = sending.send([str(n) for n in range(100)])
    next(answers)
    answers.close()
    wait_for(lambda: not [t for t in threading.enumerate() if t.name == "commonplace-embed"])
    assert len(server.asked) < 100


# Limits that are learned.

TOO_MANY = "input array too long: at most 16 inputs in a request"


class Limited(Server):
    """Refuses requests of too many texts, or of too many bytes."""

    def __init__(self, *, texts=10**9, size=10**9, message=TOO_MANY, status=400):
        super().__init__()
        self.texts, self.size, self.message, self.status = texts, size, message, status
        self.refused = 0

    def __call__(self, texts):
        if len(texts) > self.texts or sum(map(len, texts)) > self.size:
            self.refused += 1
            raise StatusError(self.status, self.message)
        self.asked.append(texts)
        return [[float(len(text))] for text in texts]


def test_too_many_texts_are_halved_until_they_fit_and_that_is_remembered():
    server, sizer = Limited(texts=16), RequestSizer()
    limits = RequestLimits(max_texts=128, concurrency=1)
    texts = [f"{n:03}" for n in range(512)]
    assert outcome(requests(server, limits=limits, sizer=sizer).send(texts)) == (texts, {})
    assert server.refused <= 4
    assert server.clock.slept == []
    refused = server.refused
    assert outcome(requests(server, limits=limits, sizer=sizer).send(texts)) == (texts, {})
    assert server.refused == refused


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (413, "Payload Too Large"),
        (400, "This model's maximum context length is 8192 tokens, however you requested 20000"),
        (422, "batch size 64 > maximum allowed batch size 32"),
        (400, "Too many tokens in batch"),
    ],
)
def test_what_is_too_large_is_halved_whatever_the_vendor_calls_it(status, message):
    server = Limited(texts=9, size=900, message=message, status=status)
    texts = [f"{n:03}" * 30 for n in range(64)]
    limits = RequestLimits(max_texts=64, concurrency=1)
    assert outcome(requests(server, limits=limits).send(texts)) == (texts, {})
    assert server.refused <= 12


def test_a_text_that_is_too_long_by_itself_is_embedded_by_its_beginning():
    server = Limited(size=1000, message="the input length exceeds the context length")
    limits = RequestLimits(concurrency=1)
    text = "word " * 1000
    answers = list(requests(server, limits=limits).send(["short", text]))
    assert {tuple(answer.texts) for answer in answers} == {("short",), (text,)}
    assert [answer.error for answer in answers] == [None, None]
    sent = max((texts[0] for texts in server.asked), key=len)
    assert text.startswith(sent)
    assert 500 <= len(sent) <= 1000


def test_a_text_that_no_cut_makes_short_enough_fails_by_itself():
    server = Limited(size=10, message="too many tokens")
    made, failed = outcome(requests(server).send(["short", "x" * 5000, "tiny"]))
    assert made == ["short", "tiny"]
    assert list(failed.values()) == ["too_large"]


# Texts that are not taken.


def test_a_text_that_is_not_taken_keeps_no_other_one_from_being_embedded():
    class Picky(Server):
        def __call__(self, texts):
            self.asked.append(texts)
            if "poison" in texts:
                raise StatusError(400, "this is no text")
            return [[float(len(text))] for text in texts]

    server = Picky()
    limits = RequestLimits(max_texts=16, concurrency=1)
    texts = [f"{n:02}" for n in range(64)]
    made, failed = outcome(requests(server, limits=limits).send([*texts, "poison"]))
    assert (made, failed) == (texts, {"poison": "permanent"})
    server.asked.clear()
    made, failed = outcome(
        requests(server, limits=limits).send([*texts[:40], "poison", *texts[40:]])
    )
    assert (made, failed) == (texts, {"poison": "permanent"})
    assert len(server.asked) <= 5 + 2 * 4


def test_a_service_that_takes_nothing_is_not_asked_for_each_text():
    server = Server(*[StatusError(400, "no such dimension")] * 99)
    limits = RequestLimits(max_texts=16, concurrency=1)
    assert len(outcome(requests(server, limits=limits).send([str(n) for n in range(99)]))[1]) == 99
    assert len(server.asked) == 3
    server = Server(None, *[StatusError(404, "the model is gone")] * 99)
    assert len(outcome(requests(server, limits=limits).send([str(n) for n in range(99)]))[1]) == 83
    assert len(server.asked) <= 10


# In this process.


def test_what_needs_no_network_is_called_in_the_calling_thread_and_once():
    threads = []

    def call(texts):
        threads.append(threading.current_thread())
        raise ConnectionError

    sending = requests(call, limits=RequestLimits(max_texts=1), service=None)
    assert len(list(sending.send("abcdef"))) == 6
    assert threads == [threading.current_thread()] * 3


def test_what_a_check_raises_ends_the_wait_for_another_try():
    server = Server(StatusError(429, retry_after="60"))

    def check():
        if server.clock.slept:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        list(requests(server, check=check).send(["a"]))
    assert sum(server.clock.slept) < 1
    assert server.asked == [["a"]]


def test_what_a_check_raises_ends_the_wait_for_an_answer():
    released, asked = threading.Event(), threading.Event()

    def call(texts):
        asked.set()
        released.wait(DEADLINE_S)
        return [[1.0] for _ in texts]

    def check():
        if asked.is_set():
            raise InterruptedError

    started = time.monotonic()
    with pytest.raises(InterruptedError):
        list(requests(call, service=ServiceState(), check=check).send(["a"]))
    assert time.monotonic() - started < DEADLINE_S / 2
    released.set()
