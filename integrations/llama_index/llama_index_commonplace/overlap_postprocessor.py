"""`OverlapPostprocessor`: nodes of one file that share lines, merged into one."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from commonplace.tools import MergedPassage, Passage, merge_passages, shown_path
from llama_index_commonplace.nodes import MemoryNode

__all__ = ["OverlapPostprocessor"]


class OverlapPostprocessor(BaseNodePostprocessor):
    """Node postprocessor that merges the nodes of one file that share lines.

    ::

        nodes = [node for query in queries for node in retriever.retrieve(query)]
        nodes = OverlapPostprocessor().postprocess_nodes(nodes, query_str=query)

    Answers to several queries have passages of one file that begin and end elsewhere. A model would
    read the lines that they share more than once. A merged node has each line once, the place and
    the score of the best of its nodes, and the citation of all lines. Nodes of other retrievers
    stay. Queries of one `QueryFusionRetriever` need no merging: `CommonplaceRetriever` returns
    each line to them once.
    """

    @classmethod
    def class_name(cls) -> str:
        """Return the class name for LlamaIndex's serialization."""
        return "CommonplaceOverlapPostprocessor"

    def _postprocess_nodes(
        self,
        nodes: list[NodeWithScore],
        query_bundle: QueryBundle | None = None,  # noqa: ARG002 - LlamaIndex passes it
    ) -> list[NodeWithScore]:
        positions = [
            place for place, found in enumerate(nodes) if isinstance(found.node, MemoryNode)
        ]
        merged = merge_passages(_passage(nodes[place]) for place in positions)
        kept = {place: nodes[place] for place in range(len(nodes)) if place not in positions}
        for passage in merged:
            members = [nodes[positions[member]] for member in passage.members]
            kept[positions[passage.members[0]]] = _merged_node(passage, members)
        return [kept[place] for place in sorted(kept)]


def _passage(found: NodeWithScore) -> Passage:
    metadata = found.node.metadata
    return Passage(metadata["path"], metadata["start_line"], found.text)


def _merged_node(passage: MergedPassage, members: Sequence[NodeWithScore]) -> NodeWithScore:
    best = members[0]
    if len(members) == 1:
        return best
    lines = sorted(passage.lines)
    place = {
        "citation": shown_path(passage.citation),
        "start_line": lines[0],
        "end_line": lines[-1],
    }
    first = min(members, key=lambda member: member.node.metadata["start_line"]).node.metadata
    above = {"heading": first["heading"], "context": first["context"]}
    update = {
        "id_": passage.citation,
        "text": passage.text,
        "metadata": best.node.metadata | place | above,
        "excluded_llm_metadata_keys": [
            name for name in best.node.excluded_llm_metadata_keys if not above.get(name)
        ],
    }
    return NodeWithScore(node=best.node.model_copy(update=update), score=best.score)
