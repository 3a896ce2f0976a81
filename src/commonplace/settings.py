"""Every setting, its default and its reason; and the one place where they are resolved.

``Settings()`` starts from the numbers of OpenClaw's memory and changes them where ``commonplace
eval`` shows an improvement. ``Settings.openclaw()`` behaves as build 2026.3.24 of that memory,
result for result.

A settings file is TOML with the same names::

    timezone = "Europe/Paris"
    extra_paths = ["~/notes"]

    [search]
    max_results = 8

Tables ``[agents.NAME]`` are for `commonplace.agents`.

The file is named by ``COMMONPLACE_CONFIG``, else it lies in the platform's configuration folder. It
is never read from the workspace, whose files are written by models.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import os
import re
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from commonplace.errors import SettingsError

__all__ = [
    "CacheSettings",
    "ChunkingSettings",
    "ContextSettings",
    "EmbeddingSettings",
    "FlushSettings",
    "HistorySettings",
    "QmdSettings",
    "SearchSettings",
    "SessionsSettings",
    "Settings",
    "SyncSettings",
    "default_settings_path",
    "default_state_dir",
    "file_values",
    "openclaw_migration",
]


class _Checked:
    """Base of the settings: values are checked by type and range when an object is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        kind: Any = type(self)
        prefix = kind.__name__.removesuffix("Settings").lower()
        for name, hint in _hints(kind).items():
            value = _convert(getattr(self, name), hint, f"{prefix}.{name}".lstrip("."))
            object.__setattr__(self, name, value)
        self._check_ranges()

    def _check_ranges(self) -> None:
        """Raise a `SettingsError` for a value that has the right type and is out of range."""


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@dataclass(frozen=True, slots=True)
class ChunkingSettings(_Checked):
    """How a file is cut into chunks. A change rebuilds the index.

    Attributes:
        tokens: Size of a chunk in tokens, at most. 400, as in OpenClaw: small enough for one
            subject, large enough for its context. The profile ``openclaw`` counts four UTF-16
            units as a token.
        overlap: Tokens that a chunk repeats from the one before, so that no text is separated from
            its explanation. 80, as in OpenClaw; 0 turns it off.
    """

    tokens: int = 400
    overlap: int = 80

    def _check_ranges(self) -> None:
        _check(self.tokens >= 1, "chunking.tokens", self.tokens, "at least 1")
        _check(self.overlap >= 0, "chunking.overlap", self.overlap, "0 or more")
        _check(
            self.overlap < self.tokens,
            "chunking.overlap",
            self.overlap,
            f"less than chunking.tokens, {self.tokens}",
        )


