"""Session files that grow: what is new is read, and the index is as a fresh one."""

import json
from dataclasses import replace
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from commonplace import Settings
from commonplace.settings import ChunkingSettings
from support import engines
from support.fakes import HashedWords, Raising
from support.sampling import sampled
from transcripts.talk import NOON, Path, Talk, assistant, days_ago, message, tool_noise, user

WORDS = [
    "port",
    "router",
    "printer",
    "tea",
    "budget",
    "Ann",
    "deploy",
    "Friday",
    "Lisbon",
    "rollback",
]


@pytest.fixture
def talk(tmp_path, engine):
    return Talk(tmp_path, engine=engine)


def fresh(talk, embedder=None, settings=None):
    """What an index that is built now holds."""
    other = talk.index_at("fresh.sqlite")
    with talk.open(embedder, settings, other) as memory:
        memory.index(force=True)
    return dated(talk, other)


def dated(talk, index=None):
    """The rows of an index, with what is noted of the files."""
    with talk.store(index) as store, store.snapshot() as snapshot:
        files = sorted(snapshot.files().items())
    # Where vectors are missing depends on when an embedder was there.
    read = [
        (
            path,
            record.day,
            record.note,
            record.progress and json.loads(record.progress) | {"first_unembedded": None},
        )
        for path, record in files
    ]
    return talk.rows(index), read


def sentence(numbers):
    return " ".join(WORDS[n % len(WORDS)] + ("" if n % 7 else ".") for n in numbers)


