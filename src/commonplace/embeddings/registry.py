"""Registry of embedding providers: a name becomes a provider, settings become a selection.

A provider of another package is found through the entry-point group ``commonplace.embedders``: the
name of the entry point is the provider's, its object a class constructed with a `ProviderOptions`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from commonplace.embeddings.base import Embedder, ModelName, Provider, ProviderOptions
from commonplace.embeddings.client import EmbeddingClient
from commonplace.embeddings.foreign_providers import construct_foreign
from commonplace.embeddings.model_files import is_model_file, keep_name
from commonplace.errors import EmbedderError, MissingExtraError
from commonplace.settings import EmbeddingSettings

__all__ = [
    "ENTRY_POINTS",
    "ProviderEntry",
    "Selection",
    "check_name",
    "fallback_of",
    "for_identity",
    "known_providers",
    "select",
]

ENTRY_POINTS = "commonplace.embedders"
"""Entry-point group of the providers of other packages."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Client of the selected embedder, None for keyword search, and the reason, a sentence."""

    client: EmbeddingClient | None
    reason: str


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """Entry of a provider: where it is found and what it needs, known without importing it.

    Attributes:
        path: Its class, ``module:Class``, constructed with a `ProviderOptions`.
        extra: The extra that installs its client; "" when it needs none.
        packages: Modules that it imports.
        keys: Environment variables that may hold its key, the first one that is set counts; none
            where it takes no key.
        rank: Its place among those that ``auto`` takes for their key; 0 is never.
        is_paired: Whether its models score lines better beside the bundled one than alone.
    """

    path: str
    extra: str = ""
    packages: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    rank: int = 0
    is_paired: bool = False

    @property
    def is_installed(self) -> bool:
        """Whether everything it imports is installed."""
        return all(map(_is_installed, self.packages))

    def api_key_env(self, options: ProviderOptions) -> str | None:
        """The environment variable that holds the key; None when none is set."""
        names = (options.api_key_env,) if options.api_key_env else self.keys
        return next((name for name in names if os.environ.get(name)), None)

    def load(self) -> Any:
        """Import the class."""
        module, _, name = self.path.partition(":")
        return functools.reduce(getattr, name.split("."), importlib.import_module(module))


_HERE = "commonplace.embeddings.providers"
_PROVIDERS: dict[str, ProviderEntry] = {
    "bundled": ProviderEntry(f"{_HERE}.bundled:BundledEmbedder"),
    "sentence-transformers": ProviderEntry(
        f"{_HERE}.sentence_transformers:SentenceTransformersEmbedder",
        extra="sentence-transformers",
        packages=("sentence_transformers",),
        is_paired=True,
    ),
    # It finds a runner itself: which one fits depends on the model.
    "local": ProviderEntry(f"{_HERE}.local:LocalEmbedder", extra="local"),
    "openai": ProviderEntry(
        f"{_HERE}.openai:OpenAIEmbedder",
        extra="openai",
        packages=("openai",),
        keys=("OPENAI_API_KEY",),
        rank=1,
    ),
    "gemini": ProviderEntry(
        f"{_HERE}.gemini:GeminiEmbedder",
        extra="gemini",
        packages=("google.genai",),
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        rank=2,
    ),
    "voyage": ProviderEntry(
        f"{_HERE}.voyage:VoyageEmbedder",
        extra="voyage",
        packages=("voyageai",),
        keys=("VOYAGE_API_KEY",),
        rank=3,
    ),
    "mistral": ProviderEntry(
        f"{_HERE}.mistral:MistralEmbedder",
        extra="mistral",
        packages=("mistralai.client",),
        keys=("MISTRAL_API_KEY",),
        rank=4,
    ),
    "ollama": ProviderEntry(f"{_HERE}.ollama:OllamaEmbedder", extra="ollama", packages=("ollama",)),
}
"""Providers of this package by name; a further one is a further row."""


@functools.cache
def _provided_by_packages() -> dict[str, ProviderEntry]:
    """Return the providers of other packages; slow to find, so they are looked up once."""
    from importlib.metadata import entry_points

    return {
        point.name: ProviderEntry(f"{point.module}:{point.attr}")
        for point in entry_points(group=ENTRY_POINTS)
    }


def known_providers() -> tuple[str, ...]:
    """Return the names that can be requested."""
    return tuple(sorted({*_PROVIDERS, *_provided_by_packages()}))


