"""`MemoryNode`: a search result as a LlamaIndex node."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from commonplace import Explanation, SearchResult
from commonplace.tools import passage_day, passage_id, quoted_context, quoted_snippet, shown_path

__all__ = ["RESULT_KEYS", "UNDATED", "MemoryNode", "scored_node"]

UNDATED = "1970-01-01"
"""Date of notes without a day; postprocessors sort None before the newest day."""

_LEFT_OUT = ("age_days", "decay", "day")
"""Parts of a score that change with the clock, by which metadata would break a cache; and the day,
which is the ``date``."""

RESULT_KEYS = frozenset(
    {"citation", "heading", "context", "start_line", "end_line", "origin", "session"}
    | {field.name for field in dataclasses.fields(Explanation)}.difference(_LEFT_OUT)
)
"""Keys of metadata that tell of a result: no filter can go by them, which selects files."""


class MemoryNode(TextNode):
    """Snippet of the memory, whose id is its citation, ``path#L3-L9``.

    Parts of one long line share a citation; a digest of the text makes their ids unique.

    The hash covers the place and the text. The hash of a plain `TextNode` also covers the metadata,
    whose scores differ from query to query: `QueryFusionRetriever`, which compares hashes, would
    return a snippet twice that two queries found.

    For one query and one state of the notes, the metadata is the same at any time: ``date`` is the
    day of a log or a message, and no value follows the clock. Notes without a day have `UNDATED`, a
    day before all others, so that `FixedRecencyPostprocessor` puts them last. The note's front
    matter is there, too, under the keys that are not taken.
    """

    @property
    def hash(self) -> str:
        """SHA-256 of the place and the text."""
        identity = f"{self.id_}\n{self.text}"
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def scored_node(result: SearchResult, *, cited: bool = True) -> NodeWithScore:
    """Return a search result as a node.

    Args:
        result: The result; the scores of its explanation, if it has one, become metadata.
        cited: Whether a model that reads the node with its metadata sees the citation.
    """
    metadata = _metadata(result)
    shown = [name for name in ("citation", "heading", "context") if metadata[name]]
    node = MemoryNode(
        id_=passage_id(result),
        text=quoted_snippet(result),
        extra_info=metadata,  # the alias of `metadata`, which type checkers ask for
        excluded_llm_metadata_keys=[
            name for name in metadata if name not in shown or (name == "citation" and not cited)
        ],
        excluded_embed_metadata_keys=list(metadata),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=result.path)},
    )
    return NodeWithScore(node=node, score=result.score)


def _metadata(result: SearchResult) -> dict[str, Any]:
    """Return a result's metadata as texts and numbers: vector stores accept nothing else."""
    parts: dict[str, Any] = {}
    if result.explanation:
        parts = dataclasses.asdict(result.explanation)
        parts = {name: part for name, part in parts.items() if name not in _LEFT_OUT}
        parts["terms"] = " ".join(parts["terms"])
        parts["supersessions"] = "; ".join(map(str, result.explanation.supersessions))
    own = {
        "citation": shown_path(result.citation),
        "heading": result.heading,
        "context": quoted_context(result),
        "path": result.path,
        "start_line": result.start_line,
        "end_line": result.end_line,
        "source": result.source,
        "date": passage_day(result) or UNDATED,
        "origin": result.origin.author,
        "session": result.origin.session,
        **parts,
    }
    return own | {key: _flat(value) for key, value in result.metadata.items() if key not in own}


def _flat(value: Any) -> Any:
    """Return a value of front matter as a text or a number: a list of texts is joined."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
