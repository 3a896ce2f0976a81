"""Agents that talk, and are killed at the step that they are told: run by test_faults.py.

``python worker.py chat|flush|background FOLDER STEP [FOLDER STEP ...]`` starts one process after
the other; step 0 is none. Each goes on where the one before it in the same folder was killed. It
prints how each ended: minus the signal that killed it, or how many steps there were.
"""

import os
import signal
import sys
import threading
import traceback
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from commonplace import Memory, Settings
from commonplace.flush.journal import Journal
from commonplace.text.tokens import prepare_counting
from langchain_commonplace import ChatMemory, MemoryFlushMiddleware
from support.fakes import clock
from support.langchain_fakes import Notetaker, ScriptedChatModel

TURNS = 6
SIZE = {"trigger": ("messages", 8), "keep": ("messages", 3)}
"""The fifth turn compacts."""

BACKGROUND = "background"
steps = 0
counts_background = False


def step(kill_at):
    global steps
    if threading.current_thread().name == "commonplace-pending" and not counts_background:
        return  # it looks for what others left, at any time
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


def middleware_of(kind, model, memory):
    if kind != "flush":
        mode = "background" if kind == BACKGROUND else "before"
        return [ChatMemory(model, memory=memory, flush=mode, **SIZE)]
    compactor = SummarizationMiddleware(model, **SIZE)
    return [MemoryFlushMiddleware(memory=memory, model=model, before=compactor), compactor]


def talk(kind, folder, kill_at):
    global counts_background
    counts_background = kind == BACKGROUND
    for changed, names in (
        (Journal, ("add", "pending", "claim", "save_replies", "remove", "release")),
        (Memory, ("append",)),
        (Notetaker, ("__call__",)),
    ):
        for name in names:
            killable(kill_at, changed, name)
    model = ScriptedChatModel(script=Notetaker())
    (folder / "notes").mkdir(parents=True, exist_ok=True)
    with (
        Memory.open(
            folder / "notes",
            settings=Settings(timezone="UTC"),
            embedder=None,
            index=folder / "state" / "index.sqlite",
            now=clock(),
        ) as memory,
        SqliteSaver.from_conn_string(str(folder / "graph.sqlite")) as saver,
    ):
        middleware = middleware_of(kind, model, memory)
        agent = create_agent(model, middleware=middleware, checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}}
        at = folder / "turn"
        for turn in range(int(at.read_text()) if at.exists() else 0, TURNS):
            write_whole(at, turn)
            agent.invoke({"messages": [HumanMessage(f"Here is fact-{turn} for you.")]}, config)
        write_whole(at, TURNS)
        left = agent.get_state(config).values["messages"]
        last = middleware[0] if kind == BACKGROUND else ChatMemory(model, memory=memory)
        last.end_session("1", messages=left)


def write_whole(path, number):
    """Write a file that a kill leaves as it was before, or with all of it."""
    new = path.with_suffix(".new")
    new.write_text(str(number))
    new.replace(path)


def in_process_of_its_own(kind, folder, kill_at):
    """Return how the process ended."""
    process = os.fork()
    if not process:
        status = 255
        try:
            talk(kind, folder, kill_at)
            status = steps
        except Exception:  # noqa: BLE001 - whatever it is, its status says so
            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def main(kind, *runs):
    prepare_counting()  # what takes its time and is the same in all of them is done before
    for folder, kill_at in zip(runs[::2], runs[1::2], strict=True):
        ended = in_process_of_its_own(kind, Path(folder), int(kill_at))
        sys.stdout.write(f"{ended}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