def check_name(requested: str) -> None:
    """Check the provider in a ``provider`` or ``provider:model``.

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
    pairs: bool = False,
) -> Selection:
    """Select the embedder, from these arguments and the environment alone.

    Args:
        requested: The argument of `Memory.open`: ``auto``, ``provider``, ``provider:model``, an
            object, or None for keyword search.
        settings: `EmbeddingSettings.provider` takes the place of ``auto``; the rest is for the
            provider that it names, or, where it names none, for the selected one.
        built_with: Name of the index's vectors; ``auto`` keeps their provider while it is usable.
        pairs: Whether a local model stands beside the bundled one, where that is installed.

    Raises:
        EmbedderError: The name is unknown, or the provider that was named is not usable.
    """
    if requested is None:
        return Selection(None, "embedder=None: search by keywords")
    if not isinstance(requested, str):
        client = EmbeddingClient(requested, settings=settings)
        return Selection(client, f"{type(requested).__name__} was passed in")
    if requested == "auto":
        requested = settings.provider
    if requested == "none":
        return Selection(None, "no embedder was asked for: search by keywords")
    if requested == "auto":
        return _automatic(settings, built_with, pairs)
    name, _, model = requested.partition(":")
    options = _options(name, settings)
    options = replace(options, model=model or options.model)
    client = _make(name, options, settings, pairs)
    keep_name(client, built_with)
    return Selection(client, f"{requested} was named")


def fallback_of(settings: EmbeddingSettings, pairs: bool = False) -> Selection | None:
    """Select the embedder of `EmbeddingSettings.fallback`; None when none is set.

    Raises:
        EmbedderError: It is not usable.
    """
    if settings.fallback is None or settings.fallback == "none":
        return None
    name, _, model = settings.fallback.partition(":")
    same = settings.provider.partition(":")[0] == name
    options = replace(_options(name, settings) if same else _bare(settings), model=model)
    return Selection(_make(name, options, settings, pairs), f"{settings.fallback} is the fallback")


def for_identity(
    name: ModelName, dimension: int | None, settings: EmbeddingSettings, pairs: bool = False
) -> EmbeddingClient | None:
    """Return a client whose vectors are those of an index; None when no provider makes them.

    Its requests go to the endpoint of the settings and to no other: after a move to a server of
    one's own, queries are not sent to the vendor any more.
    """
    if _find(name.provider) is None:
        return None
    given = _options(name.provider, settings)
    for length in dict.fromkeys((given.dimensions, dimension, None)):
        options = replace(given, model=name.model, dimensions=length)
        with contextlib.suppress(EmbedderError):
            client = _make(name.provider, options, settings, pairs)
            lengths = {client.dimension, dimension} - {None}
            if client.name == name and len(lengths) < 2:
                return client
    return None


def _options(name: str, settings: EmbeddingSettings) -> ProviderOptions:
    """Return the options of the settings, or none of them where they are another provider's."""
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
        threads=settings.threads,
    )


def _bare(settings: EmbeddingSettings) -> ProviderOptions:
    return ProviderOptions(timeout_s=settings.timeout_s, threads=settings.threads)


def _find(name: str) -> ProviderEntry | None:
    return _PROVIDERS.get(name) or _provided_by_packages().get(name)


def _entry(name: str) -> ProviderEntry:
    entry = _find(name)
    if entry is None:
        raise EmbedderError(
            f"there is no embedder {name!r}; known are auto, none, "
            f"{', '.join(known_providers())}, each with ':model' if it takes one."
        )
    return entry


def _make(
    name: str, options: ProviderOptions, settings: EmbeddingSettings, pairs: bool
) -> EmbeddingClient:
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
    options = replace(options, api_key_env=variable)
    provider = _construct(name, entry, options)
    if pairs and entry.is_paired:
        from commonplace.embeddings.providers.paired import beside_bundled

        provider = beside_bundled(provider)
    return EmbeddingClient(provider, provider.name, settings=settings, options=options)


def _construct(name: str, entry: ProviderEntry, options: ProviderOptions) -> Provider:
    if name in _PROVIDERS:
        provider: Provider = entry.load()(options)
        return provider
    return construct_foreign(name, entry.path, lambda: entry.load()(options))


def _automatic(settings: EmbeddingSettings, built_with: ModelName | None, pairs: bool) -> Selection:
    if built_with is not None and (client := for_identity(built_with, None, settings, pairs)):
        return Selection(client, f"auto: the index was built with {client.label}")
    if settings.model and is_model_file(settings.model):
        # An error of a model that was configured is raised: its notes are meant for no vendor.
        options = replace(_bare(settings), model=settings.model)
        client = _make("local", options, settings, pairs)
        keep_name(client, built_with)
        return Selection(client, f"auto: the configured model {settings.model}")
    for name, options, why in _candidates(settings):
        with contextlib.suppress(EmbedderError):  # the next one may be usable
            return Selection(_make(name, options, settings, pairs), f"auto: {why}")
    return Selection(
        None,
        "auto: no provider is configured and the bundled vectors (package wordllama) have no wheel "
        "for this platform: search by keywords",
    )


def _candidates(settings: EmbeddingSettings) -> Iterator[tuple[str, ProviderOptions, str]]:
    """Yield the providers that ``auto`` tries, in order.

    Raises:
        EmbedderError: The model of the settings is not here, so its provider is not known.
    """
    if settings.model:
        if not os.path.isdir(os.path.expanduser(settings.model)):
            raise EmbedderError(
                f"embedding.model is {settings.model!r}, which is no folder and no file, and "
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


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False  # a package above it is missing, or is no package
