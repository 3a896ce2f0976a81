"""Forked processes: a child begins anew, and neither waits for its parent nor disturbs it."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX"),
]

HEAD = """
import faulthandler, os, sys, threading, time
before_fork = lambda: None
os.register_at_fork(before=lambda: before_fork())
from pathlib import Path
from commonplace import Memory, MemoryPool, Settings
from commonplace.settings import SyncSettings
root = Path(sys.argv[1])
def in_child(work):
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    faulthandler.dump_traceback_later(20, exit=True)
    try:
        work()
    finally:
        sys.stdout.flush()
        os._exit(1 if sys.exc_info()[0] else 0)
def opened():
    return Memory.open(root, embedder=None, index=root.parent / "state" / "index.sqlite")
"""


def run(root, code):
    """Run code in a process of its own; return what it prints."""
    (root / "memory").mkdir(parents=True)
    for number in range(20):
        text = f"- The cat number {number} sat on a mat.\n" * 20
        (root / "memory" / f"n{number}.md").write_text(text)
    command = [sys.executable, "-W", "ignore", "-c", HEAD + textwrap.dedent(code), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    sys.stderr.write(done.stderr)  # the traceback of a child that hangs
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.slow
@pytest.mark.full
def test_a_child_uses_a_memory_while_threads_of_its_parent_are_in_the_middle_of_it(tmp_path):
    code = """
        memory, stop = opened(), threading.Event()
        memory.index()
        def busy():
            for turn in range(10**9):
                memory.append(f"- parent {turn}", path=f"memory/p{turn % 5}.md")
                memory.write("memory/w.md", f"{turn}")
                memory.search("cat")
                memory.index()
                if stop.is_set():
                    return
        def work():
            memory.append(f"- child {turn}", path="memory/c.md")
            assert memory.search("mat")
            memory.write("memory/cw.md", "text")
            memory.index()
            memory.close()
        threads = [threading.Thread(target=busy) for _ in range(2)]
        [thread.start() for thread in threads]
        with memory.watch():
            for turn in range(6):
                time.sleep(0.05)
                print(in_child(work))
        stop.set()
        [thread.join() for thread in threads]
        print(memory.get("memory/c.md").text.count("child"), len(memory.search("child")) > 0)
        memory.close()
        """
    assert run(tmp_path / "notes", code) == [*["0"] * 6, "6 True"]


@pytest.mark.slow
def test_a_child_that_does_not_use_a_memory_starts_nothing(tmp_path):
    code = """
        memory = opened()
        memory.index()
        other = memory.with_search_settings(decay=False)
        print(in_child(lambda: print(threading.active_count())))
        print(in_child(lambda: print(bool(other.search("cat")), other.settings.search.decay)))
        print(in_child(lambda: memory.no_such_verb))
        memory.close()
        print(in_child(lambda: memory.search("cat")))
        """
    assert run(tmp_path / "notes", code) == ["1", "0", "True False", "0", "1", "1"]


@pytest.mark.slow
def test_a_child_uses_the_memories_of_a_pool(tmp_path):
    code = """
        with MemoryPool(root / "users", embedder=None, max_open=1) as pool:
            with pool.memory("alice") as alice:
                alice.append("- Tea is at four.")
                def work():
                    assert alice.search("tea")
                    with pool.memory("bob") as bob:
                        bob.append("- Coffee is at five.")
                    pool.close()
                print(in_child(work))
                print(len(alice.search("tea")))
            with pool.memory("bob") as bob:
                print(len(bob.search("coffee")))
        """
    assert run(tmp_path / "notes", code) == ["0", "1", "1"]


@pytest.mark.slow
def test_a_fork_waits_for_transactions_and_not_for_those_that_begin_meanwhile(tmp_path):
    """Threads that end one transaction and begin the next take no turn before a fork."""
    code = """
        from commonplace.system import forks
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                with forks.gate:
                    end = time.perf_counter() + 0.002
                    while time.perf_counter() < end:
                        pass
        threads = [threading.Thread(target=busy) for _ in range(4)]
        [thread.start() for thread in threads]
        codes, longest = [], 0.0
        for _ in range(20):
            began = time.monotonic()
            process = os.fork()
            if not process:
                with forks.gate:
                    os._exit(0)
            longest = max(longest, time.monotonic() - began)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        stop.set()
        [thread.join() for thread in threads]
        print(set(codes), longest < 3.0 or longest)  # it gives up after 5 s
        """
    assert run(tmp_path / "notes", code) == ["{0} True"]


@pytest.mark.slow
def test_a_fork_waits_for_reads(tmp_path):
    """A read may hold the mutex of SQLite's page cache; a child would wait for it for ever."""
    code = """
        seen, stop = [], threading.Event()
        def look():  # hooks run in reverse order: after those of the package
            own = threading.get_ident()
            seen.extend(
                frame.f_globals["__name__"]
                for thread, frame in sys._current_frames().items() if thread != own
            )
        memory = opened()
        memory.index()
        def busy():
            while not stop.is_set():
                with memory.snapshot() as snapshot:
                    for _ in range(20):
                        snapshot.files()
        threads = [threading.Thread(target=busy) for _ in range(3)]
        [thread.start() for thread in threads]
        before_fork, longest = look, 0.0
        for _ in range(40):
            began = time.monotonic()
            if not os.fork():
                os._exit(0)
            longest = max(longest, time.monotonic() - began)
            os.wait()
        stop.set()
        [thread.join() for thread in threads]
        print(len(seen) >= 120, "commonplace.store.sqlite.snapshot" in seen, longest < 3.0)
        """
    assert run(tmp_path / "notes", code) == ["True False True"]


