import base64
import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import tiktoken.registry
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text import tokens, vocabulary
from commonplace.text.tokens import (
    character_units,
    count_tokens,
    estimate_tokens,
    prepare_counting,
    token_units,
    token_weight,
    units_by_line,
)

O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0),
        ("abcd efgh\n", 10 / 4.6),
        ("2026", 4 * 0.5),
        ("{};", 3 * 0.8),
        ("路由器", 3),
        ("カナ", 2),
        ("서버", 2),
        ("мир", 3 * 0.4),
        ("é", 0.4),
        ("—", 0.8),
        ("😀", 2),
        ("✅", 2),
        ("a1!é路😀", 1 / 4.6 + 0.5 + 0.8 + 0.4 + 1 + 2),
    ],
)
def test_the_weight_of_a_text_is_that_of_its_scripts(text: str, weight: float) -> None:
    assert token_weight(text) == pytest.approx(weight)


def test_the_estimate_rounds_up() -> None:
    assert estimate_tokens("a") == 1
    assert estimate_tokens("路由") == 2
    assert estimate_tokens("路由a") == 3


@given(st.text(), st.text())
def test_weights_of_parts_add_up_to_that_of_the_whole(a: str, b: str) -> None:
    assert token_units(a + b) == token_units(a) + token_units(b)


@given(st.text())
def test_characters_and_lines_weigh_what_the_text_weighs(text: str) -> None:
    assert sum(character_units(text)) == token_units(text)
    assert units_by_line(text) == [token_units(line) for line in text.split("\n")]


def test_a_lone_surrogate_has_a_weight() -> None:
    assert token_weight("a\ud800") > 0


@pytest.fixture
def unprepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this a process that has not counted, and in which tiktoken has built nothing."""
    monkeypatch.setattr(tokens, "_encoding", None)
    monkeypatch.setattr(tokens, "_is_prepared", False)
    monkeypatch.setattr("tiktoken.registry.ENCODINGS", {})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Put a vocabulary of the 256 bytes and one pair on the disk, under its own checksum."""
    words = [bytes([code]) for code in range(256)] + [b"ab"]
    data = b"".join(base64.b64encode(word) + b" %d\n" % rank for rank, word in enumerate(words))
    published = replace(
        vocabulary._VOCABULARIES[0], file_name="small", sha256=hashlib.sha256(data).hexdigest()
    )
    monkeypatch.setattr(vocabulary, "_VOCABULARIES", (published,))
    monkeypatch.setattr(tokens, "vocabulary_folders", lambda: [tmp_path / "missing", tmp_path])
    (tmp_path / "small").write_bytes(data)
    return tmp_path


@pytest.mark.usefixtures("unprepared")
def test_without_a_vocabulary_on_disk_a_count_is_the_estimate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tokens, "vocabulary_folders", lambda: [tmp_path])
    prepare_counting()
    assert count_tokens("which port? 路由器 😀") == estimate_tokens("which port? 路由器 😀")


def test_a_damaged_vocabulary_is_not_used_and_not_deleted(tmp_path: Path) -> None:
    damaged = tmp_path / O200K
    damaged.write_bytes(b"IQ== 0\n")
    assert vocabulary.load_encoding([tmp_path]) is None
    assert damaged.read_bytes() == b"IQ== 0\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_vocabulary_that_is_no_regular_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / O200K)
    assert vocabulary.load_encoding([tmp_path, tmp_path / "missing"]) is None


@pytest.mark.usefixtures("unprepared", "small")
def test_an_undamaged_vocabulary_counts_exactly() -> None:
    prepare_counting()
    assert count_tokens("abab c") == 4
    assert count_tokens("a\ud800b") == count_tokens("a\ufffdb")


@pytest.mark.usefixtures("unprepared", "small")
def test_a_text_is_estimated_until_counting_was_prepared() -> None:
    assert count_tokens("abab c") == estimate_tokens("abab c") != 4
    assert not tokens._is_prepared


@pytest.mark.usefixtures("unprepared")
def test_the_vocabulary_is_looked_for_once_a_process(small: Path) -> None:
    prepare_counting()
    (small / "small").unlink()
    prepare_counting()
    assert count_tokens("abab c") == 4


@pytest.mark.usefixtures("unprepared")
def test_of_threads_that_prepare_at_the_same_time_one_builds(
    monkeypatch: pytest.MonkeyPatch, small: Path
) -> None:
    built = []

    def load(folders: Sequence[Path]) -> tiktoken.Encoding | None:
        built.append(vocabulary.load_encoding(folders))
        return built[-1]

    monkeypatch.setattr(tokens, "load_encoding", load)
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(prepare_counting) for _ in range(8)]:
            done.result()
    assert len(built) == 1


@pytest.mark.usefixtures("unprepared", "small")
def test_an_encoding_that_tiktoken_has_built_is_not_built_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bytes_alone = tiktoken.Encoding(
        "test",
        pat_str=".+",
        mergeable_ranks={bytes([code]): code for code in range(256)},
        special_tokens={},
    )
    assert vocabulary.built_encoding() is None
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", bytes_alone)
    prepare_counting()
    assert count_tokens("abab c") == 6


@pytest.mark.processes
def test_importing_it_loads_no_tiktoken() -> None:
    code = "import commonplace.text.tokens, sys; print('tiktoken' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_the_folders_named_in_the_environment_come_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "one"))
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(tmp_path / "two"))
    folders = vocabulary.vocabulary_folders()
    assert folders[:2] == [tmp_path / "one", tmp_path / "two"]
    assert folders[2].name == "data-gym-cache"


@pytest.mark.processes
def test_llama_index_is_looked_into_but_not_imported(tmp_path: Path) -> None:
    (tmp_path / "llama_index").mkdir()
    (tmp_path / "llama_index" / "__init__.py").write_text("raise RuntimeError('imported')")
    code = (
        "from commonplace.text.vocabulary import vocabulary_folders;"
        "print(*vocabulary_folders(), sep='\\n')"
    )
    source = str(Path(vocabulary.__file__).parents[2])
    path = os.pathsep.join((str(tmp_path), source))
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = tmp_path / "llama_index" / "core" / "_static" / "tiktoken_cache"
    assert str(expected) in run.stdout.splitlines()
