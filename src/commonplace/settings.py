"""Every setting, its default and its reason; and the one place where they are resolved.

``Settings()`` starts from the numbers of OpenClaw's memory and changes them where ``commonplace
eval`` says so. ``Settings.openclaw()`` is that memory as its build 2026.3.24 behaves, result for
result. Both run through the same code.

A settings file is TOML with the same names::

    timezone = "Europe/Paris"
    extra_paths = ["~/notes"]

    [search]
    max_results = 8

It is found through ``COMMONPLACE_CONFIG``, else in the platform's configuration folder; never in
the workspace, whose files are written by models.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import os
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from commonplace.errors import SettingsError

__all__ = [
    "CacheSettings",
    "ChunkingSettings",
    "ContextSettings",
    "EmbeddingSettings",
    "FlushSettings",
    "SearchSettings",
    "SessionsSettings",
    "Settings",
    "SyncSettings",
    "default_settings_path",
    "default_state_dir",
]


class _Checked:
    """Settings whose values are checked, by type and range, when they are made."""

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
        tokens: Size of a chunk, at most. 400, as the reference: small enough to be about one thing,
            large enough to carry its context.
        overlap: Tokens that a chunk repeats from the one before, so that nothing is cut from what
            explains it. 80, as the reference; 0 turns it off.
        measure: ``tokens`` counts what a model would count, CJK text included; ``chars`` counts
            four UTF-16 units as a token, as the reference does.
    """

    tokens: int = 400
    overlap: int = 80
    measure: Literal["tokens", "chars"] = "tokens"

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
        max_results: Snippets in an answer. 6, as the reference: 4,200 characters.
        min_score: Results below it are left out. 0.03: the best score of a question that the notes
            answer is above it, that of a question about something else often is not (``commonplace
            eval --foreign`` tells how well the two are told apart). The reference's 0.35 is on
            another scale, where it leaves half of the questions without an answer.
        candidate_multiplier: Candidates that each list brings, as a multiple of `max_results`; at
            most 200. 4, as the reference: with more, answers show little more and take longer.
        vector_weight: Weight of the vectors in the merge; the two weights are scaled to sum to 1.
            0 turns the vectors off.
        text_weight: Weight of the words in the merge. 0 turns keyword search off.
        decay: Whether age counts. With `grain` ``lines``, it counts against a line that a newer
            one restates or corrects, and never against the past as such; a question that names a
            time is judged by that time. With ``chunks``, every dated log fades, and as in the
            reference only where vectors take part.
        half_life_days: Age at which a dated log counts half. With `grain` ``lines``: how much
            older than the line that restates it a line is that loses half of what it can lose.
        mmr: Whether what repeats itself is thinned out; with ``chunks``, only where vectors take
            part.
        mmr_lambda: 1 is the plain ranking, 0 the greatest variety.
        tokenizer: How words are indexed: ``porter`` (stemmed, with pairs of characters for scripts
            that are written without spaces) or ``unicode61`` (as they stand). A change rebuilds
            the index.
        match: Which words must occur: ``any`` word of the question, or ``all``, as the reference.
        grain: What is ranked: ``lines`` within the chunks around them, or whole ``chunks``, as the
            reference. With ``lines``, each line is embedded once and a chunk is the mean of its
            lines: the text is paid for once. With ``chunks`` it is paid for about 1.2 times, for
            the overlap. A change rebuilds the index.
    """

    max_results: int = 6
    min_score: float = 0.03
    candidate_multiplier: int = 4
    vector_weight: float = 0.7
    text_weight: float = 0.3
    decay: bool = True
    half_life_days: float = 30.0
    mmr: bool = True
    mmr_lambda: float = 0.7
    tokenizer: Literal["porter", "unicode61"] = "porter"
    match: Literal["any", "all"] = "any"
    grain: Literal["lines", "chunks"] = "lines"

    def _check_ranges(self) -> None:
        _check(self.max_results >= 1, "search.max_results", self.max_results, "at least 1")
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
class SyncSettings(_Checked):
    """When the index is brought up to date, besides `Memory.index`.

    All of it happens in the background, in one thread of a memory and one process at a time: a
    search never waits for it, but for the first one in a new workspace, which is indexed then. What
    `append` writes can be found at once, whatever these settings say. The defaults are the
    reference's, but for `watch`.

    Attributes:
        on_open: Bring an index that is there up to date a quarter of a second after the memory was
            opened; what is opened, used and closed at once pays nothing for it. It is also when
            an index of other settings, or of another embedder that was named, is built anew.
        on_search: Look after a search whether files have changed, and index those; the next search
            finds them. The looks take 3 % of the time at most, and there is one a second at most.
        watch: Watch the files while the memory is open, as `Memory.watch` does for a block. False:
            most memories are open for one conversation, which begins with a look and asks for more
            with each search; watching is for what is open for long, and takes threads.
        debounce_ms: How long a file must have stayed the same before a watched change is indexed.
            One that never comes to rest is indexed once a minute. 1,500, as the reference.
        interval_minutes: Look at this interval as long as the memory is open; 0 is off.
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
    """Transcripts of conversations: what of them is found, and the note that a session leaves.

    They are JSON Lines: OpenClaw's session files, LangChain's `messages_to_dict`, LlamaIndex's
    `ChatMessage` as JSON, or plain ``{"role", "content"}``. What user and assistant said is
    indexed, a line a message, secrets masked; search shows it with the source ``sessions``, and
    notes come first: see `commonplace.retrieval.source_quota`.

    Attributes:
        enabled: Whether transcripts are indexed. Off, as the reference: not everybody who keeps
            notes wants to find again what was said. What no flush could write down after three
            failures is found in any case: it stands in for notes that are missing.
        path: Folder of the transcripts, relative to the workspace unless it is absolute; None is
            ``sessions`` beside the index, where the adapters archive conversations and the flush
            keeps what it could not write down.
        patterns: Which files in it. ``*`` and ``?`` do not go into folders, ``**/`` does:
            ``**/*.jsonl`` is all of them. Names that end with ``.md`` are never transcripts.
        delta_bytes: New bytes after which a transcript that is known is read again, from where the
            last run stopped. 100,000, as the reference: each look makes its last chunk anew. With
            fewer, in both respects, it waits; `status` says so. 0: any change is read. A new file,
            or one that was written anew, is read at once, and ``index(force=True)`` and `close`
            read everything.
        delta_messages: New messages (lines of the file) after which a transcript is read again. 50,
            as the reference; 0: any change is read.
        archive_messages: Messages that `Memory.write_session_note` puts into its note. 15, as the
            reference.
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
    """Vectors that were paid for once.

    Attributes:
        enabled: Whether vectors are kept by the text they were made of.
        max_entries: How many are kept; the least recently written go first.
    """

    enabled: bool = True
    max_entries: int = 50_000

    def _check_ranges(self) -> None:
        _check(self.max_entries >= 0, "cache.max_entries", self.max_entries, "0 or more")


@dataclass(frozen=True, slots=True)
class FlushSettings(_Checked):
    """When a conversation is written down before it is compacted.

    Attributes:
        enabled: Whether conversations are written down before they are compacted.
        context_window: Tokens that the chat model takes when its profile does not say.
        reserve_tokens: Tokens kept free for the model's answer.
        soft_threshold_tokens: How long before the reserve is touched the flush runs.
        transcript_bytes: Size of a transcript that is flushed whatever its tokens; 0 is off.
        deadline_s: Seconds after which a silent turn is given up.
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
class EmbeddingSettings(_Checked):
    """Who makes the vectors, when the call does not say, and how they are asked.

    `model`, `dimensions`, `base_url`, `headers` and `api_key_env` are for `provider`; with
    ``auto``, for the provider that `Memory.open` names. No other one ever gets them.

    Attributes:
        provider: A name that `Memory.open` takes, ``provider:model`` too, or ``auto``.
        model: The provider's model; None is its default. With ``auto``, a folder of a
            sentence-transformers model is the configured local model that comes before all keys.
            Another model is paid for anew; the old vectors answer until the new ones are complete.
        dimensions: Length of the vectors, where the provider lets one choose; None is the model's.
            Shorter ones make a smaller index and faster searches, and answer a little worse.
        base_url: Another endpoint of the same protocol: a proxy, a gateway, a server of one's own.
            The key is sent there.
        headers: Headers sent with each request, for a gateway that wants some; never told.
        api_key_env: The environment variable that holds the key, where it is not the vendor's
            usual one. Keys themselves are no settings: a file of settings is read by many.
        fallback: A provider that is tried once when the first one fails for good while an index
            is built: a refused key, an exhausted quota, or a first run without a single answer.
            The index is then built with it (and paid for, where it costs), and search says so.
            None leaves what could not be embedded to be found by words until a later run.
        batch: Whether runs of at least `batch_min_texts` go through the vendor's batch interface
            (openai, gemini, voyage), which costs about half and takes minutes to hours; until
            then, search is by words, or by the old vectors.
        batch_min_texts: Below it plain requests are done sooner than a job is even begun.
        batch_poll_s: Seconds between two looks at a job. 2, as the reference.
        batch_timeout_minutes: How long a job may take before it is handed in once more, and after
            that given up for plain requests. 60, as the reference; a vendor may take 24 hours.
        timeout_s: Seconds that one request for documents may take. 60: a busy server of one's own
            may need more.
        query_timeout_s: Seconds that a search waits for the vector of its question, tries
            included, before it answers by words. 5: people and agents wait for it.
        concurrency: Requests under way at once; None is the provider's own (4 for services, 1 for
            an object that was passed in, for nobody knows whether threads may share it).
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
    concurrency: int | None = None

    def _check_ranges(self) -> None:
        for name in ("dimensions", "concurrency", "batch_min_texts"):
            value = getattr(self, name)
            _check(value is None or value >= 1, f"embedding.{name}", value, "at least 1")
        for name in ("timeout_s", "query_timeout_s", "batch_poll_s", "batch_timeout_minutes"):
            value = getattr(self, name)
            _check(value > 0, f"embedding.{name}", value, "more than 0")


@dataclass(frozen=True, slots=True)
class ContextSettings(_Checked):
    """How much of the memory goes into a system prompt.

    Attributes:
        file_chars: Characters of one file, at most.
        total_chars: Characters of all files, at most.
    """

    file_chars: int = 20_000
    total_chars: int = 60_000

    def _check_ranges(self) -> None:
        _check(self.file_chars >= 100, "context.file_chars", self.file_chars, "at least 100")
        _check(self.total_chars >= 100, "context.total_chars", self.total_chars, "at least 100")


@dataclass(frozen=True, slots=True)
class Settings(_Checked):
    """All settings of a memory.

    Attributes:
        extra_paths: Files and folders that belong to the memory besides its own; absolute, from
            ``~``, or relative to the workspace.
        timezone: IANA name of the zone whose days the logs are; None is the machine's.
        citations: Whether tools answer with citations: ``auto`` is on in private use.
        compatibility: ``openclaw`` keeps the reference's rules where ours differ and no other
            setting says so: both MEMORY.md and memory.md are read, and only logs directly in
            memory/ that bear nothing but a date are dated.
    """

    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    sync: SyncSettings = field(default_factory=SyncSettings)
    sessions: SessionsSettings = field(default_factory=SessionsSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    flush: FlushSettings = field(default_factory=FlushSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    extra_paths: tuple[str, ...] = ()
    timezone: str | None = None
    citations: Literal["auto", "on", "off"] = "auto"
    compatibility: Literal["none", "openclaw"] = "none"

    def _check_ranges(self) -> None:
        for path in self.extra_paths:
            _check("\0" not in path, "extra_paths", path, "paths without NUL characters")
        if self.timezone is not None:
            _check_timezone(self.timezone)

    @property
    def openclaw_rules(self) -> bool:
        """Whether the reference's own rules apply where the two differ."""
        return self.compatibility == "openclaw"

    @classmethod
    def openclaw(cls) -> Self:
        """Return the settings of OpenClaw build 2026.3.24, by their effect."""
        return cls(
            chunking=ChunkingSettings(measure="chars"),
            search=SearchSettings(
                min_score=0.35,
                decay=False,
                mmr=False,
                tokenizer="unicode61",
                match="all",
                grain="chunks",
            ),
            compatibility="openclaw",
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Self:
        """Read a TOML file of settings; without a path, the default file if there is one.

        Raises:
            SettingsError: The file is missing (when named), is not TOML, or has a name or a value
                that is not a setting.
        """
        if path is None:
            found = default_settings_path()
            if found is None:
                return cls()
            path = found
        source = Path(os.path.expanduser(path))
        try:
            values = tomllib.loads(source.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(
                f"cannot read the settings file {source}: {error.strerror or error}. "
                "Name an existing TOML file, or leave it out for the defaults."
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{source} is not TOML: {error}.") from error
        try:
            return cls.from_mapping(values)
        except SettingsError as error:
            raise SettingsError(f"{source}: {error}") from error

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Build settings from nested mappings of the same names, as a TOML file gives them."""
        return typing.cast(Self, _build(cls, values, prefix=""))


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


def _check(ok: bool, name: str, value: object, expected: str) -> None:
    """Raise a `SettingsError` that says what was found and what was expected."""
    if not ok:
        raise SettingsError(f"{name} is {value!r}; it must be {expected}.")


def _check_timezone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SettingsError(
            f"timezone is {name!r}, which is not a known zone; "
            "use an IANA name such as 'Europe/Paris', or leave it out for the machine's."
        ) from error


def _build(cls: Any, values: Mapping[str, Any], *, prefix: str) -> Any:
    hints = _hints(cls)
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if name not in hints:
            close = difflib.get_close_matches(str(name), hints, n=1)
            hint = f"did you mean {prefix}{close[0]}?" if close else f"known: {', '.join(hints)}."
            raise SettingsError(f"{prefix}{name} is not a setting; {hint}")
        arguments[name] = value
        if dataclasses.is_dataclass(hints[name]):
            _check(isinstance(value, Mapping), f"{prefix}{name}", value, "a table")
            arguments[name] = _build(hints[name], value, prefix=f"{prefix}{name}.")
    return cls(**arguments)


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