@pytest.mark.slow
def test_threads_fork_at_once_and_each_child_uses_the_memory(tmp_path):
    code = """
        memory = opened()
        memory.index()
        def forking(number):
            def work():
                memory.append(f"- child {number} {turn}", path=f"memory/c{number}.md")
                assert memory.search("cat")
                memory.close()
            for turn in range(3):
                codes.append(in_child(work))
        codes = []
        threads = [threading.Thread(target=forking, args=(n,)) for n in range(4)]
        [thread.start() for thread in threads]
        for turn in range(5):
            memory.append(f"- parent {turn}")
        [thread.join() for thread in threads]
        print(codes == [0] * 12 or codes)
        print([memory.get(f"memory/c{n}.md").text.count("child") for n in range(4)])
        memory.close()
        """
    assert run(tmp_path / "notes", code) == ["True", "[3, 3, 3, 3]"]


@pytest.mark.slow
def test_a_fork_that_fails_leaves_all_as_it_was(tmp_path):
    code = """
        import resource, tempfile, shutil
        if not os.geteuid():  # root has no limit of processes
            place = tempfile.mkdtemp()
            shutil.copytree(root, f"{place}/notes")
            for folder, _, names in os.walk(place):
                [os.chown(os.path.join(folder, name), 65534, 65534) for name in ["", *names]]
            root = Path(place) / "notes"
        memory = opened()
        memory.index()
        memory.search("cat")  # NumPy starts threads, which the limit would refuse, too
        for turn in range(3):  # imports all: the other user may not read the checkout
            memory.append(f"- before {turn}")
        memory.search("before")
        for folder, _, names in os.walk(root.parent):
            if not os.geteuid():
                [os.chown(os.path.join(folder, name), 65534, 65534) for name in ["", *names]]
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        if not os.geteuid():
            os.setresuid(65534, 65534, 65534)
        failed = 0
        for turn in range(5):
            try:
                if not os.fork():
                    os._exit(0)
            except OSError:
                failed += 1
            began = time.monotonic()
            memory.append(f"- parent {turn}")
            assert memory.search("parent")
            assert time.monotonic() - began < 10
        print(failed, memory.search("parent 4", max_results=1)[0].snippet.count("parent"))
        from commonplace.system import forks
        print(forks._forking, forks._taken, forks.gate.door.locked())
        memory.close()
        """
    lines = run(tmp_path / "notes", code)
    assert lines[0].startswith("5 "), lines
    assert lines[1] == "None 0 False"
