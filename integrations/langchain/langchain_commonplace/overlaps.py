"""`merge_overlaps`: documents of one file that share lines, merged into one."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from commonplace.tools import MergedPassage, Passage, merge_passages, shown_path

__all__ = ["merge_overlaps"]


def merge_overlaps(documents: Sequence[Document]) -> list[Document]:
    """Merge the documents of one file that share lines.

    ::

        retriever = MultiQueryRetriever.from_llm(CommonplaceRetriever(memory=memory), llm=model)
        documents = (retriever | merge_overlaps).invoke(question)

    Several queries find passages of one file that begin and end elsewhere. A merged document has
    each line once, the place and the scores of the best of its documents, and the citation of all
    lines. Documents of other retrievers stay.

    Args:
        documents: Documents of one or more queries, best first.
    """
    positions = [place for place, found in enumerate(documents) if "start_line" in found.metadata]
    kept = {place: found for place, found in enumerate(documents) if place not in positions}
    for passage in merge_passages(_passage(documents[place]) for place in positions):
        members = [documents[positions[member]] for member in passage.members]
        kept[positions[passage.members[0]]] = _merged(passage, members)
    return [kept[place] for place in sorted(kept)]


def _passage(document: Document) -> Passage:
    metadata = document.metadata
    return Passage(metadata["path"], metadata["start_line"], document.page_content)


def _merged(passage: MergedPassage, members: Sequence[Document]) -> Document:
    best = members[0]
    if len(members) == 1:
        return best
    first = min(members, key=lambda member: member.metadata["start_line"]).metadata
    metadata = best.metadata | {
        "citation": shown_path(passage.citation),
        "start_line": min(passage.lines),
        "end_line": max(passage.lines),
        "heading": first["heading"],
        "context": first["context"],
    }
    return Document(id=passage.citation, page_content=passage.text, metadata=metadata)
