"""Every error that Commonplace raises on purpose, in one tree.

::

    CommonplaceError
    ├── WorkspaceError
    │   ├── WorkspaceNotFoundError      (FileNotFoundError)   no such folder, or not a folder
    │   ├── WorkspaceReadOnlyError      (PermissionError)     a note could not be written
    │   └── PathNotAllowedError         (PermissionError, ValueError)  outside the memory's files
    ├── SettingsError                   (ValueError)          a setting's name, type or range
    ├── EmbedderError                   (RuntimeError)        a provider failed or answered nonsense
    │   └── MissingExtraError           (ImportError)         an optional package is not installed
    ├── StoreError                      (RuntimeError)        the index file
    │   ├── IndexDamagedError                                 not a database, or a corrupt one
    │   ├── IndexReadOnlyError          (PermissionError)     the index cannot be written
    │   └── IndexBusyError              (TimeoutError)        another process holds it for too long
    ├── StateError                      (RuntimeError)        the flush journal, state.sqlite
    ├── ToolInputError                  (ValueError)          an agent's tool call, its arguments
    └── QuestionFileError               (ValueError)          an evaluation file

A message says what was found, what was expected, and what to do next. Each class also inherits the
built-in error that a caller would look for.
"""

__all__ = [
    "CommonplaceError",
    "EmbedderError",
    "IndexBusyError",
    "IndexDamagedError",
    "IndexReadOnlyError",
    "MissingExtraError",
    "PathNotAllowedError",
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
    """Base of every error in this package."""


class WorkspaceError(CommonplaceError):
    """The folder of Markdown files, or a path in it."""


class WorkspaceNotFoundError(WorkspaceError, FileNotFoundError):
    """The workspace is missing, is not a folder, or cannot be read."""


class WorkspaceReadOnlyError(WorkspaceError, PermissionError):
    """A note could not be written; nothing was changed."""


class PathNotAllowedError(WorkspaceError, PermissionError, ValueError):
    """A path that is not one of the memory's Markdown files."""


class SettingsError(CommonplaceError, ValueError):
    """A setting that does not exist, or has the wrong type or range."""


class EmbedderError(CommonplaceError, RuntimeError):
    """An embedding provider failed, or its answer could not be used.

    Attributes:
        temporary: Whether the same texts may be embedded later.
    """

    def __init__(self, *arguments: object, temporary: bool = False) -> None:
        super().__init__(*arguments)
        self.temporary = temporary


class MissingExtraError(EmbedderError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""


class StoreError(CommonplaceError, RuntimeError):
    """The index file. It can be deleted at any time: it is rebuilt from the Markdown."""


class IndexDamagedError(StoreError):
    """The index file is not a database, or is corrupt."""


class IndexReadOnlyError(StoreError, PermissionError):
    """The index file or its folder cannot be written."""


class IndexBusyError(StoreError, TimeoutError):
    """Another process held the index for longer than the busy timeout."""


class StateError(CommonplaceError, RuntimeError):
    """The state file: what cannot be derived from the Markdown. Never delete it unread."""


class ToolInputError(CommonplaceError, ValueError):
    """An argument of an agent's tool call that is missing, unknown, or not what it must be."""


class QuestionFileError(CommonplaceError, ValueError):
    """A line of a question file that cannot be evaluated."""
