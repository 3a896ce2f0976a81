from __future__ import annotations

import asyncio
import copy
import itertools
import json
import pickle
from datetime import date, timedelta

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.documents.compressor import BaseDocumentCompressor
from langchain_core.load import dumps
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.stores import InMemoryByteStore
from pydantic import ValidationError

from commonplace import Settings
from langchain_commonplace import CommonplaceRetriever, memory_tools, merge_overlaps
from support.fakes import NOON, HashedWords
from support.langchain_fakes import ScriptedChatModel

QUESTION = "which port does the VPN listen on?"


@pytest.fixture
def retriever(memory):
    return CommonplaceRetriever(memory=memory, min_score=0.0)


def test_a_document_is_the_snippet_and_says_where_it_stands(retriever, folder):
    document = retriever.invoke(QUESTION, k=1)[0]
    assert "51820" in document.page_content
    place = document.metadata
    assert document.id == place["citation"]
    assert place["path"] == "MEMORY.md"
    assert place["source"] == "memory"
    assert 0 < place["score"] <= 1
    lines = (folder / place["path"]).read_text().split("\n")
    assert document.page_content in "\n".join(lines[place["start_line"] - 1 : place["end_line"]])
    assert {"vector", "keyword", "fused", "decay", "terms"} <= set(place["parts"])


def test_a_row_of_a_table_has_the_header_as_its_context(memory, folder):
    table = "| service | port |\n|---|---|\n" + "".join(
        f"| service{number} | {5000 + number} |\n" for number in range(300)
    )
    (folder / "memory/ports.md").write_text(table)
    memory.index()
    document = CommonplaceRetriever(memory=memory).invoke("port of service222", k=1)[0]
    assert "service222" in document.page_content
    assert document.metadata["context"] == "| service | port |\n|---|---|"


def test_front_matter_is_in_the_metadata_of_documents(memory, folder):
    (folder / "memory/t.md").write_text(
        "---\ntags: [net]\nowner: Wren\nreviewed: 2026-11-20\nscore: 7\norigin: web\n---\n"
        "- The tunnel uses WireGuard.\n"
    )
    memory.index()
    document = CommonplaceRetriever(memory=memory).invoke("what does the tunnel use?", k=1)[0]
    place = document.metadata
    assert (place["tags"], place["owner"], place["reviewed"]) == (["net"], "Wren", "2026-11-20")
    assert (place["origin"], place["score"] <= 1) == ("user", True)
    assert "Wren" not in document.page_content
    assert json.loads(dumps(document))["kwargs"]["metadata"] == place


def test_documents_can_be_written_as_json(retriever):
    for document in retriever.invoke(QUESTION):
        assert Document(**json.loads(json.dumps(document.model_dump()))) == document


def test_the_documents_are_those_of_a_search(memory):
    documents = CommonplaceRetriever(memory=memory).invoke(QUESTION)
    assert [d.page_content for d in documents] == [r.snippet for r in memory.search(QUESTION)]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_an_explicit_k_gives_exactly_k_documents(memory, k):
    assert len(CommonplaceRetriever(memory=memory, k=k, min_score=0).invoke("VPN printer")) == k
    retriever = CommonplaceRetriever(memory=memory, min_score=0)
    assert len(retriever.invoke("VPN printer", k=k)) == k


def test_a_call_may_say_everything_that_a_field_says(memory):
    retriever = CommonplaceRetriever(memory=memory, k=6, min_score=0)
    days = retriever.invoke("VPN", after="2026-11-20", before=date(2026, 11, 20))
    assert {d.metadata["path"] for d in days} == {"memory/2026-11-20.md"}
    old = CommonplaceRetriever(memory=memory, min_score=0, before="2025-12-31").invoke("VPN")
    assert {d.metadata["path"] for d in old} == {"memory/2025-01-02.md"}
    assert retriever.invoke("VPN", sources=["sessions"]) == []
    assert retriever.invoke("VPN", min_score=1.0) == []


