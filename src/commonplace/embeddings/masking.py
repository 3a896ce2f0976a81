"""Masking of secrets: no key appears in a message, a traceback or a log."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from commonplace.embeddings.base import ProviderOptions

__all__ = ["causes", "masked", "option_secrets", "secrets_of", "shows_secrets", "text_of"]

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
_MIN_SECRET_CHARS = 6
"""A shorter value is a word that may occur in any message."""


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without the secrets, and without anything that has the form of one."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        for form in {secret, secret.strip(), repr(secret)[1:-1]}:
            if len(form) >= _MIN_SECRET_CHARS:
                text = text.replace(form, _MASK)
    for pattern in _SECRET_FORMS:
        text = pattern.sub(rf"\1{_MASK}", text)
    return text


def shows_secrets(error: BaseException, secrets: Iterable[str]) -> bool:
    """Return whether a traceback of the exception would show what `masked` hides."""
    secrets = list(secrets)
    return any(masked(text, secrets) != text for text in map(text_of, causes(error)))


def secrets_of(*holders: object) -> set[str]:
    """Return the secrets in the environment and in the attributes of objects."""
    held = [item for item in os.environ.items() if _SECRET_NAME.search(item[0])]
    for holder in holders:
        attributes = getattr(holder, "__dict__", None) or {}
        held += [(name, value) for name, value in attributes.items() if _is_secret(name, value)]
    values = (_revealed(value) for _, value in held)
    return {value for value in values if len(value) >= _MIN_SECRET_CHARS}


def option_secrets(options: ProviderOptions) -> set[str]:
    """Return the secrets among a provider's options: key, headers, credentials of the URL."""
    key = os.environ.get(options.api_key_env or "", "")
    values = {key, *options.headers.values(), *_userinfo(options.base_url)}
    # A scheme and a token: a message may repeat the token alone.
    return {part for value in values for part in (value, *value.split()[1:]) if part}


def _userinfo(url: str | None) -> tuple[str, ...]:
    if not url or "@" not in url:
        return ()
    found = urlsplit(url)
    user, password = unquote(found.username or ""), unquote(found.password or "")
    return password, base64.b64encode(f"{user}:{password}".encode()).decode()


def _is_secret(name: str, value: object) -> bool:
    return hasattr(value, "get_secret_value") or bool(_SECRET_NAME.search(name))


def _revealed(value: Any) -> str:
    revealed = value.get_secret_value() if hasattr(value, "get_secret_value") else value
    return revealed if isinstance(revealed, str) else ""


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, the outermost first."""
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
    except Exception:  # noqa: BLE001 - an exception whose message cannot be built
        return ""
