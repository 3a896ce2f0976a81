"""Embedding a query while a caller waits."""

import threading

import pytest

from commonplace.embeddings.failures import classify
from commonplace.embeddings.query_client import QueryClient
from commonplace.embeddings.retry import ServiceState
from support.fakes import StatusError
from support.loopback_clients import Clock
from support.waiting import wait_for


class Asked:
    """Fails as a script says, then answers."""

    def __init__(self, *script):
        self.script = list(script)
        self.count = 0

    def __call__(self):
        self.count += 1
        if self.script and (failure := self.script.pop(0)):
            raise failure
        return "answer"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def line(clock):
    service = ServiceState(clock=clock, sleep=clock.sleep)
    return QueryClient(classify=classify, deadline_s=5.0, service=service)


@pytest.mark.parametrize("failure", [StatusError(500), StatusError(429), ConnectionResetError()])
def test_what_may_pass_is_asked_again_within_the_deadline(line, failure):
    call = Asked(failure, failure)
    assert line.ask(call) == "answer"
    assert call.count == 3


def test_three_failures_are_enough_and_silence_follows(line, clock):
    call = Asked(*[StatusError(503)] * 99)
    with pytest.raises(StatusError):
        line.ask(call)
    assert call.count == 3
    with pytest.raises(TimeoutError, match=r"status 503.*asked again in 30 s"):
        line.ask(call)
    clock.now += 31
    with pytest.raises(StatusError):
        line.ask(call)
    assert call.count == 6


@pytest.mark.parametrize(
    "failure", [StatusError(401), StatusError(402), StatusError(429, "insufficient_quota")]
)
def test_what_does_not_pass_is_asked_once_in_a_while(line, failure):
    call = Asked(*[failure] * 9)
    with pytest.raises(StatusError):
        line.ask(call)
    with pytest.raises(TimeoutError):
        line.ask(call)
    assert call.count == 1


def test_a_question_that_is_wrong_by_itself_keeps_no_other_one_out(line):
    with pytest.raises(StatusError):
        line.ask(Asked(StatusError(400)))
    assert line.ask(Asked()) == "answer"


def test_an_answer_to_another_request_ends_the_cooldown(line):
    with pytest.raises(StatusError):
        line.ask(Asked(StatusError(401)))
    line.answered()
    assert line.ask(Asked()) == "answer"


def test_a_wait_beyond_the_deadline_is_not_waited(line, clock):
    with pytest.raises(StatusError):
        line.ask(Asked(StatusError(429, retry_after="20")))
    assert clock.slept == []


def test_a_service_that_cools_down_is_left_alone(clock):
    service = ServiceState(clock=clock, sleep=clock.sleep)
    line = QueryClient(classify=classify, deadline_s=5.0, service=service)
    service.cool_down(60)
    call = Asked()
    with pytest.raises(TimeoutError, match="left alone for 60 s"):
        line.ask(call)
    service.cool_down(0)
    clock.now += 58
    assert line.ask(call) == "answer"
    assert sum(clock.slept) == pytest.approx(2)


def test_calls_that_hang_are_left_behind_and_only_so_many():
    released = threading.Event()
    line = QueryClient(
        classify=lambda error: classify(ValueError()), deadline_s=0.02, service=ServiceState()
    )
    for _ in range(4):
        with pytest.raises(TimeoutError, match="no answer within"):
            line.ask(released.wait)
    with pytest.raises(TimeoutError, match="4 earlier queries"):
        line.ask(lambda: "answer")
    released.set()
    wait_for(lambda: line._hung == 0)
    assert line.ask(lambda: "answer") == "answer"
    wait_for(lambda: not [t for t in threading.enumerate() if t.name == "commonplace-query"])


def test_closing_ends_the_wait_for_another_try(clock):
    def sleep(seconds):
        clock.sleep(seconds)
        line.close()

    line = QueryClient(
        classify=classify, deadline_s=5.0, service=ServiceState(clock=clock, sleep=sleep)
    )
    call = Asked(StatusError(429, retry_after="4"))
    with pytest.raises(TimeoutError, match="was closed"):
        line.ask(call)
    assert call.count == 1
    assert sum(clock.slept) < 1
