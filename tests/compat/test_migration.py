"""Coming from OpenClaw: its configuration, its agents, and what is said of each key."""

import dataclasses
import json
import subprocess
import sys
import tomllib

import pytest
from click.testing import CliRunner

from commonplace import Settings
from commonplace.agents import load_agent
from commonplace.cli.app import app
from commonplace.compat.openclaw.configuration import load_configuration
from commonplace.compat.openclaw.memory_keys import JOINED_KEYS, KEYS_NOT_TAKEN, SEARCH_KEYS
from commonplace.compat.openclaw.relaxed_json import parse
from commonplace.errors import SettingsError

SECRETS = ("sk-very-secret-0123456789", "hush-hush-header", "hunter2-in-an-url", "from-dot-env-42")

_KEYS = """
enabled sources extraPaths multimodal.enabled multimodal.modalities multimodal.maxFileBytes
experimental.sessionMemory provider remote.baseUrl remote.apiKey remote.headers
remote.batch.enabled remote.batch.wait remote.batch.concurrency remote.batch.pollIntervalMs
remote.batch.timeoutMinutes fallback model outputDimensionality local.modelPath
local.modelCacheDir store.driver store.path store.vector.enabled store.vector.extensionPath
chunking.tokens chunking.overlap sync.onSessionStart sync.onSearch sync.watch
sync.watchDebounceMs sync.intervalMinutes sync.sessions.deltaBytes sync.sessions.deltaMessages
sync.sessions.postCompactionForce query.maxResults query.minScore query.hybrid.enabled
query.hybrid.vectorWeight query.hybrid.textWeight query.hybrid.candidateMultiplier
query.hybrid.mmr.enabled query.hybrid.mmr.lambda query.hybrid.temporalDecay.enabled
query.hybrid.temporalDecay.halfLifeDays cache.enabled cache.maxEntries
"""
"""Every key that the schema of `memorySearch` has in OpenClaw 2026.3.24."""

CONFIGURATION = """
// Written by hand, with comments and trailing commas.
{
  agents: {
    defaults: {
      workspace: '~/.openclaw/workspace',
      memorySearch: {
        provider: "openai", model: "text-embedding-3-large",
        remote: {
          baseUrl: "https://gateway.example/v1/", apiKey: "sk-very-secret-0123456789",
          headers: { "X-Team": "hush-hush-header" },
          batch: { enabled: true, wait: false, pollIntervalMs: 500 },
        },
        sources: ["memory", "sessions"], experimental: { sessionMemory: true },
        extraPaths: ["../team-docs"],
        query: { maxResults: 8,
          hybrid: { vectorWeight: .6, textWeight: 4e-1, mmr: { enabled: true } } },
        sync: { sessions: { deltaBytes: 0x100 } },
        shiny: 1, /* of a later build */
      },
      userTimezone: "Europe/Paris",
      compaction: { reserveTokensFloor: 30000, memoryFlush: { forceFlushTranscriptBytes: "1mb" } },
    },
    list: [
      { id: "main", default: true },
      { id: "Work", workspace: "~/work", memorySearch: {
          provider: "local", query: { maxResults: 3 }, chunking: { tokens: 60 },
          fallback: "none" } },
      { id: "twin", workspace: "~/.openclaw/workspace",
        memorySearch: { remote: { apiKey: "${TEAM_KEY}" }, extraPaths: ["more"] } },
      { id: "../../etc/passwd" },
    ],
  },
  memory: { citations: "on" },
  channels: { telegram: { botToken: "sk-very-secret-0123456789" } },
}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with OpenClaw's folder in it; state of this package elsewhere."""
    for variable in ("OPENCLAW_PROFILE", "TEAM_KEY", "COMMONPLACE_WORKSPACE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "none")
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path / "state"))
    state = tmp_path / ".openclaw"
    for agent, text in (("main", "printer is in room 12"), ("work", "budget is 4,200 euros")):
        sessions = state / "agents" / agent / "sessions"
        sessions.mkdir(parents=True)
        message = {"role": "user", "content": [{"type": "text", "text": f"the {text}"}]}
        line = {"type": "message", "timestamp": "2026-03-01T10:00:00Z", "message": message}
        (sessions / "one.jsonl").write_text(json.dumps(line) + "\n")
    write(state / "workspace" / "MEMORY.md", "# Memory\n\n- The VPN listens on port 51820.\n")
    write(tmp_path / "work" / "MEMORY.md", "# Work\n\n- The VPN of work listens on port 443.\n")
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def configured(home, text=CONFIGURATION):
    write(home / ".openclaw" / "openclaw.json", text)
    return home / ".openclaw"


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def files(folder):
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_key_of_the_reference_build_is_taken_or_named():
    for key in _KEYS.split():
        above = [key.rsplit(".", cut)[0] for cut in range(key.count(".") + 1)]
        assert (key in SEARCH_KEYS) + (key in JOINED_KEYS) + any(
            one in KEYS_NOT_TAKEN for one in above
        ) == 1
    assert {*SEARCH_KEYS, *JOINED_KEYS} <= set(_KEYS.split())


