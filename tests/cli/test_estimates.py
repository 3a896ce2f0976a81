"""What `commonplace index` says before it pays a provider."""

import pytest
from click.testing import CliRunner

from commonplace.cli.app import app
from support.loopback_clients import KEY
from support.loopback_vendors import LoopbackVendor

pytest.importorskip("openai", reason="commonplace[openai] is missing")
pytestmark = pytest.mark.allow_hosts(["127.0.0.1"])


@pytest.mark.slow
def test_a_long_run_says_first_what_it_is_about_to_embed(tmp_path, monkeypatch):
    notes = tmp_path / "notes"
    (notes / "memory").mkdir(parents=True)
    for number in range(1200):
        (notes / "memory" / f"{number}.md").write_text(f"- note {number} {'and on ' * 20}\n")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with LoopbackVendor("openai") as server:
        config = tmp_path / "commonplace.toml"
        config.write_text(f'[embedding]\nprovider = "openai"\nbase_url = "{server.base_url}"\n')
        monkeypatch.setenv("COMMONPLACE_CONFIG", str(config))
        command = ["--workspace", str(notes), "index"]
        first, second = CliRunner().invoke(app, command), CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    assert "embedding 1,200 texts, about 4" in first.stderr
    assert "k tokens with openai:text-embedding-3-small" in first.stderr
    assert "embedding" not in second.stderr
    assert KEY not in first.output + second.output