@dataclass(frozen=True, slots=True)
class SearchSettings(_Checked):
    """How a query is answered.

    Attributes:
        max_chars: Characters of an answer's snippets, at most. 4,200, as OpenClaw's six of 700: as
            many snippets as fit, the first ones up to 700 long, those behind them shorter.
        max_results: Snippets in an answer, at most; None sets no limit beside `max_chars`. The
            profile ``openclaw`` has 6.
        min_score: Lower bound of a result's score. 0.015: the best score of a question that the
            notes answer is above it, that of a question about another subject often is not
            (``commonplace eval --foreign`` measures how well the two are separated). The profile
            ``openclaw`` has 0.35 on another scale, where half of the questions get no answer.
        candidate_multiplier: Candidates of each list, as a multiple of the snippets of 700
            characters that fit into `max_chars`; at most 200. 4, as in OpenClaw: with more, answers
            show little more and take longer. The profile ``openclaw`` multiplies `max_results`.
        vector_weight: Weight of the vectors in the ranking; both weights are scaled to sum to 1.
            0 turns the vectors off.
        text_weight: Weight of the words in the ranking. 0 turns keyword search off.
        decay: Whether age counts. It counts against a line that a newer line restates or corrects,
            and never against the past as such; a question that names a time is ranked by that time.
            With the profile ``openclaw``, every dated log fades, and only where vectors take part.
        half_life_days: Half-life of temporal decay. A line that is so many days older than the line
            that restates it loses half of what it can lose. With the profile ``openclaw``: the age
            at which a dated log counts half.
        mmr: Whether repetitions are thinned out (maximal marginal relevance); with the profile
            ``openclaw``, only where vectors take part.
        mmr_lambda: Balance of relevance and variety: 1 is the plain ranking, 0 the greatest
            variety.
        tokenizer: How words are indexed: ``porter`` (stemmed, with pairs of characters for scripts
            that are written without spaces), ``unicode61`` (unstemmed), or ``trigram`` (parts of
            words from three characters on, in any script; the index's words take about three times
            the space). A change rebuilds the index.
        operator: Which words of the question a chunk must hold to be found by words: any (``or``)
            or all (``and``).
        unit: What is embedded and ranked: each ``line`` within the chunks around it, or each
            ``chunk`` as a whole. With ``line``, each line is embedded once, so the text is paid for
            once, and a chunk's vector is the mean of its lines'. With ``chunk``, it is paid for
            about 1.2 times, for the overlap. A change rebuilds the index. The profile ``openclaw``
            ranks chunks only.
        backend: Where the places of an answer come from: the ``builtin`` index, or ``qmd``, a
            program of its own that `QmdSettings` are about. Lines, citations and scores are this
            index's in both; it answers by itself where QMD cannot.
        vector_extension: Path of the sqlite-vec library, for a platform without a wheel of it or
            for a build of your own; None is the installed one. It holds for the whole process.
    """

    max_chars: int = 4_200
    max_results: int | None = None
    min_score: float = 0.015
    candidate_multiplier: int = 4
    vector_weight: float = 0.7
    text_weight: float = 0.3
    decay: bool = True
    half_life_days: float = 30.0
    mmr: bool = True
    mmr_lambda: float = 0.7
    tokenizer: Literal["porter", "unicode61", "trigram"] = "porter"
    operator: Literal["or", "and"] = "or"
    unit: Literal["line", "chunk"] = "line"
    backend: Literal["builtin", "qmd"] = "builtin"
    vector_extension: str | None = None

    def _check_ranges(self) -> None:
        _check(self.max_chars >= 1, "search.max_chars", self.max_chars, "at least 1")
        limit = self.max_results
        _check(limit is None or limit >= 1, "search.max_results", limit, "at least 1")
        for name in ("min_score", "vector_weight", "text_weight", "mmr_lambda"):
            value = getattr(self, name)
            _check(0.0 <= value <= 1.0, f"search.{name}", value, "between 0 and 1")
        _check(
            self.vector_weight + self.text_weight > 0,
            "search.vector_weight and search.text_weight",
            0,
            "more than 0 in one of them",
        )
        _check(
            1 <= self.candidate_multiplier <= 20,
            "search.candidate_multiplier",
            self.candidate_multiplier,
            "between 1 and 20",
        )
        _check(self.half_life_days > 0, "search.half_life_days", self.half_life_days, "more than 0")


@dataclass(frozen=True, slots=True)
class QmdSettings(_Checked):
    """QMD, the search program, as a backend: ``search.backend = "qmd"``.

    QMD has a home of its own in the workspace's state folder: neither the collections nor the
    models of the user are touched. Its models that rewrite questions and rerank are never used.

    Attributes:
        command: QMD's program, with its arguments as a shell would read them, such as
            ``node /opt/qmd/dist/cli/qmd.js``.
        mode: What QMD searches by, in OpenClaw's words: ``search`` by words; ``vsearch`` by
            vectors; ``query`` by both. ``search``, as in OpenClaw: the others need an embedding
            model, which QMD downloads (300 MB) unless its configuration names a file.
        refresh: Minutes after which a search has QMD's index brought up to date in the background.
            5, as in OpenClaw; `Memory.index` does it in any case, and 0 leaves it to that.
        limits: Places that a search asks QMD for, at most. QMD names one place a file, so this is
            the number of files that may answer.
        timeout_s: Seconds that a search spends on QMD in all, before the own index answers. 4, as
            in OpenClaw.
        collections: Files and folders that QMD indexes, as paths of the workspace; empty for all of
            the memory. The own index answers for what is not among them.
    """

    command: str = "qmd"
    mode: Literal["search", "vsearch", "query"] = "search"
    refresh: float = 5.0
    limits: int = 20
    timeout_s: float = 4.0
    collections: tuple[str, ...] = ()

    def _check_ranges(self) -> None:
        _check(bool(self.command.strip()), "qmd.command", self.command, "the name of a program")
        _check(self.refresh >= 0, "qmd.refresh", self.refresh, "0 or more")
        _check(1 <= self.limits <= 200, "qmd.limits", self.limits, "between 1 and 200")
        _check(0 < self.timeout_s <= 60, "qmd.timeout_s", self.timeout_s, "more than 0, at most 60")