def test_a_configuration_is_taken_over_and_nothing_of_it_is_changed(home):
    state = configured(home)
    before = files(home)
    shown = run("import", "openclaw")
    assert shown.exit_code == 0, shown.stderr
    assert files(home) == before
    for secret in SECRETS:
        assert secret not in shown.output
    out = shown.stdout
    assert f"# agent main, the default: {state}/workspace" in out
    assert f"#   1 transcripts in {state}/agents/main/sessions, searched\n" in out
    assert "# taken: memorySearch.query.maxResults -> search.max_results" in out
    assert "# not taken: memorySearch.remote.apiKey: a secret; set OPENAI_API_KEY" in out
    assert "# not taken: memorySearch.shiny: OpenClaw 2026.3.24 has no such key" in out
    assert "etc-passwd" in out
    values = tomllib.loads(out)
    assert list(values["agents"]) == ["main", "work", "twin", "etc-passwd"]
    assert values["agents"]["etc-passwd"]["workspace"] == f"{state}/workspace-etc-passwd"

    main = Settings.from_openclaw(state)
    assert main.profile == "openclaw"
    assert (main.search.max_results, main.search.vector_weight) == (8, 0.6)
    assert (main.search.mmr, main.search.min_score, main.search.unit) == (True, 0.35, "chunk")
    assert main.embedding.base_url == "https://gateway.example/v1/"
    assert main.embedding.headers == {"X-Team": "hush-hush-header"}
    assert main.embedding.batch_poll_s == 0.5
    assert main.sessions.path == f"{state}/agents/main/sessions"
    assert (main.sessions.enabled, main.sessions.delta_bytes) == (True, 256)
    assert (main.flush.reserve_tokens, main.flush.transcript_bytes) == (30_000, 2**20)
    assert (main.timezone, main.citations) == ("Europe/Paris", "on")
    work = Settings.from_openclaw(state, agent="work")
    assert work.embedding.provider == "local"
    assert work.embedding.model.endswith("embeddinggemma-300m-qat-Q8_0.gguf")
    assert (work.embedding.base_url, work.search.max_results) == (None, 3)
    assert (work.chunking.tokens, work.chunking.overlap) == (60, 59)
    twin = Settings.from_openclaw(state, agent="twin")
    assert twin.embedding.api_key_env == "TEAM_KEY"
    assert twin.extra_paths == ("../team-docs", "more")
    with pytest.raises(SettingsError, match=r"no agent '\.\./.*; known: main, work"):
        Settings.from_openclaw(state, agent="../../etc/passwd")


def test_the_written_settings_are_those_of_each_agent(home):
    state, file = configured(home), home / "settings.toml"
    written = run("import", "openclaw", str(state), "--write-settings", str(file))
    assert written.exit_code == 0, written.stderr
    assert not any(secret in written.output + file.read_text() for secret in SECRETS)
    assert "\n# taken: " in written.stdout
    assert "[agents" not in written.stdout
    for name in ("main", "work", "twin", "etc-passwd"):
        wanted = Settings.from_openclaw(state, agent=name)
        embedding = dataclasses.replace(wanted.embedding, headers={})
        assert load_agent(name, file).settings == dataclasses.replace(wanted, embedding=embedding)
    assert load_agent("main", file).index is None
    assert load_agent("twin", file).index.name == "index.sqlite"  # it shares main's workspace
    again = run("import", "openclaw", str(state), "--write-settings", str(file))
    assert again.exit_code == 1
    assert "is there already and was not changed" in again.stderr
    dry = run("import", "openclaw", "--dry-run", "--write-settings", str(home / "new.toml"))
    assert (dry.exit_code, (home / "new.toml").exists()) == (0, False)
    assert run("import", "claude", "--write-settings", "x.toml").exit_code == 2
    # A workspace has no settings; its notes can be copied, too.
    workspace = run("import", "openclaw", str(state / "workspace"))
    assert workspace.exit_code == 1
    assert "Notes are used where they are" in workspace.stderr


