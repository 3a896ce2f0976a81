"""The library of sqlite-vec may be named by its path; one that cannot be loaded is refused."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from commonplace import Memory, Settings, SettingsError
from commonplace.store.sqlite import vector_extension


def test_the_library_of_a_path_is_loaded_and_one_that_is_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_extension, "_chosen", None)
    (package,) = Path(find_spec("sqlite_vec").origin).parent.glob("vec0.*")
    own = Path(shutil.copy(package, tmp_path / package.name))

    def settings(path):
        return Settings.from_mapping({"search": {"vector_extension": str(path)}})

    (tmp_path / "MEMORY.md").write_text("- The VPN listens on port 51820.\n")
    with Memory.open(tmp_path, settings=settings(own), embedder=None) as memory:
        memory.index()
        assert vector_extension.vector_extension()[0] == str(own)
        assert "sqlite-vec 0." in memory.status().vector_engine
        assert memory.status(deep=True).details["sqlite-vec"].startswith("ok: 0.")
    (tmp_path / "none.so").write_bytes(b"no library")
    for wrong in (tmp_path / "absent.so", tmp_path / "none.so"):
        with pytest.raises(SettingsError, match="which SQLite cannot load as sqlite-vec"):
            Memory.open(tmp_path, settings=settings(wrong), embedder=None)
