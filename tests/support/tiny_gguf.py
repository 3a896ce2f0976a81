"""A real GGUF embedding model of 107 KB: BERT with fixed random weights, for llama.cpp."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

CONTEXT = 128
DIMENSION = 32
_FORWARD, _LAYERS, _HEADS = 64, 2, 2
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def write_model(
    path: Path, *, name: str = "tiny", seed: int = 0, architecture: str = "bert", pooling: int = 1
) -> Path:
    """Write a model; another architecture or pooling makes one that embeds no texts.

    Args:
        path: The file.
        name: Its name in the metadata, by which it gets its prompts.
        seed: Weights.
        architecture: Architecture in the metadata; the tensors are BERT's.
        pooling: Number of the pooling; -1 leaves it out.
    """
    letters = [chr(code) for code in range(33, 127)]
    # llama.cpp marks the beginnings of words, and not their continuations.
    tokens = [*_SPECIAL, *("\u2581" + letter for letter in letters), *map(chr, range(97, 123))]
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name(name)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIMENSION)
    writer.add_feed_forward_length(_FORWARD)
    writer.add_block_count(_LAYERS)
    writer.add_head_count(_HEADS)
    writer.add_layer_norm_eps(1e-12)
    if pooling >= 0:
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType(pooling))
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(2)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in _SPECIAL else 1 for token in tokens])
    writer.add_token_scores([-1000.0] * len(tokens))
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_sep_token_id(3)
    writer.add_eos_token_id(3)
    writer.add_mask_token_id(4)
    for tensor, values in _tensors(len(tokens), np.random.default_rng(seed)):
        writer.add_tensor(tensor, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(words, random):
    def weights(*shape):
        return random.standard_normal(shape) / np.sqrt(shape[-1])

    yield "token_embd.weight", weights(words, DIMENSION)
    yield "position_embd.weight", weights(CONTEXT, DIMENSION)
    yield "token_types.weight", weights(2, DIMENSION)
    yield from _norm("token_embd_norm")
    for layer in range(_LAYERS):
        block = f"blk.{layer}."
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"{block}{part}.weight", weights(DIMENSION, DIMENSION)
            yield f"{block}{part}.bias", np.zeros(DIMENSION)
        yield f"{block}ffn_up.weight", weights(_FORWARD, DIMENSION)
        yield f"{block}ffn_up.bias", np.zeros(_FORWARD)
        yield f"{block}ffn_down.weight", weights(DIMENSION, _FORWARD)
        yield f"{block}ffn_down.bias", np.zeros(DIMENSION)
        yield from _norm(f"{block}attn_output_norm")
        yield from _norm(f"{block}layer_output_norm")


def _norm(name):
    yield f"{name}.weight", np.ones(DIMENSION)
    yield f"{name}.bias", np.zeros(DIMENSION)
