"""Secrets in sentences: before their name, what they were changed from and to, words of several.

Each name is looked at with a bounded part of the line around it, so that time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.chosen_words import is_spelled, looks_joined
from commonplace.text.secret_names import NO_SECRETS
from commonplace.text.secret_values import (
    is_harmless,
    is_number,
    is_sentence_word,
    looks_chosen,
    looks_invented,
    looks_strong,
)
from commonplace.text.written_value import TRAILING

__all__ = ["KEYPAD_CODE", "changes", "may_change", "sentence_secrets", "several_words"]

Span = tuple[int, int]

KEYPAD_CODE = (
    r"(?:[*#＊＃]{0,2}\d(?:[ -]?\d){2,9}[*#＊＃]{0,2}"
    r"|(?=[A-Z]{0,4}\d)(?=\d{0,6}[A-Z])[A-Z0-9]{4,8}[*#＊＃]?)"
    r"(?![\w%°€$£]|[:.,/-]\d|[ \t]?(?i:uhr|km|kg|cm|mm|m²|euros?|eur|usd|stunden|hours|people"
    r"|°c|am|pm)(?!\w))"
)
"""Code as the keypad of a door takes it, and no number with a unit."""
_KEYPAD_CODE = re.compile(KEYPAD_CODE)
_BEHIND_CHARS = 200
_BEFORE_CHARS = 160
_TRIES = 6


def sentence_secrets(
    text: str, start: int, end: int, kind: str, *, is_weak: bool = False
) -> Iterator[Span]:
    """Yield what only a sentence makes a secret: by its verbs, or by what it says of it.

    Args:
        text: The text.
        start: Start of the name.
        end: Its end.
        kind: Its kind.
        is_weak: Whether much else has this name, too.
    """
    yield from changes(text, start, end, kind)
    if not is_weak:
        yield from _fronted(text, start, end, kind)
    if kind == "password":
        yield from _spelled(text, end)
        if "phrase" in text[start:end].lower():
            yield from several_words(text, end)


_V = r"[\"'`„“«「『*_(]{0,3}[ \t]?(?P<%s>[^\s\"'`“”„«»「」『』，。、；（）()<>|,;]{4,64})"
_OLD = (
    r"was|were|previously|formerly|before|used to be|no longer|not|isn['’]t|instead of"
    r"|old(?: one)?|from"
    r"|war|waren|früher|bisher|vorher|bislang|nicht mehr|nicht|statt|anstatt|alt(?:es?)?|von"
    r"|était|avant|n['’]est plus|plus|ancien(?:ne)?|de|au lieu de"
    r"|era|antes|ya no (?:es|vale)|ya no|no es|en vez de|viej[oa]|anterior|prima|non è più"
    r"|vecchi[oa]|invece di|da"
    r"|não é mais|em vez de|antig[oa]|niet meer|niet|eerst|eerder|oude?|in plaats van|van"
    r"|nie jest już|już nie|był[oa]?|star[eaoy]|wcześniej|zamiast|z|ze"
)
_NEW = (
    r"now|it['’]?s|is|are|to|new(?: one)?|but|currently|instead|jetzt|nun|sondern|neu(?:es?)?"
    r"|auf|zu|ist|seit \w{2,12}"
    r"|maintenant|désormais|c['’]est|mais|nouveau|nouvelle|à|par|est|en|por|a|ahora|sino"
    r"|nuev[oa]|es|hemos puesto"
    r"|adesso|ora|ma|bensì|nuov[oa]|è|con|agora|e sim|mas|nov[oa]|é|para|nu|maar|nieuwe?|naar"
    r"|wordt|teraz|tylko"
    r"|now[eayo]|na|lecz|jest"
    r"|became|turned into|wurde|devient|virou|passou a ser|pasó a ser|è diventat[oa]|geworden"
)
_STILL = (
    r"(?:[ \t](?:now|jetzt|nun|maintenant|désormais|ahora|adesso|ora|agora|nu|teraz|seit|is|ist"
    r"|est|es|è|é|jest)(?!\w))?"
)
_LINK = r"(?:[ \t]?[:=]|(?:[ \t](?:it['’]?s|is|was|war|ist|es|era|était|est|è|é|jest))?)[ \t]{1,2}"
_GAP = r"[\"'`”“»」』*_).,;:!]{0,4}(?:[ \t]?(?:→|->|=>)|[ \t—–-]{1,3}[^\n\"]{0,24}?(?<![\w'’]))"
_CHANGE = re.compile(
    rf"(?<![\w'’-])(?:(?P<old>{_OLD})|(?:{_NEW}))(?!\w){_STILL}{_LINK}{_V % 'one'}{_GAP}[ \t]?"
    rf"(?<![\w'’-])(?:(?P<old2>{_OLD})|(?:{_NEW}))(?!\w){_STILL}{_LINK}{_V % 'two'}",
    re.IGNORECASE,
)
_ARROWS = ("→", "->", "=>", "⇒")
_ARROW = re.compile(
    rf"(?:^|[\s:：=(,])(?:old[ \t]|alt[ \t])?{_V % 'one'}[\"'`]?[ \t]?(?:→|->|=>|⇒)[ \t]?"
    rf"(?:(?:new|neu|nouveau|nouvelle|nuev[oa]|nuov[oa]|nov[oa]|nieuwe?|now[ey])[ \t])?{_V % 'two'}"
)
_CJK_V = r"[\s:：は]{0,2}[「『“\"]?(?P<%s>[!-+\--:<-\]_-~＃＊０-９]{4,40})[」』”\"]?"
_CJK_CHANGE = re.compile(
    rf"(?:旧|以前の?|以前是|之前是|原来是?|原先是|前は|元は|もとは|从|由|不再是"
    rf"|不是){_CJK_V % 'one'}[^\n!-~]{{0,12}}?"
    rf"(?:新|现在是|現在は|改成了?|改为|換成|换成了?|变成|今は|今日から|から|→|->|而是"
    rf"|更新为){_CJK_V % 'two'}"
)
_CHANGED = re.compile(
    r"chang|updat|rotat|reset|switch|replac|änder|neu|wechs|umgest|modifi|nouve|cambi|nuev|nuov|actuali|aggiorn"
    r"|mudou|mud[ae]|troc|alter|wijzig|verand|zmien|zmian|变|改|更|換"
)
_MEASURED = re.compile(
    r"(?:polic|rotat|length|expir|ablauf|läng|lifetime|ttl|limit|score|strength|count|hash|version|valid"
    r"|longueur|longitud|lunghezza|comprimento|lengte|długo|caract|zeichen|review|freeze|manager|field|page|format)"
)


def changes(text: str, start: int, end: int, kind: str) -> Iterator[Span]:
    """Yield both secrets of what one was changed from and to, in the line behind a name.

    Args:
        text: The text.
        start: Start of the name.
        end: Its end.
        kind: Its kind.
    """
    if kind not in ("password", "short", "pin", "token"):
        return
    stop = text.find("\n", end, end + _BEHIND_CHARS)
    stop = stop if stop >= 0 else min(len(text), end + _BEHIND_CHARS)
    for form in _forms_of_change(text, start, end, stop):
        at = end
        for _ in range(_TRIES):
            found = form.search(text, at, stop)
            if found is None:
                break
            at = found.start("one")
            places = [_trimmed(text, *found.span(group)) for group in ("one", "two")]
            one, two = (text[slice(*place)] for place in places)
            if form is _CHANGE and bool(found["old"]) == bool(found["old2"]):
                continue
            measured = _MEASURED.search(text[end : places[0][0]].lower())
            if not measured and may_change(one, two, kind):
                yield from places
                return


def _forms_of_change(text: str, start: int, end: int, stop: int) -> Iterator[re.Pattern[str]]:
    """Yield the forms that the line behind a name can have."""
    line = text[end:stop]
    yield _CHANGE
    if not line.isascii():
        yield _CJK_CHANGE
    has_arrow = any(arrow in line for arrow in _ARROWS)
    if has_arrow and _CHANGED.search(text[max(0, start - 40) : stop].lower()):
        yield _ARROW


def may_change(one: str, two: str, kind: str) -> bool:
    """Check whether both can be secrets, and one is."""
    values = (one, two)
    if any(is_harmless(value, quoted='"') or value.lower() in NO_SECRETS for value in values):
        return False
    codes = [bool(_KEYPAD_CODE.fullmatch(value)) for value in values]
    if kind == "token":
        return all(map(looks_strong, values)) and not any(codes)
    if kind == "pin" or any(codes):
        return all(codes)
    if any(map(is_number, values)) or any(len(value) < 5 for value in values):
        return False
    said = [looks_chosen(value) or looks_joined(value) for value in values]
    alike = one[:4] == two[:4] and not any(map(str.isalpha, values))
    return all(said) or (any(said) and (alike or not any(map(is_sentence_word, values))))


def _trimmed(text: str, start: int, end: int) -> Span:
    return start, start + len(text[start:end].rstrip(TRAILING + "!,;"))


_WRITTEN = re.compile(
    r"(?:^"
    r"|(?<=[\s\"'`(<*«„“「『]))(?P<value>[^\s\"'`<>()«»„“”「」『』]{6,64})[\"'`*”“»」』]{0,3}[ \t]?"
)
_RELATED = re.compile(
    r"(?:(?:(?<=[ \t])\(|<-|←|<=|=|=>)[ \t]?(?:(?:the|my|our|das|le|la|el|il|a|o"
    r"|het)[ \t])?(?:[\w.-]{1,20}[ \t]){0,3}[\w.-]{0,24}"
    r"|(?:(?:[,;:—–(]|(?<=[ \t])-)[ \t]{0,2}|(?<=[ \t])|^)"
    r"(?:(?:and[ \t])?(?:that['’]?s|this is|that is|it['’]?s|which is|das ist|dies ist|das wäre"
    r"|ist|c['’]est|voilà"
    r"|esa? es|es[ae] es|ese es|este es|es|es[ao] é|questa è|quella è|è|essa é|é ess[ae]|é"
    r"|dat is|is|to jest|to|jest"
    r"|est|was|war|era|são|son)[ \t]"
    r"(?:(?:still|now|also|jetzt|auch|noch|encore|ahora|ora|agora|nu|teraz)[ \t])?"
    r"(?:(?:the|my|our|your|his|her|its|their|das|der|die|mein|unser|sein|ihr|le|la|mon|ma|notre|votre|el|mi|nuestra|tu|su"
    r"|a|minha|nossa|essa|het|mijn|ons|de|il|mia|nostra|moje|nasze|wspólne)[ \t])?"
    r"(?:[^\s,.;:!?]{1,20}[ \t]){0,3}[\w.-]{0,24}))$",
    re.IGNORECASE,
)
"""Of "x gets you in, that's the password", what stands before the name."""
_WITH = re.compile(
    r"(?:^|[\s(])(?:with|mit|avec|con|com|met|z|use|using|type|enter|try|nimm|nehmt|tippe?|tape[rz]?|usa|usar|use"
    r"|gebruik|typ|wpisz|użyj|saisi[rs]|mets?|metti|pon|põe|zet|wstaw"
    r"|(?:set|changed?)(?: it)? to|chose|picked|puesto|messo|mis|puse|coloquei|pus|ustawił[ae]m"
    r"|hab|habe|genommen)[ \t][\"'`«„“]?[ \t]?"
    r"(?P<value>[^\s\"'`<>()«»„“”]{6,64})[ \t]?[\"'`»”“]?[ \t][^\n]{0,110}$",
    re.IGNORECASE,
)
_THE_WORD = re.compile(
    r"(?:the|das|le|la|a|o|het|el|magic)[ \t](?:word|wort|mot|palabra|parola|palavra|woord"
    r"|codewort|code[ -]?word)"
    r"[ \t](?:is[ \t]|ist[ \t]|est[ \t]|es[ \t]|è[ \t]|é[ \t])?"
    r"[\"'`«„“]?[ \t]?(?P<value>[^\W\d_]{4,24})[\"'`»”“]?[ \t]"
    r"(?:as|als|comme|como|come|jako)[ \t](?:(?:the|das|mot|la|a|el|het)[ \t])?$",
    re.IGNORECASE,
)
_AS = re.compile(
    r"[\"'`»”“.]{0,2}[ \t](?:as|als|comme|como|come|jako"
    r"|de)[ \t](?:[^\s,.;:]{1,16}[ \t]){0,2}[\w.-]{0,16}"
)
"""Between a secret and its name: "x as the new password"."""
_CJK_FRONT = re.compile(
    r"[「『“\"](?P<value>[!-~＃＊]{4,64})[」』”\"](?:が|は|就?是|为|為)[^\n!-~]{0,24}$"
    r"|(?<![!-~])(?P<bare>[!-~]{6,64})[ ]?(?:が|就?是|当|作为|做|を)[^\n!-~]{0,24}$"
)
_PRODUCT = re.compile(
    r"(?i:mac(?:os|book)?|windows|iphone|ipad|ios|linux|ubuntu|thinkpad"
    r"|galaxy|office)"
)
"""Part of the name of a product, which has numbers and capitals, too."""
_JUDGED = re.compile(
    r"(?:bad|weak|wrong|terrible|poor|good|strong|common|no|not|n['’]t|schlecht\w{0,2}|schwach\w{0,2}|kein\w{0,2}|mauvais"
    r"|faible|mal[ao]?|débil|brutt[oa]|ruim|fraca|slecht|złe|typical|classic|example|sample)[ \t]"
    r"(?:[\w-]{1,16}[ \t]){0,2}[\w-]{0,16}$",
    re.IGNORECASE,
)
"""What is said of a password that is none: "a bad password"."""
_NAMES_PASSWORD_OF = re.compile(
    r"[ _-]?(?:polic|manager|field|page|prompt|generator|reset|checker|strength|rule|box|hash"
    r"|length|dialog"
    r"|check|format|feld|richtlinie)",
    re.IGNORECASE,
)


def _fronted(text: str, start: int, end: int, kind: str) -> Iterator[Span]:
    """Yield the secret that stands before its name, in the same line."""
    if kind not in ("password", "short", "pin") or _NAMES_PASSWORD_OF.match(text, end):
        return
    low = max(0, start - _BEFORE_CHARS)
    low = text.rfind("\n", low, start) + 1 or low
    before = text[low:start]
    if kind == "pin":
        if (found := _CJK_FRONT.search(before)) and _KEYPAD_CODE.fullmatch(found["value"] or ""):
            yield low + found.start("value"), low + found.end("value")
        return
    if found := _THE_WORD.search(before):
        yield low + found.start("value"), low + found.end("value")
        return
    if _JUDGED.search(before[-40:]):
        return
    for found, next_to in _candidates(before):
        group = "value" if found["value"] else "bare"
        place = low + found.start(group), low + found.end(group)
        place = place[0], place[0] + len(text[slice(*place)].rstrip(TRAILING + ",;"))
        quoted = (
            next_to
            or bool(_AS.fullmatch(text, place[1], start))
            or (place[0] > 0 and text[place[0] - 1] in '"«„“「*`')
        )
        if _is_fronted(text[slice(*place)], quoted=quoted):
            yield place
            return


def _candidates(before: str) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield what may be the value before a name, and whether the two are next to each other."""
    if related := _RELATED.search(before):
        for written in _WRITTEN.finditer(before, 0, related.start()):
            yield written, written.end() == related.start()
    if found := _WITH.search(before):
        yield found, False
    if found := _CJK_FRONT.search(before):
        yield found, True


