"""Schema of an index in PostgreSQL: its tables, and the state of an index in one row.

Tables of one index carry the number of its generation (``chunks_1``), so a rebuild fills tables of
its own, and one UPDATE makes them the index that answers. Readers keep the tables of their state.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = [
    "SCHEMA_VERSION",
    "UNLISTED",
    "WORD_INDEX",
    "Role",
    "Tables",
    "create_generation",
    "shared_tables",
]

SCHEMA_VERSION = 5
"""Version 2 added what is published for hosts without the folder, 3 the histories of those with it,
4 what a host is about to make of an inbox step, 5 change groups of the inbox."""

UNLISTED = 0
"""Seq in ``dropped`` of the version up to which deletions are not listed; chunks count from 1."""

Role = Literal["live", "shadow"]
"""Role of a generation: the one that answers, and the one that a rebuild fills."""

SHARED = (
    "CREATE TABLE IF NOT EXISTS meta (key text PRIMARY KEY, value text NOT NULL)",
    # `version` grows with each write: a writer locks this row first, so there is one at a time.
    """CREATE TABLE IF NOT EXISTS indexes (
        generation integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, role text UNIQUE,
        identity text, complete boolean NOT NULL DEFAULT false,
        loading boolean NOT NULL DEFAULT false, version bigint NOT NULL DEFAULT 0,
        last_seq bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50)""",
    # Sums of an index, by source: chunks, their terms, lines with vectors and their sum (float64).
    """CREATE TABLE IF NOT EXISTS books (
        generation integer, source text, chunks bigint NOT NULL, terms bigint NOT NULL,
        vectors bigint NOT NULL, lines bigint NOT NULL, total bytea,
        PRIMARY KEY (generation, source)) WITH (fillfactor = 50)""",
    # Vectors of texts that left the index, by what made them; `written` orders them by age.
    """CREATE TABLE IF NOT EXISTS vector_cache (
        provider text NOT NULL, model text NOT NULL, endpoint text NOT NULL,
        dimension integer NOT NULL, hash text NOT NULL, embedding vector NOT NULL, lines bytea,
        written bigint NOT NULL, PRIMARY KEY (hash, provider, model, endpoint, dimension))""",
    "CREATE INDEX IF NOT EXISTS vector_cache_age ON vector_cache (written)",
    "CREATE SEQUENCE IF NOT EXISTS vector_cache_written",
    # What is published beside the index, for hosts without the folder; see `store.publication`.
    # `indexed` is the hash of the text that the index has, `changed` the number of the write that
    # last changed the origins of the note's lines.
    """CREATE TABLE IF NOT EXISTS notes (
        path text COLLATE "C" PRIMARY KEY, source text NOT NULL, data bytea NOT NULL,
        hash text NOT NULL, indexed text NOT NULL, origins text, changed bigint NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS notes_changed ON notes (changed)",
    # Rows of the history of the host that has the folder.
    """CREATE TABLE IF NOT EXISTS versions (
        id bigint PRIMARY KEY, batch bigint NOT NULL, of_group bigint, path text COLLATE "C"
        NOT NULL, moved_from text, at_ms bigint NOT NULL, change integer NOT NULL, author text,
        session text, tool text, size bigint NOT NULL, hash bytea, base bigint, body bytea)""",
    "ALTER TABLE versions ALTER COLUMN body SET STORAGE external",  # it is compressed
    "CREATE INDEX IF NOT EXISTS versions_path ON versions (path, id)",
    # Changes that wait to be made in the folder; `refused` is why one cannot be. A number is given
    # under the lock of the index's row, so numbers ascend in the order of commits.
    """CREATE TABLE IF NOT EXISTS inbox (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key uuid NOT NULL DEFAULT gen_random_uuid(), at_ms bigint NOT NULL, change text NOT NULL,
        author text, session text, tool text, host text NOT NULL, refused text)""",
    "CREATE INDEX IF NOT EXISTS inbox_waiting ON inbox (id) WHERE refused IS NULL",
    """CREATE TABLE IF NOT EXISTS inbox_steps (
        id bigint NOT NULL REFERENCES inbox ON DELETE CASCADE, ordinal integer NOT NULL,
        path text COLLATE "C" NOT NULL, kind text NOT NULL, before_hash text NOT NULL,
        before bytea, data bytea, after_hash text NOT NULL, after_size bigint NOT NULL,
        target text COLLATE "C", untrusted text[] NOT NULL,
        PRIMARY KEY (id, ordinal))""",
    "CREATE INDEX IF NOT EXISTS inbox_steps_path ON inbox_steps (path)",
    "ALTER TABLE inbox ADD COLUMN IF NOT EXISTS of_group text NOT NULL DEFAULT ''",
    # The file as the folder's host is about to make it, where it is another than `after_hash`.
    """ALTER TABLE inbox_steps ADD COLUMN IF NOT EXISTS made_hash text NOT NULL DEFAULT '',
        ADD COLUMN IF NOT EXISTS made_size bigint NOT NULL DEFAULT 0""",
    # Numbers that grow with each change of a kind.
    "CREATE TABLE IF NOT EXISTS published (kind text PRIMARY KEY, number bigint NOT NULL)",
    """INSERT INTO published VALUES ('origins', 0), ('versions', 0), ('rewrites', 0), ('inbox', 0),
        ('forgets', 0) ON CONFLICT DO NOTHING""",
    # Histories of the hosts with the folder; `forgets` is the last forgetting that each followed.
    """CREATE TABLE IF NOT EXISTS histories (
        key text PRIMARY KEY, host text NOT NULL, forgets bigint NOT NULL)""",
)

