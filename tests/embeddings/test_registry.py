"""From what a user said to the embedder that is used."""

import sys
from dataclasses import replace

import pytest

from commonplace.embeddings import registry
from commonplace.embeddings.base import ModelName, RequestLimits
from commonplace.embeddings.providers.bundled import BundledEmbedder, is_available
from commonplace.embeddings.registry import fallback_of, for_identity, select
from commonplace.errors import EmbedderError, MissingExtraError
from commonplace.settings import EmbeddingSettings
from support.fakes import HashedWords
from support.loopback_clients import CLIENTS, KEY, KEYS, OTHER_VARIABLES
from support.notes import LINES, Notes, find

bundled = pytest.mark.skipif(not is_available(), reason="wordllama has no wheel here")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for variable in (*KEYS.values(), *OTHER_VARIABLES):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def installed(monkeypatch):
    """All clients seem to be there; whatever is imported is a provider of ours."""

    class Provider(HashedWords):
        is_local = False
        limits = RequestLimits()

        def __init__(self, options):
            super().__init__()
            self.options = options
            endpoint = f"{options.base_url or ''}{options.dimensions or ''}"
            self.name = ModelName(self.kind, options.model or "default", endpoint)
            self.dimension = options.dimensions

    def make(module):
        name = module.rpartition(".")[2]
        kind = type(name, (Provider,), {"kind": name.replace("_", "-")})
        classes = {entry.path.partition(":")[2]: kind for entry in registry._PROVIDERS.values()}
        return type("Module", (), classes)

    real = registry.importlib.import_module
    monkeypatch.setattr(registry, "_is_installed", lambda module: True)
    monkeypatch.setattr(
        registry.importlib,
        "import_module",
        lambda name: real(name) if name.endswith("bundled") else make(name),
    )


def chosen(wanted, *, built_with=None, **settings):
    return select(wanted, settings=EmbeddingSettings(**settings), built_with=built_with)


def options(wanted, **settings):
    return chosen(wanted, **settings).client.embedder.options


@pytest.mark.parametrize("wanted", [None, "none"])
def test_without_an_embedder_words_are_searched_and_it_is_said_why(wanted):
    choice = chosen(wanted)
    assert choice.client is None
    assert "keywords" in choice.reason


def test_an_object_is_used_as_it_is():
    embedder = HashedWords()
    assert chosen(embedder).client.embedder is embedder


@bundled
@pytest.mark.parametrize("wanted", ["auto", "bundled", f"bundled:{BundledEmbedder.name.model}"])
def test_the_bundled_vectors_can_be_had_by_name_and_are_the_default(wanted):
    assert chosen(wanted).client.name == BundledEmbedder.name


@bundled
def test_what_the_settings_name_stands_in_for_auto():
    assert chosen("auto", provider="none").client is None
    assert chosen("bundled", provider="none").client.name == BundledEmbedder.name


# What auto takes.


@bundled
def test_auto_says_that_it_keeps_what_the_index_was_built_with():
    assert "built with bundled" in chosen("auto", built_with=BundledEmbedder.name).reason


@bundled
def test_auto_takes_the_next_best_when_what_the_index_was_built_with_is_gone():
    for gone in (ModelName("bundled", "older"), ModelName("MyEmbeddings", "mine")):
        assert chosen("auto", built_with=gone).client.name == BundledEmbedder.name


@bundled
def test_auto_goes_by_the_keys_in_order_and_then_takes_the_bundled_vectors(installed, monkeypatch):
    for provider in ("mistral", "voyage", "gemini", "openai"):
        monkeypatch.setenv(KEYS[provider], KEY)
        choice = chosen("auto")
        assert choice.client.name.provider == provider
        assert KEYS[provider] in choice.reason
        assert KEY not in choice.reason
    for provider in KEYS:
        monkeypatch.delenv(KEYS[provider], raising=False)
    assert chosen("auto").client.name.provider == "bundled"


@bundled
def test_auto_never_takes_ollama(installed, monkeypatch):
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    assert chosen("auto").client.name.provider == "bundled"
    assert chosen("ollama").client.name.provider == "ollama"