@dataclass(frozen=True, slots=True)
class SyncSettings(_Checked):
    """When the index is brought up to date, besides `Memory.index`.

    Index runs happen in the background, in one thread of a memory and one process at a time. A
    search never waits for them, except the first search in a new workspace, which indexes it. A
    note that `append` writes is found at once, whatever these settings are. The defaults are
    OpenClaw's, except `watch`.

    Attributes:
        on_open: Bring an existing index up to date a quarter of a second after the memory was
            opened; a memory that is closed before costs nothing. This run also rebuilds an index of
            other settings, or of another embedder that was named.
        on_search: Check after a search whether files have changed, and index those; the next search
            finds them. The checks take 3 % of the time at most, and run once a second at most.
        watch: Watch the files while the memory is open, as `Memory.watch` does for a block. False:
            most memories are open for one conversation, where the checks on opening and searching
            suffice. Watching is for memories that stay open for long, and takes threads.
        debounce_ms: Milliseconds without a further change after which a watched change is indexed.
            A file that keeps changing is indexed once a minute. 1,500, as in OpenClaw.
        interval_minutes: Interval of further checks while the memory is open; 0 is off.
    """

    on_open: bool = True
    on_search: bool = True
    watch: bool = False
    debounce_ms: int = 1500
    interval_minutes: float = 0.0

    def _check_ranges(self) -> None:
        _check(self.debounce_ms >= 0, "sync.debounce_ms", self.debounce_ms, "0 or more")
        _check(
            self.interval_minutes >= 0, "sync.interval_minutes", self.interval_minutes, "0 or more"
        )


@dataclass(frozen=True, slots=True)
class SessionsSettings(_Checked):
    """Transcripts of conversations: which of them are indexed, and the note of a session.

    Transcripts are JSON Lines: OpenClaw's session files, LangChain's `messages_to_dict`,
    LlamaIndex's `ChatMessage` as JSON, or plain ``{"role", "content"}``. Messages of user and
    assistant are indexed, one line each, secrets masked. Search shows them with the source
    ``sessions``, behind notes: see `commonplace.retrieval.source_quota`.

    Attributes:
        enabled: Whether transcripts are indexed. Off, as in OpenClaw: searching notes and searching
            conversations are two wishes. Messages that no flush could write down after three
            failures are indexed in any case: they stand in for missing notes.
        path: Folder of the transcripts, relative to the workspace unless it is absolute; None is
            ``sessions`` beside the index, where the adapters archive conversations and the flush
            keeps messages that it could not write down.
        patterns: Names of the files in it. ``*`` and ``?`` match within a folder, ``**/`` any
            folders: ``**/*.jsonl`` is all of them. Names that end with ``.md`` are never
            transcripts.
        delta_bytes: New bytes after which a known transcript is read again, from the end of the
            last run. 100,000, as in OpenClaw: each run rebuilds the last chunk. Below this and
            `delta_messages`, the transcript waits, and `status` reports it. 0: any change is read.
            A new or rewritten file is read at once; ``index(force=True)`` and `close` read
            everything.
        delta_messages: New messages (lines of the file) after which a transcript is read again. 50,
            as in OpenClaw; 0: any change is read.
        archive_messages: Messages that `Memory.write_session_note` puts into its note. 15, as in
            OpenClaw.
    """

    enabled: bool = False
    path: str | None = None
    patterns: tuple[str, ...] = ("*.jsonl",)
    delta_bytes: int = 100_000
    delta_messages: int = 50
    archive_messages: int = 15

    def _check_ranges(self) -> None:
        _check(self.delta_bytes >= 0, "sessions.delta_bytes", self.delta_bytes, "0 or more")
        _check(
            self.delta_messages >= 0, "sessions.delta_messages", self.delta_messages, "0 or more"
        )
        count = self.archive_messages
        _check(count >= 1, "sessions.archive_messages", count, "at least 1")


