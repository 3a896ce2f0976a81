"""What is PostgreSQL's own: addresses, rights, connections, and a search from end to end."""

import pytest

pytest.importorskip("psycopg")


from commonplace import Memory
from commonplace.errors import StoreError
from commonplace.store.postgres.address import Address
from commonplace.store.postgres.terms import Phrase, term_vector
from commonplace.store.postgres.text_codec import escaped, restored
from commonplace.store.registry import open_store
from support import postgres

SECRET = "s3cret/&"


@pytest.fixture
def url(tmp_path):
    return postgres.url_of(tmp_path)


@pytest.fixture
def store(url):
    made = open_store(url)
    yield made
    made.close()


# -- quick: no server, or one memory of it ---------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("postgresql://ann:s3cret%2F%26@db.example:5433/notes?name=team",
         "postgresql://ann@db.example:5433/notes?name=team"),
        ("postgres://db/notes?password=s3cret/%26", "postgresql://db/notes"),
        ("postgresql:///notes?host=/run/postgresql&sslmode=require&password=s3cret/%26",
         "postgresql:///notes?host=/run/postgresql"),
        ("postgresql:///?service=team&name=it's \"ours\"",
         "postgresql:///?service=team&name=it%27s%20%22ours%22"),
    ],
)  # fmt: skip
def test_a_location_is_the_url_without_credentials(url, location):
    store = open_store(url)
    assert store.location == location
    for said in (
        store.location,
        repr(store),
        repr(store._address),
        str(vars(store._address.__class__)),
    ):
        assert SECRET not in said
        assert "s3cret" not in said


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ann:s3cret@[h/db", "cannot be read"),
        ("postgresql://h/db?no_such=s3cret", "cannot be read"),
        ("postgresql://h/db?name=" + "x" * 60, "too long"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url, said):
    with pytest.raises(StoreError, match=said) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_memories_of_other_names_have_other_schemas_and_locks():
    one, two = (Address.from_url(f"postgresql://h/db?name={name}") for name in ("a", "b"))
    assert Address.from_url("postgresql://h/db").schema == "commonplace"
    assert (one.schema, two.schema) == ("commonplace_a", "commonplace_b")
    assert one.lock_key("run") != two.lock_key("run") != two.lock_key("swap")


@pytest.mark.parametrize("text", ["plain", "a\0b", "\udcff", "\ufdd0", "\ufdd00000\0", "日本 🎉"])
def test_any_text_survives_its_escape(text):
    safe = escaped(text)
    assert restored(safe) == text
    assert "\0" not in safe
    safe.encode()


def test_a_vector_stays_within_what_postgresql_holds():
    assert len(term_vector([f"term{n}" for n in range(60_000)], [])) < 2**20
    assert len(term_vector(["same"] * 100_000, [])) < 1024
    assert Phrase(()).possible is False


def test_a_memory_over_postgresql_is_indexed_searched_read_and_appended_to(tmp_path, url):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("# Net\n- The VPN listens on port 51820.\n")
    with Memory.open(tmp_path / "notes", index=url) as memory:
        assert memory.index().added == 1
        assert "51820" in memory.search("VPN port")[0].snippet
        memory.append("- The printer is called Gutenberg.")
        assert "Gutenberg" in memory.search("what is the printer called")[0].snippet
        assert "51820" in memory.get("MEMORY.md").text
        status = memory.status(deep=True)
        assert "pgvector" in status.vector_engine
        assert "PostgreSQL" in status.keyword_engine
    with Memory.open(tmp_path / "notes", index=url) as other:
        assert "Gutenberg" in other.search("printer")[0].snippet
        assert other.index().embedded == 0
