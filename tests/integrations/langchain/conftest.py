import pytest

from commonplace import Memory, Settings
from support.fakes import NOON, HashedWords

LONG_TERM = """# Long term

## Network
- The VPN listens on port 51820.
- The printer is called Gutenberg.

## People
- Ann prefers tea.
- Ben is allergic to peanuts.
"""
TODAY = """# 2026-11-20

- Met Ann about the printer.

- Moved the VPN to the new router.

- The VPN of the Lyon office is slow.
"""
YESTERDAY = """# 2026-11-19

- Ordered paper for the printer.
"""


@pytest.fixture
def folder(tmp_path):
    """Return a workspace with a long-term memory and two logs."""
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text(LONG_TERM, encoding="utf-8")
    (root / "memory" / "2026-11-19.md").write_text(YESTERDAY, encoding="utf-8")
    (root / "memory" / "2026-11-20.md").write_text(TODAY, encoding="utf-8")
    (root / "memory" / "2025-01-02.md").write_text("- The old VPN was OpenVPN.\n", "utf-8")
    return root


@pytest.fixture
def open_memory(folder, tmp_path):
    """Return a function that opens the workspace; what it opened is closed at the end."""
    opened = []

    def open_memory(settings=None, **options):
        options = {"embedder": HashedWords(), "now": lambda: NOON} | options
        settings = settings or Settings(timezone="UTC")
        index = tmp_path / "state" / "index.sqlite"
        index.parent.mkdir(exist_ok=True)
        memory = Memory.open(folder, settings=settings, index=index, **options)
        opened.append(memory)
        return memory

    yield open_memory
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory):
    """Return the workspace, opened."""
    return open_memory()
