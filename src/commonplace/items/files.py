"""Item files: where the items of a workspace are, and what their files hold."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from commonplace.errors import PathNotAllowedError
from commonplace.items.layout import parse_item
from commonplace.items.names import decode_name, resolve_name
from commonplace.workspace.file_text import UnreadableFileError, read_text
from commonplace.workspace.folder_walk import walk_folders

if TYPE_CHECKING:
    from commonplace.workspace.discovery import Workspace

__all__ = ["ItemFiles", "Namespace", "StoredItem"]

logger = logging.getLogger(__name__)

Namespace = tuple[str, ...]

_ROOT = "memory"
_ENDING = ".md"


@dataclass(frozen=True, slots=True)
class StoredItem:
    """Item of a store.

    Attributes:
        namespace: Labels of the folders that it is in.
        key: Its key within them.
        value: Its value, as the file has it now.
        created: When it was first put.
        updated: When its file was changed last, by whomever.
        path: Its file, as search names it.
        notes: The store's own notes in the file.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created: datetime
    updated: datetime
    path: str
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def ttl(self) -> float | None:
        """Minutes that it lives after its last use; None for ever."""
        ttl = self.notes.get("ttl")
        return float(ttl) if isinstance(ttl, int | float) else None

    @property
    def is_searched(self) -> bool:
        """Whether search looks at it."""
        return self.notes.get("index") is not False


class ItemFiles:
    """Files of the items of a workspace: ``memory/<label>/<label>/<key>.md``."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._root = os.path.join(workspace.root, _ROOT)

    def path(self, namespace: Namespace, key: str) -> str:
        """Return the file of an item, as search names it."""
        folder = self._folder(namespace)
        name = resolve_name(folder, key, ending=_ENDING)
        return self._workspace.display_path(os.path.join(folder, name))

    def read(
        self, path: str, *, namespace: Namespace | None = None, key: str | None = None
    ) -> StoredItem | None:
        """Read an item; None for a file that is not there, or cannot be read."""
        try:
            place = self._workspace.locate(path)
            info = os.stat(place)
            item = parse_item(read_text(place).text)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, PathNotAllowedError, UnreadableFileError) as error:  # a link, for one
            logger.warning("the item %s cannot be read: %s", path, error)
            return None
        updated = datetime.fromtimestamp(info.st_mtime, UTC)
        *labels, name = path.split("/")[1:]
        return StoredItem(
            _labels(labels, item.notes) if namespace is None else namespace,
            _key(name, item.notes) if key is None else key,
            item.value,
            _moment(item.notes.get("created")) or updated,
            updated,
            path,
            item.notes,
        )

    def newest(self, prefix: Namespace) -> Iterator[str]:
        """Yield the paths of the files below a namespace, the one that changed last first."""
        waiting: list[tuple[float, str]] = []
        for folder, names in self._folders(self._folder(prefix)):
            for name in names:
                place = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    path = self._workspace.display_path(place)
                    waiting.append((-os.stat(place).st_mtime, path))
        for _, path in sorted(waiting):
            yield path

    def by_folder(self) -> Iterator[list[str]]:
        """Yield the paths of the files of each folder that has some."""
        for folder, names in self._folders(self._root):
            yield [self._workspace.display_path(os.path.join(folder, name)) for name in names]

    def prefix(self, namespace: Namespace) -> str:
        """Return the beginning of the paths of a namespace's items."""
        return self._workspace.display_path(self._folder(namespace)) + "/"

    def _folder(self, namespace: Namespace) -> str:
        """Return the folder of a namespace, which may be missing."""
        folder = self._root
        for label in namespace:
            folder = os.path.join(folder, resolve_name(folder, label))
        return folder

    def _folders(self, top: str) -> Iterator[tuple[str, list[str]]]:
        """Yield each folder below one, with its items' files."""
        for folder, names in walk_folders(top):
            if files := [name for name in names if name.endswith(_ENDING)]:
                yield folder, files


def _labels(names: Sequence[str], notes: Mapping[str, Any]) -> Namespace:
    """Return the labels of folders; what was cut is in the item's notes."""
    labels = [decode_name(name) for name in names]
    noted = notes.get("namespace")
    if None in labels and isinstance(noted, list) and len(noted) == len(labels):
        names = [str(label) for label in noted]
    return tuple(
        name if label is None else label for label, name in zip(labels, names, strict=True)
    )


def _key(name: str, notes: Mapping[str, Any]) -> str:
    name = name.removesuffix(_ENDING)
    key = decode_name(name)
    return str(notes.get("key", name)) if key is None else key


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
