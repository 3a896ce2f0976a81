"""Waiting for a condition, with a deadline."""

import time

DEADLINE_S = 20.0


def wait_for(condition, deadline_s=DEADLINE_S):
    """Return as soon as the condition holds; fail when it never does."""
    until = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.005)
