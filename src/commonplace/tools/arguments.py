"""Validation of a tool call's arguments against the tool's schema.

Models send ``"5"`` and ``5.0`` for an integer, and ``null`` for an argument that they leave out;
all three are accepted. Every other violation is a `ToolInputError` that says what was expected.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from commonplace.errors import ToolInputError
from commonplace.renderers import brief

if TYPE_CHECKING:
    from commonplace.tools.schemas import ToolSpec

__all__ = ["ToolArguments"]

_SHOWN_CHARS = 60
"""Characters of a wrong value in a message, at most."""


class ToolArguments:
    """Arguments of one tool call; each value is validated when it is read."""

    def __init__(self, values: object, *, tool: ToolSpec) -> None:
        """Validate the names: reject unknown ones and missing required ones."""
        self._tool = tool
        self._properties: dict[str, dict[str, Any]] = tool.schema["properties"]
        if not isinstance(values, Mapping):
            raise self._error(f"the arguments are {_show(values)}; they must be an object")
        for name in values:
            if name not in self._properties:
                raise self._error(f"unknown argument {_show(name)}{self._hint(name)}")
        self._values = {name: value for name, value in values.items() if value is not None}
        for name in tool.schema["required"]:
            if name not in self._values:
                raise self._error(f"{name} is missing")

    def text(self, name: str) -> str:
        """Return a required text; lone surrogates, which no file can hold, become U+FFFD."""
        value = self._values[name]
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def integer(self, name: str) -> int | None:
        """Return an integer within the schema's range, or None if it is missing."""
        if name not in self._values:
            return None
        number = _number(self._values[name])
        if number is None or (isinstance(number, float) and not number.is_integer()):
            raise self._wrong(name, "a whole number")
        return int(self._in_range(name, number))

    def number(self, name: str) -> float | None:
        """Return a number within the schema's range, or None if it is missing."""
        if name not in self._values:
            return None
        number = _number(self._values[name])
        if number is None:
            raise self._wrong(name, "a number")
        return float(self._in_range(name, number))

    def flag(self, name: str) -> bool:
        """Return a boolean; false if it is missing."""
        value = self._values.get(name, False)
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def _in_range(self, name: str, number: float) -> float:
        low = self._properties[name].get("minimum", -math.inf)
        high = self._properties[name].get("maximum", math.inf)
        if not low <= number <= high:
            raise self._wrong(name, f"between {low} and {high}")
        return number

    def _hint(self, name: object) -> str:
        close = difflib.get_close_matches(str(name), self._properties, n=1)
        return f"; did you mean {close[0]}?" if close else ""

    def _wrong(self, name: str, expected: str) -> ToolInputError:
        return self._error(f"{name} is {_show(self._values[name])}; it must be {expected}")

    def _error(self, message: str) -> ToolInputError:
        end = "" if message.endswith("?") else "."
        required = self._tool.schema["required"]
        names = ", ".join(n if n in required else f"{n}?" for n in self._properties)
        return ToolInputError(f"{self._tool.name}: {message}{end} It takes {names}.")


def _number(value: object) -> int | float | None:
    """Return a value, or the number in its text, if it is finite; NumPy's numbers are numbers."""
    if isinstance(value, Integral):
        return None if isinstance(value, bool) else int(value)
    if not isinstance(value, Real | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _show(value: object) -> str:
    """Return a value, however deep or long, as a short text without control characters."""
    try:
        shown = brief.repr(value).encode("ascii", "backslashreplace").decode("ascii")
    except Exception:  # noqa: BLE001 - an object whose `repr` cannot be built
        shown = f"<{type(value).__name__}>"
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "..."
