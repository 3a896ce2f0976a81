"""Processes that flush, and are killed at the step that they are told: run by test_kills.py.

``python worker.py FACTS FOLDER STEP [FOLDER STEP ...]`` starts one process after the other; step 0
is none. It prints how each ended: the signal that killed it, or how many steps there were.
"""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from commonplace.flush import FlushReply, ToolCall
from commonplace.flush.journal import Journal
from commonplace.memory import Memory
from support.silent import Chat, Noting, said

steps = 0


def step(kill_at):
    global steps
    steps += 1
    if steps == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


def killable(kill_at, kind, name):
    """Make each call of a method a step before and a step after it."""
    method = getattr(kind, name)

    def wrapped(*args, **options):
        step(kill_at)
        try:
            return method(*args, **options)
        finally:
            step(kill_at)

    setattr(kind, name, wrapped)


class Rewording(Noting):
    """Says everything in words that no other process would choose."""

    def reply(self, request):
        reply = super().reply(request)
        calls = [
            ToolCall(call.name, {"text": f"{call.arguments['text']} ({os.getpid()})"}, call.id)
            for call in reply.tool_calls
        ]
        return FlushReply(reply.text, tuple(calls))


def flush(folder, kill_at, numbers):
    for kind, names in (
        (Journal, ("add", "pending", "claim", "save_replies", "remove", "release")),
        (Memory, ("append",)),
        (Rewording, ("reply",)),
    ):
        for name in names:
            killable(kill_at, kind, name)
    Chat(Path(folder)).flusher(Rewording()).flush(said(*numbers), thread="t")


def in_process_of_its_own(folder, kill_at, numbers):
    """Return how the process ended."""
    process = os.fork()
    if not process:
        flush(folder, kill_at, numbers)
        os._exit(steps)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def main(facts, *runs):
    numbers = [int(number) for number in facts.split(",")]
    for folder, kill_at in zip(runs[::2], runs[1::2], strict=True):
        ended = in_process_of_its_own(folder, int(kill_at), numbers)
        sys.stdout.write(f"{ended}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
