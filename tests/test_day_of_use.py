"""A day of use over each engine; one comes from another package, by an entry point."""

import time
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.errors import SettingsError, StoreError
from commonplace.settings import Settings
from commonplace.store.registry import known_engines
from support.fakes import HashedWords, clock
from support.notes import eventually
from support.sampling import sampled

SETTINGS = Settings.from_mapping(
    {"sync": {"on_open": False, "on_search": False, "debounce_ms": 50}}
)
LOGS = 300


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Install the toy engine as pip would: by the metadata of a distribution."""
    info = tmp_path / "site" / "toy_engine-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-engine\nVersion: 1.0\n")
    entry = "[commonplace.stores]\ntoy = store.toy_store:open_store\n"
    (info / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(str(info.parent))


def sqlite(folder):
    return f"sqlite:///{folder}/index.sqlite"


def memory(folder):
    return "memory://"


def toy_url(folder):
    return f"toy://{folder}/index.toy"


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Long term\n\n- The VPN listens on port 51820.\n")
    for number in range(LOGS):
        text = f"# Log\n\n- Shelf {number} holds jar{number}.\n- The kettle was descaled.\n"
        (root / f"memory/shelf-{number}.md").write_text(text)
    return root


def opened(root, url, embedder, settings=SETTINGS):
    return Memory.open(root, settings=settings, embedder=embedder, index=url, now=clock())


def snippets(memory, query):
    return [hit.snippet for hit in memory.search(query, min_score=0)]


def shows(memory, query, text):
    return any(text in snippet for snippet in snippets(memory, query))


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("url", sampled([sqlite, memory, toy_url], every=2))
def test_a_day_of_use(root: Path, tmp_path: Path, url) -> None:
    index = url(tmp_path)
    with opened(root, index, HashedWords()) as memory:
        report = memory.index()
        assert (report.added, report.failed) == (LOGS + 1, ())
        assert "jar42." in snippets(memory, "jar42")[0]
        assert memory.search("jar42").mode == "hybrid"
        path = memory.append("- The spare key hangs behind the clock.")
        assert memory.search("spare key")[0].path == path
        assert memory.index().updated == 0
        with memory.watch():
            note = root / "memory/garden.md"
            note.write_text("# Garden\n\n- Tulips were planted.\n")
            assert eventually(lambda: shows(memory, "tulips", "Tulips"))
            note.write_text("# Garden\n\n- Dahlias were planted.\n")
            assert eventually(lambda: shows(memory, "dahlias", "Dahlias"))
            assert not shows(memory, "tulips", "Tulips")
            note.unlink()
            assert eventually(lambda: not shows(memory, "dahlias", "Dahlias"))
        status = memory.status(deep=True)
        assert (status.files, status.stale, status.warnings) == (LOGS + 2, (), ())
        assert status.index_location == memory.index_location
        assert all(outcome.startswith("ok") for outcome in status.details.values()), status.details
        assert memory.index(force=True).embedded == 0
        assert "jar42." in snippets(memory, "jar42")[0]
    with pytest.raises(StoreError, match="closed"):
        memory.search("jar42")


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("url", [sqlite, toy_url])
def test_the_next_day_with_another_embedder(root: Path, tmp_path: Path, url) -> None:
    index = url(tmp_path)
    embedder = HashedWords()
    with opened(root, index, embedder) as memory:
        memory.index()
    with opened(root, index, HashedWords(32, model_id="other")) as memory:
        assert memory.search("jar42").fallback
        assert memory.index().updated == LOGS + 1
        assert memory.status().dimension == 32
        assert memory.search("jar42").mode == "hybrid"
    made = len(embedder.texts)
    with opened(root, index, embedder) as memory:
        assert memory.index().embedded == 0
        assert memory.search("jar42").mode == "hybrid"
    assert len(embedder.texts) == made


def test_an_index_in_memory_answers_in_a_fraction_of_a_second(root: Path) -> None:
    with opened(root, "memory://", HashedWords()) as memory:
        memory.index()
        started = time.perf_counter()
        for number in range(10):
            assert f"jar{number}." in snippets(memory, f"jar{number} on which shelf?")[0]
        assert (time.perf_counter() - started) / 10 < 0.3


def test_each_index_in_memory_is_its_own(root: Path) -> None:
    with opened(root, "memory://", None) as one, opened(root, "memory://", None) as other:
        one.index()
        assert one.status().files == LOGS + 1
        assert other.status().files == 0


@pytest.mark.usefixtures("toy")
def test_a_profile_that_needs_more_than_the_engine_has_is_one_error(root, tmp_path) -> None:
    with pytest.raises(SettingsError, match=r"'openclaw' needs .* exact-fts5-bm25") as caught:
        opened(root, toy_url(tmp_path), None, Settings.openclaw())
    assert "\n" not in str(caught.value)
    for url in (sqlite, memory):
        with opened(root, url(tmp_path), None, Settings.openclaw()) as notes:
            assert notes.search("jar42")


@pytest.mark.usefixtures("toy")
def test_an_engine_that_is_installed_is_known() -> None:
    assert known_engines() == ("memory", "postgres", "postgresql", "sqlite", "toy")
