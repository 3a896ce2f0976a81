"""Answer types: what kind of thing a question asks for, and how a line shows that it holds one."""

from __future__ import annotations

import re
from typing import NamedTuple

from commonplace.text.hyponyms import asked_hyponyms
from commonplace.text.time_expressions import calendar_names

__all__ = [
    "ADDRESSES",
    "AMOUNTS",
    "FOREIGN_TIMES",
    "INSTRUCTIONS",
    "TIMES",
    "AnswerType",
    "asked_types",
    "holds_answer",
]

_ONE_HYPONYM, _SEVERAL_HYPONYMS = 1.5, 2.5
"""Nats of a line with a word for what is of the asked kind: more where several are asked for, as
little else tells their lines."""
_WORKS = "album|book|film|game|magazine|movie|musical|novel|play|podcast|poem|series|show|song"
_NAMED = (
    f"(?:{_WORKS}|actor|artist|author|band|bar|brand|cafe|café|college|hotel|museum|park|player"
    "|restaurant|school|shop|singer|store|team)s?|(?:charit|compan|celebrit|universit)(?:y|ies)"
)
_BETWEEN = r"(?: (?!(?:are|can|did|do|does|from|had|has|have|is|was|were|will)\b)[\w'’-]+){0,3}?"
"""Words between "what" and a thing that is named; "what does the log show" asks for no show."""
_ANYTHING, _NOTHING = re.compile(""), re.compile("(?!)")
_WORD = re.compile(r"\w+")


class AnswerType(NamedTuple):
    """Kind of thing that questions ask for.

    Attributes:
        asks: Pattern of the questions.
        mark: Pattern of the lines that hold such a thing.
        words: Words of which each shows the same, in lower case.
        nats: Credit of such a line.
    """

    asks: re.Pattern[str]
    mark: re.Pattern[str]
    words: frozenset[str]
    nats: float


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ADDRESSES = (
    AnswerType(
        re.compile(
            r"\b(?:(?:tele)?phones?|mobile|telefon\w*|handynummer|t[eé]l[eé]phone|tel[eé]fono"
            r"|telefone|телефон\w*)\b|電話|전화|电话",
            re.IGNORECASE,
        ),
        re.compile(  # no date, and no IP address
            r"(?<![\d.-])(?!\d{4}-\d\d-\d\d|\d\d?[./]\d\d?[./]\d{4}|\d{1,3}(?:\.\d{1,3}){3}(?!\d))"
            r"\d(?:[ ()/.-]{0,2}\d){6,}"
        ),
        frozenset(),
        1.5,
    ),
    AnswerType(
        re.compile(r"\be-?mail|\bmail address|\bcorreo\b|\bcourriel\b", re.IGNORECASE),
        re.compile(r"[\w.+-]{1,40}@\w[\w-]*(?:\.\w[\w-]*)*"),
        frozenset(),
        1.5,
    ),
)
"""Telephone numbers and mail."""

TIMES = AnswerType(
    re.compile(
        r"\b(?:when|(?:what|which) (?:date|day|month|year|time)|how long|deadline"
        r"|how many (?:days|weeks|months|years))\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b\d{4}\b"),
    _words(
        "yesterday today tomorrow tonight ago last next since recently week weeks weekend"
        " weekends month months year years day days morning afternoon evening night"
        " monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday"
        " fridays saturday saturdays sunday sundays january february march april may june"
        " july august september october november december spring summer autumn fall winter"
        " noon midnight"
    ),
    1.0,
)
FOREIGN_TIMES = AnswerType(
    re.compile(
        r"\b(?:wann|um wie ?viel uhr|wie lange|welche[rsmn]? (?:tag|monat|jahr|uhrzeit)"
        r"|quand|quelle heure|quel(?:le)? (?:jour|mois|date|ann[ée]e)|combien de temps"
        r"|cu[aá]ndo|qu[eé] (?:d[ií]a|hora|fecha|mes|año)|cu[aá]nto tiempo"
        r"|quando|che (?:ora|giorno|mese|anno)|que (?:dia|horas|m[eê]s|ano)|quanto tempo"
        r"|wanneer|hoe laat|hoe lang|welke (?:dag|datum)"
        r"|n[aä]r|når|hvorn[aå]r|(?:vil|hvil)ken (?:dag|tid)|kiedy|kdy|когда|коли)\b"
        r"|何時|いつ|何曜日|几点|什么时候|언제|몇 시",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b\d{4}\b|\b\d{1,2}[:.h]\d\d\b|\buhr\b|\b\d{1,2} ?h\b|\d[時点月日]"
        r"|\ba las? (?:una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce)\b"
        r"|\balle (?:due|tre|quattro|cinque|sei|sette|otto|nove|dieci|undici|dodici)\b",
        re.IGNORECASE,
    ),
    calendar_names(),
    1.0,
)
AMOUNTS = AnswerType(
    re.compile(
        r"\b(?:how (?:many|much|old|long|far|often|tall|big)|what (?:does|do|did) .{2,40} cost"
        r"|wie ?(?:viele?|hoch|alt|gro(?:ß|ss)|weit|oft|lang|schwer|teuer)|was kostet|was kosten"
        r"|combien|cu[aá]nt[oa]s?|quant[oaie]|hoeveel|hoe (?:vaak|oud|groot|lang|hoog)"
        r"|hur (?:många|mycket|gammal|stor|lång|hög|ofta)"
        r"|hvor (?:mange|meget|mye|gammel|ofte|stor|lang)"
        r"|ile|kolik|сколько|скільки|kaç|mennyi|hány)\b"
        r"|いくら|何[円人個回匹枚本]|多少|几[个人次]|얼마|몇",
        re.IGNORECASE,
    ),
    re.compile(r"\d"),
    _words(
        "one two three four five six seven eight nine ten eleven twelve once twice few couple"
        " several dozen hundred thousand"
        " zwei drei vier fünf sechs sieben acht neun zehn einmal zweimal deux trois quatre cinq"
        " dos tres cuatro cinco due tre quattro cinque dois duas quatro twee drie två tre fyra fem"
    ),
    1.5,
)

