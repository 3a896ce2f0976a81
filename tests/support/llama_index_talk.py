"""Conversations in LlamaIndex about facts: a model that notes them, and where each is in the end.

LlamaIndex must be installed; a test says so before it imports this.
"""

from __future__ import annotations

import asyncio
import re
import threading

from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

TURNS = 40
FILLER = "and so on, at some length, as people do when they talk about their work"
FACT = re.compile(r"FACT-\d+\b")


def fact(turn):
    return f"FACT-{turn}"


def facts_in(text):
    return FACT.findall(text)


class Writer(MockFunctionCallingLLM):
    """Answers the user with one sentence; in a silent turn, notes each fact that it is shown.

    Every silent question is counted in `silent`; `trouble`, called with its number, may raise.
    `kinds` says what each call was: ``l`` the call of a tool, ``a`` an answer, ``F`` a silent
    question, ``n`` its second round; `fails`, called with the kind and the number, may raise.
    """

    def __init__(self, trouble=None, *, fails=None, **options):
        super().__init__(is_chat_model=True, response_generator=self._respond, **options)
        object.__setattr__(self, "trouble", trouble or (lambda number: None))
        object.__setattr__(self, "fails", fails or (lambda kind, number: None))
        object.__setattr__(self, "silent", [])
        object.__setattr__(self, "answers", [])
        object.__setattr__(self, "kinds", [])

    def _respond(self, messages, tools=None, **_):
        names = [tool.metadata.name for tool in tools or []]
        kind = kind_of(messages, names)
        self.kinds.append(kind)
        self.fails(kind, len(self.kinds))
        if kind in "la":
            return self._answer(messages, kind)
        asked = "\n".join(message.content or "" for message in messages)
        self.silent.append(asked)
        self.trouble(len(self.silent))
        notes = [f"- The user said {found}." for found in facts_told(asked)]
        if kind == "n" or not notes:
            return ChatMessage(role="assistant", content="NO_REPLY")
        return called("memory_append", text="\n".join(notes))

    def _answer(self, messages, kind):
        self.answers.append(messages)
        if kind == "l":
            return called("lookup", words=[FILLER] * 3)
        return ChatMessage(role="assistant", content=f"Noted, {FILLER}.")


def kind_of(messages, names):
    """Tell what a call of the model is for."""
    if names == ["memory_append"]:
        return "n" if messages[-1].role == "tool" else "F"
    return "l" if "lookup" in names and messages[-1].role == "user" else "a"


def facts_told(asked):
    """Return the facts that the user told in the conversation of a silent question."""
    told = asked[asked.index("<conversation>") : asked.index("</conversation>")]
    lines = [line for line in told.split("\n") if line.startswith("User: ")]
    return [FACT.findall(line)[0] for line in lines if FACT.search(line)]


class Hanging(Writer):
    """Never answers a silent question while `hangs`."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "hangs", True)
        object.__setattr__(self, "over", threading.Event())

    async def achat_with_tools(self, tools, **options):
        if self.hangs and len(tools) == 1:
            await asyncio.Event().wait()
        return await super().achat_with_tools(tools, **options)

    def chat_with_tools(self, tools, **options):
        if self.hangs and len(tools) == 1:
            self.over.wait(10)
        return super().chat_with_tools(tools, **options)


def called(name, **arguments):
    block = ToolCallBlock(tool_call_id=f"call-{name}", tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[block])


def lookup(words: list[str]) -> str:
    """Look words up."""
    return f"nothing about {len(words)} words"


def log_of(folder):
    return "\n".join(file.read_text("utf-8") for file in sorted(folder.rglob("*.md")))


async def kept_in(chat):
    return "\n".join(message.content or "" for message in await chat.aget())


async def agree(chat, folder, said):
    """Check that each fact is in the log or still in the conversation, and in the log once."""
    kept = facts_in(await kept_in(chat))  # reading it makes a block write down what has left
    logged = facts_in(log_of(folder))
    assert not set(said) - set(logged) - set(kept)
    assert len(logged) == len(set(logged))
    return logged
