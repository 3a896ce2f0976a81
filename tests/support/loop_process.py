"""Calls async methods, each in a process where nothing was used before, and measures the loop.

``python loop_process.py core|langchain|llama_index FOLDER [NAME...]`` prints a JSON object: for how
many seconds the event loop stood still at most while each of the methods ran, or of those named.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import sys
from pathlib import Path

from commonplace import Memory, MemoryPool
from commonplace.demo import write_demo_workspace
from commonplace.embeddings.providers.bundled import is_available
from commonplace.errors import StoreError
from support.event_loop import Meter
from support.fakes import NOON, clock

QUESTION = "What was wrong in SLIP-431?"
NOTE = "memory/heron.md"
HERON = "# Heron\n\n- The heron is in rack 6.\n"


# -- the core --------------------------------------------------------------------------------------


def core():
    talk = [
        {"role": role, "content": f"This is fact-{number}. {'And so on, at some length. ' * 5}"}
        for number in range(150)
        for role in ("user", "assistant")
    ]

    async def written(memory):
        await memory.awrite(NOTE, HERON)
        return memory

    async def written_and_known(memory):
        return await written(memory), (await memory.ahistory(NOTE))[0].id

    async def another(memory):
        async with asyncio.timeout(20):
            return await Memory.aopen(memory.workspace.root, index="memory://")

    async def opened(memory):
        (await another(memory)).close()

    async def connected(memory):
        """As far as one gets without a server, which another module's tests have."""
        with contextlib.suppress(StoreError):
            await Memory.aconnect(f"sqlite:///{memory.index_location}")

    def changed(call):
        return written, call

    async def pooled(memory):
        pool = MemoryPool(memory.workspace.root.with_name("users"), embedder=None)
        async with pool.memory("ann") as ann:
            await ann.aappend("- Tea.")
        return pool

    return {
        "Memory.aappend": lambda memory: memory.aappend("- The heron moved to rack 7."),
        "Memory.ablame": changed(lambda memory: memory.ablame(NOTE)),
        "Memory.aclose": (another, lambda memory: memory.aclose()),
        "Memory.aconnect": connected,
        "Memory.acorrect": changed(lambda memory: memory.acorrect(f"{NOTE}#L3", "- Rack 7.")),
        "Memory.adelete": changed(lambda memory: memory.adelete(NOTE)),
        "Memory.aedit": changed(lambda memory: memory.aedit(NOTE, "rack 6", "rack 7")),
        "Memory.aforget": changed(lambda memory: memory.aforget(path=NOTE)),
        "Memory.ahistory": changed(lambda memory: memory.ahistory(NOTE)),
        "Memory.amove": changed(lambda memory: memory.amove(NOTE, "memory/birds.md")),
        "Memory.aopen": opened,
        "Memory.apaths": lambda memory: memory.apaths(),
        "Memory.aundo": (written_and_known, lambda known: known[0].aundo(known[1])),
        "Memory.awrite": lambda memory: memory.awrite(NOTE, HERON),
        "Memory.awrite_session_note": lambda memory: memory.awrite_session_note(talk),
        "Memory.aget": lambda memory: memory.aget("MEMORY.md"),
        "Memory.aindex": lambda memory: memory.aindex(),
        "Memory.aapply_inbox": lambda memory: memory.aapply_inbox(),
        "Memory.arecord_exposure": lambda memory: memory.arecord_exposure("s"),
        "Memory.astartup_context": lambda memory: memory.astartup_context(),
        "Memory.asearch": lambda memory: memory.asearch(QUESTION),
        "Memory.astatus": lambda memory: memory.astatus(deep=True),
        "Memory.averify": lambda memory: memory.averify(),
        "MemoryPool.aremove": (pooled, lambda pool: pool.aremove("ann")),
    }


# -- LangChain -------------------------------------------------------------------------------------


