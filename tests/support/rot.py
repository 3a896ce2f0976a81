"""Rot: a memory with something in every file that it keeps, and damage of its files at random."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from commonplace import Memory, Origin, Settings
from commonplace.errors import CommonplaceError
from commonplace.flush import Flusher
from support.fakes import HashedWords
from support.python_path import environment
from support.silent import FailingAt, Noting, said

AGENT = Origin("agent", session="s1")
WEB = Origin("untrusted", tool="web")
QUESTIONS = {"heron seven": "heron seven", "kiln red": "The kiln is red", "port": "51820"}
_NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def opened(folder: Path) -> Memory:
    """Open the memory of a folder, without background runs."""
    settings = Settings(timezone="UTC")
    sync = replace(settings.sync, on_open=False, on_search=False, watch=False)
    settings = replace(settings, sync=sync)
    embedder = HashedWords()
    return Memory.open(
        folder / "notes", settings=settings, embedder=embedder, index=folder / "index.sqlite"
    )


def make(folder: Path) -> None:
    """Make a memory, and leave it as a process that is killed does: with write-ahead logs."""
    notes = folder / "notes"
    (notes / "memory").mkdir(parents=True)
    (notes / "MEMORY.md").write_text("# Memory\n\n- The VPN listens on port 51820.\n")
    birds = [f"- heron {word} sat on the {other} owl" for word in _NUMBERS for other in _NUMBERS]
    (notes / "memory/birds.md").write_text("# Birds\n\n" + "\n".join(birds) + "\n")
    code = (
        "import sys; from pathlib import Path; from support import rot; rot.fill(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(folder)]
    subprocess.run(command, env=environment(), check=False, timeout=60)
    assert (folder / "index.sqlite-wal").exists()
    shutil.copytree(folder, _kept(folder))


def _kept(folder: Path) -> Path:
    """Return where the memory is kept as it was made: entries of the journal name its folder."""
    return folder.with_name(f"{folder.name}.kept")


def fill(folder: Path) -> None:
    """Write to all files of a memory; end without closing one."""
    memory = opened(folder)
    memory.index()
    memory.write("memory/gone.md", "- The crane is gone\n")
    memory.delete("memory/gone.md")  # its vectors go to the cache
    memory.append("- The kiln is red", path="memory/kiln.md", origin=AGENT)
    memory.append(
        "- The web says that the kiln is made of brick", path="memory/kiln.md", origin=WEB
    )
    memory.edit("memory/kiln.md", "is red", "is red now", origin=AGENT)
    memory.record_exposure("s2")
    memory.search("kiln")
    for thread in "ab":
        Flusher(memory, FailingAt(1)).flush(said(1, 2, 3), thread=thread)
    os._exit(0)


def files(folder: Path) -> list[Path]:
    """Return all files that a memory keeps besides notes."""
    notes = folder / "notes"
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.is_relative_to(notes)
    )


def damage(path: Path, chance: random.Random) -> str:
    """Damage a file in place, as a disk or another program may; return how."""
    size = path.stat().st_size
    kinds = ["flip", "flip", "flip", "many", "page", "more"]
    if not path.name.endswith("-shm"):  # it is mapped: the system ends a process that reads it then
        kinds += ["cut", "empty"]
    kind = chance.choice(kinds)
    with path.open("r+b") as file:
        if kind == "cut":
            file.truncate(chance.randrange(size) if size else 0)
        elif kind == "empty":
            file.truncate(0)
        elif kind == "more":
            file.seek(size)
            file.write(chance.randbytes(100))
        elif size:
            count = {"flip": 1, "many": 40, "page": 4096}[kind]
            at = chance.randrange(size)
            file.seek(at)
            data = file.read(count)
            file.seek(at)
            wrong = bytes(byte ^ chance.randrange(1, 256) for byte in data)
            file.write(bytes(len(data)) if kind == "page" else wrong)
    return kind


class Trial:
    """One damage of a memory: what its verbs answer is right, or an error of ours.

    Args:
        folder: The memory, which is as it was made at first.
        seed: Of what is damaged, how, and whether while the memory is open.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self._chance = random.Random(seed)
        shutil.rmtree(folder)
        shutil.copytree(_kept(folder), folder)
        self.path = self._chance.choice(files(folder))
        self.is_open = self._chance.random() < 0.5
        self.what = f"seed {seed}: {self.path.name}"
        self._texts = {
            path.relative_to(folder / "notes").as_posix(): path.read_text()
            for path in (folder / "notes").rglob("*.md")
        }
        self.errors: list[str] = []

    def run(self) -> None:
        """Damage a file, use the memory, repair it, and compare all with the notes."""
        if self.is_open:
            with self._allowed(), opened(self.folder) as memory:
                self._search(memory)
                self._damage()
                self._use(memory)
        else:
            self._damage()
            with self._allowed(), opened(self.folder) as memory:
                self._use(memory)
        with opened(self.folder) as memory:
            memory.verify(repair=True)
        with opened(self.folder) as memory:
            report = memory.verify(repair=True)
            assert report.ok, (self.what, report.problems)
            assert not any("\n" in error for error in self.errors), (self.what, self.errors)
            for question, text in QUESTIONS.items():
                hits = memory.search(question, min_score=0)
                self._check(hits)
                assert any(text in hit.snippet for hit in hits), (self.what, question, hits)
            assert Flusher(memory, Noting()).flush(said(9), thread="z").notes, self.what
            noted = {line for path in self._notes() for line in path.read_text().splitlines()}
        allowed = {f"- Noted fact-{n}." for n in (1, 2, 3, 8, 9)}
        assert {line for line in noted if "Noted" in line} <= allowed, (self.what, noted)

    def _damage(self) -> None:
        how = damage(self.path, self._chance) if self.path.exists() else "gone"
        self.what += f" {how}{' while open' if self.is_open else ''}"

    def _use(self, memory: Memory) -> None:
        verbs = [
            lambda: self._search(memory),
            lambda: memory.append("- A sentence more", path="memory/more.md", origin=AGENT),
            lambda: memory.blame("memory/kiln.md"),
            lambda: memory.history("memory/kiln.md"),
            lambda: self._undone(memory),
            lambda: Flusher(memory, Noting()).flush(said(8), thread="b"),
            lambda: Flusher(memory, Noting()).process_pending(),
            lambda: memory.index(),
            lambda: memory.status(deep=True),
            lambda: memory.verify(),
            lambda: self._search(memory),
        ]
        for verb in verbs:
            with self._allowed():
                verb()

    @contextlib.contextmanager
    def _allowed(self):
        try:
            yield
        except CommonplaceError as error:
            self.errors.append(f"{type(error).__name__}: {error}")

    def _search(self, memory: Memory) -> None:
        for question in QUESTIONS:
            self._check(memory.search(question, min_score=0))

    def _check(self, hits) -> None:
        """Compare each result with its note: as it is, or was, where the index lost its log."""
        for hit in hits:
            if hit.path == "memory/gone.md":  # an index that lost its log has the deleted note
                continue
            now = (self.folder / "notes" / hit.path).read_text()
            shown = hit.snippet.splitlines()
            then = self._texts.get(hit.path, now)
            known = (now, then, then.replace("red now", "red"))
            texts = [text.splitlines() for text in known]
            assert any(
                set(shown) <= set(lines) and lines[hit.start_line - 1] == shown[0]
                for lines in texts
            ), (self.what, hit, texts)
            for number, line in enumerate(shown, start=hit.start_line):
                assert "The web says" not in line or number in hit.untrusted, (self.what, hit)

    def _undone(self, memory: Memory) -> None:
        """Take an edit back: the text of before is right, or the change is refused."""
        before = (self.folder / "notes/memory/kiln.md").read_text()
        for version in memory.history("memory/kiln.md"):
            if version.change == "edit":
                memory.undo(version.id)
                after = (self.folder / "notes/memory/kiln.md").read_text()
                assert after == before.replace("red now", "red"), (self.what, after)
                break

    def _notes(self):
        return (self.folder / "notes").rglob("*.md")
