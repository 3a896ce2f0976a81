"""Stop words of English: a standard list, shortened."""

from __future__ import annotations

__all__ = ["ENGLISH", "ENGLISH_REQUESTS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words("""
    a an the this that these those such some any each every either neither both all no none not nor
    other another same own
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself
    it its itself we us our ours ourselves they them their theirs themselves one
    someone anyone everyone somebody anybody everybody something anything everything nothing
    am is are was were be been being do does did doing done has have had having
    can could shall should will would might must ought
    what which who whom whose when where why how whether whatever whichever whoever whenever
    wherever
    and or but if because as until while although though unless since so than then else
    of at by for with about against between among into through during before after above below to
    from up down in out on off over under upon onto within without toward towards across along
    around behind beside besides beyond despite except near per via
    there here too very just also only even still yet ever more most much many few less least
    again further once rather quite
    aren couldn didn doesn hadn hasn haven isn mightn mustn needn shan shouldn wasn weren wouldn
    ll re ve s t d m
    let lets im ive youre theyre thats whats whos dont cant didnt doesnt isnt wasnt wont
""")
"""Function and question words; ``may`` and ``don`` are left out, a month and a name."""

ENGLISH_REQUESTS = _words("""
    find show get got give given tell told help please know want wanted need like look looking
    search remind remember say said says see think mean
    thing things stuff
    today yesterday tomorrow now later earlier recently ago before after just
    may don won ain
""")
"""Words of asking and of time, which carry no topic either."""
