from dataclasses import replace

import pytest

from commonplace.errors import SettingsError
from commonplace.settings import (
    CacheSettings,
    ChunkingSettings,
    ContextSettings,
    EmbeddingSettings,
    FlushSettings,
    SearchSettings,
    SessionsSettings,
    Settings,
    SyncSettings,
    default_settings_path,
    default_state_dir,
)


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "settings.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_toml_file_sets_what_it_names_and_nothing_else(toml):
    loaded = Settings.load(
        toml(
            """
            timezone = "Europe/Paris"
            extra_paths = ["~/notes", "../more.md"]
            citations = "off"
            [search]
            max_results = 8
            min_score = 0
            decay = false
            [embedding]
            headers = { "X-Team" = "a" }
            [chunking]
            tokens = 200
            """
        )
    )
    assert loaded == Settings(
        timezone="Europe/Paris",
        extra_paths=("~/notes", "../more.md"),
        citations="off",
        search=SearchSettings(max_results=8, min_score=0.0, decay=False),
        embedding=EmbeddingSettings(headers={"X-Team": "a"}),
        chunking=ChunkingSettings(tokens=200),
    )
    assert type(loaded.search.min_score) is float


def test_an_empty_file_is_the_defaults(toml):
    assert Settings.load(toml("")) == Settings()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("serch = 1", "serch is not a setting; did you mean search?"),
        (
            "[search]\nmax_result = 1",
            "search.max_result is not a setting; did you mean search.",
        ),
        ("[search]\nzzz = 1", "search.zzz is not a setting; known: max_chars, max_results"),
        ("search = 1", "search is 1; it must be a table"),
        ("[search]\nmax_results = '6'", "search.max_results is '6'; it must be a whole number"),
        ("[search]\nmax_results = 0", "search.max_results is 0; it must be at least 1"),
        ("[search]\nmin_score = nan", "search.min_score is nan; it must be between 0 and 1"),
        ("[search]\ntokenizer = 'x'", "search.tokenizer is 'x'; it must be one of 'porter'"),
        ("extra_paths = 'x'", "extra_paths is 'x'; it must be a list of texts"),
        ("timezone = 'Mars/Base'", "timezone is 'Mars/Base', which is not a known zone"),
        ("timezone = '../../etc/passwd'", "which is not a known zone"),
        ("a = ", "is not TOML"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_the_file_and_what_was_expected(toml, text, told):
    path = toml(text)
    with pytest.raises(SettingsError) as caught:
        Settings.load(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_or_not_there_is_told(tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not TOML"):
        Settings.load(tmp_path / "binary")
    for missing in (tmp_path, tmp_path / "nowhere", "~nobody-i-know/x"):
        with pytest.raises(SettingsError, match="cannot read the settings file"):
            Settings.load(missing)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: SearchSettings(max_results="6"), "search.max_results is '6'; it must be a whole"),
        (lambda: SearchSettings(max_results=6.0), "search.max_results is 6.0; it must be a whole"),
        (lambda: SearchSettings(max_results=True), "search.max_results is True"),
        (lambda: SearchSettings(min_score=None), "search.min_score is None; it must be a number"),
        (lambda: SearchSettings(mmr=1), "search.mmr is 1; it must be true or false"),
        (
            lambda: SearchSettings(operator=[]),
            "search.operator is []; it must be one of 'or', 'and'",
        ),
        (lambda: Settings(search={}), "search is {}; it must be SearchSettings"),
        (lambda: Settings(search=None), "search is None; it must be SearchSettings"),
        (lambda: Settings(timezone=3), "timezone is 3; it must be a text or nothing"),
        (lambda: Settings(extra_paths="x"), "extra_paths is 'x'; it must be a list of texts"),
        (lambda: Settings(extra_paths=[1]), "extra_paths is [1]; it must be a list of texts"),
        (lambda: Settings(extra_paths=["a\0b"]), "without NUL"),
        (
            lambda: EmbeddingSettings(headers={"a": 1}),
            "embedding.headers is of type dict; it must be a table of texts",
        ),
        (
            lambda: EmbeddingSettings(headers="a"),
            "embedding.headers is of type str; it must be a table",
        ),
        (lambda: EmbeddingSettings(dimensions=0), "embedding.dimensions is 0; it must be at least"),
        (lambda: ChunkingSettings(tokens=10, overlap=10), "less than chunking.tokens, 10"),
        (lambda: SearchSettings(vector_weight=0, text_weight=0), "more than 0 in one of them"),
        (lambda: SearchSettings(half_life_days=0), "search.half_life_days is 0"),
        (lambda: SyncSettings(debounce_ms=-1), "sync.debounce_ms is -1"),
        (lambda: SessionsSettings(patterns="*.jsonl"), "sessions.patterns is '*.jsonl'"),
        (lambda: CacheSettings(max_entries=-1), "cache.max_entries is -1"),
        (lambda: FlushSettings(deadline_s=0), "flush.deadline_s is 0"),
        (lambda: ContextSettings(file_chars=1), "context.file_chars is 1"),
    ],
)
def test_wrong_values_are_told_where_settings_are_made(make, told):
    with pytest.raises(SettingsError) as caught:
        make()
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "[embedding]\nheaders = 'Authorization: Bearer s3cret'",
        "[embedding]\nheaders = { 'X-Key: s3cret' = 1 }",
        "[embedding.headers]\nX-Key = ['s3cret']",
        "[embedding]\nbase_url = ['https://ann:s3cret@host']",
        "[[embedding]]\nheaders = { X-Key = 's3cret' }",
        "[embedding]\napi_key_env = ['s3cret']",
        "[embedding]\napi_key_env = 'sk-proj-s3cret'",
        "[embedding]\napi_key_env = 'AIzaSyD0s3cretB1xR_w7'",
        "[embedding]\napi_key_env = 'b3s3cret9d0e1f2a3b4c5d6e7f8a9b'",
    ],
)
def test_no_value_that_may_be_a_secret_is_shown(toml, text):
    with pytest.raises(
        SettingsError, match=r"embedding.* is (of type .*; it must be|not the name)"
    ) as caught:
        Settings.load(toml(text))
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("name", ["MY_OWN_KEY", "acme_key_2", "MISTRAL_API_KEY_OF_TEAM_2026"])
def test_the_key_is_in_a_variable_of_any_name(toml, name):
    path = toml(f"[embedding]\napi_key_env = '{name}'")
    assert Settings.load(path).embedding.api_key_env == name


