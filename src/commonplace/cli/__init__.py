"""Command line. Each command imports the core when it runs, so that ``--help`` is fast."""

from commonplace.cli.app import main

__all__ = ["main"]
