"""Conversations that are forgotten: messages in session files and in the journal of flushes."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.errors import StateError
from commonplace.system.files import sync, sync_folder
from commonplace.text.redaction import redact
from commonplace.workspace.file_text import UnreadableFileError, read_text
from commonplace.workspace.folder_walk import walk_folders

if TYPE_CHECKING:
    from commonplace.history.forgotten_text import ForgottenText
    from commonplace.system.state import StateFile

__all__ = ["forget_in_journal", "forget_in_sessions"]

_TRIES = 20
_MOST_BYTES = 1 << 31
_NO_JSON = (ValueError, RecursionError)
"""What a text raises that is no JSON, or is nested deeper than any message."""


def forget_in_sessions(
    folder: Path,
    forgotten: ForgottenText,
    *,
    session: str | None,
    dry_run: bool,
    problems: list[tuple[str, str]],
) -> Counter[str]:
    """Remove a session's files, and messages with forgotten text from all others.

    Args:
        folder: The session files.
        forgotten: The text.
        session: The session; None for none.
        dry_run: Whether to count only.
        problems: Is given ``(path, reason)`` of files and folders that cannot be read.

    Raises:
        StateError: A file cannot be changed.
    """
    removed: Counter[str] = Counter()
    walk = walk_folders(folder, problems=problems)
    for path in (Path(place, name) for place, names in walk for name in names):
        try:
            removed += _forget_in_path(path, forgotten, session, dry_run=dry_run)
        except UnreadableFileError as error:
            problems.append((str(path), str(error)))
        except OSError as error:
            raise StateError(
                f"the session file {path} cannot be changed ({error.strerror or error}). Give "
                "yourself write access to it and its folder, and free some space."
            ) from error
    return removed


def forget_in_journal(
    file: StateFile,
    forgotten: ForgottenText,
    *,
    workspace: str,
    session: str | None,
    dry_run: bool,
) -> Counter[str]:
    """Remove a conversation's entries from the journal of flushes, and forgotten text from others.

    What a silent turn was asked is asked again, without it.

    Args:
        file: The state database.
        forgotten: The text.
        workspace: Folder of the notes, whose entries these are.
        session: The conversation; None for none.
        dry_run: Whether to count only.
    """
    removed: Counter[str] = Counter()
    columns = ("thread", "messages", "replies", "error")
    read = ", ".join(f"CAST({name} AS BLOB)" for name in columns)
    sql = f"SELECT id, {read} FROM flush_entries WHERE workspace = ?"
    delete = "DELETE FROM flush_entries WHERE id = ?"
    for number, *values in file.rows(sql, (workspace,)):
        texts = [value and value.decode("utf-8", "replace") for value in values]
        thread, messages, replies, error = texts
        try:
            before = [json.loads(messages), json.loads(replies), error]
            after = [
                forgotten.without_values(before[0]),
                [_without_reply(reply, forgotten) for reply in before[1]],
                forgotten.without_values(error),
            ]
        except (TypeError, *_NO_JSON):  # damaged: as much as a whole
            if thread == session or forgotten.is_in("\n".join(filter(None, texts))):
                removed["journal messages"] += 1
                _change(file, delete, (number,), dry_run=dry_run)
            continue
        if thread == session:
            removed["journal messages"] += len(before[0])
            _change(file, delete, (number,), dry_run=dry_run)
            continue
        if after != before:
            pairs = zip(before[0], after[0], strict=True)
            removed["journal messages"] += sum(one != other for one, other in pairs)
            _change(
                file,
                "UPDATE flush_entries SET messages = ?, replies = ?, error = ?, checksums = NULL"
                " WHERE id = ?",
                (json.dumps(after[0]), json.dumps(after[1]), after[2], number),
                dry_run=dry_run,
            )
    return removed


def _without_reply(reply: list[Any], forgotten: ForgottenText) -> list[Any]:
    """Return a reply of the model, which is kept as JSON in JSON: as it is, or as one that is gone.

    What it holds is looked at, not how it is written: each has a "role".
    """
    said = json.loads(reply[0])
    is_kept = forgotten.without_values(said) == said
    return reply if is_kept else [forgotten.without_values(reply[0]), *reply[1:]]


def _change(file: StateFile, sql: str, values: tuple[Any, ...], *, dry_run: bool) -> None:
    if not dry_run:
        with file.transaction() as connection:
            connection.execute(sql, values)


class _ChangedError(Exception):
    """A session file was written to meanwhile."""


def _forget_in_path(
    path: Path, forgotten: ForgottenText, session: str | None, *, dry_run: bool
) -> Counter[str]:
    if path.suffix == ".tmp":  # of an archive that was interrupted
        if not dry_run:
            path.unlink(missing_ok=True)
        return Counter()
    for _ in range(_TRIES):
        with contextlib.suppress(_ChangedError):
            return _forget_in_file(path, forgotten, session, dry_run=dry_run)
    raise UnreadableFileError("it kept changing")


def _forget_in_file(
    path: Path, forgotten: ForgottenText, session: str | None, *, dry_run: bool
) -> Counter[str]:
    try:
        read = read_text(path, max_bytes=_MOST_BYTES)
        info = os.stat(path)
    except FileNotFoundError:
        return Counter()
    if (info.st_size, info.st_mtime_ns) != (read.size, read.mtime_ns):
        raise _ChangedError
    text = read.text
    lines = text.split("\n")
    if session is not None and _session_of(lines[0]) in (session, redact(session)):
        if not dry_run:
            path.unlink(missing_ok=True)
        return Counter({"session files": 1})
    if _is_list(text):
        lines = [text]
    after = [_without(line, forgotten) for line in lines]
    changed = sum(one != other for one, other in zip(lines, after, strict=True))
    if not changed:
        return Counter()
    if not dry_run:
        _replace(path, "\n".join(after), info)
    return Counter({"session messages": changed})


def _session_of(line: str) -> object:
    """Return the id in the first record of a session file."""
    with contextlib.suppress(*_NO_JSON):
        record = json.loads(line)
        if isinstance(record, dict) and record.get("type") == "session":
            return record.get("id")
    return None


def _is_list(text: str) -> bool:
    """Return whether a whole file is one list, not a record a line."""
    with contextlib.suppress(*_NO_JSON):
        return text.lstrip().startswith("[") and isinstance(json.loads(text), list)
    return False


def _without(line: str, forgotten: ForgottenText) -> str:
    try:
        record = json.loads(line)
        after = forgotten.without_values(record)
        return line if after == record else json.dumps(after, ensure_ascii=True)
    except _NO_JSON:
        return "" if forgotten.is_in(line) else line


def _replace(path: Path, text: str, before: os.stat_result) -> None:
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
            file.flush()
            sync(file.fileno())
        os.chmod(temporary, before.st_mode & 0o777)
        now = os.stat(path)
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise _ChangedError
        os.replace(temporary, path)
        sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
