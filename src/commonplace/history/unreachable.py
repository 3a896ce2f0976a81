"""Unreachable copies: where forgotten text may still be, and no verb of a memory reaches it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from commonplace.workspace.file_text import UnreadableFileError, open_file
from commonplace.workspace.folder_walk import walk_folders

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["imported", "linked", "named", "unreachable_copies", "unread"]

_MOST_BYTES = 64 * 1024 * 1024
_MOST_RUNS = 2_000
"""Runs of characters that are looked for in a file."""
_MOST_NAMED = 10
_IMPORTS = "memory/imports/"
"""Folder of the notes that imports write."""
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_DATABASES = (".sqlite", ".sqlite3", ".db", ".db3")
_BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database."""


def unreachable_copies(
    workspace: Workspace,
    runs: Collection[str],
    *,
    notes: Collection[str],
    providers: Collection[str],
    own: Collection[str],
    found_any: bool,
) -> list[str]:
    """Return what may still hold forgotten text, a sentence each.

    Args:
        workspace: The notes; what else lies in their folder is searched.
        runs: Parts of the text.
        notes: Paths of the notes, which hold it no more.
        providers: Vendors with jobs that are not done.
        own: The memory's databases, which hold it no more.
        found_any: Whether the memory held any of it; what it never held is in no copy of it.
    """
    found = [
        f"{path} holds some of it, and is no note of this memory: remove it there."
        for path in _holding(workspace, runs, notes, own)
    ]
    if len(found) > _MOST_NAMED:
        left = f"{len(found) - _MOST_NAMED} more files in {workspace.root} hold some of it."
        found[_MOST_NAMED:] = [left]
    if not found_any:
        return found
    for folder in (workspace.root, *workspace.root.parents):
        if (folder / ".git").exists():
            found.append(
                f"The notes lie in the Git repository {folder}: what was committed or pushed is "
                "still in its history; git filter-repo rewrites that."
            )
            break
    found += [
        f"A batch job of {provider} is not done: the vendor has a file of its texts, and deletes "
        "it by its own rules."
        for provider in sorted(providers)
    ]
    return [*found, "Backups, synchronised copies and open programs may hold it; clear them."]


def linked(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Return which notes have another name that keeps their texts, a sentence each.

    Args:
        workspace: The notes, before they are changed.
        paths: Those that will be.
    """
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            if os.lstat(workspace.locate(path)).st_nlink > 1:
                found.append(
                    f"{path} has another name on the disk, a hard link, which keeps the text of "
                    "before: remove it there."
                )
    return found


def imported(paths: Iterable[str]) -> list[str]:
    """Return which notes the next import writes again, a sentence each.

    An import leaves alone what was changed here since: it knows that from the history of a note.
    A note that is forgotten leaves none, and a mark in its place would keep what names it.

    Args:
        paths: Notes of which all is forgotten, under earlier paths, too.
    """
    return [
        f"{path} is of an import: the next one writes it again from an export that has it. Remove "
        "it in the tool that it came from, too."
        for path in paths
        if path.startswith(_IMPORTS)
    ]


def named(workspace: Workspace, sessions: Path, phrase: str) -> list[str]:
    """Return which notes, and other files, have a text in their path, a sentence each.

    Args:
        workspace: The notes.
        sessions: The folder of session files.
        phrase: The text; as in the names of most files, case and punctuation do not count.
    """
    paths = [workspace.display_path(path) for path in _files(workspace)]
    for folder, names in walk_folders(sessions):
        paths += [os.path.join(folder, name) for name in names]
    found = [
        f"{path} has some of it in its name, which stays: move what it says to a file of another "
        "name, and forget this path."
        for path in sorted(set(paths))
        if phrase and _is_named(path, phrase)
    ]
    if len(found) > _MOST_NAMED:
        found[_MOST_NAMED:] = [f"{len(found) - _MOST_NAMED} more files have it in their names."]
    return found


def _is_named(path: str, phrase: str) -> bool:
    path, phrase = normalize("NFC", path), normalize("NFC", phrase.strip())
    said, words = _words(os.path.splitext(path)[0]), _words(phrase)
    return phrase in path or (bool(words.strip()) and words in said)


def _words(text: str) -> str:
    """Return a text's words, case and punctuation aside, with a blank around each."""
    return " " + _BETWEEN_WORDS.sub(" ", text.casefold()).strip() + " "


def unread(problems: Iterable[tuple[str, str]]) -> list[str]:
    """Return what may hold forgotten text and was not read, a sentence each.

    Args:
        problems: ``(path, reason)`` of notes, session files and their folders.
    """
    found = [
        f"{path} was not read ({reason}), and may hold some of it: mend that, and forget it again."
        for path, reason in dict.fromkeys(problems)
    ]
    if len(found) > _MOST_NAMED:
        found[_MOST_NAMED:] = [f"{len(found) - _MOST_NAMED} more files were not read."]
    return found


def _holding(
    workspace: Workspace, runs: Collection[str], notes: Collection[str], own: Collection[str]
) -> Iterator[str]:
    """Yield the files that are no notes of the memory and hold one of the runs.

    Databases are left out: a process that closes any descriptor of a file loses the POSIX locks by
    which SQLite holds it.
    """
    wanted = sorted(runs)[:: max(1, len(runs) // _MOST_RUNS)]
    encoded = [run.encode(name, "replace") for run in wanted for name in ("utf-8", "utf-16-le")]
    for path in _files(workspace):
        if workspace.display_path(path) in notes or _is_database(path, own):
            continue
        try:
            if os.path.getsize(path) > _MOST_BYTES:
                continue
            with open_file(Path(path)) as file:
                data = file.read()
        except (OSError, UnreadableFileError):
            continue
        if any(run in data for run in encoded):
            yield workspace.display_path(path)


def _is_database(path: str, own: Collection[str]) -> bool:
    name = os.path.basename(path).lower()
    for ending in _BESIDE:
        name, path = name.removesuffix(ending), path.removesuffix(ending)
    if name.endswith(_DATABASES):
        return True
    with contextlib.suppress(OSError):
        return any(os.path.exists(one) and os.path.samefile(path, one) for one in own)
    return False


def _files(workspace: Workspace) -> Iterator[str]:
    for root in {str(workspace.root), *workspace.searched_roots}:
        for folder, names in walk_folders(root, skipped=[".git"]):
            yield from (os.path.join(folder, name) for name in names)
