"""Real clients against servers on the loopback interface; nothing else can be reached."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from commonplace.embeddings.batching import Service
from commonplace.embeddings.registry import choose
from commonplace.settings import EmbeddingSettings
from loopback_vendors import LoopbackVendor, bag_of_words

CLIENTS = {
    "gemini": "google.genai",
    "mistral": "mistralai.client",
    "ollama": "ollama",
    "openai": "openai",
    "voyage": "voyageai",
}
KEYS = {
    "gemini": "GEMINI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "ollama": "OLLAMA_API_KEY",
    "openai": "OPENAI_API_KEY",
    "voyage": "VOYAGE_API_KEY",
}
OTHER_VARIABLES = (
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "OLLAMA_HOST",
    "OPENAI_BASE_URL",
)
KEY = "sk-4f9a0c77d1e2b8"


def pytest_collection_modifyitems(items):
    here = [item for item in items if "vendors" in item.path.parts]
    for item in here:
        item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for variable in (*KEYS.values(), *OTHER_VARIABLES):
        monkeypatch.delenv(variable, raising=False)


class Clock:
    """A clock that sleeping puts forward, and that remembers for how long it was slept."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


class Vendor:
    """A provider's name, its server, and encoders that ask it."""

    def __init__(self, name, server, monkeypatch):
        self.name = name
        self.server = server
        self.clock = Clock()
        self._monkeypatch = monkeypatch

    def settings(self, **settings):
        """Return settings that name the server, with a secret header for its gateway."""
        given = {
            "provider": self.name,
            "base_url": self.server.base_url,
            "headers": {"X-Gateway": "open-sesame-1234"},
            "key_variable": KEYS[self.name],
        }
        return EmbeddingSettings(**given | settings)

    def encoder(self, wanted=None, **settings):
        """Return an encoder of the registry that never really waits."""
        chosen = choose(wanted or self.name, settings=self.settings(**settings), built_with=None)
        service = Service(clock=self.clock, sleep=self.clock.sleep)
        chosen.encoder._service = chosen.encoder._impatient._service = service
        return chosen.encoder

    @property
    def secrets(self):
        return KEY, "open-sesame-1234"


@pytest.fixture(params=sorted(CLIENTS))
def vendor(request, monkeypatch):
    pytest.importorskip(CLIENTS[request.param], reason=f"commonplace[{request.param}] is missing")
    yield from _vendor(request.param, monkeypatch)


@pytest.fixture(params=["gemini", "openai", "voyage"])
def batching_vendor(request, monkeypatch):
    pytest.importorskip(CLIENTS[request.param], reason=f"commonplace[{request.param}] is missing")
    yield from _vendor(request.param, monkeypatch)


def _vendor(name, monkeypatch):
    importlib.import_module(CLIENTS[name])  # not within a deadline
    monkeypatch.setenv(KEYS[name], KEY)
    with LoopbackVendor(name) as server:
        yield Vendor(name, server, monkeypatch)


def expected(texts, dimension=32):
    """Return the unit rows that a server's answer becomes."""
    matrix = np.array([bag_of_words(text, dimension) for text in texts], dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