def _is_fronted(value: str, *, quoted: bool) -> bool:
    if is_harmless(value, quoted='"') or _PRODUCT.search(value) or "://" in value:
        return False
    if quoted:
        return looks_strong(value) or looks_joined(value)
    return looks_invented(value) or (
        looks_strong(value) and looks_joined(value.rstrip("0123456789!#._-"))
    )


_SEVERAL = re.compile(
    r"[^\n\"„“«「=]{0,60}?(?:[:：=]|(?<!\w)(?:is|was|ist|lautet|est|es|è|é"
    r"|jest)(?!\w))[ \t\u00a0]{0,3}"
    r"(?:\"(?P<a>[^\"\n]{8,120})\"|[„“](?P<b>[^“”\"\n]{8,120})[“”\"]|«\s?(?P<c>[^»\n]{8,120}?)\s?»"
    r"|「(?P<d>[^」\n]{8,120})」)"
)


def several_words(text: str, end: int) -> Iterator[Span]:
    """Yield the words in quotes that are a passphrase: "three lame ducks"."""
    if found := _SEVERAL.match(text, end):
        group = found.lastgroup or ""
        words = found[group].split()
        if 3 <= len(words) <= 10 and not is_harmless(found[group], quoted='"'):
            yield found.span(group)


_ONE = re.compile(
    r"[^\n:=.;?!]{0,60}?(?:[:：=]|(?<!\w)(?:is|was|ist|lautet|est|es|è|é|to|jest)(?!\w))[ \t]{1,3}"
    r"[\"'`*_«„“]{0,2}(?P<value>[^\W\d_]{4,32})"
)


def _spelled(text: str, end: int) -> Iterator[Span]:
    """Yield a word that is said to be written in small letters, or as one."""
    found = _ONE.match(text, end)
    if found and found["value"].lower() not in NO_SECRETS and is_spelled(text, found.end()):
        yield found.span("value")