@pytest.mark.slow
def test_each_agent_has_a_workspace_an_index_and_sessions_of_its_own(home, monkeypatch):
    state, file = configured(home), home / "settings.toml"
    assert run("import", "openclaw", "--write-settings", str(file)).exit_code == 0
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(file))
    before = files(state)

    def found(agent, question):
        shown = run("--agent", agent, "search", question, "--min-score", "0", "--json")
        assert shown.exit_code == 0, shown.stderr
        return [(hit["path"], hit["snippet"]) for hit in json.loads(shown.stdout)["results"]]

    assert "51820" in found("main", "VPN port")[0][1]
    assert "443" in found("work", "VPN port")[0][1]
    assert "51820" in found("twin", "VPN port")[0][1]
    assert "room 12" in found("main", "printer room")[0][1]
    assert found("work", "printer room") == []
    assert "4,200" in found("work", "budget euros")[0][1]
    assert files(state) == before
    indexes = list((home / "state").rglob("index.sqlite"))
    assert len(indexes) == 3
    # Every command takes it; -w on the command line names another workspace.
    assert "443" in run("--agent", "work", "get", "MEMORY.md").stdout
    assert run("--agent", "work", "append", "- New at work.").exit_code == 0
    [log] = (home / "work" / "memory").iterdir()
    assert "New at work" in log.read_text()
    other = run("--agent", "work", "-w", str(state / "workspace"), "get", "MEMORY.md")
    assert "51820" in other.stdout
    unknown = run("--agent", "../main", "status")
    assert unknown.exit_code == 1
    assert "there is no agent '../main'" in unknown.stderr
    assert "known: main, work, twin, etc-passwd" in unknown.stderr
    monkeypatch.delenv("COMMONPLACE_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "none"))
    assert "in a settings file; known: none" in run("--agent", "main", "status").stderr


def test_includes_variables_and_a_folder_without_a_configuration(home, monkeypatch):
    both = '{ "$include": ["./a.json5", "./b.json5"], memory: { citations: "off" } }'
    state = configured(home, both)
    search = "{ agents: { defaults: { memorySearch: { %s, }, }, }, }"
    write(state / "a.json5", search % "extraPaths: ['${DOCS}/a']")
    write(state / "b.json5", search % "model: '${GONE}', extraPaths: ['$${X}']")
    write(state / ".env", "export DOCS='/srv/docs'\nTEAM_KEY=from-dot-env-42\n")
    settings = Settings.from_openclaw(state)
    assert settings.extra_paths == ("/srv/docs/a", "${X}")
    assert settings.citations == "off"
    shown = run("import", "openclaw", str(state)).stdout
    assert "# not taken: memorySearch.model: the environment variable GONE is not set" in shown
    assert "from-dot-env-42" not in shown
    monkeypatch.setenv("DOCS", "/other")
    assert Settings.from_openclaw(state).extra_paths[0] == "/other/a"
    (state / "openclaw.json").unlink()
    assert Settings.from_openclaw(state) == Settings.openclaw()
    assert list(load_configuration(state).agents) == ["main"]
    assert "agents/main/sessions, not searched" in run("import", "openclaw", str(state)).stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": [1, 2}', "line 1: "),
        ('{\n  // fine\n  a: "sk-very-secret-0123456789" b\n}', "line 3: "),
        ("[]", "holds no object"),
        ('{"$include": "../outside.json5"}', "which is outside of"),
        ('{"$include": "openclaw.json"}', "in a circle"),
        ('{"$include": 7}', "no path and no list of paths"),
        ('{"$include": "none.json5"}', "No such file"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deep"),
        ('{a: "' + "x" * (33 << 20) + '"}', "larger than 32 MiB"),
        ("\udcff{", "codec can't decode"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_a_configuration_that_cannot_be_read_is_one_line_without_secrets(home, text, told):
    state = home / ".openclaw"
    (state / "openclaw.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    write(home / "outside.json5", "{}")
    shown = run("import", "openclaw")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert told in shown.stderr
    assert shown.stderr.count("\n") == 1
    assert not any(secret in shown.stderr for secret in SECRETS)
    nowhere = run("import", "openclaw", str(home / "nowhere"))
    assert (nowhere.exit_code, "No such file" in nowhere.stderr) == (1, True)


def test_values_of_the_wrong_type_are_named_and_never_shown(home):
    secret = SECRETS[0]
    wrong = {
        "sync": {"watch": secret, "intervalMinutes": secret},
        "query": {"maxResults": secret, "minScore": 7},
        "chunking": {"tokens": None, "overlap": 9000},
        "remote": {"baseUrl": f"https://user:{SECRETS[2]}@gateway.example/v1"},
        "extraPaths": 5,
        "provider": {"a": 1},
    }
    configuration = {"agents": {"defaults": {"memorySearch": wrong}, "list": [7, {"id": 8}, {}]}}
    state = configured(home, json.dumps(configuration))
    shown = run("import", "openclaw")
    assert shown.exit_code == 0, shown.output
    assert not any(value in shown.output for value in SECRETS)
    for key in ("sync.watch", "sync.intervalMinutes", "query.maxResults"):
        assert f"# not taken: memorySearch.{key}: its value is not one" in shown.stdout
    settings = Settings.from_openclaw(state)
    assert (settings.search.min_score, settings.chunking.overlap) == (1.0, 399)
    assert settings.embedding.base_url is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "{a: 1, 'b': [1, 2,], /* c */ \"c\": +.5, d: -0x1F, e: 5., f: 1e3,} // end",
            {"a": 1, "b": [1, 2], "c": 0.5, "d": -31, "e": 5.0, "f": 1000.0},
        ),
        (
            "['it\\'s', \"\\x41\\u0042\\\nC\", '\\ud83d\\ude00', \"a // b /* c */\"]",
            ["it's", "ABC", "😀", "a // b /* c */"],
        ),
        (
            "\ufeff{\u00a0$id: null, true: true, ключ: 'x',}",
            {"$id": None, "true": True, "ключ": "x"},
        ),
    ],
    ids=["numbers", "texts", "names"],
)
def test_json_with_comments_is_read_as_json5_says(text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "[1,,2]",
        "{a: b}",
        "{a: 'x}",
        "/* open",
        "",
        "{a 1}",
        "[,]",
        "{a: 1} {b: 2}",
        "{,}",
        "[1/**/2]",
    ],
)
def test_what_json5_does_not_allow_is_refused(text):
    with pytest.raises(ValueError, match=r"line 1: "):
        parse(text)


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.processes
@pytest.mark.timeout(180)
def test_ten_megabytes_are_read_in_seconds(home):
    entry = "{ id: 'agent-%d', note: 'it is // no comment', list: [1, 2, 3,], }, // one\n"
    entries = "".join(entry % number for number in range(130_000))
    state = configured(home, "{agents: {list: [\n" + entries + "]}}")
    size = (state / "openclaw.json").stat().st_size
    code = "import sys, time; from commonplace.compat.openclaw.configuration import *\n"
    code += "load_configuration(sys.argv[1]); print(time.process_time())"
    command = [sys.executable, "-c", code, str(state)]
    spent = float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert size > 10_000_000
    assert spent < 20, spent


