"""The model of the LlamaIndex notebook: it says its lines in order, and keeps what it was shown."""

from __future__ import annotations

from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

__all__ = ["scripted_llm", "shown"]

shown: list[list[ChatMessage]] = []
"""Messages of each call of a model, of the last one that was made."""


def _called(tool: str, **arguments: str) -> ChatMessage:
    call = ToolCallBlock(tool_call_id="1", tool_name=tool, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[call])


PRICE = ("45 euros a month, for a club with up to 200 members [1].",)
KEY_CABINET = (
    "Six digits, then, and a fresh code for each booking. What if the network is down?",
    "Good: the cabinet keeps tomorrow's codes. Who looks after it at Otterbach?",
    # The silent turn: the next message would push the oldest one out.
    _called(
        "memory_append",
        text="- Key cabinet (2.5): codes have six digits, a new one for each booking.\n"
        "- Key cabinet (2.5): it keeps the codes of the next 24 hours, for when the network is"
        " down.",
    ),
    # The answer to the user, who asks for something that has left the conversation.
    _called("memory_search", query="How many digits do the codes of the key cabinet have?"),
    "Six digits, a new code for each booking. (memory/2026-11-20.md)",
    # The answer of the tool is long, and pushes out the rest: another silent turn.
    _called(
        "memory_append", text="- Otterbach's boat warden, Ines, looks after their key cabinet."
    ),
)
_SCRIPTS = {"price": PRICE, "key cabinet": KEY_CABINET}


def scripted_llm(script: str) -> MockFunctionCallingLLM:
    """Return a model that plays ``price`` or ``key cabinet``."""
    rest = iter(_SCRIPTS[script])
    shown.clear()

    def answer(messages: list[ChatMessage], **options: object) -> ChatMessage:
        shown.append(messages)
        reply = next(rest)
        if isinstance(reply, ChatMessage):
            return reply
        return ChatMessage(role="assistant", content=reply)

    return MockFunctionCallingLLM(is_chat_model=True, response_generator=answer)