@pytest.mark.parametrize(
    "fields",
    [{"k": 0}, {"k": "six"}, {"k": True}, {"min_score": 2}, {"min_score": "a"}],
    ids=str,
)
def test_a_wrong_number_is_told_in_one_line_at_construction(memory, fields):
    with pytest.raises(
        TypeError, match=r"^(k|min_score) is .*; an? (whole )?number .* expected\.$"
    ):
        CommonplaceRetriever(**{"memory": memory} | fields)


def test_a_wrong_source_is_told_at_construction(memory):
    with pytest.raises(ValidationError):
        CommonplaceRetriever(memory=memory, sources=["web"])


def test_an_unknown_option_of_a_call_is_told(retriever):
    with pytest.raises(TypeError, match=r"'top_k'.*it takes k, "):
        retriever.invoke(QUESTION, top_k=3)


async def test_the_async_form_gives_the_same_documents(retriever):
    assert await retriever.ainvoke(QUESTION, k=2) == retriever.invoke(QUESTION, k=2)
    batches = await retriever.abatch([QUESTION, "printer"])
    assert batches == retriever.batch([QUESTION, "printer"])


async def test_the_async_form_leaves_the_event_loop_alone(open_memory):
    class SlowQuestions(HashedWords):
        def embed_query(self, text):
            import time

            time.sleep(0.2)
            return super().embed_query(text)

    memory = open_memory(embedder=SlowQuestions())
    memory.index()
    retriever = CommonplaceRetriever(memory=memory)
    ticks = 0
    search = asyncio.ensure_future(retriever.ainvoke(QUESTION))
    while not search.done():
        await asyncio.sleep(0.005)
        ticks += 1
    assert ticks > 5


class Trace(BaseCallbackHandler):
    def __init__(self):
        self.starts = []

    def on_retriever_start(self, serialized, query, *, tags=None, metadata=None, **kwargs):
        self.starts.append((tags, metadata))


def test_tags_metadata_and_the_embedder_reach_traces(memory):
    trace = Trace()
    retriever = CommonplaceRetriever(memory=memory, tags=["notes"], metadata={"team": "blue"})
    for _ in range(2):
        retriever.invoke(QUESTION, {"callbacks": [trace], "tags": ["run"]})
    tags, metadata = trace.starts[-1]
    assert set(tags) == {"notes", "run"}
    assert metadata["team"] == "blue"
    assert metadata["ls_retriever_name"] == "commonplace"
    assert metadata["ls_embedding_model"] == "hashed-words"


def test_the_memory_is_neither_shown_nor_serialized(retriever):
    assert "memory=" not in repr(retriever)
    assert "memory" not in retriever.model_dump()


def test_keyword_search_works_the_same(open_memory):
    retriever = CommonplaceRetriever(memory=open_memory(embedder=None), min_score=0)
    assert "51820" in retriever.invoke("VPN port", k=1)[0].page_content


def test_it_stands_in_a_chain(retriever):
    model = ScriptedChatModel(script=lambda call: f"seen: {'51820' in call.last.text}")
    prompt = ChatPromptTemplate.from_template("Notes:\n{context}\n\nQuestion: {question}")
    join = RunnableLambda(lambda documents: "\n".join(d.page_content for d in documents))
    chain = (
        {"context": retriever | join, "question": RunnablePassthrough()}
        | prompt
        | model
        | StrOutputParser()
    )
    assert chain.invoke(QUESTION) == "seen: True"