def langchain():
    from langchain.agents import create_agent
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.messages import AIMessage, HumanMessage

    from langchain_commonplace import (
        ChatMemory,
        CommonplaceRetriever,
        MemoryContextMiddleware,
        MemoryFlushMiddleware,
        memory_tools,
    )
    from support.langchain_fakes import Notetaker, ScriptedChatModel

    model = ScriptedChatModel(script=Notetaker())
    talk = [
        kind(f"This is fact-{number}. {'And so on, at some length. ' * 5}", id=str(number))
        for number in range(0, 300, 2)
        for kind in (HumanMessage, AIMessage)
    ]
    size = {"trigger": ("messages", 10), "keep": ("messages", 4)}

    def chat(memory):
        return ChatMemory(model, memory=memory, **size)

    def tool(name):
        return lambda memory: {tool.name: tool for tool in memory_tools(memory, write="edit")}[name]

    def change(name, **arguments):
        async def made(memory):
            await memory.awrite(NOTE, HERON)
            return memory

        return made, lambda memory: tool(name)(memory).ainvoke(arguments)

    def in_agent(*middleware):
        def run(memory):
            parts = [part(memory) for part in middleware]
            agent = create_agent(model, tools=memory_tools(memory), middleware=parts)
            return agent.ainvoke({"messages": [*talk, HumanMessage(QUESTION)]})

        return run

    def flush(memory):
        return MemoryFlushMiddleware(memory=memory, model=model, before=compaction)

    compaction = SummarizationMiddleware(model, **size)
    return {
        "ChatMemory in an agent": in_agent(chat),
        "ChatMemory.acompact": lambda memory: chat(memory).acompact(talk, thread_id="1"),
        "ChatMemory.acompact, too early": lambda memory: chat(memory).acompact(talk[:4]),
        "ChatMemory.aend_session": lambda memory: chat(memory).aend_session("1", messages=talk),
        "CommonplaceRetriever.ainvoke": lambda memory: CommonplaceRetriever(memory=memory).ainvoke(
            QUESTION
        ),
        "CommonplaceStore.abatch, by aput and asearch": (_langchain_store, _kept_in_a_store),
        "MemoryAppendTool.ainvoke": lambda memory: tool("memory_append")(memory).ainvoke("- x"),
        "MemoryContextMiddleware in an agent": in_agent(
            lambda memory: MemoryContextMiddleware(memory=memory, recall=3)
        ),
        "MemoryFlushMiddleware in an agent": in_agent(flush, lambda memory: compaction),
        "MemoryCorrectTool.ainvoke": change(
            "memory_correct", citation=f"{NOTE}#L3", text="- The heron is in rack 7."
        ),
        "MemoryDeleteTool.ainvoke": change("memory_delete", path=NOTE),
        "MemoryEditTool.ainvoke": change("memory_edit", path=NOTE, old="rack 6", new="rack 7"),
        "MemoryGetTool.ainvoke": lambda memory: tool("memory_get")(memory).ainvoke("MEMORY.md"),
        "MemorySearchTool.ainvoke": lambda memory: tool("memory_search")(memory).ainvoke(QUESTION),
    }


async def _langchain_store(memory):
    from langchain_commonplace import CommonplaceStore

    return CommonplaceStore(memory.workspace.root.parent / "store", embedder=None)


async def _kept_in_a_store(store):
    await store.aput(("birds",), "heron", {"text": "The heron is in rack 6."})
    await store.asearch(("birds",), query="heron")


# -- LlamaIndex ------------------------------------------------------------------------------------


def llama_index():
    return {**_llama_index_chats(), **_llama_index_parts()}


def _llama_index_chats():
    from llama_index_commonplace import ChatMemory, MemoryContextBlock
    from support.llama_index_talk import Writer

    talk = _llama_index_talk()

    def chat(memory, **options):
        return ChatMemory.from_defaults(memory, llm=Writer(), **SMALL, **options)

    async def restarted(memory):
        found = chat(memory, session_id="1")
        await found.sql_store.set_messages("1", talk)
        return found

    def resumed(call):
        return restarted, call

    async def read_and_closed(chat):
        await chat.aget_all()
        await chat.aclose()

    async def many_puts(chat):
        for message in talk:
            await chat.aput(message)

    return {
        "ChatMemory.aclose": resumed(read_and_closed),
        "ChatMemory.aflush": resumed(lambda chat: chat.aflush()),
        "ChatMemory.aget": resumed(lambda chat: chat.aget()),
        "ChatMemory.aget with a block": lambda memory: chat(
            memory, memory_blocks=[MemoryContextBlock(memory=memory, recall=3)]
        ).aget(),
        "ChatMemory.aget_all": resumed(lambda chat: chat.aget_all()),
        "ChatMemory.aput": lambda memory: chat(memory).aput(talk[0]),
        "ChatMemory.aput, again and again": resumed(many_puts),
        "ChatMemory.aput, pushing out": resumed(lambda chat: chat.aput(talk[0])),
        "ChatMemory.aput_messages": lambda memory: chat(memory).aput_messages(talk),
        "ChatMemory.areset": resumed(lambda chat: chat.areset(archive=True)),
        "ChatMemory.aretry": resumed(lambda chat: chat.aretry()),
        "ChatMemory.aset": resumed(lambda chat: chat.aset(talk[:3])),
    }


