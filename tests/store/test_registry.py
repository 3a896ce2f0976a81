"""What `Memory.open(index=...)` takes, and which engine opens it."""

import re
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.errors import StoreError
from commonplace.store import registry
from commonplace.store.registry import known_engines, open_store, sqlite_path

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package with engines, by its metadata."""

    def install(**engines):
        info = tmp_path / "site" / "strange_engines-1.0.dist-info"
        info.mkdir(parents=True)
        name = "Metadata-Version: 2.1\nName: strange-engines\nVersion: 1.0\n"
        (info / "METADATA").write_text(name)
        lines = [f"{scheme} = {value}" for scheme, value in engines.items()]
        (info / "entry_points.txt").write_text("\n".join(["[commonplace.stores]", *lines]))
        monkeypatch.syspath_prepend(str(info.parent))

    return install


def located(index):
    store = open_store(index)
    try:
        return store.location
    finally:
        store.close()


@pytest.mark.parametrize(
    ("index", "file"),
    [
        ("index.sqlite", "index.sqlite"),
        ("deep/er/any name", "deep/er/any name"),
        (Path("index.sqlite"), "index.sqlite"),
        ("sqlite:///index.sqlite", "index.sqlite"),
        ("sqlite:///deep/index.sqlite", "deep/index.sqlite"),
        ("SQLite:///index.sqlite", "index.sqlite"),
        ("sqlite:///100%/ä b.sqlite", "100%/ä b.sqlite"),
    ],
)
def test_a_relative_path_or_url_is_below_the_working_folder(tmp_path, index, file):
    assert located(index) == str(tmp_path / file)
    assert sqlite_path(index) == tmp_path / file
    assert list(tmp_path.iterdir()) == []  # nothing is created by opening it


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_an_absolute_path_or_url_is_where_it_says(tmp_path, form):
    file = tmp_path / "elsewhere" / "index.sqlite"
    assert located(form.format(file)) == str(file)
    assert sqlite_path(form.format(file)) == file


def test_a_path_may_begin_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for index in ("~/index.sqlite", "sqlite:///~/index.sqlite"):
        assert located(index) == str(tmp_path / "index.sqlite")


@pytest.mark.parametrize("index", [r"C:\notes\index.sqlite", "C:/notes/index.sqlite", "C://notes"])
def test_a_drive_is_no_scheme(index):
    file = sqlite_path(index)
    assert file is not None
    assert str(file).endswith(str(Path(index)))
    assert located(index) == str(file)
    assert sqlite_path(f"sqlite:///{index}") == file


@pytest.mark.parametrize("index", ["MEMORY.md", "sqlite:///notes/memory/plan.MD", Path("a.md")])
def test_a_note_is_no_index(tmp_path, index):
    with pytest.raises(StoreError, match="names a Markdown file; an index is a file of its own"):
        open_store(index)
    with pytest.raises(StoreError, match="names a Markdown file"):
        Memory.open(tmp_path, index=index)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("index", ["sqlite://", "sqlite:///"])
def test_a_url_without_a_file_is_an_error(index):
    with pytest.raises(StoreError, match="names no file; sqlite:///PATH does"):
        open_store(index)


def test_a_url_with_one_slash_is_no_file_and_its_password_is_not_shown(tmp_path):
    for opened_by in (open_store, sqlite_path, lambda url: Memory.open(tmp_path, index=url)):
        with pytest.raises(StoreError, match="a URL with one slash") as caught:
            opened_by(Path("postgresql://ann:s3cret@host/notes"))
        assert "s3cret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_index_in_memory_has_no_name():
    assert located("memory://") == located("Memory://") == "memory://"
    assert sqlite_path("memory://") is None
    with pytest.raises(StoreError, match="has a name; an index in memory is just memory://"):
        open_store("memory://notes")


def test_an_unknown_scheme_is_one_line_that_names_the_known_ones(tmp_path, install):
    install(toy="store.toy_store:open_store")
    with pytest.raises(StoreError) as caught:
        Memory.open(tmp_path, index="mongodb://ann:open-sesame@example.org/notes")
    message = str(caught.value)
    assert "'mongodb'; known are memory, postgres, postgresql, sqlite, toy." in message
    assert "\n" not in message
    assert "sesame" not in message


@pytest.mark.parametrize(
    ("value", "why"),
    [("no_such_module:open_store", "no_such_module"), ("store.toy_store:nothing", "nothing")],
)
def test_an_engine_that_cannot_be_imported_is_one_line_that_names_its_package(install, value, why):
    install(broken=value)
    assert "broken" in known_engines()
    with pytest.raises(StoreError) as caught:
        open_store("broken://somewhere")
    message = str(caught.value)
    assert "the index engine 'broken' of strange-engines cannot be imported" in message
    assert why in message
    assert "\n" not in message


def test_an_engine_that_cannot_open_is_one_line_that_names_its_package(tmp_path, install):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "strange_engine.py").write_text(
        "def open_store(url):\n    raise KeyError('STRANGE_DSN')\n"
    )
    install(broken="strange_engine:open_store")
    with pytest.raises(StoreError) as caught:
        Memory.open(tmp_path, index="broken://somewhere")
    assert str(caught.value) == (
        "the index engine 'broken' of strange-engines cannot open the index: "
        "KeyError: 'STRANGE_DSN'"
    )


def test_an_engine_that_lacks_members_is_told_which(tmp_path, install):
    install(half="store.test_registry:HalfStore")
    with pytest.raises(StoreError, match="'half' of strange-engines gives a HalfStore") as caught:
        Memory.open(tmp_path, index="half://somewhere")
    assert "without access, engines, capabilities, " in str(caught.value)
    assert "identity" in str(caught.value)  # and none that it has
    assert "location" not in str(caught.value)
    assert "exists" not in str(caught.value)


class HalfStore:
    """The beginning of an engine."""

    def __init__(self, url):
        self.location = url

    def exists(self):
        return False


def test_an_installed_engine_does_not_replace_one_that_is_built_in(install):
    install(memory="store.toy_store:open_store")
    assert type(open_store("memory://")).__name__ == "MemoryStore"


def test_a_scheme_is_read_in_any_case(install, tmp_path):
    install(toy="store.toy_store:open_store")
    assert located(f"TOY://{tmp_path}/A.toy") == f"{tmp_path}/A.toy"


def test_the_class_of_an_engine_is_named_in_its_folder_only():
    names = {
        "SqliteStore": "store/sqlite",
        "MemoryStore": "store/memory",
        "PostgresStore": "store/postgres",
    }
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("integrations/**/*.py")]
    assert len(files) > 150
    for file in files:
        for name, folder in names.items():
            if f"commonplace/{folder}/" not in file.as_posix():
                assert not re.search(rf"\b{name}\b", file.read_text("utf-8")), (file, name)


def test_each_built_in_engine_is_one_line_of_the_registry():
    assert set(registry._ENGINES) == {"memory", "postgres", "postgresql", "sqlite"}