texts = st.lists(st.integers(0, 200), min_size=1, max_size=40).map(sentence)
long_texts = st.tuples(texts, st.integers(1, 60)).map(lambda made: f"{made[0]} " * made[1])
moments = st.one_of(st.none(), st.integers(0, 3).map(days_ago))
records = st.one_of(
    st.builds(user, texts, moments),
    st.builds(assistant, st.one_of(texts, long_texts), moments),
    st.builds(message, st.just("toolResult"), texts, moments),
    st.just({"type": "custom"}),
)
batches = st.lists(
    st.one_of(
        st.lists(records, min_size=1, max_size=12),
        st.builds(tool_noise, st.integers(10, 20)),
    ),
    min_size=2,
    max_size=8,
)
SMALL = ChunkingSettings(tokens=60, overlap=12)
GRAINS = {
    "lines": Settings(chunking=SMALL),
    "large chunks": Settings(),
    "small OpenClaw chunks": replace(Settings.openclaw(), chunking=SMALL),
    "openclaw": Settings.openclaw(),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", engines.ENGINES)
@pytest.mark.parametrize("name", sampled(GRAINS, every=len(GRAINS)))
@hypothesis_settings(max_examples=8, phases=[Phase.explicit, Phase.generate])
@given(data=st.data(), embeds=st.booleans())
def test_an_index_that_grew_is_as_a_fresh_one(kind, name, data, embeds):
    embedder = HashedWords() if embeds else None
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        engines.install(patch)
        talk = Talk(Path(folder), engine=kind)
        settings = replace(GRAINS[name], sessions=talk.settings.sessions, timezone="UTC")
        for batch in data.draw(batches):
            talk.say(*batch)
            if data.draw(st.booleans()):  # a line that is being written
                rest = json.dumps(user("half a line"))
                with talk.path().open("a") as file:
                    file.write(rest[:20])
                talk.indexed(embedder, settings=settings)
                with talk.path().open("a") as file:
                    file.write(rest[20:] + "\n")
            talk.indexed(embedder, settings=settings)
        assert dated(talk) == fresh(talk, embedder, settings)


def test_only_the_new_message_is_embedded(talk):
    embedder = HashedWords()
    talk.say(*(user(f"message {n} about {WORDS[n % 10]}") for n in range(500)))
    talk.indexed(embedder)
    before = len(embedder.texts)
    talk.say(assistant("something that nobody said before"))
    report = talk.indexed(embedder)
    assert (report.updated, report.embedded) == (1, 1)
    assert embedder.texts[before:] == ["Assistant: something that nobody said before"]


def test_chunks_before_the_last_one_keep_their_rows(talk):
    talk.say(*(user(f"message {n} about {WORDS[n % 10]}") for n in range(500)))
    talk.indexed()
    before = seqs(talk)
    talk.say(user("one more"))
    talk.indexed()
    after = seqs(talk)
    assert len(before) > 10
    assert after[:-1] == before[:-1]
    assert after[-1] != before[-1]


def seqs(talk):
    return sorted(chunk.seq for chunk in talk.chunks() if chunk.source == "sessions")


# Files that are not the ones that were read.


@pytest.mark.parametrize(
    "change",
    {
        "truncated": lambda data: b"".join(data.splitlines(keepends=True)[:3]),
        "emptied": lambda data: b"",
        "rewritten": lambda data: data.replace(b"printer", b"scanner"),
        "shorter and longer": lambda data: data[: len(data) // 2] + b"\n" + data,
        "in its middle": lambda data: data.replace(b"printer 30", b"scanner 30"),
        "another head": lambda data: json.dumps(user("first of all")).encode() + b"\n" + data,
    }.items(),
    ids=lambda change: change[0],
)
def test_a_rewritten_file_is_read_again(talk, change):
    talk.say(*(user(f"The printer {n} is on floor {n}." + " Tea." * 200) for n in range(60)))
    talk.indexed()
    talk.rewrite(change[1](talk.path().read_bytes()))
    talk.indexed()
    assert dated(talk) == fresh(talk)


def test_a_file_that_is_deleted_leaves_the_index(talk):
    talk.say(user("The printer is called Gutenberg."))
    talk.indexed()
    talk.path().unlink()
    with talk.open() as memory:
        assert memory.index().removed == 1
        assert memory.search("printer Gutenberg", sources=["sessions"]) == []


def test_another_time_zone_gives_messages_other_days(talk):
    talk.say(user("late at night", NOON.replace(hour=23)))
    talk.indexed()
    tokyo = replace(talk.settings, timezone="Asia/Tokyo")
    talk.indexed(settings=tokyo)
    with talk.open(settings=tokyo) as memory:
        assert memory.search("late", after="2026-11-21")
        assert not memory.search("late", before="2026-11-20", sources=["sessions"])


# Lines that are being written.


def test_a_half_written_last_line_waits(talk):
    talk.say(user("The port is 8443."))
    line = json.dumps(user("The printer is upstairs."))
    with talk.path().open("a") as file:
        file.write(line[:-8])
    with talk.open() as memory:
        memory.index()
        assert memory.search("port 8443", sources=["sessions"])
        assert memory.get("sessions/a.jsonl").lines == 1
        assert memory.status().stale == (("sessions/a.jsonl", "its last line is not complete yet"),)
        with talk.path().open("a") as file:
            file.write(line[-8:] + "\n")
        memory.index()
        assert memory.search("printer upstairs", sources=["sessions"])[0].end_line == 2
        assert memory.status().stale == ()


def test_a_last_line_that_is_whole_needs_no_line_break(talk):
    talk.say(user("The port is 8443."), end="")
    talk.indexed()
    talk.say(user("so it is"), name="b.jsonl")
    with talk.path().open("a") as file:
        file.write("\n" + json.dumps(assistant("The printer is upstairs.")) + "\n")
    with talk.open() as memory:
        memory.index()
        assert memory.search("printer upstairs", sources=["sessions"])[0].end_line == 2
    assert dated(talk) == fresh(talk)


@pytest.mark.parametrize("start", ["", '{"role": "us'], ids=["empty", "half a line"])
def test_a_file_without_messages_is_new_when_it_has_its_first_one(tmp_path, start):
    talk = Talk(tmp_path, delta_bytes=100_000)
    talk.rewrite(start)
    with talk.open() as memory:
        memory.index()
        talk.rewrite(json.dumps(user("The printer is upstairs.")) + "\n")
        memory.index()
        assert memory.search("printer upstairs", sources=["sessions"])


def test_a_list_that_was_seen_half_written_is_read_when_it_is_whole(tmp_path):
    talk = Talk(tmp_path, delta_bytes=100_000)
    data = json.dumps([user(f"The printer {n} is upstairs.") for n in range(30)], indent=2)
    with talk.open() as memory:
        for end in (len(data) // 3, len(data) // 2, len(data)):
            talk.rewrite(data[:end])
            memory.index()
        assert memory.search("printer 29 upstairs", sources=["sessions"])
        assert memory.status().stale == ()
    assert dated(talk) == fresh(talk)


def test_a_long_line_that_is_being_written_waits_as_well(tmp_path):
    talk = Talk(tmp_path, delta_bytes=1_000)
    talk.say(user("The port is 8443."))
    with talk.open() as memory:
        memory.index()
        with talk.path().open("a") as file:
            file.write('{"role": "user", "content": "' + "tea " * 1_000)
        assert memory.index().updated == 0
        assert memory.status().stale == (("sessions/a.jsonl", "its last line is not complete yet"),)


# Vectors that were not to be had.


def test_what_lacks_vectors_is_embedded_later_and_only_that(talk):
    embedder = Raising()
    embedder.broken = False
    talk.say(*(user(f"message {n} about {WORDS[n % 10]}") for n in range(200)))
    talk.indexed(embedder)
    embedder.broken = True
    talk.say(user("said while nobody answered"))
    report = talk.indexed(embedder)
    assert "found by keywords only" in dict(report.failed)["sessions/a.jsonl"]
    talk.say(user("and then this"))
    talk.indexed(embedder)
    embedder.broken = False
    before = len(embedder.texts)
    report = talk.indexed(embedder)
    assert report.failed == ()
    assert sorted(embedder.texts[before:]) == [
        "User: and then this",
        "User: said while nobody answered",
    ]
    assert dated(talk) == fresh(talk, embedder)


def test_what_was_indexed_by_words_gets_its_vectors_from_the_first_embedder(talk):
    for turn in range(5):
        talk.say(*(user(f"message {turn} {n} about {WORDS[n % 10]}") for n in range(60)))
        talk.indexed()
    talk.indexed(HashedWords())
    assert dated(talk) == fresh(talk, HashedWords())


@pytest.mark.slow
def test_long_files_come_in_parts_and_an_end_in_between_is_gone_on_from(talk, monkeypatch):
    monkeypatch.setattr("commonplace.transcripts.incremental._PART_CHARS", 4000)
    talk.say(*(user(f"message {n} about {WORDS[n % 10]} and {n * n}") for n in range(2000)))

    class Down(HashedWords):
        left = 6

        def embed_documents(self, texts):
            Down.left -= 1
            if Down.left < 0:
                raise KeyboardInterrupt
            return super().embed_documents(texts)

    with pytest.raises(KeyboardInterrupt):
        talk.indexed(Down())
    with talk.open() as memory:
        held = memory.status().chunks
    embedder = HashedWords()
    report = talk.indexed(embedder)
    assert 5 < held < report.chunks
    assert len(embedder.texts) < 2000
    assert dated(talk) == fresh(talk, embedder)
