"""No secret of a session reaches the index, an answer, or a note."""

import functools
import json
import re
from dataclasses import replace
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages import messages_to_dict as to_dicts
from llama_index.core.base.llms.types import ChatMessage

from commonplace.flush import FlushMessage, ToolCall
from support.fakes import HashedWords
from support.reference import vectors
from support.silent import Chat, FailingAt
from text.test_redaction import NAMED, PEM_KINDS, SELF_EVIDENT, of
from transcripts.talk import Path, Talk, assistant, message, tool_noise, user


def escaped(text):
    """A message whose every character is escaped."""
    units = text.encode("utf-16-be")
    codes = "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
    return f'{{"role": "user", "content": "{codes}"}}'


POSITIONS = {
    "alone": lambda text: json.dumps(user(text)),
    "start": lambda text: json.dumps(user(f"{text} is what I use")),
    "middle": lambda text: json.dumps(assistant(f"It is\n{text}\n\nas you said.")),
    "end": lambda text: json.dumps(user(f"I use {text}")),
    "escaped": escaped,
    "raw characters": lambda text: json.dumps(user(f"«{text}»"), ensure_ascii=False),
    "second block": lambda text: json.dumps(
        message("assistant", [{"type": "text", "text": "So:"}, {"type": "text", "text": text}])
    ),
    "tool call": lambda text: json.dumps(
        message("assistant", [{"type": "toolCall", "name": "x", "arguments": {"text": text}}])
    ),
    "tool result": lambda text: json.dumps(message("toolResult", text)),
    "system": lambda text: json.dumps({"role": "system", "content": text}),
    "role": lambda text: json.dumps(message(text, "hello")),
    "names": lambda text: json.dumps(user("hello") | {"id": text, "name": text, text: text}),
    "no JSON": lambda text: f'{{"role": "user", "content": {text}',
    "list": lambda text: json.dumps([user("one"), assistant(text)]),
    "LangChain": lambda text: json.dumps(to_dicts([HumanMessage(text), AIMessage([text])])),
    "LlamaIndex": lambda text: ChatMessage(role="user", content=text).model_dump_json(),
}