def test_paths_may_be_path_objects_and_lists(tmp_path):
    settings = Settings(extra_paths=[tmp_path, "b"])
    assert settings.extra_paths == (str(tmp_path), "b")
    assert Settings(extra_paths=(tmp_path, "b")) == settings


def test_openclaw_differs_from_the_defaults_where_it_must():
    openclaw = Settings.openclaw()
    assert (Settings().profile, openclaw.profile) == ("default", "openclaw")
    assert (openclaw.search.decay, openclaw.search.mmr) == (False, False)
    assert (openclaw.search.operator, openclaw.search.unit) == ("and", "chunk")
    assert (openclaw.chunking.tokens, openclaw.chunking.overlap) == (400, 80)
    assert (openclaw.search.max_results, openclaw.search.min_score) == (6, 0.35)
    assert (openclaw.search.vector_weight, openclaw.search.text_weight) == (0.7, 0.3)


def test_the_profile_brings_its_settings(toml):
    openclaw = Settings.openclaw()
    assert Settings(profile="openclaw") == openclaw
    assert replace(Settings(), profile="openclaw") == openclaw
    assert Settings.load(toml('profile = "openclaw"')) == openclaw
    changed = Settings.load(toml('profile = "openclaw"\n[search]\nmax_results = 8'))
    assert changed == replace(openclaw, search=replace(openclaw.search, max_results=8))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("profile = 'x'", "profile is 'x'; it must be one of 'default', 'openclaw'"),
        ("profile = ['openclaw']", "profile is ['openclaw']; it must be one of"),
        (
            "profile = 'openclaw'\n[search]\nunit = 'line'",
            "search.unit is 'line'; it must be 'chunk', for the profile 'openclaw' ranks whole",
        ),
    ],
)
def test_a_setting_that_does_not_go_with_the_profile_is_refused(toml, text, reason):
    with pytest.raises(SettingsError) as caught:
        Settings.load(toml(text))
    assert reason in str(caught.value)


def test_the_settings_file_is_named_by_the_environment_or_stands_in_the_config_folder(
    tmp_path, monkeypatch, toml
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_settings_path() is None
    assert Settings.load() == Settings()
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(toml("citations = 'off'")))
    assert Settings.load().citations == "off"
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(tmp_path / "nowhere"))
    with pytest.raises(SettingsError, match="cannot read"):
        Settings.load()


def test_a_settings_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "settings.toml").write_text("citations = 'off'", encoding="utf-8-sig")
    assert Settings.load(tmp_path / "settings.toml").citations == "off"


def test_a_settings_file_in_the_workspace_or_the_current_folder_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "commonplace.toml").write_text("citations = 'off'")
    monkeypatch.chdir(tmp_path)
    assert Settings.load().citations == "auto"


def test_the_state_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path))
    assert default_state_dir() == tmp_path
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", "~/state")
    assert "~" not in str(default_state_dir())
    monkeypatch.delenv("COMMONPLACE_STATE_DIR")
    assert default_state_dir().name == "commonplace"
