"""`MemoryPool`: many users in one process."""

import asyncio
import gc
import os
import random
import shutil
import threading
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor, wait
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import (
    MemoryPool,
    NamespaceError,
    Origin,
    PoolExhaustedError,
    SessionsSettings,
    Settings,
    SettingsError,
    StoreError,
    SyncSettings,
    WorkspaceNotFoundError,
)
from commonplace.flush import Flusher
from commonplace.indexing import slots, waiting_line
from commonplace.workspace import namespaces
from support.fakes import HashedWords
from support.silent import Scripted, append, said


@pytest.fixture
def open_pool(tmp_path):
    """Return a function that opens a pool; what it opened is closed at the end."""
    opened = []

    def open_pool(**options):
        pool = MemoryPool(tmp_path / "users", **{"embedder": HashedWords(), **options})
        opened.append(pool)
        return pool

    yield open_pool
    for pool in opened:
        pool.close()


@pytest.fixture
def pool(open_pool):
    return open_pool()


def test_each_namespace_has_a_folder_and_an_index_of_its_own(pool):
    for user in ("alice", "bob"):
        with pool.memory(user) as memory:
            memory.append(f"- The code of {user} is {user}-1.")
    for user in ("alice", "bob"):
        with pool.memory(user) as memory:
            found = memory.search("what is the code")
            assert [f"The code of {user}" in hit.snippet for hit in found] == [True]
            assert memory.workspace.root == pool.root.resolve() / user
    assert sorted(os.listdir(pool.root)) == ["alice", "bob"]


def test_nothing_is_made_before_a_namespace_is_used(pool):
    assert not pool.root.exists()
    with pytest.raises(NamespaceError):
        pool.memory("../evil")
    assert not list(pool.root.parent.glob("evil"))


