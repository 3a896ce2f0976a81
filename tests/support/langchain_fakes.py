"""A chat model that plays a script, and remembers what it was asked."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr


@dataclass
class Call:
    """One call of the model: the messages and the schemas of the tools, by name."""

    messages: list[BaseMessage]
    tools: dict[str, Any] = field(default_factory=dict)

    @property
    def system(self) -> str:
        return "".join(m.text for m in self.messages if m.type == "system")

    @property
    def last(self) -> BaseMessage:
        return self.messages[-1]


class ScriptedChatModel(BaseChatModel):
    """Answers what `script(call)` returns: a message, a text, or an error to raise.

    A list is played in order instead; its last entry is repeated.
    """

    script: Callable[[Call], Any] | list[Any]
    _calls: list[Call] = PrivateAttr(default_factory=list)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    @property
    def calls(self) -> list[Call]:
        return self._calls

    def bind_tools(self, tools, *, tool_choice=None, **kwargs):
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, *, tools=(), **kwargs):
        message = self._play(Call(list(messages), _by_name(tools)))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self, messages, stop=None, run_manager=None, *, tools=(), **kwargs
    ) -> Iterator[ChatGenerationChunk]:
        message = self._play(Call(list(messages), _by_name(tools)))
        calls = [
            {"name": c["name"], "args": _json(c["args"]), "id": c["id"], "index": n}
            for n, c in enumerate(message.tool_calls)
        ]
        parts = re.findall(r"\S+\s*", message.text) or [""]
        for place, part in enumerate(parts):
            last = place == len(parts) - 1
            chunk = AIMessageChunk(
                part,
                tool_call_chunks=calls if last else [],
                usage_metadata=message.usage_metadata if last else None,
                response_metadata=message.response_metadata if last else {},
            )
            generation = ChatGenerationChunk(message=chunk)
            if run_manager:
                run_manager.on_llm_new_token(part, chunk=generation)
            yield generation

    def _play(self, call: Call) -> AIMessage:
        with self._lock:
            self._calls.append(call)
            number = len(self._calls) - 1
        if callable(self.script):
            answer = self.script(call)
        else:
            answer = self.script[min(number, len(self.script) - 1)]
        if isinstance(answer, BaseException):
            raise answer
        return answer if isinstance(answer, AIMessage) else AIMessage(answer)


def calling(tool: str, call_id: str = "call-1", **arguments: Any) -> AIMessage:
    """Return a message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": call_id}])


def _by_name(tools: Any) -> dict[str, Any]:
    return {tool["function"]["name"]: tool["function"] for tool in tools}


def _json(arguments: Any) -> str:
    import json

    return json.dumps(arguments)


class Notetaker:
    """A script for an agent that talks in facts: ``fact-7`` and the like.

    It answers the user, sums up without any fact, and in the silent turn notes every fact that it
    is shown. `kinds` says what each call was: ``a`` answer, ``S`` summary, ``F`` flush, ``n`` the
    silent turn's second round.
    """

    def __init__(self, answer: Callable[[Call], Any] = lambda call: "ok") -> None:
        self.answer = answer
        self.kinds = ""
        self.fails: Callable[[str, int], BaseException | None] = lambda kind, number: None

    def __call__(self, call: Call) -> Any:
        kind = kind_of(call)
        self.kinds += kind
        if error := self.fails(kind, len(self.kinds)):
            return error
        if kind == "F":
            facts = dict.fromkeys(re.findall(r"fact-\w+", call.last.text))
            if not facts:
                return "NO_REPLY"
            return calling("memory_append", text="\n".join(f"- {fact}" for fact in facts))
        return {"n": "NO_REPLY", "S": "They talked."}.get(kind) or self.answer(call)


def kind_of(call: Call) -> str:
    """Tell what a call of the model is for."""
    if call.system.startswith("Pre-compaction memory flush turn."):
        return "F" if call.last.type == "human" else "n"
    first = call.messages[0].text if call.messages else ""
    return "S" if "Context Extraction Assistant" in first else "a"
