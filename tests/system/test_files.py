import errno
import os
import subprocess
import sys
import textwrap
import time

import pytest

from commonplace.system.files import FileLease, lock_descriptor

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and links of POSIX")


def run(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python process."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "2026-11-20.md"


def test_lock_descriptor_waits_and_times_out(log):
    log.write_text("")
    descriptors = [os.open(log, os.O_RDWR) for _ in range(2)]
    with lock_descriptor(descriptors[0]):
        started = time.monotonic()
        with (
            pytest.raises(TimeoutError, match=r"0\.1 s"),
            lock_descriptor(descriptors[1], timeout_s=0.1),
        ):
            pass
        assert time.monotonic() - started < 5
    with lock_descriptor(descriptors[1], timeout_s=0):
        pass
    for descriptor in descriptors:
        os.close(descriptor)


@pytest.mark.processes
@posix
def test_a_lease_ends_with_its_process(tmp_path):
    code = """
        import sys, time
        from pathlib import Path
        from commonplace.system.files import FileLease
        with FileLease(Path(sys.argv[1])).held(timeout_s=1) as got:
            print(got, flush=True)
            time.sleep(60)
        """
    lease = FileLease(tmp_path / "lock")
    process = run(code, lease.path)
    assert process.stdout.readline() == "True\n"
    with lease.held(timeout_s=0) as got:
        assert not got
    assert lease.owner() == process.pid
    process.kill()
    process.communicate()
    with lease.held(timeout_s=5) as got:
        assert got
    assert lease.owner() == os.getpid()


def test_a_lease_in_a_folder_that_is_missing_is_an_os_error(tmp_path):
    with pytest.raises(OSError) as caught, FileLease(tmp_path / "no" / "lock").held(timeout_s=0):
        pass
    assert caught.value.errno == errno.ENOENT
