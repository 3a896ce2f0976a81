"""Patterns of logins: a user beside a password, in a line or in two, and codes that are sent.

The last group of a pattern that took part in a match is the secret.
"""

from __future__ import annotations

import re

from commonplace.text.secret_names import NO_SECRETS
from commonplace.text.secret_patterns import MIXED, pattern

__all__ = ["LOGINS"]

_I = re.IGNORECASE
_IN_A_LINE = (
    pattern("is your", "ist ihr", "ist dein", "est votre", "est ton", "es tu", "es su",
            regex=r"(?<![\w.-])(?:[A-Z]{1,4}-)?(?!(?:19|20)\d\d\s)(\d{4,8}|\d{3}[ -]\d{3})"
            r"\s(?:is your|ist (?:Ihr|dein)|est (?:votre|ton)"
            r"|es (?:tu|su))e?r?\s[^\n.]{0,40}?(?:code|código|pin|otp|passcode)\b", flags=_I),
    pattern(" to ", " for ", regex=r"(?<![\w.,-])(\d{6}|\d{3}[ -]\d{3})\s(?:to|for|as)\s"
            r"(?:[a-z]{2,12}\s){0,3}(?:log(?:ging)? ?in|sign(?:ing)?[ -]?in|verif|authenticat)",
            flags=_I),
    pattern("opens", "unlocks", "disarms", "öffnet",
            regex=r"\b[Cc]ode (?!(?:19|20)\d\d )(\d{4,8})[#*]? (?:opens|unlocks|disarms|öffnet)\b"),
    pattern("expect", "send",
            regex=r"(?i:pass(?:word|phrase)|pin|secret)[^\n]{0,40}?[\s{;]send\s{1,4}"
            r"(?:--\s)?[\"']([^\"'\\\n$]{4,128})\\[rn]"),
    pattern(" / ",
            regex=r"\b(?:admin|administrator|root|postgres|sa|deploy|user|guest|test|demo"
                        r"|operator|system)[ \t]{1,2}/[ \t]{1,2}[`\"']?"
            r"(?=[^\s,;|]{0,40}\d)(?=[^\s,;|]{0,40}[A-Za-z])(?![^\s,;|]{0,64}[()/])"
            r"([^\s,;|`\"']{6,64})", flags=_I),
    pattern("admin:", "root:", "postgres:", "guest:", "test:", "demo:",
            regex=r"(?<![\w/.@-])(?:admin|administrator|root|postgres|guest|test|demo):(?![\s/*])"
            r"(?!\d[\w.]{0,20}-|[a-z]{3,20}\d{0,6}-[a-z]{2})"
            rf"{MIXED}([^\s:/@,;|`\"'<>(){{}}]{{6,64}})(?=[\s`\"',;)]|$)", flags=_I),
    pattern(" p:", regex=r"\bu(?:ser)?:\s?[^\s,;]{1,64}[\s,;]{1,3}p:\s?([^\s,;]{4,128})"),
    pattern("@", regex=r"[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{1,60}[ \t]{0,2}[/|][ \t]{0,2}"
            r"(?=[^\s,;|]{0,40}\d)(?=[^\s,;|]{0,40}[A-Za-z])([^\s,;|/]{6,64})(?!/)"),
    pattern("account", "anmeldung", "konto", "compte", "cuenta", "accès", "acceso", "connexion",
            regex=r"\b(?:account|anmeldung|konto|compte|cuenta|accès|acceso"
                r"|connexion)\b[^\n:=]{0,30}[:=→]"
            rf"\s{{1,3}}[^\s/|]{{2,64}}\s?[/|]\s?{MIXED}([^\s/|,;\"']{{6,64}})(?=[\s.,;)]|$)",
            flags=_I),
    pattern("@", regex=r"(?<![\w/.+-])[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{1,40}:"
            rf"{MIXED}([^\s/:@,;\"']{{6,64}})(?=\s|$)"),
    # Hashes of Windows passwords: user:number:LM:NT.
    pattern(":::", regex=r":\d{1,6}:([0-9a-fA-F]{32}:[0-9a-fA-F]{32}):::"),
)  # fmt: skip

