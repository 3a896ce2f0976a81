"""Keys never appear in what is told: not in a message, not in a traceback, not in a log."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["causes", "hidden_values", "masked", "tells_secrets", "text_of"]

_MAX_CAUSES = 6
_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|authorization", re.IGNORECASE)
_SECRET_FORMS = (
    re.compile(r"(\bBearer\s+)[^\s\"',;]{8,}", re.IGNORECASE),
    re.compile(r"()\b(?:sk|pa|rk|pk|gsk|hf|xai|nvapi)[-_][A-Za-z0-9_\-*]{8,}"),
    re.compile(r"()\bAIza[0-9A-Za-z_\-]{10,}"),
    re.compile(r"(://[^\s:/@]*:)[^\s/@]+(?=@)"),
    re.compile(
        r"([?&;](?:[a-z_-]{0,24}token|api_?key|key|sig|signature|secret|password)=)[^\s&#\"'<>)]+",
        re.IGNORECASE,
    ),
)
_MASK = "***"
_SHORTEST_SECRET = 6
"""A value of fewer characters is a word that may stand in any message."""


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without the secrets, and without anything that has the form of one."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        for form in {secret, secret.strip(), repr(secret)[1:-1]}:
            if len(form) >= _SHORTEST_SECRET:
                text = text.replace(form, _MASK)
    for pattern in _SECRET_FORMS:
        text = pattern.sub(rf"\1{_MASK}", text)
    return text


def tells_secrets(error: BaseException, secrets: Iterable[str]) -> bool:
    """Whether a traceback of the exception would show what `masked` hides."""
    secrets = list(secrets)
    return any(masked(text, secrets) != text for one in causes(error) for text in (text_of(one),))


def hidden_values(*holders: object) -> set[str]:
    """Collect what must not be told: of the environment, and of objects that hold keys."""
    held = [item for item in os.environ.items() if _SECRET_NAME.search(item[0])]
    for holder in holders:
        attributes = getattr(holder, "__dict__", None) or {}
        held += [(name, value) for name, value in attributes.items() if _is_secret(name, value)]
    values = (_revealed(value) for _, value in held)
    return {value for value in values if len(value) >= _SHORTEST_SECRET}


def _is_secret(name: str, value: object) -> bool:
    return hasattr(value, "get_secret_value") or bool(_SECRET_NAME.search(name))


def _revealed(value: Any) -> str:
    revealed = value.get_secret_value() if hasattr(value, "get_secret_value") else value
    return revealed if isinstance(revealed, str) else ""


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and what caused it, the last one first."""
    seen: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)


def text_of(error: BaseException) -> str:
    """Return the message of an exception."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception that cannot even be told
        return ""
