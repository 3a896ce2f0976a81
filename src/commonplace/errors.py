"""Error tree of Commonplace: every error that it raises on purpose.

::

    CommonplaceError
    ├── WorkspaceError
    │   ├── WorkspaceNotFoundError      (FileNotFoundError)   no such folder, or not a folder
    │   ├── WorkspaceReadOnlyError      (PermissionError)     a note could not be written
    │   ├── PathNotAllowedError         (PermissionError, ValueError)  outside the memory's files
    │   ├── ConflictError               (RuntimeError)        the note is not what was expected
    │   ├── EditError                   (ValueError)          a passage that is missing or ambiguous
    │   └── NamespaceError              (ValueError)          cannot name a folder of a pool
    ├── SettingsError                   (ValueError)          a setting's name, type or range
    ├── EmbedderError                   (RuntimeError)        a provider failed or answered nonsense
    │   └── MissingExtraError           (ImportError)         an optional package is not installed
    ├── StoreError                      (RuntimeError)        the index file
    │   ├── IndexDamagedError                                 not a database, or a corrupt one
    │   ├── IndexReadOnlyError          (PermissionError)     the index cannot be written
    │   └── IndexBusyError              (TimeoutError)        another process holds it for too long
    ├── PoolExhaustedError              (TimeoutError)        all open workspaces are in use
    ├── StateError                      (RuntimeError)        state.sqlite or history.sqlite
    ├── ToolInputError                  (ValueError)          an agent's tool call, its arguments
    ├── ImportSourceError               (ValueError)          an export of another tool
    └── QuestionFileError               (ValueError)          an evaluation file

A message names the finding, the expectation and the next step. Each class also inherits the
built-in error that a caller would catch.
"""

__all__ = [
    "CommonplaceError",
    "ConflictError",
    "EditError",
    "EmbedderError",
    "ImportSourceError",
    "IndexBusyError",
    "IndexDamagedError",
    "IndexReadOnlyError",
    "MissingExtraError",
    "NamespaceError",
    "PathNotAllowedError",
    "PoolExhaustedError",
    "QuestionFileError",
    "SettingsError",
    "StateError",
    "StoreError",
    "ToolInputError",
    "WorkspaceError",
    "WorkspaceNotFoundError",
    "WorkspaceReadOnlyError",
]


class CommonplaceError(Exception):
    """Base class of all errors of this package."""

    def __str__(self) -> str:
        """Return the message; what a terminal would act on in it, as of a path, is escaped."""
        from commonplace.text.printable import printable

        return printable(super().__str__())


class WorkspaceError(CommonplaceError):
    """Problem with the folder of Markdown files, or with a path in it."""


class WorkspaceNotFoundError(WorkspaceError, FileNotFoundError):
    """Workspace that is missing, is not a folder, or cannot be read."""


class WorkspaceReadOnlyError(WorkspaceError, PermissionError):
    """Note that could not be written; no file was changed."""


class PathNotAllowedError(WorkspaceError, PermissionError, ValueError):
    """Path that is not one of the memory's Markdown files."""


class ConflictError(WorkspaceError, RuntimeError):
    """Note that is not in the expected state: it was changed since; nothing was written.

    Attributes:
        version: SHA-256 of the file's bytes as they are now; empty for a file that is not there.
        text: Text that was not written, so that it is not lost; empty where there is none.
    """

    def __init__(self, *arguments: object, version: str = "", text: str = "") -> None:
        super().__init__(*arguments)
        self.version = version
        self.text = text


class EditError(WorkspaceError, ValueError):
    """Passage to edit that stands nowhere in the note, or in several places."""


class NamespaceError(WorkspaceError, ValueError):
    """Namespace that is missing, or is unsafe as the name of a folder."""


class SettingsError(CommonplaceError, ValueError):
    """Setting that does not exist, or has the wrong type or range."""


class EmbedderError(CommonplaceError, RuntimeError):
    """Failure of an embedding provider, or an invalid answer of one.

    Attributes:
        temporary: Whether a later retry with the same texts may succeed.
    """

    def __init__(self, *arguments: object, temporary: bool = False) -> None:
        super().__init__(*arguments)
        self.temporary = temporary


class MissingExtraError(EmbedderError, ImportError):
    """Missing optional dependency; the message names the command that installs it."""


class StoreError(CommonplaceError, RuntimeError):
    """Problem with the index. It can always be deleted: a run rebuilds it from the Markdown."""


class IndexDamagedError(StoreError):
    """Index file that is corrupt, or is not a database."""


class IndexReadOnlyError(StoreError, PermissionError):
    """Index whose file or folder cannot be written."""


class IndexBusyError(StoreError, TimeoutError):
    """Index that another process locked for longer than the busy timeout."""


class PoolExhaustedError(CommonplaceError, TimeoutError):
    """Pool whose open workspaces all stayed in use."""


class StateError(CommonplaceError, RuntimeError):
    """Problem with the state or history file, which no run can rebuild: do not delete it."""


class ToolInputError(CommonplaceError, ValueError):
    """Argument of an agent's tool call that is missing, unknown or invalid."""


class ImportSourceError(CommonplaceError, ValueError):
    """An export of another tool is missing, or is not in the form that the tool gives it."""


class QuestionFileError(CommonplaceError, ValueError):
    """Question file, or a line of it, that cannot be evaluated."""
