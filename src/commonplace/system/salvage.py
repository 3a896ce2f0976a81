"""Salvage of a damaged database file: it is moved aside, never deleted."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from commonplace.system.files import FileLease

__all__ = ["replace_damaged"]

logger = logging.getLogger(__name__)

_TIMEOUT_S = 10.0


def replace_damaged(
    path: Path, name: str, error: Exception, *, reopen: Callable[[], apsw.Connection]
) -> None:
    """Move a damaged file aside, unless another process has replaced it meanwhile.

    Args:
        path: The file.
        name: What messages call it.
        error: What was found.
        reopen: Opens it.
    """
    with FileLease(path.with_name(path.name + ".repair")).held(timeout_s=_TIMEOUT_S) as got:
        if not got:
            raise error
        try:
            reopen().close()  # another process has replaced it already
        except (apsw.NotADBError, apsw.CorruptError):
            aside = f"{path}.damaged-{time.time_ns()}"
            for suffix in ("-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{path}{suffix}", f"{aside}{suffix}")
            os.replace(path, aside)
            logger.warning(
                "the %s %s is damaged (%s); it is kept as %s, and a new one is begun",
                name,
                path,
                error,
                aside,
            )
