"""Power loss: the system calls of a process, and what a disk may hold when the power fails.

The calls are recorded by ``strace``. The model of the disk is a strict one: what is written to a
file may be lost, in any part, until that file is synced; a name that is made, moved or removed may
be lost until its folder is synced, in order within a folder, and in any order among folders.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

CALLS = (
    "open,openat,openat2,creat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,"
    "link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir"
)
_LINE = re.compile(r"(?P<task>\d+) +(?P<call>\w+)\((?P<rest>.*)")
_RESUMED = re.compile(r"(?P<task>\d+) +<\.\.\. \w+ resumed>(?P<rest>.*)")
_WORD = re.compile(
    r'"(?P<text>[^"]*)"|(?:\w+)<(?P<path>[^>]*)>(?P<gone>\(deleted\))?|(?P<other>\w+)'
)
_IGNORED = ("-shm", ".lock", ".swap", ".lease", ".forget", ".repair")
"""Ends of names whose files hold nothing that lasts."""


@dataclass
class Event:
    """One call that changes the disk, makes it durable, or says what is done.

    `began` is the number of the events before it began: what came later is not synced by it.
    """

    kind: str
    paths: tuple[str, ...] = ()
    data: bytes = b""
    at: int | None = None
    began: int = 0


def record(command: list[str], root: Path, trace: Path) -> list[Event]:
    """Run a process, and return what it does below a folder, and the lines that it prints."""
    options = ["-f", "-y", "-xx", "-s", "9999999", "-e", f"trace={CALLS}", "-o", str(trace)]
    subprocess.run(["strace", *options, *command], check=True, stdout=subprocess.DEVNULL)
    with trace.open(encoding="ascii") as lines:
        return list(_events(lines, os.fspath(root)))


def _events(lines, root):
    count, waiting, offsets = 0, {}, {}
    for line in lines:
        if resumed := _RESUMED.match(line):
            call, text, began = waiting.pop(resumed["task"], ("", "", 0))
            text += resumed["rest"]
        elif found := _LINE.match(line):
            call, text, began = found["call"], found["rest"], count
            if "<unfinished ...>" in text:
                waiting[found["task"]] = call, text.split("<unfinished")[0], count
                continue
        else:
            continue
        event = _event(call, text, root, offsets)
        if event is not None:
            event.began = began
            count += 1
            yield event


def _event(call, text, root, offsets):
    """Return the event of a call; `offsets` are those of descriptors that do not append."""
    arguments, _, result = text.rpartition(" = ")
    if not call or result.startswith("-1"):
        return None
    words = [found.groupdict() for found in _WORD.finditer(arguments)]
    texts = [_bytes(word["text"]) for word in words if word["text"] is not None]
    folders = [_bytes(word["path"]).decode() for word in words if word["path"] is not None]
    if call in ("write", "pwrite64"):
        numbers = [int(word["other"]) for word in words if (word["other"] or "x").isdigit()]
        if arguments.startswith("1<"):
            return Event("said", data=texts[0])
        descriptor, written = arguments.partition(",")[0], int(result.split()[0])
        at = numbers[-1] if call == "pwrite64" else offsets.get(descriptor)
        if call == "write" and at is not None:
            offsets[descriptor] += written
        return _below(root, Event("data", (folders[0],), texts[0][:written], at))
    if call == "ftruncate":
        return _below(root, Event("size", (folders[0],), at=int(words[-1]["other"])))
    if call in ("fsync", "fdatasync"):
        return _below(root, Event("sync", (folders[0],)))
    names = [os.path.join(folders.pop(0) if folders else "/", text.decode()) for text in texts]
    if call in ("open", "openat", "openat2", "creat"):
        offsets[result.strip()] = None if "O_APPEND" in arguments else 0
        made = "O_CREAT" in arguments or call == "creat"
        return _below(root, Event("make", tuple(names[:1]))) if made else None
    kind = {"rmdir": "unlink"}.get(call, re.sub(r"(at2?|2)$", "", call))
    if "RENAME_EXCHANGE" in arguments:
        kind = "exchange"
    return _below(root, Event(kind, tuple(names)))


def _below(root, event):
    inside = all(path.startswith(root + os.sep) or path == root for path in event.paths)
    ignored = any(path.endswith(_IGNORED) for path in event.paths)
    return event if inside and not ignored else None


def _bytes(text):
    return bytes.fromhex(text.replace("\\x", "")) if "\\x" in text else text.encode()


@dataclass
class Disk:
    """What is on a disk for certain, and what may be on it, in the order in which it was done."""

    names: dict[str, int]
    texts: dict[int, bytes]
    folders: set[str]
    now: dict[str, int] = field(init=False)
    pending: list[tuple[int, Event, tuple[int | None, ...]]] = field(default_factory=list)

    def __post_init__(self):
        self.now = dict(self.names)

    @classmethod
    def of(cls, root: Path) -> Disk:
        """Return the disk as it is, all of it durable."""
        files = [os.fspath(path) for path in root.rglob("*") if path.is_file()]
        folders = {os.fspath(path) for path in root.rglob("*") if path.is_dir()}
        texts = {number: Path(name).read_bytes() for number, name in enumerate(files)}
        return cls({name: number for number, name in enumerate(files)}, texts, folders)

    def apply(self, number: int, event: Event) -> None:
        """Do what the next event does."""
        if event.kind == "sync":
            self._sync(event)
        elif event.kind in ("data", "size"):
            self.pending.append((number, event, (self.now.get(event.paths[0]),)))
        elif event.kind == "make":
            if event.paths[0] not in self.now:
                self.now[event.paths[0]] = file = 1_000_000 + number
                self.pending.append((number, event, (file,)))
        elif event.kind != "said":
            _rename(self.now, self.folders.copy(), event, (None,))
            self.pending.append((number, event, (None,)))

    def _sync(self, event):
        path = event.paths[0]
        left = []
        for item in self.pending:
            number, done, (file,) = item
            if number > event.began:
                left.append(item)
            elif done.kind in ("data", "size"):
                if file is not None and file == self.now.get(path):
                    _write(self.texts, done, file)
                else:
                    left.append(item)
            elif os.path.dirname(done.paths[-1]) == path:
                _rename(self.names, self.folders, done, (file,))
            else:
                left.append(item)
        self.pending = left

    def after_power_loss(self, root: Path, chance: random.Random, *, share: float) -> None:
        """Write to a folder what the disk may hold: each pending change with some probability."""
        names, texts, folders = dict(self.names), dict(self.texts), set(self.folders)
        lost = set()
        for _, event, (file,) in self.pending:
            if event.kind in ("data", "size"):
                if file is not None and chance.random() < share:
                    _write(texts, event, file, torn=chance.random() < 0.2 * (share < 1))
                continue
            places = {os.path.dirname(path) for path in event.paths}
            if lost & places or chance.random() >= share:
                lost |= places
            else:
                _rename(names, folders, event, (file,))
        shutil.rmtree(root)
        root.mkdir()
        for folder in sorted(folders):
            if os.path.isdir(os.path.dirname(folder)):
                os.mkdir(folder)
        for name, file in names.items():
            if os.path.isdir(os.path.dirname(name)):
                Path(name).write_bytes(texts.get(file, b""))


def _rename(names, folders, event, files):
    first, last = event.paths[0], event.paths[-1]
    if event.kind == "make":
        names[first] = files[0]
    elif event.kind == "mkdir":
        folders.add(first)
    elif event.kind == "unlink":
        names.pop(first, None)
        folders.discard(first)
    elif event.kind == "exchange" and first in names and last in names:
        names[first], names[last] = names[last], names[first]
    elif event.kind == "link" and first in names:
        names[last] = names[first]
    elif event.kind == "rename" and first in names:
        names[last] = names.pop(first)


def _write(texts, event, file, *, torn=False):
    held = texts.get(file, b"")
    if event.kind == "size":
        texts[file] = held[: event.at].ljust(event.at, b"\0")
        return
    data = event.data[: len(event.data) // 2] if torn else event.data
    at = len(held) if event.at is None else event.at
    texts[file] = held[:at].ljust(at, b"\0") + data + held[at + len(data) :]
