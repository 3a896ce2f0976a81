"""Output schemas: JSON schemas of the tools' answers, by which clients check structured content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from commonplace.tools import APPEND_TOOL, GET_TOOL, SEARCH_TOOL

__all__ = ["output_schema"]

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_FLAG: Final = {"type": "boolean"}
_OPTIONAL_TEXT: Final = {"type": ["string", "null"]}


def _object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Any:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


_RESULT = _object(
    {
        "path": _TEXT,
        "startLine": _NUMBER,
        "endLine": _NUMBER,
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "snippet": _TEXT,
        "source": {"enum": ["memory", "sessions"]},
    },
    {"context": _TEXT, "citation": _TEXT},
)
_SEARCH = _object(
    {"results": {"type": "array", "items": _RESULT}},
    {
        "provider": _OPTIONAL_TEXT,
        "model": _OPTIONAL_TEXT,
        "fallback": _OPTIONAL_TEXT,
        "citations": {"enum": ["auto", "on", "off"]},
        "mode": {"enum": ["hybrid", "vector", "keyword"]},
        # Instead of those, where search cannot run.
        **dict.fromkeys(("disabled", "unavailable"), _FLAG),
        **dict.fromkeys(("error", "warning", "action"), _TEXT),
    },
)
_GET = _object(
    {
        "status": {"enum": ["ok", "not_found"]},
        "path": _TEXT,
        "text": _TEXT,
        "from": _NUMBER,
        "lines": _NUMBER,
        "truncated": _FLAG,
        "nextFrom": {"type": ["integer", "null"]},
    }
)
_SCHEMAS: Final = {
    SEARCH_TOOL.name: _SEARCH,
    GET_TOOL.name: _GET,
    APPEND_TOOL.name: _object({"path": _TEXT}, {"masked": _TEXT}),
}
_CHANGE = _object({"path": _TEXT, "version": _NUMBER}, {"masked": _TEXT})


def output_schema(tool: str) -> dict[str, Any]:
    """Return the schema of a tool's answer; errors are none of it."""
    found: dict[str, Any] = _SCHEMAS.get(tool, _CHANGE)
    return found
