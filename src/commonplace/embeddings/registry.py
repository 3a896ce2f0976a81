"""From what a user said to the embedder that is used, and why."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from commonplace.embeddings.base import Embedder, ModelName, Provider, ProviderOptions
from commonplace.embeddings.client import EmbeddingClient
from commonplace.errors import EmbedderError, MissingExtraError
from commonplace.settings import EmbeddingSettings

__all__ = [
    "ProviderEntry",
    "Selection",
    "check_name",
    "fallback_of",
    "for_identity",
    "known_providers",
    "named",
    "select",
]


@dataclass(frozen=True, slots=True)
class Selection:
    """Client of the selected embedder, None for keyword search, and the reason, a sentence."""

    client: EmbeddingClient | None
    reason: str


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """Where a provider is found and what it needs, told without importing it.

    Attributes:
        module: Its module in this package.
        kind: Its class there, constructed with a `ProviderOptions`.
        extra: The extra that installs its client; "" when it needs none.
        packages: Modules that have to be there, as `import` names them.
        keys: Environment variables that may hold its key, the first one that is set counts; none
            where it takes no key.
        rank: The place among those that ``auto`` takes for their key; 0 is never.
    """

    module: str
    kind: str
    extra: str = ""
    packages: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    rank: int = 0

    @property
    def is_installed(self) -> bool:
        """Whether everything it imports is there."""
        return all(map(_is_there, self.packages))

    def api_key_env(self, options: ProviderOptions) -> str | None:
        """The environment variable that holds the key; None when none is set."""
        names = (options.api_key_env,) if options.api_key_env else self.keys
        return next((name for name in names if os.environ.get(name)), None)


_PROVIDERS: dict[str, ProviderEntry] = {
    "bundled": ProviderEntry("bundled", "BundledEmbedder"),
    "sentence-transformers": ProviderEntry(
        "sentence_transformers",
        "SentenceTransformersEmbedder",
        extra="sentence-transformers",
        packages=("sentence_transformers",),
    ),
    "openai": ProviderEntry(
        "openai",
        "OpenAIEmbedder",
        extra="openai",
        packages=("openai",),
        keys=("OPENAI_API_KEY",),
        rank=1,
    ),
    "gemini": ProviderEntry(
        "gemini",
        "GeminiEmbedder",
        extra="gemini",
        packages=("google.genai",),
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        rank=2,
    ),
    "voyage": ProviderEntry(
        "voyage",
        "VoyageEmbedder",
        extra="voyage",
        packages=("voyageai",),
        keys=("VOYAGE_API_KEY",),
        rank=3,
    ),
    "mistral": ProviderEntry(
        "mistral",
        "MistralEmbedder",
        extra="mistral",
        packages=("mistralai.client",),
        keys=("MISTRAL_API_KEY",),
        rank=4,
    ),
    "ollama": ProviderEntry("ollama", "OllamaEmbedder", extra="ollama", packages=("ollama",)),
}
"""The providers by name. An entry is all that another one takes here."""


def known_providers() -> tuple[str, ...]:
    """Return the names that can be asked for."""
    return tuple(sorted(_PROVIDERS))


def check_name(requested: str) -> None:
    """Refuse a ``provider`` or ``provider:model`` of nobody.

    Raises:
        EmbedderError: The name is unknown.
    """
    if requested not in ("auto", "none"):
        _entry(requested.partition(":")[0])


def select(
    requested: str | Embedder | Any | None,
    *,
    settings: EmbeddingSettings,
    built_with: ModelName | None,
) -> Selection:
    """Choose the embedder.

    Args:
        requested: What `Memory.open` was given: ``auto``, ``provider``, ``provider:model``, an
            object, or None for keyword search.
        settings: `EmbeddingSettings.provider` stands in for ``auto``; the rest is for the provider
            that it names, or, where it names none, for the one that is used.
        built_with: What the index was built with; ``auto`` keeps it while it can be had.

    Raises:
        EmbedderError: The name is unknown, or the provider that was named cannot be had.
    """
    if requested is None:
        return Selection(None, "embedder=None: search by keywords")
    if not isinstance(requested, str):
        return Selection(
            EmbeddingClient(requested, settings=settings),
            f"{type(requested).__name__} was passed in",
        )
    if requested == "auto":
        requested = settings.provider
    if requested == "none":
        return Selection(None, "no embedder was asked for: search by keywords")
    if requested == "auto":
        return _automatic(settings, built_with)
    return Selection(named(requested, settings), f"{requested} was named")


def named(requested: str, settings: EmbeddingSettings) -> EmbeddingClient:
    """Make the encoder of a ``provider`` or ``provider:model``.

    Raises:
        EmbedderError: The name is unknown, or the provider cannot be had.
    """
    name, _, model = requested.partition(":")
    options = _options(name, settings)
    return _make(name, replace(options, model=model or options.model), settings)


def fallback_of(settings: EmbeddingSettings) -> Selection | None:
    """Make the encoder of `EmbeddingSettings.fallback`; None when none is set.

    Raises:
        EmbedderError: It cannot be had.
    """
    if settings.fallback is None or settings.fallback == "none":
        return None
    name, _, model = settings.fallback.partition(":")
    same = settings.provider.partition(":")[0] == name
    options = replace(_options(name, settings) if same else _bare(settings), model=model)
    return Selection(_make(name, options, settings), f"{settings.fallback} is the fallback")


def for_identity(
    name: ModelName, dimension: int | None, settings: EmbeddingSettings
) -> EmbeddingClient | None:
    """Make the encoder whose vectors an index holds; None when it cannot be had by name.

    It is asked where the settings say, and nowhere else: whoever has moved to a server of their
    own does not want their questions to go to the vendor any more.
    """
    if name.provider not in _PROVIDERS:
        return None
    asked = _options(name.provider, settings)
    for length in dict.fromkeys((asked.dimensions, dimension, None)):
        options = replace(asked, model=name.model, dimensions=length)
        with contextlib.suppress(EmbedderError):
            client = _make(name.provider, options, settings)
            if client.name == name and _can_be(client.dimension, dimension):
                return client
    return None


def _can_be(made: int | None, needed: int | None) -> bool:
    return None in (made, needed) or made == needed


def _options(name: str, settings: EmbeddingSettings) -> ProviderOptions:
    """What the settings say to a provider: nothing, when they speak of another one."""
    provider, _, model = settings.provider.partition(":")
    if provider not in ("auto", name):
        return _bare(settings)
    return ProviderOptions(
        model=model or settings.model or "",
        dimensions=settings.dimensions,
        base_url=settings.base_url,
        headers=settings.headers,
        api_key_env=settings.api_key_env,
        timeout_s=settings.timeout_s,
    )


def _bare(settings: EmbeddingSettings) -> ProviderOptions:
    return ProviderOptions(timeout_s=settings.timeout_s)


def _entry(name: str) -> ProviderEntry:
    if name not in _PROVIDERS:
        raise EmbedderError(
            f"there is no embedder {name!r}; known are auto, none, "
            f"{', '.join(known_providers())}, each with ':model' if it takes one."
        )
    return _PROVIDERS[name]


def _make(name: str, options: ProviderOptions, settings: EmbeddingSettings) -> EmbeddingClient:
    entry = _entry(name)
    if not entry.is_installed:
        raise MissingExtraError(
            f"the embedder {name} needs the package {', '.join(entry.packages)}: "
            f"pip install 'commonplace[{entry.extra}]'"
        )
    variable = entry.api_key_env(options)
    if entry.keys and variable is None and not options.base_url:
        raise EmbedderError(
            f"{name} needs a key: set the environment variable "
            f"{options.api_key_env or ' or '.join(entry.keys)}."
        )
    kind = getattr(
        importlib.import_module(f"commonplace.embeddings.providers.{entry.module}"), entry.kind
    )
    options = replace(options, api_key_env=variable)
    provider: Provider = kind(options)
    return EmbeddingClient(provider, provider.name, settings=settings, options=options)


def _automatic(settings: EmbeddingSettings, built_with: ModelName | None) -> Selection:
    if built_with is not None and (client := for_identity(built_with, None, settings)):
        return Selection(client, f"auto: the index was built with {client.label}")
    for name, options, why in _candidates(settings):
        with contextlib.suppress(EmbedderError):  # the next one may do
            return Selection(_make(name, options, settings), f"auto: {why}")
    return Selection(
        None,
        "auto: no provider is configured and the bundled vectors (package wordllama) have no wheel "
        "for this platform: search by keywords",
    )


def _candidates(settings: EmbeddingSettings) -> Iterator[tuple[str, ProviderOptions, str]]:
    """Yield what ``auto`` tries, in order.

    Raises:
        EmbedderError: A model is configured that cannot be told to be anybody's.
    """
    if settings.model:
        if not os.path.isdir(os.path.expanduser(settings.model)):
            raise EmbedderError(
                f"embedding.model is {settings.model!r}, which is no folder, and "
                "embedding.provider is 'auto': say whose model it is with embedding.provider."
            )
        options = replace(_bare(settings), model=settings.model)
        yield "sentence-transformers", options, f"the configured model {settings.model}"
    ranked = sorted((entry.rank, name) for name, entry in _PROVIDERS.items() if entry.rank)
    for _, name in ranked:
        entry = _PROVIDERS[name]
        options = replace(_options(name, settings), model="", api_key_env=None)
        if entry.is_installed and (variable := entry.api_key_env(options)):
            yield name, options, f"{variable} is set and the client of {name} is installed"
    yield "bundled", _bare(settings), "no provider is configured: the bundled vectors are used"


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False  # a package above it is missing, or is no package