def _llama_index_parts():
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import Memory as StockMemory

    from llama_index_commonplace import (
        CommonplaceRetriever,
        CommonplaceToolSpec,
        FlushMemoryBlock,
        MemoryContextBlock,
    )
    from support.llama_index_talk import Writer

    talk = _llama_index_talk()
    asked = ChatMessage(role="user", content=QUESTION)

    def tool(name, **arguments):
        def run(memory):
            tools = CommonplaceToolSpec(memory, write=True).to_tool_list()
            return {tool.metadata.name: tool for tool in tools}[name].acall(**arguments)

        return run

    def context(memory):
        return MemoryContextBlock(memory=memory, recall=3)

    def block(memory):
        return FlushMemoryBlock(memory=memory, llm=Writer())

    async def left(memory):
        found = block(memory)
        await found.aput(talk, from_short_term_memory=True, session_id="1")
        return found

    async def rendered(memory):
        found = context(memory)
        return found, await found.aget([asked])

    def in_stock_memory(memory):
        blocks = [block(memory), context(memory)]
        options = {"tokenizer_fn": str.split, "memory_blocks": blocks}
        return StockMemory.from_defaults(**SMALL, **options).aput_messages(talk)

    return {
        "CommonplaceRetriever.aretrieve": lambda memory: CommonplaceRetriever(memory).aretrieve(
            QUESTION
        ),
        "FlushMemoryBlock in a stock Memory": in_stock_memory,
        "FlushMemoryBlock.aflush": (left, lambda block: block.aflush()),
        "FlushMemoryBlock.aretry": (left, lambda block: block.aretry()),
        "FlushMemoryBlock.aput": lambda memory: block(memory).aput(
            talk, from_short_term_memory=True, session_id="1"
        ),
        "MemoryContextBlock.aget": lambda memory: context(memory).aget([asked]),
        "MemoryContextBlock.atruncate": (
            rendered,
            lambda told: told[0].atruncate(told[1], tokens_to_truncate=300),
        ),
        "MemoryTool.acall, append": tool("memory_append", text="- The heron moved to rack 7."),
        "MemoryTool.acall, get": tool("memory_get", path="MEMORY.md"),
        "MemoryTool.acall, search": tool("memory_search", query=QUESTION),
    }


SMALL = {"token_limit": 400, "token_flush_size": 60}


def _llama_index_talk():
    from llama_index.core.base.llms.types import ChatMessage

    from support.llama_index_talk import FILLER, fact

    return [
        ChatMessage(role=role, content=f"{fact(number)} {FILLER}")
        for number in range(60)
        for role in ("user", "assistant")
    ]


METHODS = {"core": core, "langchain": langchain, "llama_index": llama_index}


# -- one process for each method -------------------------------------------------------------------


async def stood_still_s(method, folder: Path) -> float:
    """Call a method on a workspace that is not indexed yet.

    Args:
        method: Returns what to await for a memory; the objects that it makes before are not
            measured. Or two functions: the first one, which is not measured either, prepares what
            the second one is called with.
        folder: Where the workspace is made.
    """
    folder.mkdir()
    notes = write_demo_workspace(folder / "notes", today=NOON.date())
    embedder = "bundled" if is_available() else None
    with Memory.open(
        notes, embedder=embedder, index=folder / "index.sqlite", now=clock()
    ) as memory:
        if isinstance(method, tuple):
            prepare, call = method
            prepared = await prepare(memory)
            async with Meter() as meter:
                await call(prepared)
        else:
            work = method(memory)
            async with Meter() as meter:
                await work
    return meter.stood_still_s


def measure(framework: str, name: str, folder: Path, answers) -> None:
    answers.put(asyncio.run(stood_still_s(METHODS[framework]()[name], folder)))


def measured(framework: str, names: list[str], folder: Path) -> dict[str, float]:
    """Measure methods in children of this process, which has loaded the framework and no more."""
    kind = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(kind)
    found = {}
    for number, name in enumerate(names or METHODS[framework]()):
        answers = context.SimpleQueue()
        place = folder / str(number)
        child = context.Process(target=measure, args=(framework, name, place, answers))
        child.start()
        child.join(30)
        if child.exitcode != 0:
            child.kill()
            raise SystemExit(f"{name} failed")
        found[name] = answers.get()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measured(sys.argv[1], sys.argv[3:], Path(sys.argv[2]))))
