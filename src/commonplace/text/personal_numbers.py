"""Numbers of persons: payment cards, bank accounts (IBAN), US social security."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["personal_numbers"]

_CARD = re.compile(r"(?<![\w.-])[2-6](?:[ -]?[0-9]){12,18}(?![\w-])", re.ASCII)
_ISSUED = re.compile(r"[2456]\d{15}|3[47]\d{13}|3[0689]\d{12}|[46]\d{18}", re.ASCII)
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{2,4}){3,8}(?!\w)", re.ASCII)
_SOCIAL_SECURITY = re.compile(
    r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\d-])", re.ASCII
)


def personal_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each number whose check digits are right."""
    yield from (match.span() for match in _CARD.finditer(text) if _is_card(match[0]))
    for match in _IBAN.finditer(text):
        if end := _iban_end(match[0]):
            yield match.start(), match.start() + end
    yield from (match.span() for match in _SOCIAL_SECURITY.finditer(text))


def _is_card(number: str) -> bool:
    """Check the issuer and length, and the last digit by Luhn's rule."""
    plain = re.sub("[ -]", "", number)
    if not _ISSUED.fullmatch(plain):
        return False
    digits = [int(sign) for sign in reversed(plain)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _iban_end(number: str) -> int:
    """Return the end of the account number, checked by ISO 7064; 0 for none.

    A word in capitals behind it may have been taken for its last group.
    """
    while len(plain := number.replace(" ", "")) >= 15:
        turned = plain[4:] + plain[:4]
        if len(plain) <= 34 and int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1:
            return len(number)
        number = number.rpartition(" ")[0]
    return 0
