"""`CommonplaceRetriever` by itself, and in what LlamaIndex builds of retrievers."""

from __future__ import annotations

import copy
import json
from datetime import timedelta

import pytest

pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")

from llama_index.core.base.response.schema import Response
from llama_index.core.bridge.pydantic import Field
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.retrieval import (
    RetrievalEndEvent,
    RetrievalStartEvent,
)
from llama_index.core.postprocessor import (
    FixedRecencyPostprocessor,
    LongContextReorder,
    SimilarityPostprocessor,
)
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever, RouterRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

from commonplace import Memory, Settings
from commonplace.errors import EmbedderError
from llama_index_commonplace import (
    ChatMemory,
    CommonplaceRetriever,
    CommonplaceToolSpec,
    FlushMemoryBlock,
    MemoryContextBlock,
    MemoryNode,
    OverlapPostprocessor,
)
from llama_index_commonplace.nodes import RESULT_KEYS
from support.fakes import NOON, clock

QUESTION = "What was wrong in SLIP-431?"
ANSWER = "off-by-one"


def texts(nodes):
    return [(node.node.node_id, node.score, node.node.text) for node in nodes]


def test_a_deep_copy_of_a_part_has_the_memory_of_the_part(memory):
    retriever = CommonplaceRetriever(memory)
    assert texts(copy.deepcopy(retriever).retrieve(QUESTION)) == texts(retriever.retrieve(QUESTION))
    spec = copy.deepcopy(CommonplaceToolSpec(memory))
    assert ANSWER in str(spec.to_tool_list()[0](query=QUESTION))
    block = MemoryContextBlock(memory=memory)
    assert block.model_copy(deep=True).memory is memory


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
        "session": None,
        "date": "2026-11-18",
        "vector": parts.vector,
        "keyword": parts.keyword,
        "fused": parts.fused,
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


@pytest.fixture
def tagged(open_memory, notes):
    """A memory with notes of two tags, a transcript, and front matter."""
    (notes / "memory/work").mkdir()
    (notes / "memory/work/[a]*.md").write_text("---\ntags: [work, urgent]\n---\n- The quagga, a.\n")
    (notes / "memory/work/[a]*.md.md").write_text("- The quagga, of a longer name.\n")
    (notes / "memory/work/b.md").write_text("---\ntags: work\nrank: 3\n---\n- The quagga, b.\n")
    (notes / "memory/c.md").write_text("---\ntags: home\nrank: high\n---\n- The quagga, c.\n")
    (notes / "memory/2026-11-17.md").write_text("- The quagga, on the 17th.\n")
    (notes / "memory/2026-11-19.md").write_text("- The quagga, on the 19th.\n")
    return open_memory()


def condition(key, operator, value):
    return MetadataFilter(key=key, operator=operator, value=value)


QUAGGAS = {"work/[a]*", "work/[a]*.md", "work/b", "c", "2026-11-17", "2026-11-19"}
OLD_OR_HOME = MetadataFilters(
    filters=[condition("date", "<", "2026-11-18"), condition("tags", "==", "home")], condition="or"
)


@pytest.mark.parametrize(
    ("filters", "options", "names"),
    [
        ([condition("path", "==", "memory/work/[a]*.md")], {}, {"work/[a]*"}),
        ([condition("path", "in", ["memory/c.md", "memory/d.md"])], {}, {"c"}),
        ([condition("path", "text_match", "/work/")], {}, {"work/[a]*", "work/[a]*.md", "work/b"}),
        ([condition("tags", "==", "work")], {}, {"work/[a]*", "work/b"}),
        ([condition("tag", "any", ["urgent", "home"])], {}, {"work/[a]*", "c"}),
        ([condition("tags", "all", ["work", "urgent"])], {}, {"work/[a]*"}),
        ([condition("tags", "contains", "home")], {}, {"c"}),
        ([condition("tags", "!=", "work")], {}, QUAGGAS - {"work/[a]*", "work/b"}),
        ([condition("rank", ">", 2)], {}, {"work/b"}),
        ([condition("date", ">", "2026-11-17")], {}, {"2026-11-19"}),
        ([condition("day", "==", "2026-11-17")], {}, {"2026-11-17"}),
        ([condition("date", "<=", "2026-11-19")], {"after": "2026-11-18"}, {"2026-11-19"}),
        ([condition("date", ">=", "2026-11-01")], {"before": "2026-11-18"}, {"2026-11-17"}),
        ([condition("source", "==", "memory")], {}, QUAGGAS),
        ([condition("source", "==", "sessions")], {}, set()),
        ([OLD_OR_HOME], {}, {"2026-11-17", "c"}),
        ([OLD_OR_HOME, condition("tags", "is_empty", None)], {}, {"2026-11-17"}),
        ([condition("tags", "==", "work")], {"paths": ["memory/*.md"]}, set()),
        (None, {"paths": ["memory/work/"]}, {"work/[a]*", "work/[a]*.md", "work/b"}),
    ],
)
def test_filters_and_paths_choose_the_files_below_the_ranking(tagged, filters, options, names):
    filters = None if filters is None else MetadataFilters(filters=filters)
    retriever = CommonplaceRetriever(tagged, filters=filters, min_score=0, **options)
    found = [node.node.metadata["path"] for node in retriever.retrieve("the quagga")]
    quaggas = {name for name in QUAGGAS if f"memory/{name}.md" in found}
    assert quaggas == names
    if len(names) == 1 and names != {"2026-11-19"}:
        assert set(found) == {f"memory/{name}.md" for name in names}