@dataclass(frozen=True, slots=True)
class CacheSettings(_Checked):
    """Cache of vectors, so that a text is paid for once.

    Attributes:
        enabled: Whether vectors are cached by the text that they were made of.
        max_entries: Size of the cache; the least recently written vectors are evicted first.
    """

    enabled: bool = True
    max_entries: int = 50_000

    def _check_ranges(self) -> None:
        _check(self.max_entries >= 0, "cache.max_entries", self.max_entries, "0 or more")


@dataclass(frozen=True, slots=True)
class FlushSettings(_Checked):
    """Flush: when a conversation is written down before it is compacted.

    Attributes:
        enabled: Whether conversations are written down before they are compacted.
        context_window: Context window of the chat model in tokens, where its profile has none.
        reserve_tokens: Tokens kept free for the model's answer.
        soft_threshold_tokens: Tokens before the reserve at which the flush runs.
        transcript_bytes: Size of a transcript that is flushed whatever its tokens; 0 is off.
        deadline_s: Seconds after which a silent turn is cancelled.
        prompt: Text that replaces the built-in prompt.
    """

    enabled: bool = True
    context_window: int = 200_000
    reserve_tokens: int = 20_000
    soft_threshold_tokens: int = 4_000
    transcript_bytes: int = 2 * 1024 * 1024
    deadline_s: float = 60.0
    prompt: str | None = None

    def _check_ranges(self) -> None:
        for name in ("context_window", "reserve_tokens", "soft_threshold_tokens"):
            value = getattr(self, name)
            _check(value >= 0, f"flush.{name}", value, "0 or more")
        _check(self.transcript_bytes >= 0, "flush.transcript_bytes", self.transcript_bytes, ">= 0")
        _check(self.deadline_s > 0, "flush.deadline_s", self.deadline_s, "more than 0")


@dataclass(frozen=True, slots=True)
class HistorySettings(_Checked):
    """History: the texts of notes before they were changed, in ``history.sqlite`` beside the index.

    The oldest texts are dropped first; never the last text of a note that was deleted less than 30
    days ago, and never a note's newest text.

    Attributes:
        enabled: Whether texts are kept. Without them, no change can be undone.
        max_days: Days that a text is kept after it was changed; 0 sets no limit.
        max_bytes: Size of all texts as they are stored, compressed; 0 sets no limit. 256 MiB: daily
            edits of a hundred notes take less than 10 MiB a year.
    """

    enabled: bool = True
    max_days: int = 365
    max_bytes: int = 256 * 1024 * 1024

    def _check_ranges(self) -> None:
        _check(self.max_days >= 0, "history.max_days", self.max_days, "0 or more")
        _check(self.max_bytes >= 0, "history.max_bytes", self.max_bytes, "0 or more")


