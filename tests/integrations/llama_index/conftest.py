"""The demo's workspace, and models that follow a script. LlamaIndex is loaded where it is used."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque

import pytest

from commonplace import Memory, Settings
from commonplace.demo import write_demo_workspace
from commonplace.settings import FlushSettings
from support.fakes import NOON, HashedWords, clock


@pytest.fixture
def notes(tmp_path):
    """The demo's workspace on the disk."""
    return write_demo_workspace(tmp_path / "notes", today=NOON.date())


@pytest.fixture
def open_memory(notes, tmp_path):
    """Open the demo's workspace, each time with an index of its own."""
    with contextlib.ExitStack() as stack:

        def open_memory(embedder=None, **options):
            index = tmp_path / f"index-{len(list(tmp_path.iterdir()))}.sqlite"
            memory = Memory.open(notes, embedder=embedder, index=index, now=clock(), **options)
            return stack.enter_context(memory)

        yield open_memory


@pytest.fixture
def memory(open_memory):
    memory = open_memory(HashedWords(256))
    memory.index()
    return memory


@pytest.fixture
def scripted():
    """Make a model of functions of the messages, one a call; a text is an answer.

    The last step is repeated. What each call was given is in `model.asked`, a list of
    ``(messages, tools)``.
    """
    from llama_index.core.base.llms.types import ChatMessage, CompletionResponse
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    class Scripted(MockFunctionCallingLLM):
        def complete(self, prompt, formatted=False, **options):
            answer = self.response_generator([ChatMessage(role="user", content=prompt)], **options)
            return CompletionResponse(text=answer.content)

        async def acomplete(self, prompt, formatted=False, **options):
            return self.complete(prompt, **options)

    def scripted(*steps):
        script, asked = deque(steps), []

        def respond(messages, **options):
            asked.append((list(messages), options.get("tools")))
            step = script.popleft() if len(script) > 1 else script[0]
            answer = step(messages) if callable(step) else step
            if isinstance(answer, str):
                answer = ChatMessage(role="assistant", content=answer)
            return answer

        model = Scripted(response_generator=respond, is_chat_model=True)
        object.__setattr__(model, "asked", asked)
        return model

    return scripted


@pytest.fixture
def tool_call():
    """Make the message of a model that calls one tool."""
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

    def tool_call(name, **arguments):
        block = ToolCallBlock(tool_call_id=f"call-{name}", tool_name=name, tool_kwargs=arguments)
        return ChatMessage(role="assistant", blocks=[block])

    return tool_call


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def open_folder(folder, tmp_path):
    """Open the workspace; each time it is the same one."""
    opened = []

    def open_folder(**flush):
        memory = Memory.open(
            folder,
            embedder=None,
            index=tmp_path / "state" / "index.sqlite",
            now=clock(),
            settings=Settings(flush=FlushSettings(**flush)),
        )
        opened.append(memory)
        return memory

    (tmp_path / "state").mkdir()
    yield open_folder
    for memory in opened:
        memory.close()


@pytest.fixture
async def chats():
    """A list of conversations whose databases are closed after the test."""
    chats = []
    yield chats
    for chat in chats:
        if chat.sql_store._async_engine is not None:
            await chat.sql_store._async_engine.dispose()


@pytest.fixture
def chat_with(open_folder, chats):
    """Open a conversation."""
    from llama_index.core.memory import Memory as StockMemory

    from llama_index_commonplace import ChatMemory

    def chat_with(llm, *, memory=None, kind=ChatMemory, **options):
        options = {"token_limit": 400, "token_flush_size": 60} | options
        if kind is ChatMemory:
            chat = ChatMemory.from_defaults(memory or open_folder(), llm=llm, **options)
        else:
            chat = StockMemory.from_defaults(tokenizer_fn=str.split, **options)
        chats.append(chat)
        return chat

    return chat_with


class Ticks:
    """Counts the turns of the event loop."""

    def __init__(self):
        self.count = 0

    async def __aenter__(self):
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_):
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _tick(self):
        while True:
            await asyncio.sleep(0.001)
            self.count += 1


@pytest.fixture
def ticks():
    return Ticks()
