"""An agent of either framework in a process of its own, driven by what is said to it, line by line.

``python agent_process.py langchain|llama_index FOLDER``: the workspace is ``FOLDER/notes``. Each
line is a JSON text, and is answered by a line: what the agent said, how long that took, and how
many flushes there were so far. "Goodbye" writes down what is left of the conversation.
The model is a script: "Remember: x" calls memory_append, "Find: x" memory_search, whose answer it
repeats; to anything else it says "ok". In a silent turn it notes whatever the user remembered or
mentioned.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from pathlib import Path

from commonplace import Memory, Settings
from support.fakes import HashedWords, clock

TOLD = re.compile(r"^User: (?:Remember|By the way): (.*)$", re.MULTILINE)


def play(role, text, *, silent):
    """Return the call of a tool, or a text, for the last message of a conversation."""
    if silent:
        notes = "\n".join(f"- {told}" for told in TOLD.findall(text))
        return ("memory_append", {"text": notes}) if notes and role == "user" else "NO_REPLY"
    if role == "tool":
        return text
    verb, _, rest = text.partition(": ")
    if verb == "Remember":
        return "memory_append", {"text": f"- {rest}"}
    if verb == "Find":
        return "memory_search", {"query": rest, "maxResults": 3, "minScore": 0}
    return "ok"


def langchain_agent(memory, flushes):
    from langchain.agents import create_agent
    from langchain_core.messages import HumanMessage
    from langgraph.checkpoint.memory import InMemorySaver

    from langchain_commonplace import ChatMemory, memory_tools
    from support.langchain_fakes import ScriptedChatModel, calling, kind_of

    def script(call):
        kind = kind_of(call)
        if kind == "S":
            return "They talked."
        role = "tool" if call.last.type == "tool" else "user"
        answer = play(role, call.last.text, silent=kind in "Fn")
        return answer if isinstance(answer, str) else calling(answer[0], **answer[1])

    model = ScriptedChatModel(script=script)
    chat = ChatMemory(
        model,
        memory=memory,
        trigger=("messages", 10),
        keep=("messages", 4),
        on_flush=flushes.append,
    )
    agent = create_agent(
        model,
        tools=memory_tools(memory, write=True),
        middleware=[chat],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "langchain"}}

    async def say(text):
        out = await agent.ainvoke({"messages": [HumanMessage(text)]}, config)
        return out["messages"][-1].text

    async def goodbye():
        await chat.aend_session("langchain")

    async def close():
        pass

    return say, goodbye, close


def llama_index_agent(memory, flushes):
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    from llama_index_commonplace import ChatMemory, CommonplaceToolSpec

    def script(messages, tools=(), **_):
        silent = [tool.metadata.name for tool in tools] == ["memory_append"]
        answer = play(messages[-1].role.value, messages[-1].content, silent=silent)
        if isinstance(answer, str):
            return ChatMessage(role="assistant", content=answer)
        call = ToolCallBlock(tool_call_id="call-1", tool_name=answer[0], tool_kwargs=answer[1])
        return ChatMessage(role="assistant", blocks=[call])

    model = MockFunctionCallingLLM(is_chat_model=True, response_generator=script)
    chat = ChatMemory.from_defaults(
        memory, llm=model, token_limit=1_000, token_flush_size=200, on_flush=flushes.append
    )
    tools = CommonplaceToolSpec(memory, write=True).to_tool_list()
    agent = FunctionAgent(tools=tools, llm=model)

    async def say(text):
        return str(await agent.run(text, memory=chat))

    async def goodbye():
        await chat.aflush()

    async def close():
        await chat.sql_store._async_engine.dispose()

    return say, goodbye, close


AGENTS = {"langchain": langchain_agent, "llama_index": llama_index_agent}


async def serve(framework, folder):
    flushes = []
    memory = Memory.open(
        folder / "notes",
        settings=Settings(timezone="UTC"),
        embedder=HashedWords(256),
        index=folder / "state" / "index.sqlite",
        now=clock(),
    )
    say, goodbye, close = AGENTS[framework](memory, flushes)
    answer("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        text = json.loads(line)
        begun = time.perf_counter()
        said = await (goodbye() if text == "Goodbye" else say(text))
        answer(said, seconds=time.perf_counter() - begun, flushes=len(flushes))
    await close()
    memory.close()


def answer(said, **more):
    sys.stdout.write(json.dumps({"answer": said, **more}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