_WORD = "|".join(map(re.escape, sorted(NO_SECRETS)))
_IN_LINES = (
    # "user is deploy, pw tinroof"
    pattern("user", "login", "benutzer",
            regex=r"\b(?i:user(?:name)?|login|benutzer(?:name)?)(?:[ \t](?:is|ist)|[ \t]?[:=])"
            r"[ \t]{1,2}[\w.@+-]{2,40}[ \t]?[,;/|][ \t]?(?:and |und )?"
            r"(?i:pw|pwd|pass(?:word|wort)?|kennwort)"
            rf"(?:[ \t](?:is|ist)|[ \t]?[:=])?[ \t]{{1,2}}(?!(?i:{_WORD})\b)"
            r"([^\s,;\"'`<${(]{5,64})(?=[ \t]*(?:$|[\n,;.)]|[—–-][ \t]))"),
    # A user, and a password in the next line, as programs of mail have them.
    pattern("user", "login", "benutzer", "utilis", "usuario", "utente", "gebruik",
            regex=r"(?m)^[ \t>]{0,8}(?i:user(?:name)?|login|benutzer(?:name)?|utilisateur"
                r"|usuario|utente|gebruiker)"
            r"(?::[ \t]?|[ \t]{1,4}=?[ \t]{0,4})\S{2,64}[ \t]*\n[ \t>]{0,8}"
            r"(?i:pass(?:word|wort)?|pw|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło)"
            r"(?::[ \t]?|[ \t]{1,4}=?[ \t]{0,4})(?!(?i:see|in|pending|ask|none|required|siehe"
            r"|unknown|tbd)\b)"
            r"(?=[^\s]{0,40}[^\sa-z])([^\s\"'<${%(\[][^\s\"'<>]{5,64})[ \t]*(?=\n|$)"),
    # A fence of two lines that are called so before it.
    pattern("```", "~~~",
            regex=r"(?i:user|login|benutzer|utilisateur|usuario|utente|usuário|gebruiker"
                r"|użytkownik)[^\n]{0,40}"
            r"(?i:pass|kennwort|mot de passe|contraseña|senha|wachtwoord"
            r"|hasło)[^\n]{0,40}\n{1,2}(?:```|~~~)\w{0,12}\n"
            r"[^\s<$`]{2,64}\n([^\s<${`][^\s<>`]{5,64})\n(?:```|~~~)"),
    # The answer to a question that a service asks for its secret.
    pattern("question", "frage", "pregunta", "domanda", "pergunta", "vraag", "pytanie", "質問",
            "问题",
            regex=r"(?i:security question|sicherheitsfrage|question (?:de sécurité|secrète)"
                r"|pregunta (?:de seguridad|secreta)"
            r"|domanda (?:di sicurezza|segreta)|pergunta (?:de segurança|secreta)|(?:geheime "
            r"|beveiligings)vraag"
            r"|pytanie (?:pomocnicze|zabezpieczające)|秘密の質問|安全问题|密保问题)[^\n]{0,80}?"
            r"(?i:answer|antwort|réponse|respuesta|risposta|resposta|antwoord|odpowiedź|答え"
            r"|答案)[ ]?(?:[:：=はが是]|is|ist)[ ]?"
            r"(?!(?i:see|in|is|ask|not|the|was|siehe)\b)[\"'„“«「]?([^\s\"'„“«»「」,;.。，]{4,40})"),
    # "user / pass: ann / secret".
    pattern("/", "&", "+", " und ", " and ",
            regex=r"\b(?i:log-?in|user(?:name)?|benutzer(?:name)?|utilisateur|identifiant"
                r"|usuario|utente|usuário|gebruiker|id)"
            r"[ \t]?(?:/|&|\+|and|und|et)[ \t]?(?i:pass(?:word|wort|phrase)?|pw|pwd|kennwort"
            r"|mot de passe|mdp|contraseña"
            r"|senha|wachtwoord|hasło)\b[^\n:=|/]{0,40}[:=][ \t]{0,3}[\"'`]?(?!see\b|siehe\b"
            r"|in\b)[^\s/,|;]{2,64}[\"'`]?"
            r"[ \t]?[/,|;:][ \t]?[\"'`]?(?!(?:vault|bitwarden)\b)([^\s\"'`<$,;/|]{6,64})"),
)  # fmt: skip

LOGINS = (*_IN_A_LINE, *_IN_LINES)