@pytest.mark.parametrize(
    ("search", "wanted"),
    [
        (
            {"model": "gemini-embedding-001"},
            {"provider": "gemini", "model": "gemini-embedding-001"},
        ),
        ({"model": "voyage-4-large"}, {"provider": "voyage"}),
        ({"remote": {"baseUrl": "http://10.0.0.1/v1"}}, {"provider": "openai"}),
        ({"remote": {"apiKey": {"source": "env", "id": "MY_KEY"}}}, {"api_key_env": "MY_KEY"}),
        (
            {"local": {"modelPath": "~/tiny.gguf"}},
            {"provider": "local", "model": "{home}/tiny.gguf"},
        ),
        ({"local": {"modelPath": "~/gone.gguf"}}, {"provider": "auto", "model": None}),
        (
            {
                "provider": "local",
                "local": {"modelPath": "hf:a/b/c.gguf", "modelCacheDir": "~/cache"},
            },
            {"provider": "local", "model": "{home}/cache/hf_a_c.gguf"},
        ),
        (
            {"provider": "openai", "fallback": "local", "local": {"modelPath": "hf:a/b/d.gguf"}},
            {"provider": "openai", "fallback": "local:hf:a/b/d.gguf"},
        ),
        ({"provider": "ollama", "fallback": "none"}, {"provider": "ollama", "fallback": "none"}),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_the_provider_is_the_one_that_openclaw_would_take(home, search, wanted):
    write(home / "tiny.gguf", "GGUF")
    write(home / "cache" / "hf_a_c.gguf", "GGUF")
    configuration = {"agents": {"defaults": {"memorySearch": search}}}
    state = configured(home, json.dumps(configuration))
    embedding = Settings.from_openclaw(state).embedding
    for name, value in wanted.items():
        value = value.replace("{home}", str(home)) if isinstance(value, str) else value
        assert getattr(embedding, name) == value


def test_search_without_words_or_without_weights_is_taken_as_openclaw_takes_it(home):
    hybrid = {"enabled": False, "vectorWeight": 0.2}
    search = {"agents": {"defaults": {"memorySearch": {"query": {"hybrid": hybrid}}}}}
    settings = Settings.from_openclaw(configured(home, json.dumps(search)))
    assert (settings.search.vector_weight, settings.search.text_weight) == (1.0, 0.0)
    hybrid.update(enabled=True, vectorWeight=0, textWeight=0, candidateMultiplier=99)
    settings = Settings.from_openclaw(configured(home, json.dumps(search)))
    assert (settings.search.vector_weight, settings.search.text_weight) == (0.7, 0.3)
    assert settings.search.candidate_multiplier == 20