def test_a_filter_with_a_day_that_is_none_is_told_in_one_line(memory):
    filters = MetadataFilters(filters=[condition("date", ">", "yesterday")])
    with pytest.raises(ValueError, match=r"^date is 'yesterday', which is not a day"):
        CommonplaceRetriever(memory, filters=filters).retrieve("x")


UNTRUSTED = condition("origin", "!=", "untrusted")


@pytest.mark.parametrize(
    "filters",
    [[UNTRUSTED], [MetadataFilters(filters=[UNTRUSTED])], [condition("start_line", ">", 3)]],
)
def test_a_filter_by_what_only_a_result_tells_is_refused(memory, filters):
    filters = MetadataFilters(filters=filters)
    with pytest.raises(ValueError, match=r"'(origin|start_line)'.*path, source, date, tags"):
        CommonplaceRetriever(memory, filters=filters)
    retriever = CommonplaceRetriever(memory)
    retriever.filters = filters
    with pytest.raises(ValueError, match=r"no filter can go by"):
        retriever.retrieve("x")


def test_filters_of_another_kind_are_refused_at_once(memory):
    with pytest.raises(TypeError, match=r"^filters is \{'owner': 'Wren'\}, of type dict;"):
        CommonplaceRetriever(memory, filters={"owner": "Wren"})


def test_every_key_of_a_node_selects_files_or_is_refused(memory):
    [node, *_] = CommonplaceRetriever(memory).retrieve(QUESTION)
    assert set(node.node.metadata) - RESULT_KEYS == {"path", "source", "date"}


def test_front_matter_is_in_the_metadata_of_nodes_and_in_no_text(memory, notes):
    (notes / "memory/t.md").write_text(
        "---\ntags: [net, home]\nowner: Wren\nrank: 3\nlinks: [{to: x}]\norigin: web\n"
        "heading: mine\n---\n- The tunnel uses WireGuard.\n"
    )
    memory.index()
    retriever = CommonplaceRetriever(memory, paths=["memory/t.md"], min_score=0)
    node = retriever.retrieve("what does the tunnel use?")[0].node
    found = {key: node.metadata[key] for key in ("tags", "owner", "rank", "links", "origin")}
    links = '[{"to": "x"}]'
    assert found == {
        "tags": "net, home", "owner": "Wren", "rank": 3, "links": links, "origin": "user",
    }  # fmt: skip
    assert node.metadata["heading"] != "mine"
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert "Wren" not in node.get_content(mode)
    assert json.loads(node.to_json())["metadata"] == node.metadata


def test_a_cache_of_an_ingestion_pipeline_holds_the_nodes_of_a_later_retrieval(notes, tmp_path):
    embedded = []

    class Counting(MockEmbedding):
        def _get_text_embeddings(self, texts):
            embedded.extend(texts)
            return super()._get_text_embeddings(texts)

    pipeline = IngestionPipeline(transformations=[Counting(embed_dim=4)], cache=IngestionCache())
    for hours in (0, 1, 30):
        now = clock(NOON + timedelta(hours=hours))
        with Memory.open(notes, embedder=None, index=tmp_path / "index", now=now) as memory:
            nodes = CommonplaceRetriever(memory, k=6, min_score=0).retrieve(QUESTION)
            pipeline.run(nodes=[node.node for node in nodes])
    assert len(embedded) == 6


def test_the_newest_nodes_are_found_by_their_date(memory):
    pytest.importorskip("pandas", reason="FixedRecencyPostprocessor needs it")
    found = CommonplaceRetriever(memory, min_score=0, k=30).retrieve("the database")
    newest = FixedRecencyPostprocessor(top_k=30).postprocess_nodes(found, query_str="?")
    days = [node.node.metadata["date"] for node in newest]
    assert days == sorted(days, reverse=True)
    assert len(set(days)) > 2
    assert {node.node.metadata["path"] for node in newest if node.metadata["date"] < "2000"} == {
        node.node.metadata["path"] for node in found if "2026" not in node.metadata["path"]
    }


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_the_date_is_the_day_in_the_name_of_the_log_wherever_one_is(open_memory, notes, zone):
    (notes / "memory/2027-01-15.md").write_text("- The dentist has time at 9.\n")
    memory = open_memory(settings=Settings(timezone=zone))
    found = CommonplaceRetriever(memory, min_score=0, k=30).retrieve("the dentist has the time")
    days = {node.metadata["path"]: node.metadata["date"] for node in found}
    dated = {path: day for path, day in days.items() if day != "1970-01-01"}
    assert all(path.startswith(f"memory/{day}") for path, day in dated.items())
    assert len(dated) > 2
    assert "memory/2027-01-15.md" in dated


