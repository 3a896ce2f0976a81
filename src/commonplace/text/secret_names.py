"""Words of secrets: names of passwords, keys and PINs, and values that are no secret, as patterns.

Names are searched in texts in lower case.
"""

from __future__ import annotations

import re

__all__ = [
    "CONNECTOR",
    "FILLER",
    "HINTS",
    "NAMES",
    "NO_SECRETS",
    "OWNED",
    "QUALIFIED_KEY",
    "REVERSED",
    "TECHNICAL",
]

_PASSWORDS = (
    r"passwords?|passwd|pass[ _-]?phrases?|passcodes?|pass[ _-]words?|pwd|pword|passwor[td]e?s?"
    r"|kennwort|kennwörter|zugangsdaten|mots? de passe|mdp|contrase(?:ñ|n)as?|senhas?|palavra-passe"
    r"|wachtwoord|has(?:ł|l)o|парол[ьяюи]|lösenord|adgangskode|salasana|şifre|jelszó|heslo"
    r"|requirepass|psk|community string|geheimwort"
)
_CJK_PASSWORDS = r"パスワード|パスフレーズ|合言葉|密码|密碼|口令|비밀번호|암호"
_SHORT_PASSWORDS = r"pass|pw|clave|parola"
_TOKENS = (
    r"secrets?|tokens?|credentials?|creds|zugang|logins?|(?:log|sign) in(?: with)?|wi-?fi|wlan"
    r"|(?:cl[ée]s?|clave|llave|chave|chiave)[ -](?:d['’]|de )?api"
)
_KEYS = r"keys?|schlüssel|cl[ée]s?|llave|chave|chiave|sleutel|ключ"
_CJK_KEYS = r"キー|密钥|密鑰|金鑰|키"
_DOORS = (
    r"door|gate|alarm|entry|access|security|safe|unlock|lock|lockbox|garage|verification|sms|pin"
    r"|2fa|otp|mfa|login|sign-?in|confirmation|backup|recovery|one-time|parental|voicemail|vault"
)
_PINS = (
    rf"(?:{_DOORS})[ _-]codes?|pin(?:-?code|-?nummer)?|geheimzahl|digicode"
    r"|(?:tür|alarm|zugangs|sicherheits|tor|bestätigungs|haus)-?codes?|code[ -](?:pin|d['’]accès"
    r"|de (?:la porte|l['’]alarme|sécurité))|código de (?:la puerta|acceso|seguridad|la alarma)"
    r"|combination|puk|(?:locker|haustür|bike lock|padlock|apartment|building)[ -]?codes?"
    r"|code(?= (?:for|für|to|of|pour|de) )|(?:opens|unlocks|öffnet)(?= (?:with|mit))"
    r"|(?:totp|otp|2fa|mfa)[ _-]?(?:secret|key|seed)"
)
_CJK_PINS = r"暗証番号|验证码|驗證碼|인증번호"
_PHRASES = (
    r"(?:seed|recovery|backup|mnemonic|secret|wallet|wiederherstellungs|hardware wallet)[ _-]?"
    r"(?:phrase|words?|sätze|mnemonic)s?|mnemonic|seed phrase|seed"
)
_SUFFIX = r"(?:_?\d{1,2})?(?![a-z0-9_à-öø-ÿа-яё])"
NAMES = re.compile(
    rf"(?P<phrase>(?<!\w)(?:{_PHRASES})(?!\w))"
    rf"|(?P<pin>(?<![^\W_])(?:{_PINS}){_SUFFIX})|(?P<pin_cjk>{_CJK_PINS})"
    rf"|(?P<password>(?:{_PASSWORDS}){_SUFFIX})|(?P<password_cjk>{_CJK_PASSWORDS})"
    rf"|(?P<token>(?:{_TOKENS}){_SUFFIX})"
    rf"|(?P<short>(?<![^\W_])(?:{_SHORT_PASSWORDS}){_SUFFIX})"
    rf"|(?P<key>(?:{_KEYS}){_SUFFIX})|(?P<key_cjk>{_CJK_KEYS})"
)
"""Names of secrets; the group says of which kind."""

HINTS = (
    "pass", "pw", "kennw", "zugangsd", "mots de", "mot de", "mdp", "contrase", "senha", "wachtw",
    "hasł", "haslo", "парол", "lösen", "adgang", "salas", "şifre", "jelsz", "heslo", "psk",
    "community", "geheim", "パス", "合言葉", "密", "口令", "비밀", "암호", "clave", "parola",
    "secret", "token", "cred", "zugang", "login", "log in", "sign in", "wifi", "wi-fi", "wlan",
    "key", "schlüssel", "clé", "cle", "llave", "chave", "chiave", "sleutel", "ключ", "キー", "金鑰",
    "키", "code", "código", "pin", "combination", "puk", "otp", "opens", "unlocks", "öffnet",
    "暗証", "验证", "驗證", "인증", "seed",
    "mnemonic", "phrase", "words",
)  # fmt: skip
"""Parts of which every name has one: a fast check."""

