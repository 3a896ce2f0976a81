"""Count the modules of `commonplace` that a verb enters: what its reader has to open.

::

    python tests/benchmarks/entered_modules.py [--list]

Each verb runs once before it is counted, so that imports and first steps do not count. A module is
entered when one of its functions is called by the thread that called the verb; those that only the
threads which it starts enter are counted beside it.
"""

from __future__ import annotations

import argparse
import functools
import gc
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import commonplace
from commonplace import Memory, Settings
from commonplace.settings import SyncSettings

ROOT = str(Path(commonplace.__file__).parent) + os.sep
LIMITS = {
    "search": 23,
    "append": 47,
    "first index": 46,
    "flush from LangChain, nothing indexed yet": 50,
    "flush from LangChain with its append": 71,
}
"""How many modules the thread of each verb may enter.

A search asks `answer_types` and `hyponyms` what kind of thing is asked for.
An append indexes and records its one note in its own thread, so that what it enters counts whole;
`grown_note` and `read_document` are two of them: the last long note is not read again. Chunks and
their `line_units` are cut by one module each. A flush masks its note as it is read behind
the log, which here is about a key: seven modules look for the secret that goes with it.
"""
NOTES = {
    "MEMORY.md": "# Memory\n\n- Wren looks after the key cabinet.\n- The VPN listens on 51820.\n",
    "memory/2026-11-20.md": "# 2026-11-20\n\n- Moved the printer to the second floor.\n",
}
SETTINGS = Settings(sync=SyncSettings(on_open=False, on_search=False, watch=False))


class Entered(NamedTuple):
    """Modules that the thread of a verb entered, and those that only its other threads did."""

    here: set[str]
    elsewhere: set[str]


def entered(call: Callable[[], object]) -> Entered:
    """Return the files of `commonplace` whose functions run while a call runs."""
    here: set[str] = set()
    elsewhere: set[str] = set()

    def noting(files):
        def note(frame, event, argument):
            if event == "call" and frame.f_code.co_name != "<module>":
                files.add(frame.f_code.co_filename)

        return note

    gc.disable()  # else it may close a memory of before, whose modules would count
    threading.setprofile(noting(elsewhere))
    sys.setprofile(noting(here))
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        gc.enable()
    return Entered(_modules(here), _modules(elsewhere) - _modules(here))


def _modules(files: set[str]) -> set[str]:
    # A copy: threads that the call left behind go on noting theirs.
    return {name.removeprefix(ROOT) for name in set(files) if name.startswith(ROOT)}


def open_notes(folder: Path) -> Memory:
    """Make a workspace of two files and open it."""
    for name, text in NOTES.items():
        path = folder / "notes" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Memory.open(
        folder / "notes",
        settings=SETTINGS,
        embedder="bundled",
        index=folder / "index" / "index.sqlite",
    )


def searched(folder: Path) -> Entered:
    with open_notes(folder) as memory:
        for _ in range(2):  # the second search is the first that reads the vectors into memory
            memory.search("Who has the key of the cabinet?")
        return entered(lambda: memory.search("which port does the VPN use?"))


def appended(folder: Path) -> Entered:
    with open_notes(folder) as memory:
        memory.index()
        memory.append("- The heron moved to rack 7.")
        return entered(lambda: memory.append("- Decided: tea at four."))


def indexed(folder: Path) -> Entered:
    with open_notes(folder / "before") as memory:
        memory.index()
    with open_notes(folder) as memory:
        return entered(memory.index)


def flushed(folder: Path, *, is_indexed: bool = True) -> Entered:
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    from langchain_commonplace import ChatMemory

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools, **options):
            return self

    def reply(text):
        call = {"name": "memory_append", "args": {"text": text}, "id": text}
        return AIMessage("", tool_calls=[call])

    answers = [
        *(reply("- Wren has the key."), AIMessage("A summary.")),
        *(reply("- Tea is at four."), AIMessage("A summary.")),
    ]
    with open_notes(folder) as memory:
        if is_indexed:
            memory.index()
        chat = ChatMemory(
            Model(messages=iter(answers)),
            memory=memory,
            trigger=("messages", 6),
            keep=("messages", 2),
        )

        def talk(topic):
            said = [f"{topic} {number}: something to remember" for number in range(8)]
            kinds = (HumanMessage, AIMessage)
            messages = [kinds[n % 2](text, id=text) for n, text in enumerate(said)]
            return lambda: chat.before_model({"messages": messages}, None)

        talk("key")()
        return entered(talk("tea"))


VERBS: dict[str, Callable[[Path], Entered]] = {
    "search": searched,
    "append": appended,
    "first index": indexed,
    "flush from LangChain, nothing indexed yet": functools.partial(flushed, is_indexed=False),
    "flush from LangChain with its append": flushed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="name the modules")
    arguments = parser.parse_args()
    too_many = False
    for verb, count in VERBS.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["COMMONPLACE_STATE_DIR"] = folder
            here, elsewhere = count(Path(folder))
        print(
            f"{verb}: {len(here)} modules, {LIMITS[verb]} at most; "
            f"{len(elsewhere)} more in other threads"
        )
        if arguments.list:
            names = [*sorted(here), *(f"{name} (another thread)" for name in sorted(elsewhere))]
            print("".join(f"    {name}\n" for name in names), end="")
        too_many |= len(here) > LIMITS[verb]
    sys.exit(too_many)


if __name__ == "__main__":
    main()
