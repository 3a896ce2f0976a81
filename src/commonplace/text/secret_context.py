"""Context of a secret's name: what stands around it, and which values it makes secrets."""

from __future__ import annotations

import re

from commonplace.text.chosen_words import is_named_so, is_oddly_cased, looks_joined
from commonplace.text.secret_names import NOT_A_KEY, NOT_A_SECRET, QUALIFIED_KEY
from commonplace.text.secret_values import (
    is_code_name,
    is_identifier,
    is_number,
    is_plain_word,
    is_sample,
    is_sentence_word,
    looks_chosen,
    looks_composed,
    looks_random,
    looks_strong,
)
from commonplace.text.written_value import WrittenValue

__all__ = ["SecretContext"]

_BEFORE_CHARS = 64
"""Characters before a name that qualify it."""

_NETWORK = re.compile(r"wi-?fi|wlan|network|netzwerk|réseau|router|fritz|hotspot|ssid")
_SNAKE_CASE = re.compile("[a-z]{3,}(?:_[a-z]{2,}){1,6}")
_MEASURE = re.compile(r"\d+(?:\.\d+)+[a-z%]{0,3}|\d+[a-z%]{1,3}")
_SHORT_NUMBERS = re.compile(
    r"(?:voicemail|phone|screen|sim|handy|passcode$|clave$|[^\x00-\u02ff]$)"
)
"""What a password of four digits is for."""
_SPACED = re.compile(r"[\"'\])]{0,3} = ")
_MANAGED = re.compile(
    r"[ \t](?:show|insert|generate|edit|ls|find|mv|rm|cp|otp|git|init|grep)(?!\w)"
)
"""Command of the password manager ``pass``, which names an entry."""
_OPENINGS = ("get", "let", "join", "connect", "unlock")
"""Begins of names behind which much else stands than a password."""
_LOGINS = ("cred", "log", "sign", "wi", "wlan", "ident", "zugang", "anmeld", "einlogg", "connecte")
"""Begins of names behind which a password stands, and no token."""
_SENTENCE = re.compile(r"(?:['’]s)?[ \t]+[\w(\"'`&<$]")
_LIST = re.compile(r",[ \t]+[^\W\d_]{2,}")
_LINE_END = re.compile(r"[\"'`]?[ \t;,]{0,3}(?:\r?\n|$)")
_NETWORK_NAME = re.compile(r"(?:rete|netz(?:werk)?|network|red|réseau|rede|netwerk|sieć)[ \t]?$")
_SSID = re.compile(
    r"(?:vodafone|fritz!?box|tp-?link|livebox|freebox|bbox|sfr|sky|bt-|netgear|linksys|movistar|tim-|fastweb"
    r"|telekom|wlan-|o2-|upc|orange|xiaomi|redmi|iphone|androidap|direct-|ziggo|kpn|meo-|nos-|vivo|claro"
    r"|play-|magenta|swisscom|sunrise|aterm|buffalo|huawei|asus|dlink|d-link|eduroam|spectrum|xfinity)\S*",
    re.IGNORECASE,
)
_COPULA = re.compile(
    r"(?<!\w)(?:is|was|es|era|est|è|é|jest|to|c['’]est|['’]s)[ \t](?:(?:now|nu"
    r"|ora|adesso|ahora|agora|teraz)[ \t])?$|[:：][ \t]$"
)
_TITLES = re.compile(r"[A-Z][a-zà-ÿ]{3,16}\.[A-Z][a-zà-ÿ]{3,16}")
_PRICE = re.compile(r"[$€£¥]\d+(?:[.,]\d+)*[kKmM]?")
_OPEN = re.compile(r"(?:\bno|\bnot a|\ban? open|\boffenes|\bkein)[ \t]$")


