"""No key, token or password reaches a note through either framework's chat memory."""

from __future__ import annotations

import pytest

from commonplace import Memory, Settings
from support.fakes import clock

SECRETS = {
    "an API key": "sk-abcdefghijklmnopqrstuvwxyz123456",
    "a GitHub token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "a password": "correct-horse-battery",
    "a private key": "MIIEpAIBAAKCAQEAwXyzabcdefghijklmnopqrstuvwxyz0123456789",
}
NOTE = f"""\
- The deploy key is {SECRETS["an API key"]}.
- The token is {SECRETS["a GitHub token"]}
- DB_PASSWORD={SECRETS["a password"]}
- The host's key:
-----BEGIN RSA PRIVATE KEY-----
{SECRETS["a private key"]}
-----END RSA PRIVATE KEY-----
- The VPN listens on port 51820."""
SAID = [f"This is what I use: {NOTE}", "Noted.", "And the VPN?", "It listens on port 51820."]


@pytest.fixture
def memory(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "state").mkdir()
    with Memory.open(
        tmp_path / "notes",
        settings=Settings(timezone="UTC"),
        embedder=None,
        index=tmp_path / "state" / "index.sqlite",
        now=clock(),
    ) as memory:
        yield memory


async def langchain_middleware(kind, memory):
    pytest.importorskip("langchain", reason="LangChain is not installed")
    from langchain.agents import create_agent
    from langchain_core.messages import AIMessage, HumanMessage

    import langchain_commonplace
    from support.langchain_fakes import ScriptedChatModel, calling, kind_of

    def script(call):
        return {"F": calling("memory_append", text=NOTE), "n": "NO_REPLY"}.get(kind_of(call), "ok")

    model = ScriptedChatModel(script=script)
    options = {"model": model, "memory": memory, "trigger": ("messages", 3)}
    if kind == "ChatMemory":
        options["keep"] = ("messages", 1)
    agent = create_agent(model, middleware=[getattr(langchain_commonplace, kind)(**options)])
    messages = [(AIMessage if place % 2 else HumanMessage)(text) for place, text in enumerate(SAID)]
    await agent.ainvoke({"messages": messages[:3]})


async def llama_index_memory(kind, memory):
    pytest.importorskip("llama_index.core", reason="the extra llama-index is not installed")
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.memory import Memory as StockMemory

    from llama_index_commonplace import ChatMemory, FlushMemoryBlock
    from support.llama_index_talk import called

    def script(messages, **_):
        if messages[-1].role == "tool":
            return ChatMessage(role="assistant", content="NO_REPLY")
        return called("memory_append", text=NOTE)

    llm = MockFunctionCallingLLM(is_chat_model=True, response_generator=script)
    if kind == "ChatMemory":
        chat = ChatMemory.from_defaults(memory, llm=llm)
    else:
        chat = StockMemory.from_defaults(
            token_limit=20,
            token_flush_size=10,
            tokenizer_fn=str.split,
            memory_blocks=[FlushMemoryBlock(memory=memory, llm=llm)],
        )
    for place, text in enumerate(SAID):
        await chat.aput(ChatMessage(role="assistant" if place % 2 else "user", content=text))
    await chat.aget()
    if kind == "ChatMemory":
        await chat.aflush()
    await chat.sql_store._async_engine.dispose()


@pytest.mark.parametrize(
    ("talk", "kind"),
    [
        (langchain_middleware, "ChatMemory"),
        (langchain_middleware, "MemoryFlushMiddleware"),
        (llama_index_memory, "ChatMemory"),
        (llama_index_memory, "FlushMemoryBlock"),
    ],
    ids=lambda part: getattr(part, "__name__", part),
)
async def test_secrets_are_masked_before_a_note_is_written(memory, talk, kind):
    await talk(kind, memory)
    [log] = memory.workspace.root.rglob("*.md")
    written = log.read_text(encoding="utf-8")
    assert "- The VPN listens on port 51820." in written
    assert "The deploy key is" in written
    assert not [what for what, secret in SECRETS.items() if secret in written]
