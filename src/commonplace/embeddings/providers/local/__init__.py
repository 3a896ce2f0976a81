"""Local models in GGUF files (extra ``local``), run by llama.cpp on this machine."""

from commonplace.embeddings.providers.local.embedder import LocalEmbedder

__all__ = ["LocalEmbedder"]
