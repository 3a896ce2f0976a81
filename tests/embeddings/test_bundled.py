"""The bundled vectors: any text, and one copy of them in a process."""

import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from commonplace import Memory
from commonplace.embeddings.base import Embedder
from commonplace.embeddings.providers.bundled import BundledEmbedder, is_available

pytestmark = pytest.mark.skipif(not is_available(), reason="wordllama has no wheel here")


def test_the_bundled_vectors_are_an_embedder():
    assert isinstance(BundledEmbedder(), Embedder)


@pytest.mark.parametrize("text", ["", " ", "---", "🎉", "日本語", "\0", "x" * 100_000])
def test_the_bundled_embedder_takes_any_text(text):
    matrix = BundledEmbedder().embed_documents([text, "a word"])
    assert matrix.dtype == np.float32
    assert matrix.shape == (2, 256)
    assert np.isfinite(matrix).all()


def test_bundled_vectors_of_like_texts_are_nearer_than_those_of_others():
    embedder = BundledEmbedder()
    cat, kitten, invoice = embedder.embed_documents(
        ["the cat sleeps", "a kitten is asleep", "the invoice is due on Monday"]
    )
    assert cat @ kitten > cat @ invoice


@pytest.mark.parametrize(
    "query", ["where does Ann live", "Where does Ann live", "Where does Ann live?"]
)
def test_a_query_is_embedded_as_the_sentence_of_a_question(query):
    embedder = BundledEmbedder()
    (sentence,) = embedder.embed_documents(["Where does Ann live?"])
    assert np.array_equal(embedder.embed_query(query), sentence)


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("Where does Ann live?", True),
        ("Wo wohnt Änne?", True),
        ("где живёт Анна?", True),
        ("アンはどこに住んでいますか", True),
        ("앤은 어디에 살아요?", True),
        ("4711 — 🎉", True),
        ("Πού μένει η Άννα;", False),
        ("أين تسكن آنا؟", False),
        ("איפה גרה אנה?", False),
        ("अन्ना कहाँ रहती है?", False),
        ("แอนอยู่ที่ไหน", False),
        ("Πού είναι το login για το Grafana dashboard;", True),  # most of its letters are Latin
        ("Grafana का पासवर्ड", True),  # as many, without vowel signs
        ("٤٧١١", True),  # no letters
    ],
)
def test_of_scripts_of_which_it_has_no_words_the_bundled_model_says_so(question, known):
    assert BundledEmbedder().knows_script(question) == known


def test_a_question_in_a_script_that_the_model_spells_is_answered_by_words(tmp_path):
    (tmp_path / "MEMORY.md").write_text(
        "# Memory\n\n- Ο κωδικός του router είναι 4711\n- Ο υδραυλικός έρχεται Τρίτη\n"
    )
    with Memory.open(tmp_path, embedder="bundled", index=tmp_path / "index.sqlite") as memory:
        asked = memory.search("Ποιος είναι ο κωδικός;")
        assert "4711" in asked[0].snippet
        assert (asked.mode, asked.provider) == ("keyword", None)
        assert "knows no words of this script" in asked.fallback
        assert memory.search("router").mode == "hybrid"


def test_the_bundled_vectors_load_once_for_all_threads():
    embedder = BundledEmbedder()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(embedder.embed_query("one text")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(found[0], vector) for vector in found)


def test_all_embedders_share_one_model_and_closing_one_leaves_it_to_the_others():
    first, second = BundledEmbedder(), BundledEmbedder()
    before = first.embed_query("one text")
    second.embed_query("one text")
    assert first._model is second._model
    first.close()
    assert np.array_equal(second.embed_query("one text"), before)
    assert np.array_equal(first.embed_query("one text"), before)  # used again, shared again
    assert first._model is second._model


def test_threads_that_load_at_once_share_one_model():
    embedders = [BundledEmbedder() for _ in range(8)]
    barrier = threading.Barrier(8, timeout=20)

    def load(embedder):
        barrier.wait()
        embedder.embed_query("one text")

    threads = [threading.Thread(target=load, args=(embedder,)) for embedder in embedders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len({id(embedder._model) for embedder in embedders}) == 1


@pytest.mark.slow
def test_twenty_memories_hold_one_copy_of_the_vectors_until_the_last_one_is_closed(tmp_path):
    code = """
        import gc, os, sys
        from pathlib import Path

        folder = Path(sys.argv[1])
        os.environ["COMMONPLACE_STATE_DIR"] = str(folder / "state")
        from commonplace import Memory, Settings
        from commonplace.embeddings.providers.bundled import TokenVectors
        from commonplace.settings import SyncSettings

        settings = Settings(sync=SyncSettings(on_open=False, on_search=False, watch=False))
        loads = []
        read = TokenVectors._read
        TokenVectors._read = lambda: loads.append(1) or read()

        def resident_mb():
            try:
                status = Path("/proc/self/status").read_text()
            except OSError:
                return 0.0  # only Linux says it
            [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
            return int(line.split()[1]) / 1024

        def found(memory):
            hits = memory.search("which port does the VPN use?")
            return hits.mode == "hybrid" and "51820" in hits[0].snippet

        memories, resident = [], []
        for number in range(20):
            root = folder / str(number)
            root.mkdir()
            (root / "MEMORY.md").write_text("# Home\\n\\n- The VPN listens on 51820.\\n")
            memories.append(Memory.open(root, settings=settings, embedder="bundled"))
            assert found(memories[-1])
            resident.append(resident_mb())
        assert len(loads) == 1, loads
        assert resident[-1] - resident[0] < 80, resident  # 19 more copies take 836 MB
        for memory in memories[:-1]:
            memory.close()
        assert found(memories[-1])
        assert TokenVectors._loaded() is not None
        memories[-1].close()
        gc.collect()
        assert TokenVectors._loaded() is None
        """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], check=True, timeout=120
    )