def test_it_stands_below_retrieval_chains_and_compressors(retriever):
    classic = pytest.importorskip(
        "langchain_classic", reason="langchain-classic, which has these, is not installed"
    )
    assert classic
    from langchain_classic.chains.combine_documents import create_stuff_documents_chain
    from langchain_classic.chains.retrieval import create_retrieval_chain
    from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever

    class Shortest(BaseDocumentCompressor):
        def compress_documents(self, documents, query, callbacks=None):
            return sorted(documents, key=lambda d: len(d.page_content))[:1]

    compressed = ContextualCompressionRetriever(
        base_compressor=Shortest(), base_retriever=retriever
    )
    assert len(compressed.invoke(QUESTION)) == 1
    both = EnsembleRetriever(retrievers=[retriever, retriever], weights=[0.5, 0.5])
    assert len(both.invoke(QUESTION)) == len(retriever.invoke(QUESTION))
    model = ScriptedChatModel(script=lambda call: "51820" if "51820" in call.last.text else "?")
    prompt = ChatPromptTemplate.from_template("{context}\n\n{input}")
    chain = create_retrieval_chain(retriever, create_stuff_documents_chain(model, prompt))
    answer = chain.invoke({"input": QUESTION})
    assert answer["answer"] == "51820"
    assert answer["context"][0].metadata["path"] == "MEMORY.md"


def test_default_settings_are_the_memorys(open_memory):
    settings = Settings.from_mapping({"search": {"max_results": 2, "min_score": 0.0}})
    assert len(CommonplaceRetriever(memory=open_memory(settings)).invoke("VPN printer")) == 2


@pytest.mark.parametrize("fields", [{"memory": "notes"}, {"top_k": 3}, {"search_kwargs": {}}])
def test_a_wrong_memory_or_name_is_one_line_at_construction(memory, fields):
    with pytest.raises(TypeError, match=r"must be a Memory|it takes k, ") as caught:
        CommonplaceRetriever(**{"memory": memory} | fields)
    assert "\n" not in str(caught.value)


def test_documents_of_two_calls_are_equal_although_time_goes_by(open_memory):
    times = itertools.count()
    memory = open_memory(now=lambda: NOON + timedelta(seconds=next(times)))
    retriever = CommonplaceRetriever(memory=memory, min_score=0)
    first, again = retriever.invoke("VPN printer"), retriever.invoke("VPN printer")
    assert first == again
    assert [d.model_dump() for d in first] == [d.model_dump() for d in again]
    days = {d.metadata["path"]: d.metadata["date"] for d in first}
    assert days["memory/2026-11-20.md"] == "2026-11-20"
    assert days["MEMORY.md"] is None


ZONED = [Settings(timezone=zone) for zone in ("America/New_York", "Europe/Paris", "Asia/Tokyo")]


@pytest.mark.parametrize("settings", [*ZONED, Settings.openclaw()])
def test_the_date_is_the_day_in_the_name_of_the_log_wherever_one_is(open_memory, folder, settings):
    (folder / "memory" / "2027-01-15.md").write_text("- The dentist has time for the VPN.\n")
    found = CommonplaceRetriever(memory=open_memory(settings), min_score=0).invoke("VPN printer")
    days = {d.metadata["path"]: d.metadata["date"] for d in found}
    assert days.pop("MEMORY.md") is None
    assert days == {f"memory/{day}.md": day for day in days.values()}
    assert {"2025-01-02", "2026-11-20", "2027-01-15"} <= {*days.values()}
    assert all("day" not in d.metadata["parts"] for d in found)


def test_another_model_behind_a_cache_embeds_all_again(open_memory):
    cache = pytest.importorskip("langchain_classic.embeddings").CacheBackedEmbeddings
    for model in (HashedWords(model_id="one"), HashedWords(model_id="two")):
        embedder = cache(underlying_embeddings=model, document_embedding_store=InMemoryByteStore())
        memory = open_memory(embedder=embedder)
        if model.model_id == "two":
            assert "built with fake:one" in memory.search(QUESTION).fallback
        assert memory.index().embedded > 3
        assert memory.search(QUESTION).mode == "hybrid"


