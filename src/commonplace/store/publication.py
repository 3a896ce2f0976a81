"""Publication: the notes of a memory beside its index, for hosts that do not have the folder.

An engine with the capability ``"publication"`` holds, besides the chunks, the bytes of each note,
its versions, and an inbox of the changes that hosts without the folder have made. The host that has
the folder publishes notes and versions, and applies the inbox to the Markdown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from commonplace.errors import StoreError
from commonplace.types import Change, Origin, Source

if TYPE_CHECKING:
    from commonplace.store.base import Store
    from commonplace.store.records import IndexedFile

__all__ = [
    "ForgottenError",
    "InboxChange",
    "InboxState",
    "InboxStep",
    "InboxWaitsError",
    "NoteChangedError",
    "Numbers",
    "Publication",
    "PublishedHistory",
    "PublishedNote",
    "PublishedVersion",
    "StepKind",
    "VersionSums",
    "publication_of",
]

StepKind = Literal["append", "replace", "delete", "move"]


class NoteChangedError(Exception):
    """A note is not what a change was computed from; nothing was written."""


class InboxWaitsError(StoreError):
    """A shadow index lacks changes that wait in the inbox; it was not swapped in."""


class ForgottenError(StoreError):
    """Another host has forgotten what a history may have; nothing was published."""


@dataclass(frozen=True, slots=True)
class PublishedNote:
    """A note, or the rendered text of a session file.

    Attributes:
        path: As search shows it.
        source: Its source.
        data: Its bytes.
        hash: SHA-256 of the bytes, in hexadecimal.
        indexed: `FileRecord.hash` of the text that the index has of it.
        origins: Origins of its lines, as `OriginLedger.exported` returns them; None where users
            wrote all of them.
    """

    path: str
    source: Source
    data: bytes
    hash: str
    indexed: str
    origins: str | None = None


class PublishedVersion(NamedTuple):
    """Row of the history, as `HistoryFile` has it, with names in place of numbers.

    Attributes:
        id: Row of the version.
        batch: Row of the first version of the same step.
        group: Id of its change group; None for none.
        path: Note.
        moved_from: Path that the note had before.
        at_ms: Time, in milliseconds since the epoch.
        change: Number of the kind of the change.
        author: Author of the change, with `session` and `tool`; None for a user.
        session: See `author`.
        tool: See `author`.
        size: Bytes of the file.
        hash: SHA-256 of the file's bytes; None for a note that was gone.
        base: Version of which `body` is the difference; None where it is whole.
        body: Compressed text; None for a note that was gone, and where it was not asked for.
    """

    id: int
    batch: int
    group: int | None
    path: str
    moved_from: str | None
    at_ms: int
    change: int
    author: str | None
    session: str | None
    tool: str | None
    size: int
    hash: bytes | None
    base: int | None
    body: bytes | None


class VersionSums(NamedTuple):
    """What tells whether two histories are the same, but for chance."""

    rows: int = 0
    last: int = 0
    bases: int = 0
    sizes: int = 0
    bytes: int = 0


class PublishedHistory(NamedTuple):
    """History of one host that has the folder.

    Attributes:
        key: What tells it from all others.
        host: Host and folder, for people.
        forgets: Number of the last forgetting that it has followed; see `Numbers`.
    """

    key: str
    host: str
    forgets: int


@dataclass(frozen=True, slots=True)
class InboxStep:
    """Change of one note that waits to be made in the folder.

    Attributes:
        path: The note.
        kind: What is done.
        before_hash: Hash of the bytes that it was computed from; empty for no note.
        before: Those bytes, of a note that is replaced; of an append to
            UTF-16, its byte order mark.
        data: The new bytes; of an append, those that are added.
        after_hash: Hash of the bytes after it; empty for no note.
        after_size: Number of the bytes after it.
        target: New path of a note that is moved.
        untrusted: Lines that are untrusted, whatever the origin of the change is.
        made_hash: Hash of the file as the folder's host was about to make it, where the folder had
            another text than the one that it was computed from; else empty.
        made_size: Number of the bytes of that file.
    """

    path: str
    kind: StepKind
    before_hash: str
    before: bytes | None = None
    data: bytes | None = None
    after_hash: str = ""
    after_size: int = 0
    target: str | None = None
    untrusted: tuple[str, ...] = ()
    made_hash: str = ""
    made_size: int = 0


@dataclass(frozen=True, slots=True)
class InboxChange:
    """Change that a host without the folder has made, all of its steps or none.

    Attributes:
        change: Its kind.
        when: Its time, aware.
        origin: Its author; None for a user.
        steps: The notes that it changes.
        host: Name of the host.
        group: Key of the change group that it is a step of; empty for none.
        id: Its number, ascending in the order of commits; 0 before it is submitted.
        key: What tells it from the changes of every other database; empty before.
    """

    change: Change
    when: datetime
    origin: Origin | None
    steps: tuple[InboxStep, ...]
    host: str = ""
    group: str = ""
    id: int = 0
    key: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the notes that it changes, new ones of moved notes included."""
        return tuple(path for step in self.steps for path in (step.path, step.target) if path)