HOSTILE = [
    "", " ", "\t", ".", "..", "...", "../bob", "..\\bob", "a/b", "a\\b", "/etc", "C:", "C:\\x",
    "a\0b", "a\nb", ".git", "bob.", "bob ", " bob", "con", "CON", "nul.txt", "COM1", "lpt9.md",
    "com¹", "conin$", "a:b", "a|b", "a*", "a?", "<a>", 'a"b', "PROGRA~1", "bob\u200b", "bob\u202e",
    "\ud800", "\ufeffbob", "x" * 201, "é" * 101, unicodedata.normalize("NFD", "zoé"), "\u2028",
    "bob\u00a0", "bob\u3000", "\ue000",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_an_unsafe_name_is_refused(pool, name):
    with pytest.raises(NamespaceError) as refused:
        pool.memory(name)
    assert "\n" not in str(refused.value)
    assert not pool.root.exists() or not os.listdir(pool.root)


@pytest.mark.parametrize("name", [None, 7, True, b"bob", ("a",), ["a"]])
def test_what_is_no_text_is_refused(pool, name):
    with pytest.raises(NamespaceError, match="give a text"):
        pool.memory(name)


@pytest.mark.parametrize(
    "name",
    ["bob", "ann@example.com", "zoé", "用户", "a b", "x" * 200, "0b6f-42", "O'Neil", "com0x"],
)
def test_names_that_people_have_are_taken(pool, name):
    with pool.memory(name) as memory:
        memory.append("- Here.")
    assert os.listdir(pool.root) == [name]


@given(st.text(max_size=12))
def test_a_name_is_refused_or_is_a_folder_directly_below_the_root(name):
    try:
        checked = namespaces.check_namespace(name)
    except NamespaceError:
        return
    assert checked == name
    assert os.path.normpath(os.path.join("/root", name)) == f"/root/{name}"
    assert os.path.dirname(f"/root/{name}") == "/root"
    assert unicodedata.normalize("NFC", name) == name == name.strip()


def test_a_link_is_no_folder_of_a_namespace(pool, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    pool.root.mkdir()
    (pool.root / "bob").symlink_to(tmp_path / "elsewhere")
    (pool.root / "eve").write_text("a file")
    for name in ("bob", "eve"):
        with pytest.raises(NamespaceError, match=r"link|cannot be made"):
            pool.memory(name)


def test_another_spelling_of_a_folder_that_is_there_is_refused_where_case_is_ignored(
    pool, monkeypatch
):
    with pool.memory("alice"):
        pass
    lstat, mkdir = os.lstat, namespaces.Path.mkdir

    def folded(path):
        return path.parent / path.name.lower()

    # A file system that ignores case, as those of macOS and Windows do.
    with monkeypatch.context() as patch:
        patch.setattr(namespaces.os, "lstat", lambda path: lstat(folded(path)))
        patch.setattr(namespaces.Path, "mkdir", lambda path, **how: mkdir(folded(path), **how))
        with pytest.raises(NamespaceError, match="only in case"):
            pool.memory("Alice")
        with pool.memory("alice"):
            pass


def test_at_most_max_open_are_open(open_pool):
    pool = open_pool(max_open=2)
    for user in "abcd":
        with pool.memory(user) as memory:
            memory.append(f"- The letter {user}.")
            assert memory.search("letter")
        assert pool.open_count <= 2
    for user in "abcd":  # a memory that was closed meanwhile is opened again
        with pool.memory(user) as memory:
            assert [f"letter {user}" in hit.snippet for hit in memory.search("letter")] == [True]


def test_a_memory_in_use_is_not_closed_for_another(open_pool, monkeypatch):
    monkeypatch.setattr(slots, "LEASE_TIMEOUT_S", 0.2)
    pool = open_pool(max_open=1)
    with pool.memory("ann") as memory:
        memory.append("- Tea.")
        with pytest.raises(PoolExhaustedError, match="max_open"), pool.memory("bob"):
            pass
        with pool.memory("ann") as again:  # the same one needs no second place
            assert again is memory
        assert memory.search("tea")
    with pool.memory("bob") as other:
        other.append("- Coffee.")
        assert not other.search("tea")


@pytest.mark.slow
async def test_a_note_is_written_though_the_pool_stays_full(open_pool, monkeypatch):
    pool = open_pool(max_open=1)
    bob = pool.resolver("user")({"configurable": {"user": "bob"}})
    monkeypatch.setattr(slots, "LEASE_TIMEOUT_S", 0.2)
    waited = []
    grant = slots.IndexSlots.acquire

    def counted(held, slot, *, timeout_s):
        waited.append(timeout_s)
        return grant(held, slot, timeout_s=timeout_s)

    monkeypatch.setattr(slots.IndexSlots, "acquire", counted)
    with pool.memory("ann"):
        bob.append("- Tea at four.")
        waited.clear()
        await bob.aappend("- Cake at five.")
        assert not any(waited)  # it waited on the event loop, and in no thread
        await bob.awrite("memory/plan.md", "Plum jam.\n")
        with pytest.raises(PoolExhaustedError, match="max_open"):
            await bob.asearch("cake")
    for found in ("tea", "cake", "jam"):
        assert await bob.asearch(found)


async def test_a_flush_waits_for_its_place_in_no_thread(open_pool, monkeypatch):
    monkeypatch.setattr(slots, "LEASE_TIMEOUT_S", 0.3)
    pool = open_pool(max_open=1)
    bob = pool.resolver("user")({"configurable": {"user": "bob"}})
    threads = set()

    def seen(held, slot, *, timeout_s):
        if timeout_s:
            threads.add(threading.current_thread())
        return grant(held, slot, timeout_s=timeout_s)

    grant = slots.IndexSlots.acquire
    model = Scripted(append("- Tea at four.", "- Cake at five."))
    async with pool.memory("ann"):
        monkeypatch.setattr(slots.IndexSlots, "acquire", seen)
        report = await Flusher(bob, model).aflush(said(1))
    assert report.notes == ("- Tea at four.", "- Cake at five.")
    assert not threads
    assert await bob.asearch("cake")


def test_a_lease_waits_for_one_that_ends(open_pool):
    pool = open_pool(max_open=1)
    entered, order = threading.Event(), []

    def hold():
        with pool.memory("ann") as memory:
            entered.set()
            time.sleep(0.2)
            memory.append("- Tea.")
            order.append("ann")

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    with pool.memory("bob"):
        order.append("bob")
    thread.join()
    assert order == ["ann", "bob"]


async def test_an_async_lease_does_not_block_the_event_loop(open_pool):
    pool = open_pool(max_open=1)
    turns = 0

    async def turn():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    counting = asyncio.create_task(turn())
    async with pool.memory("ann"):
        waiting = asyncio.create_task(pool.memory("bob").__aenter__())
        await asyncio.sleep(0.2)
        assert not waiting.done()
    await asyncio.wait_for(waiting, 10)
    counting.cancel()
    assert turns > 5


@pytest.mark.slow
async def test_more_coroutines_than_threads_and_places_do_not_lock_each_other(open_pool):
    pool = open_pool(max_open=2)

    async def talk(number):
        async with pool.memory(f"user{number}") as memory:
            await memory.aappend(f"- I am user{number}.")
            found = await memory.asearch("who am I")
            return [hit.snippet for hit in found]

    said = await asyncio.wait_for(asyncio.gather(*map(talk, range(50))), 50)
    assert all(f"user{number}." in "".join(text) for number, text in enumerate(said))


LINE = "- The code of the gate of the garden is 4711, as the letter of May says."
UNTRUSTED = Origin("untrusted", tool="mail")
VERBS = {
    "search": lambda memory: memory.search("zebra"),
    "append": lambda memory: memory.append(LINE, path="memory/gate.md", origin=UNTRUSTED),
    "write": lambda memory: memory.write("memory/gate.md", LINE, origin=UNTRUSTED),
    "correct": lambda memory: memory.correct("memory/old.md#L1", "- It is 4712."),
    "forget": lambda memory: memory.forget(text="4711"),
    "forget, dry": lambda memory: memory.forget(text="4711", dry_run=True),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_reads_an_index_that_may_be_closed_for_another(open_pool, monkeypatch, verb):
    pool = open_pool(max_open=1)
    memory = pool.resolver("user")({"configurable": {"user": "ann"}})
    if verb != "search":  # which says once that an empty memory has notes beside it
        memory.write("memory/old.md", f"{LINE}\n")
        memory.index()
    store, reads = memory._index.store, []
    snapshot = store.snapshot

    def read():
        reads.append(pool._slots._open.get(memory.slot, 0))
        return snapshot()

    monkeypatch.setattr(store, "snapshot", read)
    VERBS[verb](memory)
    assert reads
    assert all(reads)


def test_a_hint_that_fails_fails_no_search(pool, monkeypatch):
    def gone(_):
        raise StoreError("the folder is gone.")

    monkeypatch.setattr("commonplace.workspace.unindexed_notes.unindexed_notes_hint", gone)
    with pool.memory("ann") as memory:
        assert memory.search("tea") == []


async def test_verbs_that_wait_for_a_place_leave_the_threads_to_those_that_have_one(
    open_pool, monkeypatch
):
    monkeypatch.setattr(slots, "LEASE_TIMEOUT_S", 3.0)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    pool = open_pool(max_open=1)
    mine = pool.resolver("user_id")
    waiting = asyncio.Event()

    async def leased():
        async with pool.memory("ann") as memory:
            await waiting.wait()
            await asyncio.sleep(0.1)
            await memory.aappend("- Tea.")

    async def resolved(number):
        memory = mine({"configurable": {"user_id": f"user{number}"}})
        waiting.set()
        await memory.asearch("tea")

    holding = asyncio.create_task(leased())
    await asyncio.sleep(0.1)
    await asyncio.gather(holding, *map(resolved, range(4)))


async def test_those_who_wait_on_the_event_loop_are_served_in_turn_and_do_nothing_meanwhile(
    open_pool, monkeypatch
):
    pool, attempts, served = open_pool(max_open=2), [], []
    grant = slots.IndexSlots.acquire

    def seen(held, slot, *, timeout_s):
        attempts.append(slot)
        return grant(held, slot, timeout_s=timeout_s)

    monkeypatch.setattr(slots.IndexSlots, "acquire", seen)

    async def use(user):
        async with pool.memory(user):
            served.append(user)
            await asyncio.sleep(0.001)

    users = [f"user{number}" for number in range(30)]
    async with pool.memory("ann"), pool.memory("bob"):
        waiting = [asyncio.create_task(use(user)) for user in users]
        await asyncio.sleep(0.3)
        gone = waiting.pop(3)
        gone.cancel()
        await asyncio.wait_for(use("ann"), 5)  # it has a place
        assert len(attempts) == 3
    await asyncio.wait_for(asyncio.gather(*waiting), 20)
    users.remove("user3")
    assert served[0] == "ann"
    # Two at once: who is before whom by one place is a matter of threads.
    places = [served[1:].index(user) for user in users]
    assert all(abs(place - at) <= 2 for at, place in enumerate(places))
    assert len(attempts) <= 3 + 3 * len(users)
    assert len(pool._slots._line) == 0


@pytest.mark.parametrize("tasks", [1, 3])
async def test_one_who_always_has_a_call_under_way_lets_others_in(open_pool, tasks):
    pool = open_pool(max_open=1)
    is_over = False

    async def busy():
        while not is_over:
            async with pool.memory("ann"):
                await asyncio.sleep(0.01)

    calls = [asyncio.create_task(busy()) for _ in range(tasks)]
    await asyncio.sleep(0.05)
    async with asyncio.timeout(5), pool.memory("bob"):
        is_over = True
    await asyncio.gather(*calls)


async def test_what_is_done_within_a_block_waits_for_nobody_in_line(open_pool):
    pool = open_pool(max_open=1)
    async with pool.memory("ann") as memory:
        waiting = asyncio.create_task(pool.memory("bob").__aenter__())
        await asyncio.sleep(waiting_line.PATIENCE_S + 0.2)
        started = time.monotonic()
        for _ in range(5):
            await memory.asearch("tea")
        assert time.monotonic() - started < waiting_line.PATIENCE_S
    await asyncio.wait_for(waiting, 5)
    await pool.memory("bob").__aexit__(None, None, None)


@pytest.mark.parametrize(("is_closed", "waiters"), [(True, 1), (True, 1200), (False, 1)])
def test_an_event_loop_that_does_not_run_holds_up_no_other(open_pool, is_closed, waiters):
    pool = open_pool(max_open=1)
    lease = pool.memory("ann")
    lease.__enter__()
    loop = asyncio.new_event_loop()
    waiting = [loop.create_task(pool.memory("bob").__aenter__()) for _ in range(waiters)]
    while len(pool._slots._line) < waiters:
        loop.run_until_complete(asyncio.sleep(0.05))
    if is_closed:
        loop.close()
    lease.__exit__(None, None, None)

    async def use():
        async with asyncio.timeout(5), pool.memory("eve"):
            return "served"

    assert asyncio.run(use()) == "served"
    if not is_closed:
        loop.run_until_complete(asyncio.wait_for(*waiting, 5))
        loop.close()


def test_a_wait_that_ends_with_its_event_loop_keeps_no_place(open_pool, monkeypatch):
    pool = open_pool(max_open=1)
    with pool.memory("ann") as memory:
        memory.search("tea")
    suspend = memory.slot.suspend
    monkeypatch.setattr(memory.slot, "suspend", lambda: (time.sleep(0.3), suspend()))

    async def leave_early():
        waiting = asyncio.create_task(pool.memory("bob").__aenter__())
        await asyncio.sleep(0.05)
        return waiting

    asyncio.run(leave_early())
    assert sum(pool._slots._open.values()) == 0


async def test_those_who_wait_are_told_that_the_pool_is_closed(open_pool):
    pool = open_pool(max_open=1)
    async with pool.memory("ann"):
        waiting = [asyncio.create_task(pool.memory(user).__aenter__()) for user in ("bob", "eve")]
        await asyncio.sleep(0.1)
        await asyncio.to_thread(pool.close)
        done, _ = await asyncio.wait(waiting, timeout=5)
        assert [type(task.exception()) for task in done] == [StoreError, StoreError]


async def test_a_cancelled_verb_keeps_no_place(open_pool):
    pool = open_pool(max_open=1)
    resolve = pool.resolver("user")
    for number in range(30):
        memory = resolve({"configurable": {"user": f"user{number % 3}"}})
        waiting = asyncio.create_task(memory.asearch("tea"))
        await asyncio.sleep(0.001 * (number % 6))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with pool.memory("ann") as memory:
        await memory.aappend("- Tea.")


async def test_a_closed_pool_takes_a_late_note_of_an_async_verb(open_pool):
    pool = open_pool()
    with pool.memory("ann") as memory:
        pass
    pool.close()
    assert "Tea" in memory.get(await memory.aappend("- Tea.")).text


async def test_a_cancelled_wait_keeps_no_place(open_pool):
    pool = open_pool(max_open=1)
    for number in range(60):
        waiting = asyncio.create_task(pool.memory(f"user{number % 3}").__aenter__())
        await asyncio.sleep(0.001 * (number % 4))
        if waiting.done():
            await pool.memory(f"user{number % 3}").__aexit__(None, None, None)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with pool.memory("ann") as memory:
        await memory.aappend("- Tea.")


@pytest.mark.slow
def test_threads_that_ask_at_random_see_their_own_lines_only(open_pool):
    pool = open_pool(max_open=3)
    users = [f"user{number}" for number in range(20)]
    asked = users + random.Random(3).choices(users, k=100)

    def talk(user):
        with pool.memory(user) as memory:
            memory.append(f"- The code of {user} is here.")
            return user, "".join(hit.snippet for hit in memory.search("code of a user"))

    with ThreadPoolExecutor(16) as threads:
        for user, text in threads.map(talk, asked):
            assert f"code of {user} is" in text
            assert text.count("The code of") == 1
    assert pool.open_count <= 3


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_descriptors_are_bounded(open_pool):
    pool = open_pool(max_open=8)
    before = len(os.listdir("/proc/self/fd"))
    most = 0
    for user in range(40):
        with pool.memory(f"user{user}") as memory:
            memory.append(f"- Number {user}.")
            memory.search("number")
            most = max(most, len(os.listdir("/proc/self/fd")) - before)
    assert most <= 64
    pool.close()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.slow
def test_a_memory_that_nothing_refers_to_is_forgotten(open_pool):
    pool = open_pool(max_open=1)
    for user in ("ann", "bob"):
        with pool.memory(user) as memory:
            memory.append("- Tea.")
    del memory
    gc.collect()
    assert list(pool._memories) == ["bob"]  # the open one is kept


def test_one_embedder_serves_all(open_pool):
    embedder = HashedWords()
    pool = open_pool(embedder=embedder)
    for user in ("ann", "bob"):
        with pool.memory(user) as memory:
            memory.append("- Tea.")
            assert memory.search("tea").model == embedder.model_id
    clients = {id(memory._index.selector.select(None).client) for memory in pool._memories.values()}
    assert len(clients) == 1


def test_what_changes_on_the_disk_meanwhile_is_found_after_a_while(open_pool):
    pool = open_pool(max_open=1)
    with pool.memory("ann") as memory:
        memory.append("- Tea.")
        memory.search("tea")
    with pool.memory("bob") as memory:
        memory.append("- Coffee.")
    (pool.root / "ann" / "MEMORY.md").write_text("# Ann\n\n- Likes cocoa.\n")
    until = time.monotonic() + 20
    with pool.memory("ann") as memory:
        while not any("cocoa" in hit.snippet for hit in memory.search("cocoa")):
            assert time.monotonic() < until
            time.sleep(0.05)


def test_files_are_watched_while_a_memory_is_open_if_the_settings_say_so(open_pool):
    pool = open_pool(max_open=1, settings=Settings(sync=SyncSettings(watch=True)))

    def watchers():
        return [it for it in threading.enumerate() if it.name == "commonplace-watch"]

    for user in ("ann", "bob", "ann"):
        with pool.memory(user) as memory:
            memory.append("- Tea.")
            assert watchers()
    until = time.monotonic() + 10
    while len(watchers()) > 1:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_closed_pool_says_so(open_pool):
    pool = open_pool()
    resolve = pool.resolver("user")
    memory = resolve({"configurable": {"user": "ann"}})
    memory.append("- Tea.")
    pool.close()
    for use in (lambda: pool.memory("ann"), lambda: memory.search("tea")):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_a_new_folder_begins_without_what_an_earlier_user_of_the_name_left(open_pool, caplog):
    for pool in (open_pool(), open_pool()):
        with pool.memory("alice") as memory:
            assert memory.search("salary") == []
            assert memory.history() == []
            memory.append("- Alice's salary is 91000.", origin=Origin("agent", "s"))
            assert memory.search("salary")
        shutil.rmtree(pool.root / "alice")
    with pytest.raises(StoreError, match="removed"):
        # The pool that had it open first found another one.
        pool.memory("alice") and memory.search("salary")
    assert caplog.text.count("are kept in") == 2


def test_a_removed_user_leaves_no_byte(pool, tmp_path):
    from commonplace.store.state_folders import state_folder

    state = state_folder(pool.root / "alice").parent
    for _ in range(2):
        with pool.memory("alice") as memory:
            memory.append("- Alice's salary is 91000.", origin=Origin("agent", "s"))
            memory.search("salary")
        with pool.memory("bob") as other:
            other.append("- Bob has a boat.")
            other.search("boat")
        shutil.rmtree(pool.root / "alice")
        with pool.memory("alice") as memory:
            memory.append("- Alice's salary is 92000.")
        pool.remove("alice")
        assert os.listdir(pool.root) == ["bob"]
        assert [name for name in os.listdir(state) if name.startswith("alice")] == []
        assert [*state.glob("places/*/alice*")] == []
        pool.remove("alice")  # nothing is left of it
    with pytest.raises(StoreError, match="removed"):
        memory.search("salary")
    with pytest.raises(WorkspaceNotFoundError):
        memory.append("- Late.", origin=Origin("agent", "s"))
    assert [name for name in os.listdir(state) if name.startswith("alice")] == []
    with pool.memory("bob") as other:
        assert other.search("boat")
    with pool.memory("alice") as memory:
        assert memory.search("salary") == memory.history() == []


async def test_a_user_who_is_in_use_is_removed_afterwards(open_pool, monkeypatch):
    pool = open_pool()
    async with pool.memory("ann") as memory:
        await memory.aappend("- Tea.")
        with monkeypatch.context() as patch:
            patch.setattr("commonplace.pool.LEASE_TIMEOUT_S", 0.1)
            with pytest.raises(PoolExhaustedError, match="nothing was removed"):
                await pool.aremove("ann")
        assert await memory.asearch("tea")
        removing = asyncio.create_task(pool.aremove("ann"))
        await asyncio.sleep(0.1)
        assert await memory.asearch("tea")
    await removing
    assert os.listdir(pool.root) == []
    assert pool.open_count == 0


def test_others_go_on_while_a_user_is_removed_whose_new_folder_waits(pool, monkeypatch):
    has_begun, may_end = threading.Event(), threading.Event()
    remove_tree = shutil.rmtree

    def slowly(folder, *options):
        has_begun.set()
        assert may_end.wait(10)
        remove_tree(folder, *options)

    for user in ("ann", "bob"):
        with pool.memory(user) as memory:
            memory.append("- Tea.")
    monkeypatch.setattr("commonplace.pool.shutil.rmtree", slowly)
    with ThreadPoolExecutor(4) as threads:
        removal = threads.submit(pool.remove, "ann")
        try:
            assert has_begun.wait(10)
            # In a thread of its own: where it has to wait, the test ends all the same.
            assert threads.submit(lambda: pool.memory("bob")).result(timeout=5)
            same = threads.submit(lambda: pool.memory("ann"))
            again = threads.submit(pool.remove, "ann")
            assert not wait([same, again], timeout=0.1).done
            assert (pool.root / "ann" / "memory").is_dir()
        finally:
            may_end.set()
        for call in (removal, again, same):
            call.result(timeout=10)
    with pool.memory("ann") as memory:
        assert memory.history() == memory.search("tea") == []


@pytest.mark.parametrize("name", ["", "../bob", "eve"])
def test_what_is_no_folder_of_a_user_is_not_removed(pool, tmp_path, name):
    (tmp_path / "bob").mkdir()
    pool.root.mkdir()
    (pool.root / "eve").symlink_to(tmp_path / "bob")
    with pytest.raises(NamespaceError):
        pool.remove(name)
    assert (tmp_path / "bob").is_dir()


def test_closing_a_memory_of_a_pool_leaves_it_to_the_pool(pool):
    with pool.memory("ann") as memory:
        memory.append("- Tea.")
        memory.close()
        assert memory.search("tea")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_what_comes_late_to_a_closed_pool_leaves_no_open_files(open_pool):
    pool = open_pool(max_open=1)
    memories = []
    for user in ("ann", "bob"):
        with pool.memory(user) as memory:
            memory.append("- Tea.")
        memories.append(memory)
    pool.close()
    before = len(os.listdir("/proc/self/fd"))
    for memory in memories:
        memory.append("- Late.", origin=Origin("agent", "s"))
        memory.undo(memory.write("memory/late.md", "- Later.\n").id)
        assert memory.history()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_sessions_of_all_users_in_one_folder_are_refused(open_pool, tmp_path):
    for path in (str(tmp_path), "../sessions", "~/sessions", "a/../../b"):
        with pytest.raises(SettingsError, match=r"sessions\.path"):
            open_pool(settings=Settings(sessions=SessionsSettings(path=path)))
    open_pool(settings=Settings(sessions=SessionsSettings(path="sessions")))


def test_max_open_is_checked(open_pool):
    with pytest.raises(ValueError, match="max_open is 0"):
        open_pool(max_open=0)


class TestResolver:
    """`MemoryPool.resolver`: whose memory a run uses."""

    def test_it_reads_the_configuration_and_the_context(self, pool):
        resolve = pool.resolver("user_id")
        runs = [
            {"configurable": {"user_id": "ann"}},
            {"configurable": {"__pregel_runtime": SimpleNamespace(context={"user_id": "ann"})}},
            {
                "configurable": {
                    "user_id": "ann",
                    "__pregel_runtime": SimpleNamespace(context=SimpleNamespace(user_id="ann")),
                }
            },
        ]
        assert [resolve(run).workspace.root.name for run in runs] == ["ann"] * 3

    @pytest.mark.parametrize(
        "run",
        [
            {},
            {"configurable": {}},
            {"configurable": {"user_id": None}},
            {"configurable": {"user_id": ""}},
            {"configurable": {"thread_id": "1"}},
            {"configurable": {"__pregel_runtime": SimpleNamespace(context=None)}},
            {"configurable": {"user_id": 7}},
        ],
        ids=str,
    )
    def test_a_run_without_the_key_is_an_error(self, pool, run):
        with pytest.raises(NamespaceError):
            pool.resolver("user_id")(run)
        assert not pool.root.exists()

    def test_two_different_users_are_an_error(self, pool):
        runtime = SimpleNamespace(context={"user_id": "bob"})
        with pytest.raises(NamespaceError, match="two values"):
            pool.resolver("user_id")(
                {"configurable": {"user_id": "ann", "__pregel_runtime": runtime}}
            )

    def test_its_memories_are_bounded_too(self, open_pool):
        pool = open_pool(max_open=2)
        resolve = pool.resolver("user_id")
        memories = [resolve({"configurable": {"user_id": f"u{n}"}}) for n in range(6)]
        for number, memory in enumerate(memories):
            memory.append(f"- Number {number}.")
        assert pool.open_count <= 2
        for number, memory in enumerate(memories):
            assert f"Number {number}" in memory.search("number")[0].snippet
        assert pool.open_count <= 2


@pytest.mark.timing
@pytest.mark.slow
def test_opening_is_cheap_and_an_open_one_as_fast_as_by_itself(tmp_path):
    """A memory that must be opened answers within 30 ms."""
    from benchmarks.pool import index, timed_search, write_notes
    from commonplace import Memory

    users = [f"user{number:04}" for number in range(20)]
    for user in users:
        write_notes(tmp_path / "users", user, 200)
    rng = random.Random(1)
    with MemoryPool(tmp_path / "users", max_open=8) as pool:
        for user in users:
            index(pool, user)
        cold, warm = [], []
        for user in users * 3:
            with pool.memory(user) as memory:
                cold.append(timed_search(memory, rng))
                warm.append(min(timed_search(memory, rng) for _ in range(5)))
    with Memory.open(tmp_path / "users" / users[0]) as memory:
        memory.search("router")
        alone = [timed_search(memory, rng) for _ in range(50)]
    assert sorted(cold)[len(cold) // 2] < 0.030
    assert sorted(warm)[len(warm) // 2] < 2 * sorted(alone)[len(alone) // 2] + 0.001