def test_a_multi_query_returns_no_document_twice(memory):
    multi_query = pytest.importorskip("langchain_classic.retrievers.multi_query")
    model = ScriptedChatModel(script=["VPN port number\nwhere does the VPN listen\nprinter name"])
    retriever = multi_query.MultiQueryRetriever.from_llm(
        retriever=CommonplaceRetriever(memory=memory, k=3, min_score=0), llm=model
    )
    found = retriever.invoke(QUESTION)
    assert len(found) > 3
    contents = [document.page_content for document in found]
    assert len(contents) == len(set(contents))
    assert len({document.id for document in found}) == len(found)


def test_overlaps_of_several_queries_are_merged(memory, folder):
    ensemble = pytest.importorskip("langchain_classic.retrievers").EnsembleRetriever
    words = [
        "heron",
        "ferry",
        "pigment",
        "turbine",
        "lettuce",
        "violin",
        "glacier",
        "harbour",
        "pepper",
        "saddle",
    ]
    talk = [f"- The {word} was talked about at length, for many an hour." for word in words * 5]
    talk = [f"{line[:-1]}, in part {part}." for part, line in enumerate(talk)]
    (folder / "memory/talk.md").write_text("# Talk\n\n" + "\n".join(talk) + "\n")
    memory.index()

    def asking(query):
        retriever = CommonplaceRetriever(memory=memory, min_score=0, k=1)
        return RunnableLambda(lambda _: retriever.invoke(query))

    other = Document("SLIP-431 is a ticket number.", metadata={"source": "the manual"})
    legs = [
        asking("lettuce in part 4"),
        asking("saddle in part 7"),
        RunnableLambda(lambda _: [other]),
    ]
    both = ensemble(retrievers=legs, weights=[1, 1, 1])
    found, merged = both.invoke("?"), (both | merge_overlaps).invoke("?")
    assert len(_lines(found)) > len(set(_lines(found)))
    assert set(_lines(merged)) == set(_lines(found))
    assert len(_lines(merged)) == len(set(_lines(merged)))
    assert other in merged
    joined = max(merged, key=lambda document: len(document.page_content))
    assert joined.id == joined.metadata["citation"]
    first, last = joined.metadata["start_line"], joined.metadata["end_line"]
    lines = (folder / "memory/talk.md").read_text().split("\n")[first - 1 : last]
    assert joined.page_content == "\n".join(lines)


def _lines(documents):
    """Return the place of each line that documents of the memory show."""
    return [
        document.metadata["start_line"] + at
        for document in documents
        if "start_line" in document.metadata
        for at in range(document.page_content.count("\n") + 1)
    ]


def test_a_document_is_restored_as_langchains_own(retriever):
    serde = pytest.importorskip("langgraph.checkpoint.serde.jsonplus").JsonPlusSerializer()
    document = retriever.invoke(QUESTION, k=1)[0]
    copies = [
        serde.loads_typed(serde.dumps_typed(document)),
        pickle.loads(pickle.dumps(document)),
        copy.deepcopy(document),
    ]
    assert all(other == document and other.metadata == document.metadata for other in copies)
    assert [type(other) is Document for other in copies[:2]] == [True, True]


def test_a_deep_copy_of_a_part_has_the_memory_of_the_part(retriever, memory):
    for other in (retriever.model_copy(deep=True), copy.deepcopy(retriever)):
        assert other.memory is memory
        assert other.invoke(QUESTION) == retriever.invoke(QUESTION)
    for tool in memory_tools(memory):
        assert "51820" in str(copy.deepcopy(tool).invoke(_arguments(tool.name)))


def _arguments(name):
    return {"query": QUESTION} if name == "memory_search" else {"path": "MEMORY.md"}


def test_a_search_may_be_limited_to_paths(memory):
    retriever = CommonplaceRetriever(memory=memory, min_score=0, paths=["memory/2026-*"])
    found = {document.metadata["path"] for document in retriever.invoke("VPN printer")}
    assert found == {"memory/2026-11-19.md", "memory/2026-11-20.md"}
    [only] = {d.metadata["path"] for d in retriever.invoke("VPN", paths=["MEMORY.md"])}
    assert only == "MEMORY.md"
