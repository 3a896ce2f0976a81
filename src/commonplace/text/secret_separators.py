"""Separators between the name of a secret and its value: assignments, sentences, lines."""

from __future__ import annotations

import re

__all__ = [
    "ADJACENT",
    "ALONE_BELOW",
    "ASSIGNED",
    "ASSIGNED_BELOW",
    "CLAUSE",
    "FROM_TO",
    "LISTED",
    "MORE",
    "MORE_BELOW",
    "NEXT_LINES",
    "OTHERS",
    "PAIR",
    "PROSE",
    "REVERSED",
]

ASSIGNED = re.compile(
    r"(?:\\{0,16}[\"'`]|[*_]{1,3}|\?|\]|\[\d{0,4}\]){0,3}"
    r"(?:[ \t]{1,4}As[ \t]{1,4}[A-Z]\w{1,20}(?=[ \t]{0,4}=))?"
    r"(?:[ \t]?:?[ \t]{0,3}(?P<markup></\w{1,8}>\s{0,4}(?:<\w{1,8}[^<>\n]{0,60}>\s{0,4}){0,2}:?)"
    r"|[ \t]{0,20}(?::=|=>|->|<-(?=[ \t])|(?:\|\||[?+])=|[:=：＝](?![:=])"
    r"|::(?=[ \t]{1,2}[A-Za-z0-9+/]{8,}={0,2}[ \t]*(?:\n|$))|→|—(?=\s)|–(?=\s)|\t)"
    r"|[ \t]{1,4}(?:\|\||\?\?|or)(?=[ \t]{1,4}[\"'])"
    r"|(?P<made>[({](?=[brfuLN@]?[\"']))"
    r"|[ \t]{0,20}(?P<cell>\|)|(?P<tag>>(?![@.]))|[\"'][ \t]{1,4}value[ \t]{0,4}=)"
    r"[*_]{0,3}[ \t]{0,20}(?:\\\r?\n[ \t]{0,20})?"
    # A type: "token: &str = ".
    r"(?:(?:&(?=str|')(?:'\w{1,12} )?)?[A-Za-z_][\w.:]{0,40}(?:[<\[][\w.,; <>]{0,40}[>\]])?[?!]?"
    r"(?:[ \t]?\|[ \t]?None)?[ \t]{0,4}=(?!=)[ \t]{0,8})?"
)
LISTED = re.compile(
    r"[\"'`]?[ \t]{0,4}[,;][ \t]{0,4}(?:[a-z]{1,12}=(?=[brfuLN@]?[\"'`])"
    r"|(?=[brfuLN@]?[\"'`])|(?=[\w+/]{6})(?![a-z]{1,12}=))"
)
ASSIGNED_BELOW = re.compile(
    r"[\"'`]?(?:[ \t]{0,4}(?:[,;({]|</key>))?[ \t]{0,4}\n?"
    r"(?:[ \t]{0,24}(?!-)[^\n\"'=:]{0,24}[=:][^\n]{0,60}\n){0,2}?[ \t]{0,24}"
    r"(?:--?|[\"'])?(?:<string>|(?:(?i:default_?value|default|value|val|body|content|string_?value|plaintext)"
    r"[\"']?[ \t]{0,4}[:= ][ \t]{0,4}))"
    r"|:[ \t]?[|>][-+]?\n[ \t]{1,24}"
)
"""Of ``name: DB_PASSWORD`` and ``value: x`` in the next line, and its like."""
ADJACENT = re.compile(r"(?:[ \t]{1,4}|(?<=\S)\t+)(?![=+*/<>&|!-])")

