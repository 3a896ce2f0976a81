"""Redaction: masks API keys, tokens, passwords and private keys in a text before it is stored.

The mask of a long secret keeps its first six and last four characters, which identify it to its
owner. Redaction is idempotent, and its time is linear in the text. The patterns are compiled when a
text is first masked: a search does without them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Literal

from commonplace.renderers import brief

__all__ = [
    "Redaction",
    "checked_redaction",
    "mask",
    "redact",
    "redacted",
    "redacted_behind",
    "redacted_between",
    "redacted_replacement",
]

Redaction = bool | Literal["personal"]
"""What is masked: secrets, or nothing, or secrets and numbers of persons."""

_SHORT = 18
"""Secrets below this length are masked completely."""
_PHRASE = 12
"""Words from which on a secret is a phrase: its ends would be words of it."""
_HEAD, _TAIL = 6, 4
_MAX_ROUNDS = 8
_AROUND_CHARS = 4_000
"""Characters on each side of a passage that may name it: a heading, the head of a table."""
_MASKED_LINE = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?(?:\*{3}|\S{6}…\S{4})[ \t]*$", re.MULTILINE)


def redact(text: str, *, personal: bool = False) -> str:
    """Mask every secret that is recognised in a text.

    Args:
        text: The text.
        personal: Whether numbers of persons are masked, too: cards, IBANs, social security.
    """
    for _ in range(_MAX_ROUNDS):
        masked = _mask_once(text, personal)
        if masked == text:
            break
        text = masked
    return text


def redacted(text: str, redaction: Redaction, *, personal: bool) -> str:
    """Mask a text that a model writes.

    Args:
        text: The text.
        redaction: What is masked.
        personal: Whether the memory's settings have numbers of persons masked in any case.

    Raises:
        ValueError: The redaction is none of these.
    """
    if not checked_redaction(redaction):
        return text
    return redact(text, personal=personal or redaction == "personal")


def redacted_replacement(
    text: str, old: str, new: str, redaction: Redaction, *, personal: bool
) -> str:
    """Mask what a model writes in place of a passage, in all places where that stands.

    Args:
        text: The text before the change.
        old: The passage.
        new: What replaces it.
        redaction: What is masked.
        personal: As `redacted` takes it.
    """
    text, old = text.replace("\r\n", "\n"), old.replace("\r\n", "\n")
    kept = text.split(old) if old else [text]
    if len(kept) == 1:
        return redacted(new, redaction, personal=personal)
    for above, below in itertools.pairwise(kept):
        new = redacted_between(above, new, below, redaction, personal=personal)
    return new


def redacted_between(
    above: str, new: str, below: str, redaction: Redaction, *, personal: bool
) -> str:
    """Mask what a model writes into a text, read as it will stand there.

    The line may say already that it is a secret: of "password: unknown", a model replaces the last
    word. What stands around the new passage stays as it is, also where it is part of the secret.

    Args:
        above: The text before the passage.
        new: The passage.
        below: The text behind it.
        redaction: What is masked.
        personal: As `redacted` takes it.
    """
    new = redacted(new, redaction, personal=personal)
    if not redaction or not new.strip():
        return new
    above = above[above.rfind("\n", 0, max(0, len(above) - _AROUND_CHARS)) + 1 :]
    cut = below.find("\n", _AROUND_CHARS)
    below = below if cut < 0 else below[:cut]
    personal = personal or redaction == "personal"
    for _ in range(_MAX_ROUNDS):
        masked = _mask_part(above + new + below, len(above), len(above + new), personal)
        if masked == new:
            break
        new = masked
    return new


def redacted_behind(text: str, new: str, redaction: Redaction, *, personal: bool) -> str:
    """Mask what a model writes at the end of a text.

    Where the text has a mask on a line of its own, the new passage is read in its place, too: a
    call that is made again writes the same secret, and its name is no longer in the last line.

    Args:
        text: The text before.
        new: What follows it.
        redaction: What is masked.
        personal: As `redacted` takes it.
    """
    text = text.replace("\r\n", "\n").rstrip() + "\n"
    masks = _MASKED_LINE.finditer(text, max(0, len(text) - _AROUND_CHARS))
    for end in (len(text), *(found.start() for found in masks)):
        new = redacted_between(text[:end], new, "", redaction, personal=personal)
    return new


def checked_redaction(redaction: Redaction) -> Redaction:
    """Return what is masked, so that a slip of the pen is an error before anything is written."""
    if isinstance(redaction, bool) or redaction == "personal":
        return redaction
    raise ValueError(f"redact is {brief.repr(redaction)}; it takes True, False or 'personal'.")


def mask(secret: str) -> str:
    """Return the mask of a secret: ``***`` for a short one, both ends of a long one."""
    from commonplace.text.secret_values import is_mask

    if is_mask(secret):
        return secret
    is_short = len(secret) < _SHORT or len(secret.split()) >= _PHRASE
    return "***" if is_short else f"{secret[:_HEAD]}…{secret[-_TAIL:]}"


def _mask_once(text: str, personal: bool) -> str:
    from commonplace.text.secret_spans import secret_spans

    text = _without_private_keys(text)
    parts, at = [], 0
    for start, end, secret in secret_spans(text, personal=personal):
        parts += [text[at:start], mask(secret)]
        at = end
    return "".join([*parts, text[at:]])


def _mask_part(text: str, first: int, last: int, personal: bool) -> str:
    """Return a part of a text, with what it has of the secrets in the whole masked."""
    from commonplace.text.secret_spans import secret_spans

    masks = [(start, end, _KEY_MASK) for start, end in _armoured(text)]
    for start, end, secret in secret_spans(text, personal=personal):
        is_whole = first <= start and end <= last
        masks.append(
            (start, end, mask(secret if is_whole else text[max(start, first) : min(end, last)]))
        )
    parts, at = [], first
    for start, end, masked in sorted(masks):
        start, end = max(start, at), min(end, last)
        if text[start:end].strip():
            parts += [text[at:start], masked]
            at = end
    return "".join([*parts, text[at:last]])


# Private keys.

_KEY_MASK = "…redacted…"
_ARMOUR = re.compile(
    r"-{4,5} ?(BEGIN|END) (?:[A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?"
    r"|OpenVPN Static key V1) ?-{4,5}"
)
_ARMOURED_LINES = re.compile(
    r"(?:(?:[\s>|]|\\[nr])*"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,80}|[A-Za-z0-9+/=]{16,}))*"
)
"""Body of a key whose last line is missing, plain or in a quote."""


def _without_private_keys(text: str) -> str:
    if "PRIVATE KEY" not in text and "Static key" not in text:
        return text
    parts, at = [], 0
    for start, end in _armoured(text):
        parts += [text[at:start], _masked_key(text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _armoured(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each private key; without a last line, the end of its body.

    A first line that follows another first line begins a key of its own.
    """
    marks = list(_ARMOUR.finditer(text))
    for index, mark in enumerate(marks):
        if mark[1] == "END":
            continue
        following = marks[index + 1] if index + 1 < len(marks) else None
        if following is not None and following[1] == "END":
            if text[mark.end() : following.start()].strip(" \t\r\n.…"):  # else one is only shown
                yield mark.start(), following.end()
        elif (body := _ARMOURED_LINES.match(text, mark.end())) and body.end() > mark.end():
            yield mark.start(), body.end()


def _masked_key(block: str) -> str:
    lines = [line for line in re.split(r"\r?\n", block) if line]
    if len(lines) < 2:
        return "***"
    last = lines[-1] if re.match(" *-{4,5} ?END", lines[-1]) else ""
    return "\n".join(line for line in (lines[0], _KEY_MASK, last) if line)
