"""`CommonplaceStore`: LangGraph's store interface over folders of Markdown files."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("langgraph", reason="LangGraph is not installed")

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.base.batch import AsyncBatchedBaseStore

from commonplace import Memory, PathNotAllowedError, Settings
from commonplace.items import ItemStore
from langchain_commonplace import CommonplaceStore
from support.fakes import HashedWords
from support.langchain_fakes import ScriptedChatModel, calling


@pytest.fixture
def open_store(tmp_path):
    """Return a function that opens the store; what it opened is closed at the end."""
    opened = []

    def open_store(**options):
        settings = Settings(timezone="UTC")
        options = {"embedder": HashedWords(512), "settings": settings} | options
        opened.append(CommonplaceStore(tmp_path / "store", **options))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store):
    return open_store()


def keys(items):
    return [item.key for item in items]


def file_of(store, *parts):
    return store.memory.workspace.root.joinpath("memory", *parts)


class TestItems:
    """Put, get, delete."""

    def test_an_item_is_a_file_that_people_can_read(self, store):
        store.put(("users", "ann"), "vpn", {"text": "The VPN listens on 51820.", "port": 51820})
        text = file_of(store, "users", "ann", "vpn.md").read_text("utf-8")
        assert text.startswith("---\nport: 51820\n")
        assert text.endswith("---\nThe VPN listens on 51820.\n")

    def test_what_a_person_edits_is_what_get_returns(self, store):
        store.put(("users",), "vpn", {"text": "The VPN listens on 51820.", "port": 51820})
        file = file_of(store, "users", "vpn.md")
        file.write_text(file.read_text("utf-8").replace("51820", "443"), "utf-8")
        assert store.get(("users",), "vpn").value == {
            "text": "The VPN listens on 443.",
            "port": 443,
        }
        (file.parent / "Own.md").write_text("Written by hand.\n")
        assert store.get(("users",), "Own").value == {"text": "Written by hand."}
        store.put(("users",), "Own", {"text": "Replaced."})
        assert sorted(os.listdir(file.parent)) == ["Own.md", "vpn.md"]
        store.memory.index()
        assert store.search(("users",), query="on 443")[0].key == "vpn"

    def test_an_item_is_replaced_and_keeps_when_it_was_created(self, store):
        store.put(("a",), "k", {"n": 1})
        first = store.get(("a",), "k")
        time.sleep(0.05)
        store.put(("a",), "k", {"n": 2})
        second = store.get(("a",), "k")
        assert (first.value, second.value) == ({"n": 1}, {"n": 2})
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at
        assert second.created_at.tzinfo is not None
        assert abs(second.updated_at - datetime.now(UTC)) < timedelta(minutes=1)

    def test_a_deleted_item_is_gone_and_its_text_in_the_history(self, store):
        store.put(("a",), "k", {"text": "Some words."})
        store.delete(("a",), "k")
        store.delete(("a",), "k")
        assert store.get(("a",), "k") is None
        assert store.search(("a",), query="words") == []
        assert store.list_namespaces() == []
        assert store.memory.history()[0].change == "delete"

    def test_a_missing_item_is_none(self, store):
        assert store.get(("nowhere", "at all"), "k") is None
        store.put(("a", "b"), "c", {})
        assert store.get(("a",), "b") is None
        assert store.get(("a", "b"), "c").value == {}

    @pytest.mark.parametrize(
        "text",
        ["../../evil", "/etc/passwd", "", " ", "CON", "a\\b", "Ä", "ä", "A", "a", "%41", "~", "\n",
         "x" * 900, "X" * 900, "日本", "🙂", "\u202e", "*", "a\nb", "-", "\ud800"],
        ids=lambda text: ascii(text)[:20],
    )  # fmt: skip
    def test_keys_and_namespaces_of_any_text(self, store, text):
        store.put(("root",), text, {"of": text.encode("utf-16", "surrogatepass").hex()})
        assert store.get(("root",), text).key == text
        assert keys(store.search(("root",))) == [text]
        if text and "." not in text:
            store.put((text, "in"), "k", {"n": 1})
            assert store.get((text, "in"), "k").value == {"n": 1}
            assert (text, "in") in store.list_namespaces()
            assert store.search((text,))[0].namespace == (text, "in")
        assert not list(store.memory.workspace.root.parent.glob("evil*"))

    def test_keys_that_differ_in_case_are_different(self, store):
        for key in ("vpn", "VPN", "Vpn"):
            store.put(("a",), key, {"key": key})
        assert [store.get(("a",), key).value["key"] for key in ("vpn", "VPN", "Vpn")] == [
            "vpn", "VPN", "Vpn",
        ]  # fmt: skip
        names = os.listdir(file_of(store, "a"))
        assert len({name.lower() for name in names}) == 3

    def test_what_is_no_json_is_refused(self, store):
        with pytest.raises(TypeError, match="JSON"):
            store.put(("a",), "k", {"when": datetime.now(UTC)})
        assert store.get(("a",), "k") is None

    def test_a_link_is_not_followed(self, store, tmp_path):
        (tmp_path / "secret.md").write_text("secret")
        store.put(("a",), "k", {"n": 1})
        file_of(store, "a", "link.md").symlink_to(tmp_path / "secret.md")
        assert store.get(("a",), "link") is None
        with pytest.raises(PathNotAllowedError):
            store.put(("a",), "link", {"n": 1})
        assert keys(store.search(("a",))) == ["k"]

    def test_one_file_that_cannot_be_read_hides_no_other(self, store):
        store.put(("a",), "k", {"n": 1})
        file_of(store, "a", "broken.md").write_bytes(b"\xff\xfe\x00\xd8\x00")
        assert "k" in keys(store.search(("a",)))
        assert store.list_namespaces() == [("a",)]

    def test_another_store_of_the_folder_sees_it_at_once(self, open_store):
        one, other = open_store(), open_store()
        one.put(("a",), "k", {"text": "Tea at four."})
        assert other.get(("a",), "k").value == {"text": "Tea at four."}
        assert keys(other.search(("a",), query="tea")) == ["k"]


class TestNamespaces:
    """Which namespaces are refused, and how they are listed."""

    @pytest.mark.parametrize(
        "namespace", [(), ("the", "thing.about"), ("some", ""), ("langgraph", "foo"), ("a", 1)]
    )
    async def test_some_are_refused(self, store, namespace):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
        with pytest.raises(InvalidNamespaceError):
            await store.aput(namespace, "k", {})

    @pytest.mark.parametrize("namespace", [("a.b",), ("a", ""), ("a\0",)])
    def test_operations_are_checked_too(self, store, namespace):
        for op in (
            PutOp(namespace, "k", {}),
            GetOp(namespace, "k"),
            SearchOp(namespace),
            ListNamespacesOp((MatchCondition("prefix", namespace),)),
        ):
            with pytest.raises(InvalidNamespaceError):
                store.batch([op])

    async def test_langgraphs_own_root_is_open_to_operations(self, store):
        store.batch([PutOp(("langgraph", "foo"), "k", {"n": 1})])
        assert (await store.aget(("langgraph", "foo"), "k")).value == {"n": 1}

    @pytest.fixture
    def spaces(self, store):
        names = ["a/b/c", "a/b/d/e", "a/b/d/i", "a/b/f", "a/c/f", "b/a/f", "users/1", "users/2/x"]
        for number, name in enumerate(names):
            store.put(tuple(name.split("/")), f"id{number}", {"n": number})
        return store

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, "a/b/c a/b/d/e a/b/d/i a/b/f a/c/f b/a/f users/1 users/2/x"),
            ({"prefix": ("a", "b")}, "a/b/c a/b/d/e a/b/d/i a/b/f"),
            ({"suffix": ("f",)}, "a/b/f a/c/f b/a/f"),
            ({"prefix": ("a",), "suffix": ("f",)}, "a/b/f a/c/f"),
            ({"prefix": ("a", "b"), "max_depth": 3}, "a/b/c a/b/d a/b/f"),
            ({"max_depth": 1}, "a b users"),
            ({"prefix": ("a", "b"), "limit": 2}, "a/b/c a/b/d/e"),
            ({"prefix": ("a", "b"), "offset": 2}, "a/b/d/i a/b/f"),
            ({"limit": 2, "offset": 7}, "users/2/x"),
            ({"prefix": ("a", "*", "f")}, "a/b/f a/c/f"),
            ({"suffix": ("*", "f")}, "a/b/f a/c/f b/a/f"),
            ({"prefix": ("*", "a")}, "b/a/f"),
            ({"prefix": ("users", "*")}, "users/1 users/2/x"),
            ({"prefix": ("nowhere",)}, ""),
            ({"prefix": ("a", "b", "c", "d", "e")}, ""),
        ],
    )
    async def test_they_are_listed(self, spaces, given, expected):
        wanted = [tuple(name.split("/")) for name in expected.split()]
        assert spaces.list_namespaces(**given) == wanted
        assert await spaces.alist_namespaces(**given) == wanted

    def test_an_unknown_match_is_refused(self, spaces):
        with pytest.raises(ValueError, match="'middle'"):
            spaces.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])

    @pytest.mark.slow
    @pytest.mark.full
    def test_a_thousand_namespaces(self, store):
        many = [("users", f"user{number:04}") for number in range(1000)]
        for number, namespace in enumerate(many[:60]):
            store.put(namespace, "k", {"text": f"Number {number}."})
        for namespace in many[60:]:  # the rest by hand, which is faster
            folder = file_of(store, *namespace)
            folder.mkdir(parents=True)
            (folder / "k.md").write_text("Here.\n")
        assert store.list_namespaces(prefix=("users",), limit=2000) == many
        found = store.search(("users", "user0007"), query="Number")
        assert [(item.namespace, item.value) for item in found] == [
            (("users", "user0007"), {"text": "Number 7."})
        ]


class TestSearch:
    """Filters, queries, pages."""

    @pytest.fixture
    def fruit(self, store):
        for key, value in {
            "doc1": {"text": "red apple", "color": "red", "score": 4.5},
            "doc2": {"text": "red car", "color": "red", "score": 3.0},
            "doc3": {"text": "green apple", "color": "green", "score": 4.0},
            "doc4": {"text": "blue car", "color": "blue", "score": 3.5},
        }.items():
            store.put(("test",), key, value)
        return store

    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            ({"color": "red"}, "doc1 doc2"),
            ({"color": {"$eq": "red"}}, "doc1 doc2"),
            ({"color": {"$ne": "red"}}, "doc3 doc4"),
            ({"score": {"$gt": 3.5}}, "doc1 doc3"),
            ({"score": {"$gte": 3.5}}, "doc1 doc3 doc4"),
            ({"score": {"$lt": 3.5}}, "doc2"),
            ({"score": {"$lte": 3.5}}, "doc2 doc4"),
            ({"score": {"$gt": 3, "$lt": 4.5}}, "doc3 doc4"),
            ({"score": {"$gte": 4.0}, "color": "green"}, "doc3"),
            ({"score": {"$gt": "4"}}, "doc1"),
            ({"missing": {"$gt": 1}}, ""),
            ({"missing": None}, "doc1 doc2 doc3 doc4"),
            ({"color": "pink"}, ""),
        ],
    )
    async def test_filters(self, fruit, wanted, found):
        assert sorted(keys(fruit.search(("test",), filter=wanted))) == found.split()
        asked = await fruit.asearch(("test",), query="apple", filter=wanted)
        assert sorted(keys(asked)) == found.split()

    def test_filters_look_into_values(self, store):
        store.put(("a",), "k", {"at": {"city": "Lyon", "since": "2026-01-02"}, "tags": ["x", "y"]})
        for wanted in (
            {"at": {"city": "Lyon"}},
            {"at": {"since": {"$gt": "2025-12-31"}}},
            {"tags": ["x", "y"]},
        ):
            assert store.search(("a",), filter=wanted)
        for wanted in ({"at": {"city": "Rome"}}, {"tags": ["x"]}, {"at": "Lyon"}):
            assert not store.search(("a",), filter=wanted)

    def test_an_unknown_operator_is_refused(self, fruit):
        with pytest.raises(ValueError, match=r"\$near"):
            fruit.search(("test",), filter={"score": {"$near": 3}})

    async def test_the_best_answer_comes_first_and_the_others_follow(self, fruit):
        assert keys(fruit.search(("test",), query="blue car"))[0] == "doc4"
        assert keys(await fruit.asearch(("test",), query="green apple"))[0] == "doc3"
        assert keys(fruit.search(("test",), query="car", filter={"color": "red"})) == [
            "doc2", "doc1",
        ]  # fmt: skip
        found = fruit.search(("test",), query="apple")
        assert len(found) == 4
        scores = [item.score for item in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)

    def test_a_query_finds_texts_of_any_field_and_script(self, store):
        values = {
            "1": {"description": "the printer is called Gutenberg"},
            "2": {"kind": "Memory", "content": {"content": "User prefers green tea"}},
            "3": {"facts": ["Ann likes skiing", "Ben likes chess"]},
            "4": {"text": "这是中文"},
            "5": {"text": "Это русский"},
            "6": {"name": "Ann", "text": "Lives in Lyon since spring."},
        }
        for key, value in values.items():
            store.put(("a",), key, value)
        for query, key in {
            "Gutenberg printer": "1", "green tea": "2", "Ben chess": "3", "这是中文": "4",
            "Это русский": "5", "Lyon": "6",
        }.items():  # fmt: skip
            assert store.search(("a",), query=query)[0].key == key, query

    def test_a_new_value_is_found_and_the_old_one_no_more(self, store):
        store.put(("a",), "doc1", {"text": "zany zebra Xerxes"})
        store.put(("a",), "doc2", {"text": "something about dogs"})
        first = store.search(("a",), query="Zany Xerxes")
        assert first[0].key == "doc1"
        store.put(("a",), "doc1", {"text": "new text about birds"})
        then = store.search(("a",), query="Zany Xerxes")
        assert next(item.score for item in then if item.key == "doc1") < first[0].score

    def test_what_is_not_indexed_comes_last_and_without_a_score(self, store):
        store.put(("a",), "doc1", {"text": "a text about dogs"}, index=False)
        for key in ("doc2", "doc3"):
            store.put(("a",), key, {"text": f"other words {key}"})
        found = store.search(("a",), query="text about dogs")
        assert keys(found)[-1] == "doc1"
        assert found[-1].score is None
        assert "doc1" not in keys(store.search(("a",), query="text about dogs", limit=2))
        assert store.get(("a",), "doc1").value == {"text": "a text about dogs"}

    def test_only_the_fields_that_are_named_are_searched(self, open_store):
        store = open_store(fields=["title"])
        value = {"title": "zebra crossing", "body": "xylophone lesson"}
        store.put(("a",), "own", value)
        store.put(("a",), "named", value, index=["body"])
        for query, first in {"xylophone lesson": "named", "zebra crossing": "own"}.items():
            found = store.search(("a",), query=query)
            assert found[0].key == first
            assert found[0].score > found[1].score
        assert store.get(("a",), "named").value == value

    def test_equal_lines_have_equal_scores_and_no_item_hides_another(self, store):
        store.put(("a",), "doc1", {"one": "xylophone", "two": "yacht"})
        store.put(("a",), "doc2", {"three": "zebra", "four": "xylophone"})
        first, second = store.search(("a",), query="xylophone")
        assert {first.key, second.key} == {"doc1", "doc2"}
        assert first.score == second.score == pytest.approx(1.0, abs=1e-3)
        best, other = store.search(("a",), query="zebra")
        assert best.key == "doc2"
        assert best.score > other.score

    async def test_pages(self, store):
        for number in range(5):
            store.put(("a",), f"doc{number}", {"text": f"test document number {number}"})
        for query in ("test", None):
            pages = [
                await store.asearch(("a",), query=query, limit=2, offset=at) for at in (0, 2, 4)
            ]
            assert [len(page) for page in pages] == [2, 2, 1]
            assert len({key for page in pages for key in keys(page)}) == 5
            assert len(store.search(("a",), query=query, limit=10)) == 5
        assert store.search(("a",), offset=9) == []

    def test_without_a_query_what_changed_last_comes_first(self, store):
        for number in range(3):
            store.put(("a",), f"doc{number}", {"n": number})
            os.utime(file_of(store, "a", f"doc{number}.md"), (1e9 + number, 1e9 + number))
        found = store.search(("a",))
        assert keys(found) == ["doc2", "doc1", "doc0"]
        assert found[0].score is None

    def test_nothing_outside_of_the_namespace_is_found(self, store):
        store.put(("users", "ann"), "k", {"text": "Ann's tea is green."})
        store.put(("users", "anna"), "k", {"text": "Anna's tea is black."})
        store.put(("Users", "ann"), "k", {"text": "Another tea."})
        (store.memory.workspace.root / "MEMORY.md").write_text("- tea\n")
        for query in ("tea", None):
            found = store.search(("users", "ann"), query=query)
            assert [item.value["text"] for item in found] == ["Ann's tea is green."]
            assert len(store.search((), query=query)) == 3


class TestTimeToLive:
    """Lifetimes of items, by a clock that the test moves."""

    @pytest.fixture
    def clocked(self, tmp_path):
        """Return a store whose clock stands at `clock[0]`."""
        clock = [datetime.now(UTC)]
        root = tmp_path / "clocked"
        root.mkdir()
        store = CommonplaceStore(root, embedder=HashedWords())
        store.close()
        store.memory = Memory.open(
            root, embedder=HashedWords(), settings=Settings(timezone="UTC"), now=lambda: clock[0]
        )
        store._items = ItemStore(store.memory)
        yield store, clock
        store.close()

    def test_an_item_expires_unless_it_is_used(self, clocked):
        store, clock = clocked
        store.put(("a",), "short", {"text": "short tea"}, ttl=10)
        store.put(("a",), "used", {"text": "used tea"}, ttl=10)
        store.put(("a",), "ever", {"text": "ever tea"})
        clock[0] += timedelta(minutes=6)
        assert store.get(("a",), "used").value == {"text": "used tea"}
        assert store.get(("a",), "short", refresh_ttl=False)
        clock[0] += timedelta(minutes=6)
        assert store.get(("a",), "short") is None
        assert sorted(keys(store.search(("a",), refresh_ttl=False))) == ["ever", "used"]
        assert sorted(keys(store.search(("a",), query="tea"))) == ["ever", "used"]  # renews
        clock[0] += timedelta(minutes=6)
        assert store.get(("a",), "used") is not None
        assert store.sweep_ttl() == 1
        assert sorted(os.listdir(file_of(store, "a"))) == ["ever.md", "used.md"]
        clock[0] += timedelta(days=1)
        store.put(("b",), "k", {})  # sweeps
        assert os.listdir(file_of(store, "a")) == ["ever.md"]
        assert store.list_namespaces() == [("a",), ("b",)]

    def test_a_read_leaves_the_file_alone(self, clocked):
        store, _ = clocked
        store.put(("a",), "k", {"n": 1}, ttl=10)
        before = file_of(store, "a", "k.md").stat().st_mtime_ns
        store.get(("a",), "k")
        assert file_of(store, "a", "k.md").stat().st_mtime_ns == before
        assert len(store.memory.history()) == 1

    def test_a_default_and_its_refusal(self, open_store):
        store = open_store(ttl={"default_ttl": 5, "refresh_on_read": False})
        store.put(("a",), "k", {"n": 1})
        store.put(("a",), "ever", {"n": 1}, ttl=None)
        assert "ttl: 5" in file_of(store, "a", "k.md").read_text()
        assert "ttl" not in file_of(store, "a", "ever.md").read_text()

    def test_an_item_put_again_without_one_lives_for_ever(self, clocked):
        store, clock = clocked
        store.put(("a",), "k", {"n": 1}, ttl=1)
        store.put(("a",), "k", {"n": 2})
        clock[0] += timedelta(days=1)
        assert store.get(("a",), "k").value == {"n": 2}


class TestBatches:
    """Operations together, from threads and on the event loop."""

    async def test_a_batch_reads_before_it_writes_and_the_last_write_counts(self, store):
        store.put(("a",), "k", {"n": 0})
        ops = [
            PutOp(("a",), "k", {"n": 1}),
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"n": 2}),
            SearchOp(("a",)),
            ListNamespacesOp(),
            GetOp(("a",), "none"),
        ]
        put, got, again, found, listed, none = store.batch(ops)
        assert (put, again, none) == (None, None, None)
        assert got.value == {"n": 0}
        assert keys(found) == ["k"]
        assert listed == [("a",)]
        assert (await store.abatch([GetOp(("a",), "k")]))[0].value == {"n": 2}
        with pytest.raises(ValueError, match="operation"):
            store.batch(["get"])

    @pytest.mark.slow
    async def test_the_event_loop_is_not_blocked(self, store):
        longest, last, done = 0.0, time.perf_counter(), False

        async def watch():
            nonlocal longest, last
            while not done:
                await asyncio.sleep(0.001)
                longest, last = max(longest, time.perf_counter() - last), time.perf_counter()

        threads = set()
        write = store.memory.write

        def noted(*arguments, **options):
            threads.add(threading.current_thread())
            return write(*arguments, **options)

        store.memory.write = noted
        watching = asyncio.create_task(watch())
        await asyncio.gather(*(store.aput(("a",), f"k{n}", {"text": f"n {n}"}) for n in range(20)))
        await asyncio.gather(*(store.asearch(("a",), query=f"n {n}") for n in range(20)))
        done = True
        await watching
        assert threading.main_thread() not in threads
        assert len(store.search(("a",), limit=50)) == 20

    async def test_langgraphs_batching_store_takes_it(self, store):
        class Batched(AsyncBatchedBaseStore):
            def batch(self, ops):
                return store.batch(ops)

            async def abatch(self, ops):
                return await store.abatch(ops)

        batched = Batched()
        values = {f"doc{n}": {"text": f"text {n}", "n": n} for n in range(20)}
        await asyncio.gather(*(batched.aput(("t",), key, value) for key, value in values.items()))
        found = await asyncio.gather(
            batched.aget(("t",), "doc3"),
            batched.aget(("t",), "doc3"),
            batched.asearch(("t",), query="text", filter={"n": {"$lt": 5}}),
        )
        assert found[0] == found[1]
        assert found[0].value == values["doc3"]
        assert len(found[2]) == 5

    @pytest.mark.slow
    def test_threads_lose_nothing(self, store):
        def put(number):
            rng = random.Random(number)
            for turn in range(8):
                store.put(("a", str(number)), f"k{turn}", {"n": rng.random()})
                store.put(("shared",), "k", {"by": number})

        threads = [threading.Thread(target=put, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store.search(("a",), limit=100)) == 48
        assert store.get(("shared",), "k").value["by"] in range(6)


def test_tools_of_an_agent_use_it(store):
    """``create_agent(store=)`` hands it to tools."""

    @tool
    def remember(fact: str, runtime: ToolRuntime) -> str:
        """Remember a fact."""
        runtime.store.put(("facts",), "one", {"text": fact})
        return "done"

    def answer(call):
        return calling("remember", fact="Tea at four.") if call.last.type == "human" else "ok"

    agent = create_agent(ScriptedChatModel(script=answer), tools=[remember], store=store)
    agent.invoke({"messages": [("user", "Remember: tea at four.")]})
    assert store.search((), query="when is tea")[0].value == {"text": "Tea at four."}


@pytest.mark.slow
def test_writes_end_in_the_order_of_their_calls_and_reads_see_those_before(store, monkeypatch):
    batch = store.batch

    def slow_at_first(ops):
        puts = [op for op in ops if isinstance(op, PutOp)]
        time.sleep(0.05 * sum(3 - op.value["i"] for op in puts))
        return batch(ops)

    async def write():
        writes = [store.aput(("n",), "k", {"i": number}) for number in range(4)]
        *_, read = await asyncio.gather(*writes, store.aget(("n",), "k"))
        return read.value

    monkeypatch.setattr(store, "batch", slow_at_first)
    for _ in range(2):  # event loops
        assert asyncio.run(write()) == {"i": 3}
    assert store.get(("n",), "k").value == {"i": 3}


def test_a_store_makes_its_folder_and_is_a_context_manager(tmp_path):
    with CommonplaceStore(tmp_path / "a" / "b", embedder=None) as store:
        store.put(("x",), "k", {"text": "words"})
        assert store.search(("x",), query="words")[0].score > 0
    with CommonplaceStore(tmp_path / "a" / "b", embedder=None) as store:
        assert store.get(("x",), "k").value == {"text": "words"}
