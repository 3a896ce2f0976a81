"""`CommonplaceRetriever` by itself, and in what LlamaIndex builds of retrievers."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.base.response.schema import Response
from llama_index.core.bridge.pydantic import Field
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.retrieval import (
    RetrievalEndEvent,
    RetrievalStartEvent,
)
from llama_index.core.postprocessor import LongContextReorder, SimilarityPostprocessor
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever, RouterRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import RetrieverTool

from commonplace import Settings
from llama_index_commonplace import CommonplaceRetriever, MemoryNode
from support.fakes import NOON

QUESTION = "What was wrong in SLIP-431?"
ANSWER = "off-by-one"


def texts(nodes):
    return [(node.node.node_id, node.score, node.node.text) for node in nodes]


def test_nodes_are_the_results_of_the_search(memory):
    nodes = CommonplaceRetriever(memory, similarity_top_k=4).retrieve(QUESTION)
    results = memory.search(QUESTION, max_results=4)
    assert texts(nodes) == [(hit.citation, hit.score, hit.snippet) for hit in results]
    assert ANSWER in nodes[0].node.text
    assert nodes[0].node.ref_doc_id == results[0].path


def test_a_model_reads_the_header_above_a_row_of_a_table(memory, notes):
    table = "| service | port |\n|---|---|\n" + "".join(
        f"| service{number} | {5000 + number} |\n" for number in range(300)
    )
    (notes / "memory/ports.md").write_text(table)
    memory.index()
    [node, *_] = CommonplaceRetriever(memory).retrieve("port of service222")
    assert "service222" in node.node.text
    assert "| service | port |\n|---|---|" in node.node.get_content(MetadataMode.LLM)
    assert node.node.get_content(MetadataMode.EMBED) == node.node.text


def test_the_metadata_says_where_a_snippet_stands_and_what_made_its_score(memory):
    [node, *_] = CommonplaceRetriever(memory).retrieve(QUESTION)
    [result, *_] = memory.search(QUESTION, explain=True)
    parts = result.explanation
    assert node.node.metadata == {
        "citation": result.citation,
        "heading": result.heading,
        "context": result.context,
        "path": result.path,
        "start_line": result.start_line,
        "end_line": result.end_line,
        "source": "memory",
        "origin": "user",
        "score": result.score,
        "vector": parts.vector,
        "keyword": parts.keyword,
        "fused": parts.fused,
        "age_days": parts.age_days,
        "decay": parts.decay,
        "mmr": parts.mmr,
        "rerank": parts.rerank,
        "terms": " ".join(parts.terms),
        "supersessions": "",
    }
    assert all(
        value is None or isinstance(value, str | int | float)
        for value in node.node.metadata.values()
    )


def test_a_model_is_shown_the_citation_and_the_heading_and_an_embedder_neither(memory):
    [node, *_] = CommonplaceRetriever(memory).retrieve(QUESTION)
    head, text = node.node.get_content(MetadataMode.LLM).split("\n\n", 1)
    assert head.split("\n") == [
        f"citation: {node.node.node_id}",
        f"heading: {node.node.metadata['heading']}",
    ]
    assert text == node.node.text.strip()
    assert node.node.get_content(MetadataMode.EMBED) == node.node.text


def test_a_model_is_shown_no_citation_where_citations_are_off(open_memory):
    memory = open_memory(settings=Settings(citations="off"))
    [node, *_] = CommonplaceRetriever(memory).retrieve(QUESTION)
    assert "#L" not in node.node.get_content(MetadataMode.LLM)
    assert node.node.metadata["citation"] == node.node.node_id


def test_what_limits_a_search_limits_the_nodes(memory):
    def paths(**options):
        nodes = CommonplaceRetriever(memory, **options).retrieve("backup of the database")
        return [node.node.metadata["path"] for node in nodes]

    everything = paths(similarity_top_k=50, min_score=0)
    day = (NOON - timedelta(days=7)).date()
    assert len(everything) > 5
    assert len(paths(k=3, min_score=0)) == 3
    assert paths(similarity_top_k=50, min_score=1.0) == []
    assert paths(sources=["sessions"]) == []
    assert all(path >= f"memory/{day}" for path in paths(k=50, min_score=0, after=day))
    assert all(path < f"memory/{day}x" for path in paths(k=50, min_score=0, before=str(day)))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"similarity_top_k": 0}, "similarity_top_k is 0; it must be 1 or more"),
        ({"k": -1}, "similarity_top_k is -1"),
        ({"k": 3, "similarity_top_k": 4}, "give one"),
        ({"min_score": 1.5}, "min_score is 1.5; it must be between 0 and 1"),
    ],
)
def test_a_wrong_limit_is_told_at_once(memory, options, told):
    with pytest.raises(ValueError, match=told):
        CommonplaceRetriever(memory, **options)


async def test_the_async_form_gives_the_same_nodes(memory):
    retriever = CommonplaceRetriever(memory, k=4)
    assert texts(await retriever.aretrieve(QUESTION)) == texts(retriever.retrieve(QUESTION))


def test_a_query_bundle_is_searched_by_what_was_asked(memory):
    bundle = QueryBundle(QUESTION, custom_embedding_strs=["a made-up answer"], embedding=[0.0])
    retriever = CommonplaceRetriever(memory)
    assert texts(retriever.retrieve(bundle)) == texts(retriever.retrieve(QUESTION))


def test_nodes_survive_being_printed_and_read_as_json(memory):
    [node, *_] = CommonplaceRetriever(memory).retrieve(QUESTION)
    for kind in (MemoryNode, TextNode):
        again = kind.from_dict(json.loads(json.dumps(node.node.to_dict())))
        assert again.model_dump() == node.node.model_dump()


async def test_a_retrieval_is_told_to_instrumentation(memory):
    class Events(BaseEventHandler):
        seen: list = Field(default_factory=list)

        def handle(self, event, **_):
            self.seen.append(event)

    events, root = Events(), get_dispatcher()
    root.add_event_handler(events)
    try:
        CommonplaceRetriever(memory).retrieve(QUESTION)
        await CommonplaceRetriever(memory).aretrieve(QUESTION)
    finally:
        root.event_handlers.remove(events)
    kinds = [type(event) for event in events.seen]
    assert kinds == [RetrievalStartEvent, RetrievalEndEvent] * 2
    assert ANSWER in events.seen[1].nodes[0].node.text


def the_line_with(word):
    """Return a model's step: it answers with the line of its prompt that holds the word."""

    def step(messages):
        lines = "\n".join(message.content for message in messages).split("\n")
        return next(line for line in lines if word in line)

    return step