def kept(folder):
    """Every byte of the state, and of what SQLite keeps beside it."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.sqlite*")))


@functools.cache
def kept_anyway():
    """What an index holds of every transcript, such as the names of its columns."""
    with TemporaryDirectory() as folder:
        talk = Talk(Path(folder))
        talk.say(user("Tea, please."))
        with talk.open() as memory:
            memory.index()
            return kept(Path(folder))


def shows(data, secret):
    """Whether bytes show more of a secret than both its ends."""
    inner = secret if len(secret) < 18 else secret[7:-5]
    return inner.encode() in data


@st.composite
def all_secrets(draw):
    """One secret of every kind, and how it is written."""
    found = [(draw(kind), "{}") for kind in SELF_EVIDENT.values()]
    found += [(draw(secrets), form) for form, secrets in NAMED.values()]
    body = draw(of("ABCDEFGHIJabcdefghij0123456789", 64))
    for kind in PEM_KINDS:
        form = f"-----BEGIN {kind}-----\n{{}}\n-----END {kind}-----"
        found.append((body, form))
    # Of a link, what is secret is its end. Short and common texts stand anywhere.
    tails = [(secret.rsplit("/", 1)[-1], secret, form) for secret, form in found]
    # A lower-case word before more words is one of a sentence: "password: whatever you like", and
    # "api_key: someVariable" is code, as is "some_variable".
    words = re.compile("[A-Za-z][a-z]*([A-Z]+[a-z]+)*|[a-z]+(_[a-z]+)+|[A-Z]{1,6}")
    tails = [one for one in tails if not words.fullmatch(one[0])]
    telling = (one for one in tails if len(one[0].strip()) >= 10 and one[0].strip() == one[0])
    return [one for one in telling if not shows(kept_anyway(), one[0])]


@pytest.mark.slow
@hypothesis_settings(max_examples=4)
@given(secrets=all_secrets(), embeds=st.booleans())
def test_no_secret_is_in_the_index_in_any_position(secrets, embeds):
    embedder = HashedWords() if embeds else None
    with TemporaryDirectory() as folder:
        talk = Talk(Path(folder))
        for number, (_, secret, form) in enumerate(secrets):
            text = form.format(secret)
            lines = [position(text) for position in POSITIONS.values()]
            talk.rewrite("\n".join(lines) + "\n", f"{number:03}.jsonl")
        with talk.open(embedder) as memory:
            memory.index()
            during = kept(Path(folder))
            hits = [hit for tail, *_ in secrets for hit in memory.search(tail)]
            shown = [memory.get(f"sessions/{n:03}.jsonl").text for n in range(len(secrets))]
        told = json.dumps([[hit.snippet, hit.heading] for hit in hits], ensure_ascii=False)
        everything = b"".join((during, kept(Path(folder)), told.encode(), "".join(shown).encode()))
        assert [tail for tail, *_ in secrets if shows(everything, tail)] == []
        assert "I use" in "".join(shown)
        if embedder:
            sent = "".join(embedder.texts).encode()
            assert [tail for tail, *_ in secrets if shows(sent, tail)] == []


@pytest.mark.parametrize(("given", "expected"), vectors("redactSensitiveText"))
def test_what_the_reference_masks_is_masked_in_a_session(tmp_path, given, expected):
    talk = Talk(tmp_path)
    talk.say(user(given["text"]), *tool_noise(1))
    with talk.open() as memory:
        memory.index()
        line = memory.get("sessions/a.jsonl", lines=1).text
    masked = " ".join(expected.split())
    # On one line, a private key is masked whole.
    assert line == f"User: {masked}" or (line == "User: ***" and "PRIVATE KEY" in masked)
    if expected != given["text"] and len(given["text"].split()) == 1:
        assert given["text"].encode() not in kept(tmp_path)


SECRET = "sk-proj-A1b2C3d4E5f6G7h8I9j0K1l2"


def test_what_no_flush_wrote_down_is_found_without_its_secrets(tmp_path):
    chat = Chat(tmp_path)
    memory = chat.memory()
    flusher = chat.flusher(FailingAt(1, 2, 3), memory=memory)
    call = ToolCall("login", {"token": SECRET})
    messages = [
        FlushMessage("user", f"The gate opens with {SECRET}, said Gutenberg."),
        FlushMessage("assistant", "Noted.", (call,)),
    ]
    for _ in range(3):
        report = flusher.flush(messages, thread="door/7")
    assert report.transcript
    memory.index()
    (hit,) = memory.search("Gutenberg gate")
    assert hit.source == "sessions"
    assert hit.snippet.startswith("User: The gate opens with sk-pro…K1l2, said Gutenberg.")
    assert memory.get(hit.path).text.count("User:") == 1
    memory.close()
    left = [path for path in chat.state.rglob("*") if path.is_file()]
    assert len(left) >= 3
    assert [path.name for path in left if SECRET[8:20].encode() in path.read_bytes()] == []


def test_the_note_of_a_session_has_no_secret(tmp_path):
    talk = Talk(tmp_path)
    with talk.open() as memory:
        said = [{"role": "user", "content": f"use {SECRET}"}]
        path = memory.write_session_note(said, slug=f"key {SECRET}", key=SECRET, session=SECRET)
        text = (talk.root / path).read_text()
    assert SECRET[8:20].lower() not in (path + text).lower()


def test_the_setting_masks_numbers_of_persons_in_sessions(tmp_path):
    """In what is indexed and shown, also after a change of the setting, and in a session's note."""
    card = "4111 1111 1111 1111"
    talk = Talk(tmp_path)
    talk.say(user(f"Gutenberg pays with {card}"))
    shown = []
    for choice in (False, True):
        with talk.open(settings=replace(talk.settings, mask_personal=choice)) as memory:
            memory.index()
            (hit,) = memory.search("Gutenberg pays", sources=("sessions",))
            assert hit.snippet == memory.get(hit.path).text.rstrip()
            said = [{"role": "user", "content": f"use {card}"}]
            note = (talk.root / memory.write_session_note(said)).read_text()
            shown.append((card in hit.snippet, card in note))
    assert shown == [(True, True), (False, False)]


@pytest.mark.parametrize("choice", [True, False], ids=["masked", "kept"])
def test_the_setting_masks_numbers_of_persons_in_archived_sessions(tmp_path, choice):
    card = "4111 1111 1111 1111"
    chat = Chat(tmp_path)
    with chat.memory(mask_personal=choice) as memory:
        call = ToolCall("pay", {"card": card}, "c1")
        messages = [FlushMessage("user", f"use {card}"), FlushMessage("assistant", "", (call,))]
        flusher = chat.flusher(FailingAt(1, 2, 3), memory=memory)
        paths = [flusher.archive(messages, thread="t")]
        paths += filter(None, (flusher.flush(messages).transcript for _ in range(3)))
    assert len(paths) == 2
    assert {card in Path(path).read_text() for path in paths} == {not choice}
