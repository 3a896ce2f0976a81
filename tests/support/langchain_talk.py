"""Conversations with an agent about facts, and where each fact is in the end."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage, HumanMessage

from support.langchain_fakes import ScriptedChatModel

TURNS = 40


def model_of(script, **options):
    return ScriptedChatModel(script=script, **options)


def facts(text):
    return re.findall(r"fact-\d+(?=\D|$)", text)


def logged(folder):
    return facts((folder / "memory" / "2026-11-20.md").read_text(encoding="utf-8"))


def in_messages(messages):
    return {fact for message in messages for fact in facts(message.text)}


class Conversation:
    """Talks with an agent, with or without a checkpointer, and knows what was said."""

    def __init__(self, agent, *, checkpointed, is_async, thread="1"):
        self.agent = agent
        self.config = {"configurable": {"thread_id": thread}} if checkpointed else {}
        self.checkpointed = checkpointed
        self.is_async = is_async
        self.messages = []
        self.said = []

    async def say(self, text):
        self.said += facts(text)
        new = [HumanMessage(text)]
        given = {"messages": new if self.checkpointed else [*self.messages, *new]}
        if self.is_async:
            out = await self.agent.ainvoke(given, self.config)
        else:
            out = self.agent.invoke(given, self.config)
        if self.checkpointed:
            self.messages = out["messages"]
        else:  # a client that resends history has no ids and no summaries
            self.messages += [HumanMessage(text), AIMessage(out["messages"][-1].text)]
        return out

    async def talk(self, turns=TURNS, start=0):
        for turn in range(start, start + turns):
            await self.say(f"Here is fact-{turn} for you.")


def assert_nothing_lost(folder, conversation, messages=None):
    noted = logged(folder)
    kept = in_messages(messages or conversation.messages)
    missing = [fact for fact in conversation.said if fact not in noted and fact not in kept]
    assert missing == []
    assert len(noted) == len(set(noted)), "a fact was written down twice"