WRONG = [
    (lambda: CommonplaceRetriever("notes"), TypeError, "memory is 'notes', of type str; a Memory"),
    (lambda: CommonplaceToolSpec(None), TypeError, "memory is None"),
    (lambda: ChatMemory.from_defaults("notes"), TypeError, "Memory.open('notes')"),
    (lambda: MemoryContextBlock("notes"), TypeError, "memory is 'notes'"),
    (lambda: MemoryContextBlock(), TypeError, "got no memory"),
    (lambda: FlushMemoryBlock(memory="notes"), TypeError, "memory is 'notes'"),
]


@pytest.mark.parametrize(("make", "kind", "told"), WRONG)
def test_a_thing_of_the_wrong_kind_is_told_in_one_line(make, kind, told):
    with pytest.raises(kind) as error:
        make()
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_model_and_a_wrong_option_are_told_in_one_line(memory):
    for make in (
        lambda: ChatMemory.from_defaults(memory, llm="gpt-5"),
        lambda: FlushMemoryBlock(memory, llm="gpt-5"),
        lambda: MemoryContextBlock(memory, recal=3),
        lambda: MemoryContextBlock(memory, memory=memory),
    ):
        with pytest.raises(TypeError) as error:
            make()
        assert "\n" not in str(error.value)
    assert MemoryContextBlock(memory, recall=3).recall == 3


def test_an_embedding_model_of_llama_index_is_told_what_wraps_it(open_memory):
    with pytest.raises(EmbedderError, match=r"^MockEmbedding is .*=LlamaIndexEmbedder\(model"):
        open_memory(MockEmbedding(embed_dim=4))


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


def lines_of(nodes):
    """Return the place of each line that nodes of the memory show, without blank ones."""
    return [
        (found.node.metadata["path"], found.node.metadata["start_line"] + at)
        for found in nodes
        if "path" in found.node.metadata
        for at, line in enumerate(found.node.text.split("\n"))
        if line.strip()
    ]


QUERIES = "What did Wren say?\nWhat was wrong?\nWho spoke about the database?\nbackups"


def fusion_of(retrievers, llm, **options):
    options = {"num_queries": 5, "similarity_top_k": 100, "use_async": False} | options
    return QueryFusionRetriever(retrievers, llm=llm, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"]
)
async def test_fused_queries_show_no_line_twice_and_lose_none(memory, scripted, mode):
    retriever = CommonplaceRetriever(memory, min_score=0)
    apart = [retriever.retrieve(query) for query in (QUESTION, *QUERIES.split("\n"))]
    lines = [line for nodes in apart for line in lines_of(nodes)]
    assert len(lines) > len(set(lines))
    fusion = fusion_of([retriever, Fixed(MANUAL)], scripted(QUERIES), mode=mode)
    threads = fusion_of([retriever, Fixed(MANUAL)], scripted(QUERIES), mode=mode, use_async=True)
    for fused in (
        fusion.retrieve(QUESTION), await fusion.aretrieve(QUESTION), threads.retrieve(QUESTION),
    ):  # fmt: skip
        assert sorted(lines_of(fused)) == sorted(set(lines))
        assert len(fused) >= max(len(nodes) for nodes in apart)
        assert MANUAL in [found.node for found in fused]
        for found in fused:
            place = found.node.metadata
            if "path" in place:
                count = place["end_line"] - place["start_line"] + 1
                text = memory.get(place["path"], from_line=place["start_line"], lines=count).text
                shown = zip(found.node.text.split("\n"), text.split("\n"), strict=True)
                assert all(part in line for part, line in shown)
    assert texts(retriever.retrieve(QUESTION)) == texts(apart[0])


def test_nodes_of_several_answers_are_merged_where_they_share_lines(memory, scripted):
    retriever = CommonplaceRetriever(memory, min_score=0)
    found = [
        node for query in (QUESTION, *QUERIES.split("\n")) for node in retriever.retrieve(query)
    ]
    found.append(NodeWithScore(node=MANUAL, score=0.4))
    assert len(lines_of(found)) > len(set(lines_of(found)))
    merged = OverlapPostprocessor().postprocess_nodes(found, query_str=QUESTION)
    assert set(lines_of(merged)) == set(lines_of(found))
    assert len(lines_of(merged)) == len(set(lines_of(merged)))
    assert MANUAL in [each.node for each in merged]
    assert merged[0].score == found[0].score


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