class InboxState(NamedTuple):
    """State of the inbox.

    Attributes:
        waiting: Changes that are not applied yet.
        since: Time of the oldest of them; None without any.
        refused: ``(path, reason)`` of the changes that could not be applied, newest first.
    """

    waiting: int = 0
    since: datetime | None = None
    refused: tuple[tuple[str, str], ...] = ()


class Numbers(NamedTuple):
    """Numbers that grow with each change of what is published; readers take what is newer.

    Attributes:
        origins: Origins of lines.
        versions: Versions.
        rewrites: Versions that were removed, or whose texts were changed.
        inbox: The inbox.
        forgets: What was forgotten; it grows when an index is begun again, too.
    """

    origins: int = 0
    versions: int = 0
    rewrites: int = 0
    inbox: int = 0
    forgets: int = 0


class Publication(Protocol):
    """The published notes of one memory. Each verb raises a `StoreError` where it fails."""

    def numbers(self) -> Numbers:
        """Return the numbers of what is published now."""

    # -- what every host reads -------------------------------------------------------------------

    def notes(self, paths: Collection[str]) -> dict[str, PublishedNote]:
        """Return notes by path; one that is not there is left out."""

    def origins_since(self, number: int) -> dict[str, str | None]:
        """Return the origins of the notes whose origins changed behind `Numbers.origins`."""

    def versions_since(self, row: int) -> list[PublishedVersion]:
        """Return the versions behind a row, in order, without their bodies."""

    def bodies(self, path: str) -> dict[int, bytes]:
        """Return the bodies of a note's versions, by their rows."""

    def waiting(self, *, after: int = 0, limit: int | None = None) -> list[InboxChange]:
        """Return the changes that are not applied yet, in their order.

        Args:
            after: Only those behind this number.
            limit: Number of changes, at most.
        """

    def refused(self) -> list[InboxChange]:
        """Return the changes that were refused."""

    def inbox(self) -> InboxState:
        """Return the state of the inbox."""

    # -- what hosts without the folder write -----------------------------------------------------

    def submit(
        self,
        change: InboxChange,
        notes: Sequence[PublishedNote],
        files: Sequence[IndexedFile],
        gone: Sequence[str],
    ) -> int:
        """Put a change into the inbox, and make it in the notes and in the index, in one step.

        Args:
            change: The change.
            notes: The notes that it writes.
            files: The same for the index.
            gone: Paths of the notes that are not there any more.

        Returns:
            The number of the change.

        Raises:
            NoteChangedError: A note is not what the change was computed from.
            IndexReadOnlyError: The role may not write.
        """

    # -- what the host with the folder does ------------------------------------------------------

    def acknowledge(self, change: InboxChange) -> None:
        """Remove a change that was applied to the folder; a run planned before reads it again."""

    def announce(self, change: InboxChange, ordinal: int, made_hash: str, made_size: int) -> None:
        """Note the file that the step of an index is about to make; see `InboxStep`."""

    def refuse(self, change: InboxChange, reason: str) -> None:
        """Keep a change that cannot be applied, with the reason; it waits no longer."""

    def lacking(self) -> dict[str, Source]:
        """Return the indexed files whose text is not published, or another one is.

        Notes of files that are not indexed any more are removed; notes of which a change waits stay
        as they are.
        """

    def put_notes(self, notes: Sequence[PublishedNote]) -> None:
        """Publish notes whose text the index has, unless a change of them waits."""

    def put_origins(self, origins: Mapping[str, str | None]) -> None:
        """Publish origins of the lines of notes, unless a change of them waits."""

    def version_sums(self) -> VersionSums:
        """Return the sums of the published versions."""

    def version_marks(self) -> Mapping[int, tuple[bytes | None, int | None, int]]:
        """Return hash, base and length of the body of each published version."""

    def put_versions(
        self, versions: Sequence[PublishedVersion], *, removed: Sequence[int] = (), forgets: int
    ) -> None:
        """Publish versions, in place of those of the same rows, and remove others.

        Raises:
            ForgottenError: There is a later forgetting than the one that their history followed.
        """

    def histories(self) -> list[PublishedHistory]:
        """Return the histories that are published in turns, one a host."""

    def note_history(self, history: PublishedHistory) -> None:
        """Note a history, or the forgetting that it has followed."""

    def count_forgetting(self, sums: VersionSums) -> int | None:
        """Have every other history keep no more than the published one, of some sums.

        Returns:
            The number of the forgetting; None where another history is published.
        """


def publication_of(store: Store) -> Publication | None:
    """Return the published notes of an index; None where its engine has none."""
    if "publication" not in store.capabilities:
        return None
    found: Publication | None = getattr(store, "publication", None)
    return found
