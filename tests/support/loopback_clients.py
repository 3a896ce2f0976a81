"""Vendors' real clients, made by the registry, in front of servers of `loopback_vendors`."""

from __future__ import annotations

import numpy as np

from commonplace.embeddings.registry import select
from commonplace.embeddings.retry import ServiceState
from commonplace.settings import EmbeddingSettings
from support.loopback_vendors import bag_of_words

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


def made(wanted, settings=None):
    """Return the client that the registry makes of a name, or of an object."""
    return select(wanted, settings=settings or EmbeddingSettings(), built_with=None).client


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
    """A provider's name, its server, and clients of it."""

    def __init__(self, name, server):
        self.name = name
        self.server = server
        self.clock = Clock()
        self.clients = []

    def settings(self, **settings):
        """Return settings that name the server, with a secret header for its gateway."""
        given = {
            "provider": self.name,
            "base_url": self.server.base_url,
            "headers": {"X-Gateway": "open-sesame-1234"},
            "api_key_env": KEYS[self.name],
        }
        return EmbeddingSettings(**given | settings)

    def client(self, wanted=None, **settings):
        """Return a client of the registry that never really waits."""
        client = made(wanted or self.name, self.settings(**settings))
        client._remote.service = ServiceState(clock=self.clock, sleep=self.clock.sleep)
        self.clients.append(client)
        return client

    @property
    def secrets(self):
        return KEY, "open-sesame-1234"


def expected(texts, dimension=32):
    """Return the unit rows that a server's answer becomes."""
    matrix = np.array([bag_of_words(text, dimension) for text in texts], dtype=np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