class SecretContext:
    """Name of a secret, and what stands around it in a text.

    Attributes:
        text: The text.
        start: Start of the name.
        end: Its end.
        kind: Its kind, as `kind_of` tells it.
        word: The name in lower case.
        before: The end of what stands before it.
        is_named: Whether it names a secret: no "public key".
        is_strict: Whether much else has this name, too, so that a value must look like a secret.
    """

    def __init__(self, text: str, start: int, end: int, kind: str) -> None:
        self.text, self.start, self.end, self.kind = text, start, end, kind
        self.word = text[start:end].lower()
        self.before = text[max(0, start - _BEFORE_CHARS) : start]
        lowered = self.before.lower()
        not_a_key = kind == "key" and NOT_A_KEY.search(lowered)
        self.is_named = not (not_a_key or NOT_A_SECRET.search(lowered))
        if self.word == "pass" and _MANAGED.match(text, end):
            self.is_named = False
        if self.word == "wifi" and re.match(r":[TSHPI]:", text[end : end + 3]):
            self.is_named = False  # what a QR code has, whose password has a form of its own
        if self.word.startswith(("secret", "geheim")) and _OPEN.search(lowered):
            self.is_named = False
        self.is_strict = kind in ("key", "short")
        if kind == "key" and QUALIFIED_KEY.search(lowered):
            self.is_strict = False
        if kind == "short" and (lowered.endswith("_") or "pass" in self.word[2:]):
            self.is_strict = False

    def accepts(self, value: WrittenValue) -> bool:
        """Return whether an assigned value is a secret."""
        if len(value.text) < 3 or value.is_harmless:
            return False
        if self.kind in ("token", "key") and (self._is_of_code(value) or self._is_count(value)):
            return False
        if self.word.startswith(("wi", "wlan")) and self._is_network(value):
            return False
        if self.is_strict:
            if self.kind == "short":
                joined = is_oddly_cased(value.text) and looks_joined(value.text)
                if joined and _LINE_END.match(self.text, value.end):
                    return True
                return looks_chosen(value.text) or bool(value.quoted and len(value.text) > 3)
            return looks_random(value.text)
        return not is_plain_word(value.text) or not self._is_word(value)

    def accepts_in_prose(self, value: WrittenValue) -> bool:
        """Return whether a value in a sentence is a secret, and not a word of it."""
        text = value.text
        if value.is_harmless and not self._is_dotted(value):
            return False
        if self.word.startswith(_OPENINGS):
            return looks_composed(text)
        if self.word.startswith(("wi", "wlan")) and self._is_network(value):
            return False
        if self.kind in ("password", "short") or self.is_login():
            return self._is_chosen(value)
        if self.kind == "key" and text.isdecimal():
            return len(text) >= 12 and bool(_NETWORK.search(self.line_before()))
        if self.kind == "key" and _NETWORK.search(self.line_before() + self._behind()):
            return looks_strong(text)
        return looks_random(text)

    def _is_chosen(self, value: WrittenValue) -> bool:
        """Return whether a value in a sentence is a password."""
        text = value.text
        if value.quoted and self.kind == "password":
            return len(text) >= 4 and len(text.split()) <= 8
        if self.kind == "short" and _MEASURE.fullmatch(text):
            return False
        if looks_chosen(text):
            return True
        if text.isdecimal():
            return len(text) >= (4 if _SHORT_NUMBERS.search(self.before.lower() + self.word) else 6)
        if self.is_strict and not self.word.endswith(("pw", "clave", "parola")):
            return False
        if looks_joined(text):
            ended = not _SENTENCE.match(self.text, value.end)
            return ended or is_oddly_cased(text) or "_" in text
        before = self.text[max(0, value.start - 16) : value.start]
        named = self.kind != "token" and not value.quoted and _COPULA.search(before)
        return bool(named) and is_named_so(self.text, value.start, value.end)

    def is_joined(self, value: WrittenValue, sep: str) -> bool:
        """Return whether words that dots join are a password, and no place in a program."""
        bare = not value.quoted and sep.strip() and (sep in ("=", ">") or ":" in sep)
        if self.kind not in ("password", "short") and not self.is_constant():
            return False
        ended = self.text[value.end : value.end + 1] in ("", "\n", "\r", " ", "<")
        return bool(bare and ended and "." in value.text and looks_joined(value.text))

    def _is_dotted(self, value: WrittenValue) -> bool:
        """Return whether it is words with dots between, and no place in a program."""
        of_password = self.kind == "password" and not value.quoted
        if not (of_password and looks_joined(value.text)):
            return False
        ended = self.text[value.end : value.end + 1] in ("", "\n", ",", ";", ")")
        return value.text.count(".") > 1 or bool(ended and _TITLES.fullmatch(value.text))

    def _is_word(self, value: WrittenValue) -> bool:
        """Return whether a word is one of a sentence, or a term: "password: must have ..."."""
        if value.quoted:
            return self._is_loose()
        acronym = self.kind == "token" and value.text.isupper() and len(value.text) <= 6
        if self._is_loose() or acronym:
            return True
        may_be_word = self.kind in ("token", "key") or is_sentence_word(value.text)
        listed = self.kind == "token" and _LIST.match(self.text, value.end)
        return may_be_word and bool(listed or _SENTENCE.match(self.text, value.end))

    def _is_loose(self) -> bool:
        """Return whether the name often stands before something else: "tokens: few"."""
        return self.kind == "token" and self.word.endswith(("s", "login", "fi", "lan"))

    def _is_of_code(self, value: WrittenValue) -> bool:
        """Return whether what a token or a key is given is a variable, a class or a sample."""
        text = value.text
        is_token = self.word.startswith("token")
        if is_sample(text) or (" " in text and is_token):
            return True
        if self.kind == "key" and _SNAKE_CASE.fullmatch(text):
            return True
        if self.is_constant() and text.count("-") > 2:
            return False
        if is_code_name(text):
            return is_token or not value.quoted
        if not is_identifier(text):
            return False
        if self._is_loose() or (self.word == "token" and re.search(r"[.-]", text)):
            return True
        spaced = _SPACED.match(self.text, self.end) is not None
        return spaced and not value.quoted and not self.is_constant()

    def _is_network(self, value: WrittenValue) -> bool:
        """Return whether it is the name of a network, and not its password."""
        return bool(_SSID.fullmatch(value.text) or _NETWORK_NAME.search(self.line_before()))

    def _is_count(self, value: WrittenValue) -> bool:
        if self.word.startswith(("token", "login", "wi", "wlan")):
            return is_number(value.text) or bool(_PRICE.fullmatch(value.text))
        return value.text.isdecimal() and len(value.text) < 5 and not value.quoted

    def line_before(self) -> str:
        """Return what stands before the name in its line, in lower case."""
        return self.before.lower().rpartition("\n")[2]

    def _behind(self) -> str:
        return self.text[self.end : self.end + 24].lower()

    def is_login(self) -> bool:
        """Return whether a password stands behind the name, and no token."""
        return self.word.startswith(_LOGINS)

    def is_flag(self) -> bool:
        """Return whether the name is an option of a command line."""
        return bool(re.search(r"(?:^|[\s\[\"'])--?[\w-]*$", self.before))

    def is_constant(self) -> bool:
        """Return whether the name ends that of a variable of the environment: DB_PASSWORD."""
        word = self.text[self.start : self.end]
        return word.isupper() and bool(re.search(r"[A-Z0-9]_$", self.before))
