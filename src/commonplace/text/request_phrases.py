"""Request phrases: what a question says besides what it asks for, as "can you tell me".

All repetitions are bounded, so that time is linear in the length of the text.
"""

from __future__ import annotations

import re

__all__ = ["REQUEST", "REQUEST_END"]

_PARTS = {
    "ASK ": r"(?:CAN you|(?:if )?you CAN) (?:(?:please|kindly|also) ){0,2}",
    "CAN": "(?:can|could|would|will)",
    "TELL": r"(?:tell|remind|show|give|help|find|check|look up|search|say|explain|recall|list)\b",
    " TO_ME": r"(?: (?:me|us|to|remember|recall|know|find|out|see|with|of|for|up|again)){0,5}",
    " ABOUT": r"(?: (?:about|of|if|whether|that))?",
    "SUMMARY": (
        r"(?:summari[sz]e|sum up|recap(?= (?:the|all|our|my|what|this|last|yesterday)\b)"
        r"|(?:an? |the )?(?:(?:short|brief|quick) )?(?:summary|recap) of)"
    ),
    "OUR": r"(?: (?:the|all|our|their|my|whole|entire)){0,3}",
    "TALK": r"(?:discussion|conversation|talk|debate|chat|meeting)s?",
    " ON": r" (?:about|on|of|over|regarding|concerning|around)",
    "NOTES": r"(?:(?:in|up|the|my|your|our|all|past) ){0,4}(?:memory|memories|notes|logs|files)",
}
_PHRASES = r"""
ASK TELL TO_ME ABOUT
(?:do|did) you (?:(?:still|happen to|also) ){0,2}(?:remember|recall|know) ABOUT
i(?:['’]d| would) like to (?:know|see|hear|find out) ABOUT
i (?:just )?(?:want|wanted|need|wish) to (?:know|find out|see|ask|remember|check|recall|hear) ABOUT
i(?:['’]m| am| was) (?:just )?(?:wondering|curious|trying to (?:remember|recall)) ABOUT
(?:tell|remind|show|give|let) (?:me|us)(?: know)? ABOUT
help (?:me|us) (?:to )?(?:remember|recall|find|understand) ABOUT
(?:search|check|look|go)(?: through)? NOTES(?: (?:for|about))?
(?:ASK )?SUMMARY(?:OUR TALK ON)?
(?:kannst|könntest) du (?:mir |uns )?(?:bitte |noch )?(?:sagen|zeigen|verraten|nennen)
weißt du noch|erinnerst du dich(?: noch)?(?: daran| an)?
ich (?:möchte|will) wissen|(?:sag|zeig|nenn) mir(?: bitte)?
(?:peux|pourrais)-tu me (?:dire|rappeler|montrer)|tu peux me (?:dire|rappeler|montrer)
(?:tu te souviens|te souviens-tu)(?: de)?|(?:dis|rappelle)-moi|je (?:veux|voudrais) savoir
¿?(?:puedes|podrías) (?:decirme|recordarme|mostrarme)|¿?(?:te acuerdas de|recuerdas)
dime|recuérdame|(?:quiero|quisiera) saber
(?:puoi|potresti) (?:dirmi|ricordarmi|mostrarmi)|ti ricordi(?: di)?|dimmi|vorrei sapere
(?:você )?(?:pode|poderia|podes) (?:me dizer|dizer-me|me lembrar|lembrar-me)
(?:lembras-te|você (?:se )?lembra)(?: de)?|diz-me|me diga|quero saber
(?:kun|kan) (?:je|jij) (?:me|mij) (?:vertellen|zeggen)|weet (?:je|jij) nog|vertel (?:me|mij)
ik wil weten|kan du (?:säga|berätta|sige|si|fortælle|fortelle)(?: mig| meg)?
(?:minns|husker) du|kommer du ihåg|jag vill veta|jeg vil(?:le)? (?:gerne )?vide
zusammenfassung (?:der|unserer) (?:diskussion|gespräche|unterhaltung) (?:über|zu)
résum(?:e|ez|er) (?:la|les|notre|nos) (?:discussion|conversation)s? (?:sur|à propos de)
resum(?:e|a|ir) (?:la|a|nuestra|nossa) (?:conversación|discusión|conversa|discussão) sobre
riassum(?:i|ere) (?:la|la nostra) (?:conversazione|discussione) su(?:ll?|ll[aoe]|i|gli)?
"""


def _alternatives() -> str:
    phrases = _PHRASES.strip().replace("\n", "|")
    for name, pattern in _PARTS.items():
        phrases = phrases.replace(name, pattern)
    return phrases


_GREETING = (
    r"(?:hey|hi|hello|ok|okay|so|well|please|thanks|thank you|also|and|but|bitte|hallo|por favor"
    r"|per favore|s['’]il te plaît|s['’]il vous plaît|alsjeblieft|tack)\b[ ,!.:]{1,3}"
)
REQUEST = re.compile(
    rf"(?:\A|(?<=[.?!;:] ))(?:{_GREETING}){{0,3}}"
    rf"(?:(?:{_alternatives()})(?!\w)[ ,:]{{0,3}}(?:{_GREETING}){{0,2}}){{1,3}}",
    re.IGNORECASE,
)
"""Beginning of a sentence that asks to be answered and nothing else."""
REQUEST_END = re.compile(
    r"(?:[ ,]{1,3}\b(?:for me|please|pls|thanks|thank you|if you (?:can|remember))\b){1,3}"
    r"(?=[ .?!]{0,5}\Z)",
    re.IGNORECASE,
)
"""End of a question that is polite and nothing else."""
