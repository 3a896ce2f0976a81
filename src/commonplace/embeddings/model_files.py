"""Model files among embedders: how they are recognised, and what a moved one is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.embeddings.base import ModelName
    from commonplace.embeddings.client import EmbeddingClient

__all__ = ["is_model_file", "keep_name"]


def is_model_file(model: str) -> bool:
    """Return whether ``auto`` takes a configured model for a local one: a file, or ``hf:``."""
    return model.startswith("hf:") or os.path.isfile(os.path.expanduser(model))


def keep_name(client: EmbeddingClient, built_with: ModelName | None) -> None:
    """Keep an index's name for a model file that was moved: its content is its endpoint."""
    name = client.name
    if built_with is not None and name.provider == "local" == built_with.provider:
        client.name = built_with if built_with.endpoint == name.endpoint else name