QUALIFIED_KEY = re.compile(
    r"(?:^|[^a-z]|(?<=[a-z]))(?:api|access|secret|private|auth|account|signing|encryption|licen[sc]e"
    r"|master|client|ssh|app|application|deploy|service|admin|root|jwt|webhook|consumer|storage"
    r"|subscription|activation|wallet|shared|sas|hmac|aes|rsa|server|integration|license|product"
    r"|user|bot|openai|anthropic|stripe|aws|github|x|wpa[23]?|wi-?fi|wlan|network|pre-?shared|vpn|backup"
    r"|recovery|vault)[ _.-]?$"
)
"""End of what stands before the word "key" where it names a secret."""

_WHO = r"(?:i|we|you|he|she|they|ich|wir|je|nous|yo)"
OWNED = (
    r"(?:[ \t](?:for|of|in|on|at|für|fürs|vom|von|zum|zur|der|des|im|am|du|de|del|della|dei|da|do"
    r"|pour|para|per|voor|van|от|для)(?:[ \t'’]{1,2}[\w’'./()-]{1,24}){1,5}?"
    rf"|[ \t]{_WHO}[ \t]\w{{1,20}}(?:[ \t]\w{{1,20}})?|[ \t]\([^)\n]{{1,30}}\)"
    r"|[ \t](?-i:[A-Z])[\w-]{1,20}"
    r"|[ \t](?:nueva|anterior|actual|antigua|nova|nuova|nouveau|actuel))?"
)
"""What a secret is for, between its name and the connector."""
CONNECTOR = (
    r"[ \t]{0,3}[:=：＝]|[ \t]{0,2}[→—–](?=[ \t])|は|是|为|為|が|는|은"
    r"|['’]s(?=[ \t])|[ \t]c['’]est(?!\w)|[ \t](?:with|mit)(?=[ \t]\d)"
    r"|,[ \t](?:it['’]?s|it is|which is|now it['’]?s)(?!\w)"
    r"|[ \t](?:(?:is|was|are|were|be|became|remains|ist|war|lautete?|wurde|est|était|es|era|fue|é|è"
    r"|foi|jest|это|->|to|auf|from)(?!\w)"
    r"|(?:(?:is|was|were|has been)[ \t])?(?:changed|set|reset|updated|geändert|cambiada?|changé)"
    r"[ \t](?:to|auf|en|por|a)(?!\w))"
)
"""What stands between a name and the secret in a sentence."""

FILLER = (
    r"(?:[ \t]{1,4}(?:now|still|the|a|an|new|just|again|früher|jetzt|neu|nun|noch|immer|currently"
    r"|set to|to|changed to|simply|always|maintenant|toujours|ahora|siempre)(?!\w)){0,3}"
)
"""Words that may follow the connector."""

REVERSED = re.compile(
    r"(?:^|(?<=[\s\"'`(<*]))(?P<value>[^\s\"'`<>*()]{6,160})[\"'`*]{0,2}[ \t]"
    r"(?:\(|(?:is|as|was|ist|war|als|est|es|comme|como)"
    r"(?:[ \t](?:the|my|our|your|his|her|their|a|das|der|die|mein|unser|le|la|mon|notre|el|mi))?"
    r"(?:[ \t][\w.-]{1,20}){0,3}?[ \t]?[\w.-]{0,30})$"
)
"""End of what stands before a name where the secret comes first: "use x as the password"."""

_WORDS = """
    required optional string str text bool boolean int integer number float bytes none null nil
    undefined true false yes no on off any object array list dict char varchar token tokens key keys
    secret secrets password passwords passwd pwd pass passphrase pin code credential credentials
    user username name email login value values field label type id uuid unknown missing empty
    unset invalid valid wrong correct incorrect expired expires changed unchanged reset forgotten
    forgot lost stolen leaked rotated updated revoked disabled enabled hidden masked redacted
    removed omitted encrypted hashed protected stored saved set new old same different weak strong
    default example sample dummy placeholder here there bearer basic digest oauth oauth2 jwt inherit
    include includes exclude same-origin self this that it see ask use via from in at with by for
    and or not is are was be the a an my your our his her their todo tbd n/a na pending done ok okay
    fail failed success error denied granted needed not-needed auto automatic manual generated
    random public private internal external read write admin readonly read-only case-sensitive
    case-insensitive write-only end-to-end vault 1password bitwarden keychain keepass lastpass
    dashlane secretstr json yaml xml csv html http https plain plaintext base64 utf-8
    erforderlich keine keiner kein leer falsch richtig vergessen geändert bitte siehe unbekannt
    abgelaufen oublié obligatoire incorrecte aucun aucune vide requis olvidada requerida incorrecta
    ninguna vacía obligatoria 必須 なし 错误 忘记 неверный
"""
NO_SECRETS = frozenset(_WORDS.split())
"""Words that stand where a secret could: a value that is one of them stays."""

TECHNICAL = re.compile(
    r"(?i:sha-?\d{1,3}|md5|base-?\d\d|utf-?\d+|oauth-?2?|aes-?\d{2,3}|argon2\w{0,2}|1password|[2m]fa"
    r"|ed25519|rsa-?\d{4}|\d{1,3}(?:\.\d{1,3}){3}\S*|k8s|s3|ec2|ipv[46]|http2|python3?|es\d{1,4}|v\d[\d.]*"
    r"|\d{1,4}[-–]?(?:char|digit|letter|day|week|month|hour|minute|year|bit|byte|time|word|zeichen"
    r"|tage|caract|jour|d[ií]a)\w{0,8})(?:-\w{1,20})?"
)
"""Terms with digits that are no passwords."""