_ANSWER_TYPES = (
    TIMES,
    FOREIGN_TIMES,
    AMOUNTS,
    AnswerType(
        re.compile(
            r"\b(?:which|where|who|whose|whom|name"
            rf"|(?:what|how many|favou?rite|any|list){_BETWEEN} (?:{_NAMED}))\b",
            re.IGNORECASE,
        ),
        re.compile(r"[A-Z](?<=[a-z0-9,;] [A-Z])[a-z]"),
        frozenset(),
        1.25,
    ),
    AnswerType(
        re.compile(
            rf"\b(?:what|which|how many|favou?rite|any|list|name){_BETWEEN} (?:{_WORKS})s?\b",
            re.IGNORECASE,
        ),
        re.compile(r"[\"“«„][A-Z0-9]"),
        frozenset(),
        1.5,
    ),
    *ADDRESSES,
)
"""Times, numbers, names (words with a capital behind another word), titles of works (in quotation
marks), telephones, and mail."""

INSTRUCTIONS = AnswerType(
    re.compile(
        r"^(?:please|write|draft|compose|make|create|design|outline|plan|suggest|recommend|propose"
        r"|show me|explain|help me|find me|draw up|put together|work out|set up"
        r"|give me (?:a|an|some)|(?:any|some) (?:ideas?|tips|suggestions)"
        r"|(?:can|could|would|will) you (?!tell|remind|remember)"
        r"|i (?:want|need) (?:to|a|an|some))\b"
        r"|\b(?:how|what|which .{1,40}|when|where|who) (?:should|would) (?:i|we|you)\b"
        r"|\bwhat (?:could|can) (?:i|we) \w+ |\b(?:do|would) you (?:recommend|suggest)"
        r"|\bi(?:['’]d| would) like (?:to|a|an|some)\b"
        r"|^(?:bitte |kannst du|könntest du|schreib|mach|erstell|entwirf|schlag)"
        r"|^ich (?:möchte|brauche)\b|\bwie (?:soll|sollte) (?:ich|wir)\b"
        r"|^(?:peux-tu|pourrais-tu|écris|fais-moi|propose|rédige)"
        r"|^¿?(?:puedes|podrías|escribe|hazme|redacta)|^(?:puoi|potresti|scrivi|fammi|proponi)"
        r"|^(?:kun je|kan je|schrijf|maak)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:always|never|whenever|every time|from now on|as a rule|prefer(?:s|red|ences?)?"
        r"|i['’]d (?:rather|sooner)|rather (?:not|than)|(?:standing )?instructions?"
        r"|please (?:no|do not|don['’]t|only|use|keep|stay|avoid)"
        r"|(?:do not|don['’]t|can['’]t|cannot) (?:like|want|eat|use|drink|fly|stand|bear)"
        r"|vegan|vegetari\w*|allerg\w*|immer|niemals|bevorzug\w*|lieber|bitte kein\w*|toujours"
        r"|jamais|préfér\w*|préfèr\w*|plutôt|siempre|nunca|prefier\w*|sempre|preferisc\w*|altijd"
        r"|nooit|liever)\b",
        re.IGNORECASE,
    ),
    frozenset(),
    1.5,
)
"""Standing instructions and preferences of a user, where a model is asked to make something."""


def asked_types(question: str) -> list[AnswerType]:
    """Return the types of what a question asks for; of things of a kind, too, as "which sports"."""
    types = [it for it in _ANSWER_TYPES if it.asks.search(question)]
    if (asked := asked_hyponyms(question)) is not None:
        nats = _SEVERAL_HYPONYMS if asked.several else _ONE_HYPONYM
        types.append(AnswerType(_ANYTHING, _NOTHING, asked.forms, nats))
    return types


def holds_answer(text: str, kind: AnswerType) -> bool:
    """Return whether a text holds the kind of thing that a question asks for."""
    return kind.mark.search(text) is not None or (
        bool(kind.words) and not kind.words.isdisjoint(_WORD.findall(text.lower()))
    )
