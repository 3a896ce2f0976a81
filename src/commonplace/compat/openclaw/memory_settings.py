"""Settings of OpenClaw's memory as settings of this package: every key is taken, or named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from commonplace.compat.openclaw.configuration import Agent, Configuration, value_at
from commonplace.compat.openclaw.memory_keys import (
    JOINED_KEYS,
    KEYS_NOT_TAKEN,
    OTHER_KEYS,
    OTHER_KEYS_NOT_TAKEN,
    SEARCH_KEYS,
)
from commonplace.errors import SettingsError
from commonplace.settings import Settings

__all__ = ["MemorySettings", "memory_settings"]

_DEFAULT_MODEL = "hf:ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/embeddinggemma-300m-qat-Q8_0.gguf"
_VENDORS = {
    r"text-embedding-(3|ada)": "openai",
    r"gemini-|embedding-001": "gemini",
    r"voyage-": "voyage",
    r"mistral-": "mistral",
}
_KEYS = {
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "voyage": "VOYAGE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "ollama": "OLLAMA_API_KEY",
}


@dataclass(slots=True)
class MemorySettings:
    """Settings for one agent, as they are taken over.

    Attributes:
        values: Nested values by the names of `Settings`; no secrets.
        headers: Headers of requests, whose values may be secrets.
        taken: Keys that were taken: key, setting.
        left: Keys that were not: key, reason.
    """

    values: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    taken: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)

    def settings(self) -> Settings:
        """Return them, with the headers.

        Raises:
            SettingsError: A value has the wrong type or range.
        """
        embedding = self.values.get("embedding", {})
        if self.headers:
            embedding = {**embedding, "headers": self.headers}
        values = {**self.values, "embedding": embedding} if embedding else self.values
        return Settings.from_mapping(values)

    def put(self, key: str, name: str, value: Any) -> None:
        """Take a value over, where this version has the setting."""
        problem = _problem(name, value)
        if problem:
            self.left.append((key, problem))
            return
        table = self.values
        *tables, last = name.split(".")
        for part in tables:
            table = table.setdefault(part, {})
        table[last] = value
        self.taken.append((key, name))


def memory_settings(configuration: Configuration, agent: Agent) -> MemorySettings:
    """Take the settings of an agent's memory over."""
    return _Conversion(configuration, agent).run()


