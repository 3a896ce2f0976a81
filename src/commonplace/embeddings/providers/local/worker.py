"""Worker that runs one model: lines of JSON in, a line of JSON and rows of float32 out.

It is started by its path and imports nothing of this package, only the runner and numpy.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

Embed = Callable[[list[str]], Any]


def _llama_cpp(model: dict[str, Any]) -> Embed:
    import llama_cpp

    context = model["context"]
    llama = llama_cpp.Llama(
        model["path"],
        embedding=True,
        n_ctx=context,
        # A text is computed as one batch: attention goes both ways.
        n_batch=context,
        n_ubatch=context,
        n_threads=model["threads"],
        n_threads_batch=model["threads"],
        n_gpu_layers=-1,
        verbose=False,
    )
    return lambda texts: llama.embed(texts, normalize=False, truncate=True)


def _ggmbed(model: dict[str, Any]) -> Embed:
    import ggmbed

    encoder = ggmbed.Embedder(
        model["path"],
        tokenizer_path="",
        do_lower_case=False,
        num_threads=model["threads"],
        cls_token_id=model["first"],
        sep_token_id=model["last"],
        pooling_mode=model["pooling"],
    )
    longest = min(model["context"], 512)
    return lambda texts: encoder.encode(texts, max_length=longest, normalize=False)


_RUNNERS: dict[str, Callable[[dict[str, Any]], Embed]] = {
    "ggmbed": _ggmbed,
    "llama_cpp": _llama_cpp,
}


def main() -> None:
    """Load the model of the first line; answer each further line until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the parent
    # What libraries print goes to standard error; answers go where standard output went.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    embed: Embed | None = None
    for line in sys.stdin.buffer:
        message = json.loads(line)
        data = b""
        try:
            if embed is None:
                embed = _RUNNERS[message["runner"]](message)
                answer: dict[str, Any] = {"loaded": True}
            else:
                rows = _rows(embed(message["texts"]))
                answer, data = {"shape": rows.shape}, rows.tobytes()
        except Exception as error:  # noqa: BLE001 - a runner raises what it likes
            answer = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        out.write(json.dumps(answer).encode() + b"\n" + data)
        out.flush()


def _rows(vectors: Any) -> Any:
    """Return one row a text; a model without pooling gives one a token, of which the mean is."""
    import numpy as np

    rows = [np.atleast_2d(np.asarray(vector, dtype="<f4")).mean(axis=0) for vector in vectors]
    return np.stack(rows).astype("<f4")


if __name__ == "__main__":
    main()
