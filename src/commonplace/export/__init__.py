"""Export: a memory as files, with a JSON of all that cannot be derived from them; and back."""

from commonplace.export.reader import restore_export
from commonplace.export.service import EXPORT_FILE, ExportReport, export_memory

__all__ = ["EXPORT_FILE", "ExportReport", "export_memory", "restore_export"]
