"""sqlite-vec: the extension that compares vectors in SQLite, of its package or from a path."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from importlib.util import find_spec
from pathlib import Path

import apsw

from commonplace.errors import SettingsError

__all__ = ["has_vec0", "load_vector_extension", "use_vector_extension", "vector_extension"]

_chosen: tuple[str, str] | None = None
"""Library and version that this process was given; None for the package's."""


def vector_extension() -> tuple[str | None, str]:
    """Find sqlite-vec: its library's path and version, or None and why it is not there."""
    return _chosen or _of_package()


@functools.cache
def _of_package() -> tuple[str | None, str]:
    # The Python module is not imported: that loads numpy through a submodule, which fails while
    # another thread begins to import numpy.
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None, "sqlite-vec is not installed"
    module = Path(spec.origin)
    version = re.search(r'__version__ = "(.+?)"', module.read_text(encoding="utf-8"))
    return str(module.with_name("vec0")), version[1] if version else ""


def use_vector_extension(path: str) -> None:
    """Use the library of a path, for all indexes that this process opens from now on.

    Raises:
        SettingsError: It cannot be loaded, or is not sqlite-vec.
    """
    global _chosen
    library = os.path.abspath(os.path.expanduser(path))
    with contextlib.closing(apsw.Connection(":memory:")) as connection:
        try:
            _load(connection, library)
            version = str(connection.execute("SELECT vec_version()").get)
        except (apsw.Error, AttributeError) as error:
            raise SettingsError(
                f"search.vector_extension is {path!r}, which SQLite cannot load as sqlite-vec "
                f"({error}); name the library, such as /usr/lib/sqlite-vec/vec0.so, or leave the "
                "setting out for the one that is installed."
            ) from error
    _chosen = library, version.removeprefix("v")


def load_vector_extension(connection: apsw.Connection) -> bool:
    """Load sqlite-vec into a connection; False where this platform cannot."""
    library, _ = vector_extension()
    if library is None:
        return False
    try:
        _load(connection, library)
    except (apsw.Error, AttributeError):
        return False
    return True


def _load(connection: apsw.Connection, library: str) -> None:
    connection.enable_load_extension(True)
    connection.load_extension(library)
    connection.enable_load_extension(False)


def has_vec0(connection: apsw.Connection) -> bool:
    """Return whether sqlite-vec is loaded into a connection."""
    found = connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'vec0'").get
    return bool(found)
