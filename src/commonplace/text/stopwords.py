"""Stop words: a standard list of English, shortened; and function words of other languages."""

from __future__ import annotations

__all__ = [
    "ENGLISH",
    "ENGLISH_REQUESTS",
    "FIRST_PERSON",
    "FUNCTION_WORDS",
    "PREAMBLE",
    "QUESTION_WORDS",
    "WHOLE_DAY_REQUESTS",
]


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

QUESTION_WORDS = _words("what when where who whom whose which why how")

PREAMBLE = ENGLISH_REQUESTS - {"like"} | _words("""
    question questions idea clue quick quickly forgot forget forgotten recall check checking
    wait again appreciate curious wonder wondered wondering talk talked mention mentioned
    discussed told ask asked note notes memory memories record records file files sure hey hi
    hello ok okay thanks sorry kindly anyone someone possible possibly maybe hope try trying
    figure able
""")
"""Words before a question word that ask nothing, as in "quick question: when …"."""

WHOLE_DAY_REQUESTS = {
    "en": ENGLISH_REQUESTS
    | _words("""
        happen happened happens happening occur occurred going talk talked topic topics discuss
        discussed chat chatted conversation conversations recap summary summarize summarise overview
        everything anything lot lots note noted notes entry entries log logged logs write wrote
        written record recorded journal diary
    """),
    "de": _words("passiert passierte geschehen geschah los gemacht getan besprochen alles"),
    "fr": _words("passe passes fait faites faisait arrive discute parle tout"),
    "es": _words("paso hice hicimos ocurrio sucedio hablamos hablado hecho todo"),
    "it": _words("successo accaduto fatto parlato discusso tutto"),
    "pt": _words("aconteceu fiz fizemos feito falamos tudo"),
    "nl": _words("gebeurd gebeurde gedaan deed deden besproken alles"),
    "sv": _words("hande hant gjorde gjort hendte skete skjedde skedde allt alt"),
}
"""Words, folded, by which a question that names a day asks for all of that day."""

FIRST_PERSON = {
    "en": _words("i my mine myself user"),
    "de": _words("ich mein meine meinem meinen meiner"),
    "fr": _words("je j mon ma mes"),
    "es": _words("yo mi mis"),
    "it": _words("io mio mia miei mie"),
    "pt": _words("eu meu minha meus minhas"),
    "nl": _words("ik mijn"),
    "sv": _words("jag jeg min mitt mina mit mine"),
}
"""Words by which a question asks for what its asker does or has. (Not "me": what was recommended
to me, another one said.)"""

FUNCTION_WORDS = {
    "de": _words("""
        der die das dem den des ein eine einen einem einer im vom zum bei mit von auf fur
        uber viel viele welche welcher welches welchem welchen ich du er sie es wir ihr mich
        mir uns unser unsere unserem unseren unserer mein meine meinem meinen meiner dein
        deine sein seine ihre ihrem ihren ist sind war hat haben habe wird werden wurde kann
        muss wer wo wie was wann wem wen woher wohin warum womit worin an aus nach bis durch
        gegen ohne um unter vor zu zur in am so auch noch gerade zurzeit derzeit aktuell und
        oder sich man da dort
    """),
    "fr": _words("""
        le la les l un une du de d au aux en pour sur quel quelle quels quelles combien je j
        tu il elle on nous vous ils elles me m te se s mon ma mes ton ta ses son sa notre
        nos votre leur leurs est sont a ai as avons ont fait va qui que quoi ou quand
        comment dans avec chez sans sous vers par ce cet cette ces c qu et y ne actuellement
        actuel actuelle
    """),
    "es": _words("""
        los las una un del al la para por con de cual cuanto cuanta cuantos cuantas yo tu el
        ella nosotros ellos me te se nos mi mis su sus nuestro nuestra nuestros nuestras es
        esta estan son ha han he hay tiene va quien quienes donde cuando como a en sin sobre
        hasta desde y o les le lo que actualmente actual ahora
    """),
    "it": _words("""
        il lo la l gli le un una uno della dell del di da per su dal nel nella i quale quali
        quanto quanta quanti io tu lui lei noi loro mi ti si ci vi mio mia miei mie suo sua
        nostro nostra nostri nostre e sono ha ho hanno abbiamo sta va viene chi che dove
        quando come a al alla alle allo ai agli con in sul sulla tra fra col dei delle degli
        dai dalla cosa attualmente attuale
    """),
    "pt": _words("""
        o os a um uma do da dos das de na no em para por qual quais quanto quanta eu tu ele
        ela nos eles me te se meu minha meus minhas seu sua nosso nossa nossos nossas e esta
        estao sao foi tem vai quem que onde quando como ao aos as com nas dum numa pelo pela
        pro pra ca atualmente atual
    """),
    "nl": _words("""
        de het een van op voor aan in welk welke hoeveel ik jij je hij zij ze wij we jullie
        mij me ons onze mijn jouw zijn haar hun is heeft hebben heb wordt worden gaat wie
        wat waar wanneer hoe waarmee uit naar bij met tot om te er en of ook die dat dit
        deze
    """),
    "sv": _words("""
        en ett pa et til till fra vilken vilket hvilken hvilket jag du han hon vi ni de dem
        mig oss min mitt mina sin sitt var vart vara vores vaar ar er har hade blir vem vad
        nar hur hvem hvad hva hvor hvornar i med om hos ved af av som och og den det der dig
        sig jeg ham hende henne honom deras deres sine sit dess ska skal vil vill eller att
        at mange manga man bliver blev nogen nagon noget nagot under efter før fore inom
        mellem mellan
    """),
    "fi": _words("""
        mina sina han me te he on ovat oli kuka mika missa milloin miten kenen meidan mita
        joka ja
    """),
    "pl": _words("""
        w z od dla na do jaki jaka jakie jakim jakiego ile ja ty on ona my wy oni mi mnie
        nam nas sie moj moja moje nasz nasza nasze swoj jego jej ich jest sa ma maja byc kto
        co gdzie kiedy jak czym kim po o u ze za przy przez ten ta to te i teraz obecnie
    """),
    "cs": _words("""
        ja ty on ona my vy oni mi nam nas nase muj moje je jsou ma kdo co kde kdy jak v ve s
        se u o k po
    """),
    "ru": _words("""
        от для из с какой какая какое какие каком какую сколько я ты он она мы вы они мне
        меня нам нас наш наша наше наши мой моя мое у в во на по за к о об при это кто что
        где когда как кому чем есть и сейчас теперь ми ви хто де коли як наші що є
    """),
    "tr": _words("""
        ben sen o biz siz onlar bizim benim kim ne nerede nasil ve ile icin bu su mi anda
        simdi
    """),
    "el": _words("""
        ο η το οι τα του της των τον την στο στη στην στον με για από που πού ποιος ποια
        ποιο πότε πώς είναι μου μας και
    """),
    "uk": _words("""
        що хто де коли як який яка яке які скільки у в на з із до від для про за по це є був
        була ми ви він вона вони я ти мій моя наш наша нашого нашої і та й не зараз тепер
    """),
    "hu": _words("""
        a az egy ki kit mi mit mikor hol hova honnan hogyan melyik mennyi hány van volt lesz
        nem és hogy nálunk én te ő ők engem minket most jelenleg
    """),
    "ro": _words("""
        care ce cine unde când cum cât câte câți la de din în pe cu pentru este e sunt are
        am ai au un o și nu mea meu mele noastră nostru noștri acum
    """),
}
"""Words of other languages that name no subject; those of the Nordic ones are together."""