@dataclass(frozen=True, slots=True)
class EmbeddingSettings(_Checked):
    """Embedding provider, where `Memory.open` does not name one, and its requests.

    `model`, `dimensions`, `base_url`, `headers` and `api_key_env` belong to `provider`; with
    ``auto``, to the provider that `Memory.open` names. They are sent to no other.

    Attributes:
        provider: A name that `Memory.open` takes, ``provider:model`` too, or ``auto``.
        model: The provider's model; None is its default. With ``auto``, a GGUF file (or its name on
            the hub, ``hf:OWNER/REPOSITORY/FILE``) or a folder of a sentence-transformers model is
            the configured local model that comes before all keys.
            Another model is paid for again; the old vectors answer until the new ones are complete.
        dimensions: Length of the vectors, where the provider offers a choice; None is the model's.
            Shorter vectors make a smaller index and faster searches, with slightly worse answers.
        base_url: Another endpoint of the same protocol: a proxy, a gateway, an own server. The key
            is sent there.
        headers: Headers sent with each request, for a gateway that needs some; never shown.
        api_key_env: Environment variable of the key, where it is not the vendor's usual one. The
            key itself is no setting: a settings file has many readers.
        fallback: Provider that is used when the one of the settings cannot be (a model file that is
            missing, an extra that is not installed), and tried once when that one fails for good
            while an index is built: a refused key, an exhausted quota, or a first run without a
            single answer. The index is then built with it (and paid for, where it costs), and
            search reports it. With None, texts without vectors are found by words until a later
            run.
        batch: Whether runs of at least `batch_min_texts` use the vendor's batch API (openai,
            gemini, voyage), which costs about half and takes minutes to hours. Until then, search
            is by words, or by the old vectors.
        batch_min_texts: Texts from which on a run uses the batch API; below, plain requests end
            before a job starts.
        batch_poll_s: Seconds between two polls of a job. 2, as in OpenClaw.
        batch_timeout_minutes: Minutes after which a job is submitted once more, and after that
            replaced by plain requests. 60, as in OpenClaw; a vendor may take 24 hours.
        timeout_s: Timeout in seconds of one request for documents. 60: a busy own server may need
            more.
        query_timeout_s: Seconds that a search waits for the vector of its question, retries
            included, before it answers by words. 5: people and agents wait for it.
        threads: Threads of a model in a GGUF file; None is half of the processors: llama.cpp's
            threads wait by spinning, and with more of them than free processors it is many times
            slower.
        concurrency: Requests in flight at once; None is the provider's own (4 for services, 1 for
            an object that was passed in, which may not be thread-safe).
    """

    provider: str = "auto"
    model: str | None = None
    dimensions: int | None = None
    base_url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_key_env: str | None = None
    fallback: str | None = None
    batch: bool = False
    batch_min_texts: int = 1000
    batch_poll_s: float = 2.0
    batch_timeout_minutes: float = 60.0
    timeout_s: float = 60.0
    query_timeout_s: float = 5.0
    threads: int | None = None
    concurrency: int | None = None

    def _check_ranges(self) -> None:
        for name in ("dimensions", "threads", "concurrency", "batch_min_texts"):
            value = getattr(self, name)
            _check(value is None or value >= 1, f"embedding.{name}", value, "at least 1")
        for name in ("timeout_s", "query_timeout_s", "batch_poll_s", "batch_timeout_minutes"):
            value = getattr(self, name)
            _check(value > 0, f"embedding.{name}", value, "more than 0")
        variable = self.api_key_env
        if variable and (not _VARIABLE.fullmatch(variable) or _KEY.fullmatch(variable)):
            raise SettingsError(
                "embedding.api_key_env is not the name of an environment variable (it is not "
                "shown: it may be a key). Put the key into a variable, and its name here."
            )


@dataclass(frozen=True, slots=True)
class ContextSettings(_Checked):
    """Budget of the memory's text in a system prompt.

    Attributes:
        file_chars: Characters of one file, at most.
        total_chars: Characters of all files, at most.
    """

    file_chars: int = 20_000
    total_chars: int = 60_000

    def _check_ranges(self) -> None:
        _check(self.file_chars >= 100, "context.file_chars", self.file_chars, "at least 100")
        _check(self.total_chars >= 100, "context.total_chars", self.total_chars, "at least 100")


@functools.cache
def _default_search() -> SearchSettings:
    """Return the one default of `Settings.search`, which another profile replaces as a whole."""
    return SearchSettings()


@functools.cache
def _openclaw_search() -> SearchSettings:
    return SearchSettings(
        max_results=6,
        min_score=0.35,
        decay=False,
        mmr=False,
        tokenizer="unicode61",
        operator="and",
        unit="chunk",
    )