WORD_INDEX = (
    # A write adds to a list that each search scans, too: 512 KiB at most, half a millisecond.
    "CREATE INDEX words_{g}_terms ON words_{g} USING gin (terms) "
    "WITH (fastupdate = on, gin_pending_list_limit = 512)"
)
_GENERATION = (
    # Times are in nanoseconds, days are proleptic ordinals.
    """CREATE TABLE files_{g} (
        path text COLLATE "C" PRIMARY KEY, source text NOT NULL, hash text NOT NULL,
        size bigint NOT NULL, mtime_ns bigint NOT NULL, indexed_ns bigint NOT NULL, day integer,
        pending text, note text, progress text, metadata text, expires_ms bigint,
        stamp text NOT NULL)""",
    "CREATE INDEX files_{g}_expiring ON files_{g} (expires_ms) WHERE expires_ms IS NOT NULL",
    """CREATE TABLE chunks_{g} (
        seq bigint PRIMARY KEY, id text NOT NULL, path text COLLATE "C" NOT NULL,
        source text NOT NULL, start_line integer NOT NULL, end_line integer NOT NULL,
        hash text NOT NULL, text text NOT NULL, heading text NOT NULL, context text NOT NULL,
        day integer, units bytea NOT NULL, lines bytea, ordinal integer NOT NULL)""",
    # Packed vectors do not compress, and stand apart from what filters and moves read.
    "ALTER TABLE chunks_{g} ALTER COLUMN lines SET STORAGE external",
    "CREATE INDEX chunks_{g}_in_order ON chunks_{g} (path, ordinal)",
    "CREATE INDEX chunks_{g}_hash ON chunks_{g} (left(hash, 16))",
    # Narrow, so that the rows that a query's terms find are in few pages; never out of line.
    """CREATE TABLE words_{g} (
        seq bigint PRIMARY KEY, path text COLLATE "C" NOT NULL, source text NOT NULL, day integer,
        length integer NOT NULL, terms tsvector NOT NULL) WITH (toast_tuple_target = 8160)""",
    "ALTER TABLE words_{g} ALTER COLUMN terms SET STORAGE main",
    WORD_INDEX,
    """CREATE TABLE vectors_{g} (
        seq bigint PRIMARY KEY, path text COLLATE "C" NOT NULL, source text NOT NULL, day integer,
        embedding vector NOT NULL)""",
    # Document frequencies: counting at query time would visit every row that holds the term.
    """CREATE TABLE terms_{g} (
        term text COLLATE "C", source text, n bigint NOT NULL, PRIMARY KEY (term, source))
        WITH (fillfactor = 70)""",
    # Deleted chunks: resident vectors of other processes drop them. The list is pruned: a row of
    # the seq `UNLISTED` has the last version whose deletions are listed no longer.
    "CREATE TABLE dropped_{g} (version bigint NOT NULL, seq bigint NOT NULL)",
    "CREATE INDEX dropped_{g}_version ON dropped_{g} (version)",
)

_SHARED_CONTENT = {
    "vector_cache": ("embedding", "lines"),
    "notes": ("data", "origins"),
    "versions": ("body",),
    "inbox_steps": ("before", "data"),
}
_CONTENT = {
    "files_{g}": ("note", "metadata"),
    "chunks_{g}": ("text", "heading", "context", "units", "lines"),
    "words_{g}": ("terms",),
    "vectors_{g}": ("embedding",),
    "terms_{g}": ("term",),
}
"""Columns that hold texts, or vectors of texts, by table."""


class Tables(NamedTuple):
    """Names of the tables of one generation."""

    files: str
    chunks: str
    words: str
    vectors: str
    terms: str
    dropped: str

    @classmethod
    def of(cls, generation: int) -> Tables:
        """Return the tables of a generation."""
        return cls(*(f"{name}_{int(generation)}" for name in cls._fields))


def shared_tables() -> tuple[str, ...]:
    """Return the statements that create what all generations of a memory share."""
    return SHARED + _without_statistics(_SHARED_CONTENT)


def create_generation(generation: int) -> tuple[str, ...]:
    """Return the statements that create the tables of a generation."""
    statements = _GENERATION + _without_statistics(_CONTENT)
    return tuple(statement.format(g=int(generation)) for statement in statements)


def _without_statistics(columns: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return statements that keep the planner's samples from holding what columns hold.

    The samples are in a catalogue, in which only an administrator can overwrite what is deleted.
    """
    return tuple(
        f"ALTER TABLE {table} "
        + ", ".join(f"ALTER COLUMN {name} SET STATISTICS 0" for name in names)
        for table, names in columns.items()
    )
