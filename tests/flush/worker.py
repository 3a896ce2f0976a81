"""Processes that flush, and are killed: ``worker.py FACTS FOLDER STEP ...`` of test_kills.py.

See `support.kills`.
"""

import os
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from commonplace.flush import FlushReply, ToolCall
from commonplace.flush.journal import Journal
from commonplace.memory import Memory
from support.kills import killable, run_all
from support.silent import Chat, Noting, said


class Rewording(Noting):
    """Says everything in words that no other process would choose."""

    def reply(self, request):
        reply = super().reply(request)
        calls = [
            ToolCall(call.name, {"text": f"{call.arguments['text']} ({os.getpid()})"}, call.id)
            for call in reply.tool_calls
        ]
        return FlushReply(reply.text, tuple(calls))


def flush(numbers, folder, kill_at):
    for kind, names in (
        (Journal, ("add", "pending", "claim", "save_replies", "remove", "release")),
        (Memory, ("append",)),
        (Rewording, ("reply",)),
    ):
        for name in names:
            killable(kill_at, kind, name)
    Chat(folder).flusher(Rewording()).flush(said(*numbers), thread="t")


def main(facts, *runs):
    run_all(partial(flush, [int(number) for number in facts.split(",")]), *runs)


if __name__ == "__main__":
    main(*sys.argv[1:])