_WHO = r"(?:i|we|you|he|she|they|ich|wir|je|nous|yo)"
_OWNED = (
    r"(?:[ \t](?:for|of|in|on|at|to|bei|beim|chez|für|fürs|vom|von|zum|zur|der|des|im|am|du|de"
    r"|del|della|dei|da|do"
    r"|pour|para|per|voor|van|от|для)(?:[ \t'’]{1,2}[\w’'./@+()-]{1,32}){1,5}?"
    rf"|[ \t]{_WHO}[ \t]\w{{1,20}}(?:[ \t]\w{{1,20}})?|[ \t]\([^)\n]{{1,30}}\)"
    r"|[ \t](?-i:[A-Z])[\w-]{1,20}"
    r"|[ \t](?:yesterday|today|gestern|heute|vorhin|aujourd['’]hui|ayer|hoy|ieri|oggi"
    r"|ontem|hoje)"
    r"|[ \t](?:wi-?fi|wlan|here|there|hier|aqui|aquí|ici|nueva|anterior|actual|antigua|nova"
    r"|nuova|nouveau"
    r"|actuel))?"
)
"""What a secret is for, between its name and the connector."""
_CONNECTOR = (
    r"[ \t]{0,3}(?:=>|->|:=|[:=：＝](?![:=]))|[ \t]{0,2}[→—–](?=[ \t])|[ \t]-(?=[ \t])"
    r"|は|是|为|為|が|는|은"
    r"|['’]s(?=[ \t])|,?[ \t]c['’]est(?!\w)|を|改成了?|改为|变成|设为|換成"
    r"|[ \t](?:with|mit)(?:[ \t](?:the[ \t])?(?:code|pin))?(?=[ \t]\d)"
    r"|[ \t](?:(?:should|will|must|may|might|has to|used to|needs to|turned out to|happens to"
    r"|ought to)[ \t]be|ends up being|stays|reads|goes|equals|hei(?:ß|ss)t|bleibt"
    r"|s['’]appelle|reste|sigue siendo)(?!\w)"
    r"|[ \t](?:hatte|hat|nahm|nimmt|benutzte?|verwendete?|wählte)"
    r"(?:[ \t](?:sie|er|ich|wir|man))?(?!\w)"
    r"|[ \t]à(?=[ \t][«\"'`„“])"
    r"|[,?][ \t](?:it['’]?s|it is|which is|now it['’]?s)(?!\w)"
    r"|[ \t](?:(?:is|was|are|were|be|became|remains|ist|war|lautete?|wurde|est|était|es|era|fue|é|è"
    r"|foi|jest|это|sind|sont|son|são|sono|zijn|är|er|on|je|este|là|adalah|είναι|هي|هو|है|คือ|olarak|->|to|auf|from)(?!\w)"
    r"|(?:(?:is|was|were|has been)[ \t])?(?:changed|set|reset|updated|geändert|cambi[oó]"
    r"|cambiada?|changé)"
    r"[ \t](?:back[ \t])?(?:to|auf|en|por|a)(?!\w)|(?:back[ \t]to|en|por|pour)(?!\w))"
)
"""What stands between a name and the secret in a sentence."""

_FILLER = (
    r"(?:今日から|今後は?|現在は?|これから|现在|从今天起|이제[ ]?)?"
    r"(?:,?[ \t]{1,4}(?:désormais|dorénavant"
    r"|ab (?:sofort|heute)|desde (?:hoy|ahora)|d['’]ora in poi|voortaan"
    r"|inzwischen|mittlerweile|adesso"
    r"|agora|nu|ora|teraz|теперь|(?:as of|from|since|seit|depuis|ab|od|a partir de)[ \t][\w.]{2,16}"
    r"(?:[ \t]on)?,?|now|still|the|a|an|new|just|again|früher|jetzt|neu|nun|noch|immer|currently"
    r"|set to|to|changed to|simply|always|maintenant|toujours|ahora|siempre|le|la|el|der|die|das"
    r"|übrigens"
    r"|actually|only|just|nur|weiterhin|probably|therefore|also|auch|aussi|también)(?!\w)){0,3}"
)
"""Words that may follow the connector."""

