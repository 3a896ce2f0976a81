"""Importers: the memory of other tools, from their exports and folders, as notes of a memory."""

from commonplace.importers.service import ImportReport, import_notes
from commonplace.importers.sources import SOURCES

__all__ = ["SOURCES", "ImportReport", "import_notes"]