async def test_a_query_engine_answers_from_the_notes(memory, scripted):
    llm = scripted(the_line_with(ANSWER))
    engine = RetrieverQueryEngine.from_args(CommonplaceRetriever(memory=memory), llm=llm)
    for response in (engine.query(QUESTION), await engine.aquery(QUESTION)):
        assert isinstance(response, Response)
        assert "SLIP-431 was an off-by-one" in response.response
        top = response.source_nodes[0].node
        line = top.metadata["start_line"] + top.text.split("\n").index(response.response)
        assert memory.get(top.metadata["path"], from_line=line, lines=1).text == response.response
    [prompt] = [message.content for message in llm.asked[0][0] if message.role == "user"]
    assert f"citation: {top.node_id}" in prompt
    assert "keyword" not in prompt
    assert "start_line" not in prompt


async def test_a_citation_query_engine_numbers_the_snippets(memory, scripted):
    llm = scripted(lambda messages: "It was an off-by-one [1].")
    retriever = CommonplaceRetriever(memory, similarity_top_k=3, min_score=0)
    engine = CitationQueryEngine.from_args(index=None, retriever=retriever, llm=llm)
    for response in (engine.query(QUESTION), await engine.aquery(QUESTION)):
        first = response.source_nodes[0].node
        assert first.text.startswith("Source 1:\n")
        assert ANSWER in first.text
        assert first.metadata["citation"].startswith("memory/2026-11-18.md#L")
        assert len(response.source_nodes) >= 3
    prompt = "\n".join(message.content for message in llm.asked[0][0])
    assert "Source 1:" in prompt
    assert "Source 3:" in prompt


class Fixed(BaseRetriever):
    """Finds the same nodes for every question."""

    def __init__(self, *nodes):
        super().__init__()
        self.nodes = nodes

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=0.4) for node in self.nodes]