PROSE = re.compile(
    rf"{_OWNED}[*_`\"')\]]{{0,3}}(?:{_CONNECTOR}){_FILLER}[ \t]{{0,4}}", re.IGNORECASE
)
CLAUSE = re.compile(
    r"(?![^:\n]{0,60}\b(?:polic|reset|length|expir|rotat|manager|hash|rule|field|strength|generat|see"
    r"|ticket|fingerprint|checksum|version|limit|count|prompt|format|siehe|voir))"
    r"(?:(?:[ \t](?:[^\s.,;:=|]|[.@](?=\w)){1,32}){1,7}?"
    r"(?:[ \t]?:[ \t]{1,3}|[ \t](?:[-–—=]|->|→|is|was|ist|est|es|è|é)[ \t])"
    r"|[ \t](?!for|of|on|in|at|to|from|via|with|by|für|auf|bei|pour|sur|para|en)[^\W\d_]{2,14}[ \t]"
    r"(?=[^\s\"'`]{6,64}[ \t.!,]{0,2}(?:\n|$)))"
)
"""From a name to the end of its clause: "the password is printed below: "."""
NEXT_LINES = re.compile(
    r"[:=：]?[*_]{0,2}[ \t]{0,8}\r?\n(?:[ \t>]{0,16}\r?\n){0,2}"
    r"(?:[ \t>]{0,16}(?:```|~~~)[^\n`]{0,40}\n)?"
    r"[ \t>]{0,16}(?:[-*][ \t]{1,3})?[`\"']?(?P<value>[^\s\"'`|]{12,4000})[`\"']?[ \t]*(?=\r?\n|$)"
)
ALONE_BELOW = re.compile(
    r"(?:[ \t](?!polic|rule|manager|reset|length|hint|field|require|format)[^\n:.,;?!="
    r"|]{1,50}?){0,1}[ \t\u00a0]?[*_:：]{0,4}[ \t]{0,4}\r?\n"
    r"(?:[ \t]{0,4}\r?\n)?"
    r"(?:[ \t]{0,8}(?:```|~~~)[^\n`]{0,20}\n|[ \t]{2,16}(?:[-*+•][ \t])?|\t{1,4}"
    r"|[ \t]{0,8}(?:[-*+•→>]|->|=>)[ \t]{1,4}"
    r"|(?=[^\s]{8,64}[ \t]{0,4}(?:\r?\n[ \t]{0,4}(?:\r?\n|$)|$)))"
    r"[`\"'*]{0,2}(?P<value>[^\s\"'`|:<>\[\]{}()]{6,64})[`\"'*]{0,2}[ \t]{0,4}(?=\r?\n|$)"
)
"""From a heading to the value that is indented, fenced or alone below it."""
PAIR = re.compile(
    r"[ \t]{0,3}(?:(?:with|as|mit|als|using)[ \t])?"
    r"[\"'`]?(?![$<{%])[^\s/|,;／]{1,64}(?:[ \t][^\s/|,;／]{1,20}){0,2}[\"'`]?"
    r"(?:[ \t](?:/|\||(?:and|und|et|y|e)(?:[ \t](?:then|dann))?|with|mit|avec|con)[ \t]"
    r"|／|\t|:(?!//))"
)
FROM_TO = re.compile(r"[\"'`]?[ \t](?:to|auf|zu|nach|en|a|à)[ \t]{1,2}")
MORE = re.compile(
    r"[\"'`]?(?:[ \t](?:first|zuerst))?"
    r"(?:,[ \t]?(?:(?:now|jetzt|then|otherwise|else|and|or|sonst)[ \t])?"
    r"(?:(?:it['’]?s|it is|ist es|is|ist)[ \t])?"
    r"|[ \t](?:and|or|und|oder|et|ou|y|o)[ \t])[\"'`]?"
)
OTHERS = re.compile(
    r"[\"'`*]{0,2}[,;.]?[ \t](?:and |und |et |y |e |en |i )?"
    r"(?:(?:the|der|die|das|dem|den|celle|celui|l['’]autre|quell[oa]|l['’]altr[oa]|(?:el"
    r"|la) (?:de|otr[oa])|otra|outr[oa]"
    r"|[oa] d[oae]|de|ta|ten|drug[ai]|het|other|mine|hers|his|meine?"
    r"|andere?)(?!\w)[^\n.;:=\d]{0,28}?)"
    r"(?:(?:ending|endend auf|finissant par|terminada en|che finisce)[ \t](?:in[ \t])?\d{4})?"
    r"(?:[ \t](?:has|is|hat|ist|a|tiene|es|ha|è|tem|é|heeft|ma|jest)[ \t]|:[ \t]?|[ \t]=[ \t]?"
    r"|[ \t](?=\d{4}(?!\d)))"
    r"(?:(?:pin|code)[ \t])?(?=\d{4})"
    r"|[^\n.;:\d]{0,24}?[ \t](?:after (?:that|which)|then|from then on|danach|später|ensuite"
    r"|puis|luego|después|dopo"
    r"|poi|depois|daarna|potem)[ \t](?=\d{4}(?!\d))"
    r"|[\"'`*]{0,2}(?:,|;| and| und| et| y)?[ \t]\(?(?:(?:and|und|et|y)[ \t])?(?:hers|his|mine"
    r"|yours|theirs|ours"
    r"|the[ \t](?:other|second)|was|formerly|old|früher|vorher|antes|avant"
    r"|(?-i:[A-Z])\w{1,20}['’]s)(?:[ \t](?:one|is|was)){0,2}[ \t:]{1,2}",
    re.IGNORECASE,
)
MORE_BELOW = re.compile(r"[\"'`]?\r?\n[ \t>]{0,16}[-*][ \t]{1,3}[\"'`]?")
"""From a value in a list to the next one."""
REVERSED = re.compile(
    r"(?:^|(?<=[\s\"'`(<*]))(?P<value>[^\s\"'`<>*()]{6,160})[\"'`*]{0,2}[ \t]"
    r"(?:\(|(?:is|as|was|ist|war|als|est|es|comme|como|come|jako|jest|è|é)"
    r"(?![ \t](?:a[ \t])?(?:bad|weak|wrong|terrible|poor|good|strong|schlecht))(?:[ \t]?(?:the|my"
    r"|our|your|his|her|their|a|das|der|die|mein|unser|le|la|mon|notre|el|mi))?"
    r"(?:[ \t][\w.-]{1,20}){0,3}?[ \t]?[\w.-]{0,30})$"
)
"""End of what stands before a name where the secret comes first: "use x as the password"."""
