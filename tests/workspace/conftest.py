import shutil
import tempfile
from pathlib import Path

import pytest

from support.notes import unprivileged


@pytest.fixture
def shared():
    """A folder that an unprivileged user owns, too."""
    folder = Path(tempfile.mkdtemp(dir="/tmp")).resolve()
    folder.chmod(0o777)
    with unprivileged():
        (folder / "notes").mkdir()
    yield folder / "notes"
    shutil.rmtree(folder)