@bundled
def test_auto_does_not_take_a_provider_whose_client_is_missing(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(registry, "_is_installed", lambda module: False)
    assert chosen("auto").client.name.provider == "bundled"


def test_auto_takes_a_configured_local_model_before_any_key(installed, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    choice = chosen("auto", model=str(tmp_path))
    assert choice.client.name == ModelName("sentence-transformers", str(tmp_path))
    assert str(tmp_path) in choice.reason


def test_a_model_without_a_provider_is_an_error():
    with pytest.raises(EmbedderError, match=r"is no folder.*embedding\.provider"):
        chosen("auto", model="text-embedding-3-large")


def test_auto_keeps_what_the_index_was_built_with_though_another_key_came(installed, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("VOYAGE_API_KEY", KEY)
    held = ModelName("voyage", "default")
    assert chosen("auto", built_with=held).client.name == held
    monkeypatch.delenv("VOYAGE_API_KEY")
    assert chosen("auto", built_with=held).client.name.provider == "openai"


# Names.


def test_an_unknown_provider_is_told_with_those_that_are_known():
    with pytest.raises(EmbedderError, match=r"no embedder 'opnai'.*bundled.*openai"):
        chosen("opnai:x")


def test_an_unknown_bundled_model_is_told():
    with pytest.raises(EmbedderError, match="no bundled model 'other'"):
        chosen("bundled:other")


def test_sentence_transformers_needs_a_model_and_the_extra():
    with pytest.raises(EmbedderError, match=r"pip install|needs a model"):
        chosen("sentence-transformers")


@pytest.mark.parametrize("provider", [*CLIENTS, "sentence-transformers"])
def test_a_missing_extra_says_what_to_install(monkeypatch, provider):
    monkeypatch.setattr(registry, "_is_installed", lambda module: False)
    with pytest.raises(MissingExtraError) as caught:
        chosen(provider)
    assert f"pip install 'commonplace[{provider}]'" in str(caught.value)


@pytest.mark.parametrize("provider", [name for name in CLIENTS if name != "ollama"])
def test_a_missing_key_says_which_variable_holds_it(installed, provider):
    with pytest.raises(EmbedderError, match=KEYS[provider]):
        chosen(provider)
    with pytest.raises(EmbedderError, match="MY_OWN_KEY"):
        chosen(provider, api_key_env="MY_OWN_KEY")


def test_choosing_imports_no_client(monkeypatch):
    before = set(sys.modules)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    chosen("auto")
    assert not {"openai", "httpx", "google.genai", "voyageai"} & (set(sys.modules) - before)


# Whose settings.


def test_settings_reach_the_provider_that_they_name(installed, monkeypatch):
    monkeypatch.setenv("MY_OWN_KEY", KEY)
    given = {
        "provider": "openai",
        "model": "large",
        "dimensions": 64,
        "base_url": "http://127.0.0.1:1",
        "headers": {"X-Team": "secret"},
        "api_key_env": "MY_OWN_KEY",
        "timeout_s": 7.0,
    }
    for wanted in ("auto", "openai"):
        made = options(wanted, **given)
        assert (made.model, made.dimensions, made.base_url) == ("large", 64, "http://127.0.0.1:1")
        assert (made.headers, made.api_key_env) == ({"X-Team": "secret"}, "MY_OWN_KEY")
        assert made.timeout_s == 7.0
    assert options("openai:small", **given).model == "small"
    assert options("auto", **given | {"provider": "openai:small", "model": None}).model == "small"


def test_settings_of_one_provider_never_reach_another(installed, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    made = options(
        "gemini",
        provider="openai",
        model="large",
        base_url="http://127.0.0.1:1",
        headers={"X-Team": "secret"},
        api_key_env="MY_OWN_KEY",
    )
    assert (made.model, made.base_url, made.headers) == ("", None, {})
    assert made.api_key_env == "GEMINI_API_KEY"


def test_the_fallback_gets_nothing_of_the_first_providers_settings(installed, monkeypatch):
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    settings = EmbeddingSettings(
        provider="openai", base_url="http://127.0.0.1:1", fallback="mistral:small"
    )
    made = fallback_of(settings).client.embedder.options
    assert (made.model, made.base_url, made.api_key_env) == ("small", None, "MISTRAL_API_KEY")
    assert fallback_of(EmbeddingSettings()) is None


def test_a_server_of_ones_own_needs_no_key(installed):
    assert options("openai", base_url="http://127.0.0.1:1").api_key_env is None


# What an index was built with.


def test_the_embedder_of_an_index_is_made_as_it_was(installed, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    here = EmbeddingSettings(provider="openai", base_url="http://one", model="new", dimensions=64)
    for held, dimension in (
        (ModelName("openai", "old", "http://one32"), 32),
        (ModelName("openai", "old", "http://one"), 1536),
    ):
        assert for_identity(held, dimension, here).name == held
    assert for_identity(ModelName("openai", "old"), 1536, EmbeddingSettings()) is not None
    # A question goes where the settings say, and not where it went before.
    assert for_identity(ModelName("openai", "old"), 1536, here) is None
    assert for_identity(ModelName("openai", "old", "http://two"), 32, here) is None
    assert for_identity(ModelName("MyEmbeddings", "mine"), 32, here) is None
    monkeypatch.delenv("OPENAI_API_KEY")
    assert for_identity(ModelName("openai", "old"), 1536, EmbeddingSettings()) is None


# Providers of other packages.


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package with entry points as an installer does: a module and a dist-info folder."""

    def install(code, *entry_points):
        (tmp_path / "heron_vectors.py").write_text(code)
        metadata = tmp_path / "heron_vectors-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: heron\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(
            "\n".join([f"[{registry.ENTRY_POINTS}]", *entry_points, ""])
        )
        monkeypatch.syspath_prepend(tmp_path)
        registry._provided_by_packages.cache_clear()

    yield install
    sys.modules.pop("heron_vectors", None)
    registry._provided_by_packages.cache_clear()


HERON = """
from commonplace.embeddings.base import ModelName, RequestLimits


class HeronEmbedder:
    is_local = True
    limits = RequestLimits()
    price = 0.0
    dimension = 3

    def __init__(self, options):
        self.options = options
        self.name = ModelName("heron", options.model or "grey")

    def embed_documents(self, texts):
        return [[1.0, float(len(text)), 2.0] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]
"""


def test_a_provider_of_another_package_is_found_by_its_entry_point(package):
    package(HERON, "heron = heron_vectors:HeronEmbedder")
    registry.check_name("heron:purple")
    assert "heron" in registry.known_providers()
    selection = chosen("heron:purple", provider="heron", base_url="http://127.0.0.1:1")
    assert selection.client.name == ModelName("heron", "purple")
    assert selection.client.embedder.options.base_url == "http://127.0.0.1:1"
    assert selection.client.embed_documents(["a", "bb"]).shape == (2, 3)
    kept = chosen("auto", built_with=ModelName("heron", "purple"))
    assert "built with heron:purple" in kept.reason
    fallback = fallback_of(EmbeddingSettings(fallback="heron"))
    assert fallback.client.name.provider == "heron"


def test_an_index_is_built_and_searched_with_the_provider_of_another_package(package, tmp_path):
    package(HERON, "heron = heron_vectors:HeronEmbedder")
    with Notes(tmp_path / "notes").open("heron", LINES) as memory:
        memory.index()
        hits = find(memory, "printer")
        assert (hits.mode, hits.provider, hits.model) == ("hybrid", "heron", "grey")


def test_a_provider_without_one_of_its_methods_is_told_which(package):
    package(HERON + "    embed_query = None\n", "heron = heron_vectors:HeronEmbedder")
    with pytest.raises(EmbedderError, match="has no method `embed_query`; see commonplace"):
        chosen("heron")


def test_the_same_model_elsewhere_is_told_by_what_differs(package, tmp_path):
    elsewhere = 'self.name = ModelName("heron", "grey", options.base_url or "")'
    code = HERON.replace('self.name = ModelName("heron", options.model or "grey")', elsewhere)
    package(code, "heron = heron_vectors:HeronEmbedder")
    notes = Notes(tmp_path / "notes")
    with notes.open("heron", LINES) as memory:
        memory.index()
    there = EmbeddingSettings(provider="heron", base_url="http://127.0.0.1:1")
    with notes.open("heron", replace(LINES, embedding=there)) as memory:
        fallback = find(memory, "printer").fallback
    assert "built with heron:grey at another endpoint or with other options" in fallback
    assert "and not with" not in fallback


@bundled
def test_another_package_does_not_replace_a_provider_of_this_one(package):
    package(HERON, "bundled = heron_vectors:HeronEmbedder")
    assert chosen("bundled").client.name == BundledEmbedder.name


@pytest.mark.parametrize(
    ("code", "target", "told"),
    [
        ("raise RuntimeError('no licence')", "Heron", "RuntimeError: no licence"),
        ("", "Missing", "AttributeError"),
        ("Heron = dict", "Heron", "TypeError"),
        ("class Heron:\n    def __init__(self, options): pass", "Heron", "has no `name`"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_named(package, code, target, told):
    package(code, f"heron = heron_vectors:{target}")
    with pytest.raises(EmbedderError, match=rf"(?s)heron_vectors:{target}.*({told})"):
        chosen("heron")