MANUAL = TextNode(id_="manual", text="SLIP-431 is a ticket number.")


async def test_a_router_sends_a_question_to_the_memory(memory, scripted):
    llm = scripted('[{"choice": 2, "reason": "it is about past work"}]')
    router = RouterRetriever(
        LLMSingleSelector.from_defaults(llm=llm),
        [
            RetrieverTool.from_defaults(Fixed(MANUAL), description="the manual"),
            RetrieverTool.from_defaults(
                CommonplaceRetriever(memory), description="notes of earlier work"
            ),
        ],
        llm=llm,
    )
    expected = texts(CommonplaceRetriever(memory).retrieve(QUESTION))
    assert texts(router.retrieve(QUESTION)) == expected
    assert texts(await router.aretrieve(QUESTION)) == expected


@pytest.mark.parametrize(
    "mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"]
)
async def test_the_memory_is_one_leg_of_a_fusion(memory, scripted, mode):
    llm = scripted("SLIP-431\noff-by-one in SLIP-431\n")
    fusion = QueryFusionRetriever(
        [CommonplaceRetriever(memory, k=5, min_score=0), Fixed(MANUAL)],
        llm=llm,
        mode=mode,
        num_queries=3,
        similarity_top_k=20,
        use_async=False,
    )
    for nodes in (fusion.retrieve(QUESTION), await fusion.aretrieve(QUESTION)):
        ids = [node.node.node_id for node in nodes]
        assert len(ids) == len(set(ids))
        assert "manual" in ids
        assert any(ANSWER in node.node.text for node in nodes)


def test_a_snippet_that_two_queries_find_is_one_node_of_a_fusion(memory, scripted):
    """Reciprocal ranks are summed by the nodes' hashes."""
    fusion = QueryFusionRetriever(
        [CommonplaceRetriever(memory, k=3)],
        llm=scripted("SLIP-431?"),
        mode="reciprocal_rerank",
        num_queries=2,
        use_async=False,
    )
    [best, *_] = fusion.retrieve("SLIP-431")
    assert ANSWER in best.node.text
    assert best.score == pytest.approx(2 / 60)


def test_the_hash_is_that_of_the_place_and_the_text():
    one = MemoryNode(id_="MEMORY.md#L3", text="a", metadata={"vector": 0.1})
    same = MemoryNode(id_="MEMORY.md#L3", text="a", metadata={"vector": 0.9})
    other = MemoryNode(id_="MEMORY.md#L4", text="a", metadata={"vector": 0.1})
    assert one.hash == same.hash != other.hash
    assert MemoryNode(id_="MEMORY.md#L3", text="\ud83d").hash


def test_node_postprocessors_take_the_nodes(memory, scripted):
    retriever = CommonplaceRetriever(memory, k=5, min_score=0)
    found = retriever.retrieve(QUESTION)
    bar = found[1].score
    engine = RetrieverQueryEngine.from_args(
        retriever,
        llm=scripted("ok"),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=bar), LongContextReorder()],
    )
    kept = engine.query(QUESTION).source_nodes
    assert {node.node.node_id for node in kept} == {
        node.node.node_id for node in found if node.score >= bar
    }


def test_several_parts_of_one_long_line_are_nodes_of_their_own(open_memory):
    things = ("printer", "dentist", "hive")
    filler = "The weather was fine and nothing else of note was said for a while. " * 12
    said = [f"The {thing} is in room {n}. " for n, thing in enumerate(things)]
    memory = open_memory()
    (memory.workspace.root / "memory" / "call.md").write_text(filler.join(["", *said, ""]) + "\n")
    memory.index()
    question = "printer, dentist, hive"
    hits = memory.search(question)
    nodes = CommonplaceRetriever(memory).retrieve(question)
    # LlamaIndex drops nodes of equal text: parts of the filler that are the same.
    assert [node.node.text for node in nodes] == list(dict.fromkeys(hit.snippet for hit in hits))
    parts = [node.node for node in nodes if node.node.metadata["path"] == "memory/call.md"]
    assert len(parts) > 1
    assert len({node.metadata["citation"] for node in parts}) == 1
