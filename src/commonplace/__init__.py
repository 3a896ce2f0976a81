"""Markdown memory for agents: files that people can read, an index that finds the right lines.

::

    from commonplace import Memory

    with Memory.open("notes") as memory:
        memory.index()
        for hit in memory.search("which port does the VPN use?"):
            print(hit.score, hit.citation, hit.snippet)

The folder
----------
A workspace is a folder with ``MEMORY.md`` (what lasts), ``memory/YYYY-MM-DD.md`` (the days) and any
other Markdown files under ``memory/``. The files are the memory: people and agents read and write
them. The index is a SQLite file in the state folder; it can be deleted at any time and is rebuilt
from the files. Nothing is created in the workspace but the notes that are appended::

    memory.append("- Decided: the VPN listens on 51820")    # memory/2026-11-20.md
    memory.get("MEMORY.md", from_line=10, lines=20)          # from the disk, never the index

Searching
---------
`Memory.search` returns `SearchResults`, a list of `SearchResult`, best first. Each has a snippet of
at most 700 characters, its lines and its citation, and a score of 0..1. With ``explain=True`` it
says what vectors, words, age and repetition gave to it. A result, the list and the reports show
themselves in a notebook; in a terminal, rich prints them::

    from rich import print

    print(memory.search("VPN port", explain=True))
    print(memory.status())

The `embedder` of `Memory.open` makes the vectors: ``"auto"`` takes what is there, with the bundled
vectors at the end, which need no network; ``"openai"`` and ``"openai:text-embedding-3-small"`` name
a provider; an object with ``embed_documents`` and ``embed_query``, as each of LangChain's
embeddings, is taken as it is; None searches by keywords alone. The `index` is a file in the state
folder, or what a path, ``sqlite:///PATH``, ``memory://`` or an installed engine's URL names.

Many users
----------
A workspace is one circle of trust. `MemoryPool` keeps a workspace for each user, of which a bounded
number is open at once::

    from commonplace import MemoryPool

    with MemoryPool("users") as pool, pool.memory("alice") as memory:
        memory.append("- The VPN listens on 51820")         # users/alice/memory/2026-11-20.md

Many hosts
----------
``Memory.open("notes", index="postgresql://host/database?name=team")`` has its index on a server;
`Memory.connect` takes that URL on hosts without the folder, whose changes ``commonplace serve``
makes in the files.

Settings
--------
`Settings` holds every setting with its default and its reason, in ``help(Settings)`` and the help
of its parts, such as ``help(SearchSettings)``. `Settings.load` reads TOML, `Settings.openclaw`
ranks as OpenClaw does. Ranking can be tried out on an open memory::

    memory.with_search_settings(mmr=False).search("VPN port")

Agents
------
``memory.startup_context()`` and ``memory.recall_instructions()`` are texts for a system prompt.
Tools, retrievers and middleware that writes notes down before a conversation is compacted are in
``langchain_commonplace`` and ``llama_index_commonplace``. Each verb has an async twin: `asearch`,
`aget`, `aappend`, `aindex`, `astatus`.

Looking at a memory
-------------------
``commonplace.explorer`` draws how candidates move through the ranking, what age leaves, a map of
the chunks, a calendar and what repeats itself. From the command line, ``commonplace search
--explain`` and ``commonplace status --deep`` explain a ranking and check each part, and
``commonplace demo`` shows it on invented notes; ``memory.verify()`` compares the index with the
files, and ``commonplace verify --repair`` mends it.

Errors
------
All are `CommonplaceError`; the tree is in ``help("commonplace.errors")``.

Importing this package loads nothing else: each name below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commonplace.embeddings.base import Embedder
    from commonplace.errors import (
        CommonplaceError,
        ConflictError,
        EditError,
        EmbedderError,
        ImportSourceError,
        IndexBusyError,
        IndexDamagedError,
        IndexReadOnlyError,
        MissingExtraError,
        NamespaceError,
        PathNotAllowedError,
        PoolExhaustedError,
        QuestionFileError,
        SettingsError,
        StateError,
        StoreError,
        ToolInputError,
        WorkspaceError,
        WorkspaceNotFoundError,
        WorkspaceReadOnlyError,
    )
    from commonplace.memory import Memory
    from commonplace.pool import MemoryPool
    from commonplace.settings import (
        CacheSettings,
        ChunkingSettings,
        ContextSettings,
        EmbeddingSettings,
        FlushSettings,
        HistorySettings,
        QmdSettings,
        SearchSettings,
        SessionsSettings,
        Settings,
        SyncSettings,
    )
    from commonplace.store.base import Snapshot
    from commonplace.types import (
        BlameLine,
        Excerpt,
        Explanation,
        FlushReport,
        ForgetReceipt,
        IndexReport,
        Origin,
        SearchResult,
        SearchResults,
        ServerStatus,
        Status,
        Supersession,
        VerifyReport,
        Version,
    )

__version__ = "0.1.0"

__all__ = [
    "BlameLine",
    "CacheSettings",
    "ChunkingSettings",
    "CommonplaceError",
    "ConflictError",
    "ContextSettings",
    "EditError",
    "Embedder",
    "EmbedderError",
    "EmbeddingSettings",
    "Excerpt",
    "Explanation",
    "FlushReport",
    "FlushSettings",
    "ForgetReceipt",
    "HistorySettings",
    "ImportSourceError",
    "IndexBusyError",
    "IndexDamagedError",
    "IndexReadOnlyError",
    "IndexReport",
    "Memory",
    "MemoryPool",
    "MissingExtraError",
    "NamespaceError",
    "Origin",
    "PathNotAllowedError",
    "PoolExhaustedError",
    "QmdSettings",
    "QuestionFileError",
    "SearchResult",
    "SearchResults",
    "SearchSettings",
    "ServerStatus",
    "SessionsSettings",
    "Settings",
    "SettingsError",
    "Snapshot",
    "StateError",
    "Status",
    "StoreError",
    "Supersession",
    "SyncSettings",
    "ToolInputError",
    "VerifyReport",
    "Version",
    "WorkspaceError",
    "WorkspaceNotFoundError",
    "WorkspaceReadOnlyError",
]

_HOMES = {
    "BlameLine": "types",
    "CacheSettings": "settings",
    "ChunkingSettings": "settings",
    "CommonplaceError": "errors",
    "ConflictError": "errors",
    "ContextSettings": "settings",
    "EditError": "errors",
    "Embedder": "embeddings.base",
    "EmbedderError": "errors",
    "EmbeddingSettings": "settings",
    "Excerpt": "types",
    "Explanation": "types",
    "FlushReport": "types",
    "FlushSettings": "settings",
    "ForgetReceipt": "types",
    "HistorySettings": "settings",
    "QmdSettings": "settings",
    "ImportSourceError": "errors",
    "IndexBusyError": "errors",
    "IndexDamagedError": "errors",
    "IndexReadOnlyError": "errors",
    "IndexReport": "types",
    "Memory": "memory",
    "MemoryPool": "pool",
    "MissingExtraError": "errors",
    "NamespaceError": "errors",
    "Origin": "types",
    "PathNotAllowedError": "errors",
    "PoolExhaustedError": "errors",
    "QuestionFileError": "errors",
    "SearchResult": "types",
    "SearchResults": "types",
    "SearchSettings": "settings",
    "ServerStatus": "types",
    "SessionsSettings": "settings",
    "Settings": "settings",
    "SettingsError": "errors",
    "Snapshot": "store.base",
    "StateError": "errors",
    "Status": "types",
    "Supersession": "types",
    "StoreError": "errors",
    "SyncSettings": "settings",
    "ToolInputError": "errors",
    "VerifyReport": "types",
    "Version": "types",
    "WorkspaceError": "errors",
    "WorkspaceNotFoundError": "errors",
    "WorkspaceReadOnlyError": "errors",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
