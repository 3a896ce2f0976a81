"""Registry of index engines: the ``index=`` argument of `Memory.open` to a store."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from commonplace.errors import CommonplaceError, StoreError
from commonplace.settings import default_state_dir
from commonplace.store.base import Store
from commonplace.types import is_url

__all__ = ["ENTRY_POINTS", "default_index_path", "known_engines", "open_store", "sqlite_path"]

ENTRY_POINTS = "commonplace.stores"
"""Entry-point group of third-party engines: the name is the URL's scheme, the object an
``open_store(url: str) -> Store``."""

_ENGINES = {
    "memory": "commonplace.store.memory:open_store",
    "postgres": "commonplace.store.postgres:open_store",
    "postgresql": "commonplace.store.postgres:open_store",
    "sqlite": "commonplace.store.sqlite:open_store",
}
_VECTOR_EXTENSION = "commonplace.store.sqlite.vector_extension"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
"""Two characters at least: ``C://`` is a drive."""


def default_index_path(root: Path) -> Path:
    """Return the index file of a workspace: in a folder of its own below the state folder."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:40] or "workspace"
    key = hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
    return default_state_dir() / f"{name}-{key}" / "index.sqlite"


def open_store(index: str | os.PathLike[str], *, vector_extension: str | None = None) -> Store:
    """Open an index by its URL or path; the engine creates it at its first use.

    Args:
        index: ``sqlite:///relative.sqlite``, ``sqlite:////absolute.sqlite``, ``memory://``,
            ``postgresql://host/database?name=team``, the URL of an installed engine, or the path of
            a SQLite file.
        vector_extension: Library of sqlite-vec, for the SQLite engine; None for the installed one.

    Raises:
        SettingsError: The library cannot be loaded.
        StoreError: No engine has the URL's scheme, the engine cannot be imported, the URL has one
            slash, or the path names a Markdown file.
    """
    text = os.fspath(index)
    match = _scheme(text)
    if vector_extension is not None and (match is None or match[1].lower() == "sqlite"):
        importlib.import_module(_VECTOR_EXTENSION).use_vector_extension(vector_extension)
    if match is None:
        return _engine("sqlite")(f"sqlite:///{Path(text).expanduser().absolute()}")
    scheme = match[1].lower()
    return _engine(scheme)(f"{scheme}://{text[match.end() :]}")


def sqlite_path(index: str | os.PathLike[str]) -> Path | None:
    """Return the file of a SQLite index; None for the URL of another engine."""
    text = os.fspath(index)
    scheme = _scheme(text)
    if scheme is not None:
        if scheme[1].lower() != "sqlite":
            return None
        text = text[scheme.end() :].removeprefix("/")
        if not text:
            raise StoreError(f"the index {os.fspath(index)!r} names no file; sqlite:///PATH does.")
    path = Path(text).expanduser().absolute()
    if path.suffix.lower() == ".md":
        raise StoreError(
            f"the index path {path} names a Markdown file; an index is a file of its own, "
            "such as index.sqlite."
        )
    return path


def _scheme(index: str) -> re.Match[str] | None:
    """Return the scheme of a URL; None for a path."""
    match = _SCHEME.match(index)
    if match is None and is_url(index):  # not shown: it may hold a password
        raise StoreError(
            "the index is a URL with one slash behind the colon, as a Path has it; a text with two "
            "was expected, such as postgresql://HOST/DATABASE."
        )
    return match


def known_engines() -> tuple[str, ...]:
    """Return the URL schemes that can be opened, built in and installed."""
    installed = (entry.name for entry in entry_points(group=ENTRY_POINTS))
    return tuple(sorted({*_ENGINES, *installed}))


def _engine(scheme: str) -> Callable[[str], Store]:
    built_in = _ENGINES.get(scheme)
    if built_in is not None:
        module, name = built_in.split(":")
        made: Callable[[str], Store] = getattr(importlib.import_module(module), name)
        return made
    for entry in entry_points(group=ENTRY_POINTS, name=scheme):
        package = entry.dist.name if entry.dist else entry.value
        try:
            loaded: Callable[[str], Store] = entry.load()
        except (ImportError, AttributeError) as error:
            raise StoreError(
                f"the index engine {scheme!r} of {package} cannot be imported ({error}); install "
                f"{package} again, or open another index."
            ) from error
        return functools.partial(_open_foreign, f"{scheme!r} of {package}", loaded)
    raise StoreError(
        f"no index engine is called {scheme!r}; known are {', '.join(known_engines())}. "
        "Give a path, sqlite:///PATH, memory://, or install the engine."
    )


def _open_foreign(engine: str, opened_by: Callable[[str], Store], url: str) -> Store:
    """Open a store of another package, and check that it has every member of `Store`."""
    try:
        store = opened_by(url)
    except CommonplaceError:
        raise
    except Exception as error:  # code of another package
        from commonplace.text.redaction import redact

        why = redact(f"{type(error).__name__}: {error}")  # it may repeat the URL's password
        raise StoreError(f"the index engine {engine} cannot open the index: {why}") from error
    missing = _missing_members(store)
    if missing:
        raise StoreError(
            f"the index engine {engine} gives a {type(store).__name__} without "
            f"{', '.join(missing)}; see commonplace.store.base.Store."
        )
    return store


def _missing_members(store: object) -> list[str]:
    """Return the members of `Store` that an object lacks; no property of it is read."""
    kind = type(store)
    if hasattr(kind, "__getattr__"):  # it may hand all of them to another store
        return []
    given = {*dir(kind), *getattr(store, "__dict__", ())}
    return [name for name in vars(Store) if not name.startswith("_") and name not in given]