class _Conversion:
    """Conversion of one agent's configuration."""

    def __init__(self, configuration: Configuration, agent: Agent) -> None:
        self._configuration = configuration
        self._agent = agent
        self._result = MemorySettings({"profile": "openclaw"})
        common = value_at(configuration.root, "agents.defaults.memorySearch")
        own = agent.entry.get("memorySearch")
        self._common, self._own = dict(_leaves(common)), dict(_leaves(own))
        self._keys = {**self._common, **self._own}

    def run(self) -> MemorySettings:
        for key, value in self._keys.items():
            if key in SEARCH_KEYS:
                self._take(f"memorySearch.{key}", *SEARCH_KEYS[key], value)
            elif key not in JOINED_KEYS:
                self._leave(f"memorySearch.{key}", _reason(key, KEYS_NOT_TAKEN))
        self._take_provider()
        self._take_weights()
        self._take_files()
        for key, (name, convert) in OTHER_KEYS.items():
            value = value_at(self._configuration.root, key)
            if value is not None:
                self._take(key, name, convert, value)
        for top, reason in OTHER_KEYS_NOT_TAKEN.items():
            for key, _ in _leaves(value_at(self._configuration.root, top), top):
                if key not in OTHER_KEYS:
                    self._leave(key, reason)
        return self._result

    def _take(self, key: str, name: str, convert: Callable[[Any], Any], value: Any) -> None:
        if isinstance(value, str):
            value, missing = self._configuration.text(value)
            if missing:
                self._leave(key, f"the environment variable {missing} is not set")
                return
        try:
            self._result.put(key, name, convert(value))
        except (TypeError, ValueError, OverflowError):
            self._leave(key, "its value is not one that OpenClaw takes")

    def _leave(self, key: str, reason: str) -> None:
        self._result.left.append((key, reason))

    def _text(self, key: str) -> str:
        value = self._keys.get(key)
        text, missing = self._configuration.text(value) if isinstance(value, str) else ("", None)
        if missing:
            self._leave(f"memorySearch.{key}", f"the environment variable {missing} is not set")
        return "" if missing else text.strip()

    # -- provider --------------------------------------------------------------------------------

    def _take_provider(self) -> None:
        provider, model, base_url = (
            self._text(key) for key in ("provider", "model", "remote.baseUrl")
        )
        if provider == "local" or (not provider and self._model_file()):
            self._put("provider", "embedding.provider", "local")
            self._put("local.modelPath", "embedding.model", self._model_path())
            for key in ("model", "remote.baseUrl", "remote.apiKey", "remote.headers"):
                if key in self._keys:
                    self._leave(f"memorySearch.{key}", "a local model has none")
        else:
            provider = self._take_vendor(provider, model, base_url)
            self._take_secrets(provider)
            if "local.modelPath" in self._keys:
                reason = "the provider is not local, or there is no such file"
                self._leave("memorySearch.local.modelPath", reason)
        if "local.modelCacheDir" in self._keys:
            self._leave("memorySearch.local.modelCacheDir", "a model is looked for there, now")
        fallback = self._text("fallback")
        if fallback:
            named = f"local:{self._model_path()}" if fallback == "local" else fallback
            self._put("fallback", "embedding.fallback", named)

    def _take_vendor(self, provider: str, model: str, base_url: str) -> str:
        if provider in ("", "auto") and model:
            fits = (name for pattern, name in _VENDORS.items() if re.match(pattern, model))
            provider = next(fits, "openai")
        if provider in ("", "auto") and base_url:
            provider = "openai"  # the first that OpenClaw's auto tries
        if provider:
            self._put("provider", "embedding.provider", provider)
        if model:
            self._put("model", "embedding.model", model)
        if base_url:
            parts = urlsplit(base_url)
            if parts.username or parts.password or parts.query:
                self._leave(
                    "memorySearch.remote.baseUrl", "it holds a secret; set embedding.base_url"
                )
            else:
                self._put("remote.baseUrl", "embedding.base_url", base_url)
        return provider

    def _take_secrets(self, provider: str) -> None:
        key = self._keys.get("remote.apiKey")
        variable = _variable(key)
        if variable:
            self._put("remote.apiKey", "embedding.api_key_env", variable)
        elif key is not None:
            named = _KEYS.get(provider, "the vendor's variable, such as OPENAI_API_KEY")
            self._leave("memorySearch.remote.apiKey", f"a secret; set {named} in the environment")
        headers = self._keys.get("remote.headers")
        if isinstance(headers, Mapping):
            for name, value in headers.items():
                text, missing = self._configuration.text(str(value))
                if not missing:
                    self._result.headers[str(name)] = text
            self._leave(
                "memorySearch.remote.headers",
                "its values may be secrets; write them into [embedding.headers] yourself",
            )

    def _model_file(self) -> bool:
        """Return whether a configured model is a file, as OpenClaw's ``auto`` asks."""
        path = self._text("local.modelPath")
        return bool(path) and os.path.isfile(os.path.expanduser(path))

    def _model_path(self) -> str:
        path = self._text("local.modelPath") or _DEFAULT_MODEL
        if not path.startswith("hf:"):
            return os.path.abspath(os.path.expanduser(path))
        folder = os.path.expanduser(self._text("local.modelCacheDir"))
        parts = path.removeprefix("hf:").split("/")
        kept = os.path.join(folder, f"hf_{parts[0]}_{parts[-1]}")
        return kept if folder and os.path.isfile(kept) else path

    # -- the rest --------------------------------------------------------------------------------

    def _take_weights(self) -> None:
        search = self._result.values.setdefault("search", {})
        if self._keys.get("query.hybrid.enabled") is False:
            search["vector_weight"] = 1.0
            self._put("query.hybrid.enabled", "search.text_weight", 0.0)
        elif "query.hybrid.enabled" in self._keys:
            self._result.taken.append(("memorySearch.query.hybrid.enabled", "search.text_weight"))
        if search.get("vector_weight") == 0 and search.get("text_weight") == 0:
            del search["vector_weight"], search["text_weight"]  # OpenClaw's defaults
        chunking = self._result.values.get("chunking", {})
        if "overlap" in chunking:
            chunking["overlap"] = min(chunking["overlap"], chunking.get("tokens", 400) - 1)
        elif chunking.get("tokens", 400) <= 80:
            chunking["overlap"] = chunking["tokens"] - 1
        if not search:
            del self._result.values["search"]

    def _take_files(self) -> None:
        paths = [*_texts(self._common.get("extraPaths")), *_texts(self._own.get("extraPaths"))]
        found = [self._configuration.text(path.strip())[0] for path in paths if path.strip()]
        if found:
            self._put("extraPaths", "extra_paths", list(dict.fromkeys(found)))
        remembers = self._keys.get("experimental.sessionMemory") is True
        if "sessions" in _texts(self._keys.get("sources")) and remembers:
            self._put("sources", "sessions.enabled", True)
            self._put("experimental.sessionMemory", "sessions.path", str(self._agent.sessions))
            return
        for key in ("sources", "experimental.sessionMemory"):
            if key in self._keys:
                self._result.taken.append((f"memorySearch.{key}", "sessions.enabled"))

    def _put(self, key: str, name: str, value: Any) -> None:
        self._result.put(f"memorySearch.{key}", name, value)


def _leaves(values: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values; headers and keys of secrets are values as a whole."""
    for name, value in values.items() if isinstance(values, Mapping) else ():
        key = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping) and name not in ("headers", "apiKey"):
            yield from _leaves(value, key)
        elif value is not None:
            yield key, value


def _reason(key: str, reasons: Mapping[str, str]) -> str:
    for known, reason in reasons.items():
        if key == known or key.startswith(f"{known}."):
            return reason
    return "OpenClaw 2026.3.24 has no such key"


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _variable(value: Any) -> str | None:
    """Return the environment variable that a secret is in; None where it is elsewhere."""
    if isinstance(value, Mapping) and value.get("source") == "env":
        named = value.get("id")
        return named if isinstance(named, str) else None
    found = re.fullmatch(r"\$\{([A-Z_][A-Z0-9_]*)\}", value) if isinstance(value, str) else None
    return found[1] if found else None


def _problem(name: str, value: Any) -> str | None:
    """Return why a value cannot be taken over; None if it can."""
    held: Any = Settings()
    *tables, last = name.split(".")
    for part in tables:
        held = getattr(held, part, None)
    if not hasattr(held, last):
        return f"this version has no {name}"
    if tables == ["chunking"]:
        return None  # its values are fitted to each other later
    wanted: Any = {last: value}
    for part in reversed(tables):
        wanted = {part: wanted}
    try:
        Settings.from_mapping(wanted)
    except SettingsError:  # its message has the value, which may be a secret
        return "its value is not one that OpenClaw takes"
    return None