@dataclass(frozen=True, slots=True)
class Settings(_Checked):
    """All settings of a memory.

    Attributes:
        extra_paths: Files and folders that belong to the memory besides its own; absolute, from
            ``~``, or relative to the workspace.
        timezone: IANA name of the time zone of the logs' days; None is the machine's.
        citations: Whether tools answer with citations: ``auto`` is on in private use.
        mask_personal: Whether numbers of persons are masked, too, where secrets are, in what models
            write, in transcripts and imports: payment cards, IBANs, US social security. Off: an
            invoice's IBAN may be what a user wants to find again.
        profile: Rules of chunking, ranking, dating, discovery and prompts. ``openclaw`` has those
            of OpenClaw 2026.3.24 and, where no other value is given, its settings: see
            `Settings.openclaw`. A change rebuilds the index.
    """

    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    search: SearchSettings = field(default_factory=_default_search)
    qmd: QmdSettings = field(default_factory=QmdSettings)
    sync: SyncSettings = field(default_factory=SyncSettings)
    sessions: SessionsSettings = field(default_factory=SessionsSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    flush: FlushSettings = field(default_factory=FlushSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    extra_paths: tuple[str, ...] = ()
    timezone: str | None = None
    citations: Literal["auto", "on", "off"] = "auto"
    mask_personal: bool = False
    profile: Literal["default", "openclaw"] = "default"

    def _check_ranges(self) -> None:
        if self.profile == "openclaw":
            if self.search is _default_search():
                object.__setattr__(self, "search", _openclaw_search())
            expected = "'chunk', for the profile 'openclaw' ranks whole chunks"
            _check(self.search.unit == "chunk", "search.unit", self.search.unit, expected)
        for path in self.extra_paths:
            _check("\0" not in path, "extra_paths", path, "paths without NUL characters")
        if self.timezone is not None:
            _check_timezone(self.timezone)

    @classmethod
    def openclaw(cls) -> Self:
        """Return the settings of OpenClaw build 2026.3.24, by their effect.

        The profile is ``openclaw``; of the numbers, `SearchSettings` has other ones: six results, a
        `min_score` of 0.35, no decay, no MMR, the tokenizer ``unicode61``, the operator ``and``,
        and the unit ``chunk``.
        """
        return cls(profile="openclaw")

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Self:
        """Read a TOML file of settings; without a path, the default file if there is one.

        Raises:
            SettingsError: The file is missing (when named), is not TOML, or has a name or a value
                that is not a setting.
        """
        source, values = file_values(path)
        values.pop("agents", None)
        try:
            return cls.from_mapping(values)
        except SettingsError as error:
            raise SettingsError(f"{source}: {error}") from error

    @classmethod
    def from_openclaw(
        cls, path: str | os.PathLike[str] = "~/.openclaw", *, agent: str | None = None
    ) -> Self:
        """Take the configuration of OpenClaw over, which is read and not changed.

        The profile is ``openclaw``. Keys without a counterpart are left out; ``commonplace import
        openclaw`` names them. Secrets are not taken, but for the headers of requests.

        Args:
            path: Its folder, or its ``openclaw.json``.
            agent: Id of the agent; None is the default one.

        Raises:
            SettingsError: There is no configuration or no such agent, or it cannot be read.
        """
        return typing.cast(Self, openclaw_migration().openclaw_settings(path, agent))

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Build settings from nested mappings of the same names, as a TOML file gives them."""
        profile = values.get("profile", "default")
        return typing.cast(Self, _changed(cls(profile=profile), values, prefix=""))


def openclaw_migration() -> ModuleType:
    """Load the reader of OpenClaw's configuration by name: nothing imports its package.

    Raises:
        SettingsError: This installation does not have it.
    """
    try:
        return importlib.import_module("commonplace.compat.openclaw.migration")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("commonplace.compat"):
            raise
        raise SettingsError(
            "this installation does not have OpenClaw's rules, the package "
            "commonplace.compat.openclaw; reinstall commonplace."
        ) from error


def file_values(path: str | os.PathLike[str] | None) -> tuple[Path | None, dict[str, Any]]:
    """Read a settings file, by default the default one; return it, None where there is none.

    Raises:
        SettingsError: The file is missing (when named), or is not TOML.
    """
    if path is None:
        path = default_settings_path()
        if path is None:
            return None, {}
    source = Path(os.path.expanduser(path))
    try:
        return source, tomllib.loads(source.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(
            f"cannot read the settings file {source}: {error.strerror or error}. "
            "Name an existing TOML file, or leave it out for the defaults."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{source} is not TOML: {error}.") from error


def default_settings_path() -> Path | None:
    """Return the settings file that is used when none is named; None when there is none."""
    named = os.environ.get("COMMONPLACE_CONFIG")
    if named:
        return Path(named)
    import platformdirs

    found = Path(platformdirs.user_config_dir("commonplace", appauthor=False)) / "commonplace.toml"
    return found if os.path.isfile(found) else None


def default_state_dir() -> Path:
    """Return the folder of the indexes: ``COMMONPLACE_STATE_DIR``, else the platform's."""
    named = os.environ.get("COMMONPLACE_STATE_DIR")
    if named:
        return Path(os.path.expanduser(named))
    import platformdirs

    return Path(platformdirs.user_state_dir("commonplace", appauthor=False))


_NEVER_SHOWN = {"embedding", "embedding.headers", "embedding.base_url", "embedding.api_key_env"}
"""Settings whose values may hold a key or a password, of the wrong type as well."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
_KEY = re.compile(r"(?=.*[0-9])(?:[A-Za-z0-9]{20,}|(?=.*[a-z])(?=.*[A-Z])\w{20,})")
"""Key that could be the name of a variable: in no words, or in letters of both cases."""


def _check(ok: bool, name: str, value: object, expected: str) -> None:
    """Raise a `SettingsError` that says what was found and what was expected."""
    if not ok:
        found = f"of type {type(value).__name__}" if name in _NEVER_SHOWN else repr(value)
        raise SettingsError(f"{name} is {found}; it must be {expected}.")


def _check_timezone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(
            f"timezone is {name!r}, which is not a known zone; "
            "use an IANA name such as 'Europe/Paris', or leave it out for the machine's."
        ) from error


def _changed(base: Any, values: Mapping[str, Any], *, prefix: str) -> Any:
    """Return settings with other values; nested mappings change nested settings."""
    kind: Any = type(base)
    hints = _hints(kind)
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name not in hints:
            close = difflib.get_close_matches(str(name), hints, n=1)
            hint = f"did you mean {prefix}{close[0]}?" if close else f"known: {', '.join(hints)}."
            raise SettingsError(f"{prefix}{name} is not a setting; {hint}")
        changes[name] = value
        if dataclasses.is_dataclass(hints[name]):
            _check(isinstance(value, Mapping), f"{prefix}{name}", value, "a table")
            changes[name] = _changed(getattr(base, name), value, prefix=f"{prefix}{name}.")
    return dataclasses.replace(base, **changes)


def _convert(value: Any, hint: Any, name: str) -> Any:
    """Check a value against a field's type; lists become tuples, integers floats."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        _check(value in args, name, value, "one of " + ", ".join(map(repr, args)))
        return value
    if origin is tuple:
        _check(isinstance(value, list | tuple), name, value, "a list of texts")
        _check(all(isinstance(v, str | os.PathLike) for v in value), name, value, "a list of texts")
        return tuple(os.fspath(item) for item in value)
    if origin is Mapping:
        _check(isinstance(value, Mapping), name, value, "a table")
        ok = all(isinstance(text, str) for item in value.items() for text in item)
        _check(ok, name, value, "a table of texts")
        return dict(value)
    kinds = args or (hint,)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if float in kinds and is_number:
        return float(value)
    ok = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
    _check(ok, name, value, " or ".join(_KINDS.get(kind, kind.__name__) for kind in kinds))
    return value


_KINDS: dict[type, str] = {
    bool: "true or false",
    float: "a number",
    int: "a whole number",
    str: "a text",
    type(None): "nothing",
}
