"""Stop words: a standard list of English, shortened; and function words of other languages."""

from __future__ import annotations

__all__ = [
    "ENGLISH",
    "ENGLISH_REQUESTS",
    "FIRST_PERSON",
    "FUNCTION_WORDS",
    "PREAMBLE",
    "QUESTION_WORDS",
    "SECOND_PERSON",
    "TALK_WORDS",
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

TALK_WORDS = _words("""
    discuss discussed discussing discussion discussions talk talked talking conversation
    conversations
""")
"""Words that ask what was said of a thing: any line of a talk may be of one, and few say so."""

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
    "en": _words("i my mine myself we our ours user"),
    "de": _words("ich mein meine meinem meinen meiner wir unser unsere unserem unseren unserer"),
    "fr": _words("je j mon ma mes nous notre nos"),
    "es": _words("yo mi mis nosotros nuestro nuestra nuestros nuestras"),
    "it": _words("io mio mia miei mie noi nostro nostra nostri nostre"),
    "pt": _words("eu meu minha meus minhas nosso nossa nossos nossas"),
    "nl": _words("ik mijn wij we ons onze"),
    "sv": _words("jag jeg min mitt mina mit mine vi vor vores"),
}
"""Words by which a question asks for what its asker does or has. (Not "me": what was recommended
to me, another one said.)"""

SECOND_PERSON = {
    "en": _words("you your yours"),
    "de": _words("du dir dich dein deine deinem deinen deiner"),
    "fr": _words("tu te t toi ton ta tes vous votre vos"),
    "es": _words("tu te ti tus usted"),
    "it": _words("tu ti te tuo tua tuoi tue lei"),
    "pt": _words("tu te ti voce teu tua seu sua"),
    "nl": _words("jij je jou jouw u uw"),
    "sv": _words("du dig deg din ditt dina dit dine"),
}
"""Words, folded, by which a question asks for what a model has said."""

FUNCTION_WORDS = {
    "de": _words("""
        der die das dem den des ein eine einen einem einer im vom zum bei mit von auf fur
        uber viel viele welche welcher welches welchem welchen ich du er sie es wir ihr mich
        mir uns unser unsere unserem unseren unserer mein meine meinem meinen meiner dein
        deine sein seine ihre ihrem ihren ist sind war hat haben habe wird werden wurde kann
        muss wer wo wie was wann wem wen woher wohin warum womit worin an aus nach bis durch
        gegen ohne um unter vor zu zur in am so auch noch gerade zurzeit derzeit aktuell und
        oder sich man da dort nicht nur als wenn weil dass ob beim kein keine keinen keinem
        keiner darf dürfen soll sollen sollte sollten können könnte könnten kannst müssen
        musste möchte will wollen wollte gibt geht seinem seinen seiner seines ihres ihrer
        dieser diese dieses diesem diesen jeder jede jedes jedem jeden alle allen aller
        waren hatte hatten hast bist seid werde wurden sei wäre dann denn doch aber sondern
        also jetzt schon eben hier mehr sehr zwischen seit während wegen trotz statt ihn ihm
        ihnen euch euer eure unseres meines deinem deinen deiner damit dafür davon daran
        darauf dabei dazu wieso weshalb wieviel selbst etwas nichts jemand niemand andere
        anderen anderer anderes anderem
    """),
    "fr": _words("""
        le la les l un une du de d au aux en pour sur quel quelle quels quelles combien je j
        tu il elle on nous vous ils elles me m te se s mon ma mes ton ta ses son sa notre
        nos votre leur leurs est sont a ai as avons ont fait va qui que quoi ou quand
        comment dans avec chez sans sous vers par ce cet cette ces c qu et y ne actuellement
        actuel actuelle pas non si peut peuvent pouvons peux puis pourrait faut doit doivent
        dois devons veut veux voulons être avoir été était étaient étais suis sommes avait
        avaient aurait serait sera seront ceux celle celui celles cela ça lui eux même mêmes
        tous toutes donc mais comme lorsque pendant depuis entre contre parce alors aussi
        encore déjà toujours jamais très ici dont laquelle lequel lesquels lesquelles aucun
        aucune autre autres chaque
        avant après
    """),
    "es": _words("""
        los las una un del al la para por con de cual cuanto cuanta cuantos cuantas yo tu el
        ella nosotros ellos me te se nos mi mis su sus nuestro nuestra nuestros nuestras es
        esta estan son ha han he hay tiene va quien quienes donde cuando como a en sin sobre
        hasta desde y o les le lo que actualmente actual ahora no si puede pueden puedo
        podemos debe deben debo debemos ser estar estaba estaban fue fueron sido soy somos
        tengo tienes tenemos tienen tenía había hemos haya quiero quiere este estos estas
        ese esa esos esas eso esto aquel aquella aquello ellas usted ustedes nosotras cada
        otro otra otros otras mismo misma tanto muy también pero porque pues aunque mientras
        ni entre según durante aquí allí ya todavía aún alguien algo nada nadie unos unas
        antes después
    """),
    "it": _words("""
        il lo la l gli le un una uno della dell del di da per su dal nel nella i quale quali
        quanto quanta quanti io tu lui lei noi loro mi ti si ci vi mio mia miei mie suo sua
        nostro nostra nostri nostre e sono ha ho hanno abbiamo sta va viene chi che dove
        quando come a al alla alle allo ai agli con in sul sulla tra fra col dei delle degli
        dai dalla cosa attualmente attuale non se può posso possono possiamo deve devo
        devono dobbiamo vuole voglio essere avere erano stato stata stati siamo siete avete
        aveva avevano questo questa questi queste quello quella quelli quelle ne ancora già
        sempre molto più anche però perché mentre ma oppure durante senza verso fino ogni
        altro altra altri altre stesso stessa qui qualcuno qualcosa niente nessuno nei nelle
        nello sui sulle sugli
        dopo
    """),
    "pt": _words("""
        o os a um uma do da dos das de na no em para por qual quais quanto quanta eu tu ele
        ela nos eles me te se meu minha meus minhas seu sua nosso nossa nossos nossas e esta
        estao sao foi tem vai quem que onde quando como ao aos as com nas dum numa pelo pela
        pro pra ca atualmente atual não pode podem posso podemos deve devem devo devemos ser
        estar foram sido sou somos tenho temos tinha tinham havia este estes estas esse essa
        esses essas isto isso aquele aquela aquilo você vocês lhe lhes cada outro outra
        outros outras mesmo mesma tanto muito também mas porque pois enquanto nem entre
        durante aqui ali já ainda alguém algo nada ninguém uns umas pelos pelas neste nesta
        nesse nessa
        antes depois desde
    """),
    "nl": _words("""
        de het een van op voor aan in welk welke hoeveel ik jij je hij zij ze wij we jullie
        mij me ons onze mijn jouw zijn haar hun is heeft hebben heb wordt worden gaat wie
        wat waar wanneer hoe waarmee uit naar bij met tot om te er en of ook die dat dit
        deze niet geen kan kunnen kun moet moeten mag mogen wil willen zal zullen zou zouden
        waren werd werden doet gaan als maar omdat terwijl nu nog wel hier daar uw jou men
        iemand iets niets niemand elke elk alle andere ander zelf tussen tegen zonder
        tijdens sinds waarom
    """),
    "sv": _words("""
        en ett pa et til till fra vilken vilket hvilken hvilket jag du han hon vi ni de dem
        mig oss min mitt mina sin sitt var vart vara vores vaar ar er har hade blir vem vad
        nar hur hvem hvad hva hvor hvornar i med om hos ved af av som och og den det der dig
        sig jeg ham hende henne honom deras deres sine sit dess ska skal vil vill eller att
        at mange manga man bliver blev nogen nagon noget nagot under efter før fore inom
        mellem mellan inte ikke kan kunde kunne skulle skulde måste må får fick være varit
        hadde havde då så fordi eftersom också også bara denna detta denne dette disse dessa
        alla alle andra andre annat annen själv selv där inga ingen intet mellom utan uten
        från vid
    """),
    "fi": _words("""
        mina sina han me te he on ovat oli kuka mika missa milloin miten kenen meidan mita
        joka ja ei jos kun mutta vain voi pitää tämä
        ennen jälkeen
    """),
    "pl": _words("""
        w z od dla na do jaki jaka jakie jakim jakiego ile ja ty on ona my wy oni mi mnie
        nam nas sie moj moja moje nasz nasza nasze swoj jego jej ich jest sa ma maja byc kto
        co gdzie kiedy jak czym kim po o u ze za przy przez ten ta to te i teraz obecnie nie
        czy był była było były mam mamy może mogą można musi trzeba tego tej tym tych tak
        jako jeśli gdy lub albo oraz więc tylko też także już jeszcze bardzo bez pod nad
        przed między aby żeby który która które których którym ktoś coś nic nikt każdy
        wszystkie
    """),
    "cs": _words("""
        ja ty on ona my vy oni mi nam nas nase muj moje je jsou ma kdo co kde kdy jak v ve s
        se u o k po není jsem jsi jsme jste byl byla bylo byly být může mohou musí mít máme
        tento tato toto který která které že když protože nebo jen také už ještě bez pod nad
        před mezi při pro od do za
    """),
    "ru": _words("""
        от для из с какой какая какое какие каком какую сколько я ты он она мы вы они мне
        меня нам нас наш наша наше наши мой моя мое у в во на по за к о об при это кто что
        где когда как кому чем есть и сейчас теперь ми ви хто де коли як наші що є не ни ли
        если бы был была было были быть нет может могут можно надо нужно должен должна этот
        эта эти этого тот те того его ее их себя сам свой все который которая которые чтобы
        потому но или только тоже также уже еще очень без под над перед между через после до
        так
    """),
    "tr": _words("""
        ben sen o biz siz onlar bizim benim kim ne nerede nasil ve ile icin bu su mi anda
        simdi değil var yok olan olarak gibi kadar çok ama veya çünkü neden hangi kaç
        önce sonra
    """),
    "el": _words("""
        ο η το οι τα του της των τον την στο στη στην στον με για από που πού ποιος ποια
        ποιο πότε πώς είναι μου μας και δεν μη αν να θα ήταν έχει έχω μπορεί μπορώ πρέπει
        αυτό αυτή αυτός όταν γιατί αλλά μόνο πολύ
    """),
    "uk": _words("""
        що хто де коли як який яка яке які скільки у в на з із до від для про за по це є був
        була ми ви він вона вони я ти мій моя наш наша нашого нашої і та й не зараз тепер ні
        чи якщо було були немає може можна треба цей ця ці того його її їх себе свій все щоб
        але або тільки також вже ще дуже без під над перед між через після
    """),
    "hu": _words("""
        a az egy ki kit mi mit mikor hol hova honnan hogyan melyik mennyi hány van volt lesz
        nem és hogy nálunk én te ő ők engem minket most jelenleg ha csak már még kell lehet
        vannak voltak ez ezt azt mint vagy mert
    """),
    "ro": _words("""
        care ce cine unde când cum cât câte câți la de din în pe cu pentru este e sunt are
        am ai au un o și nu mea meu mele noastră nostru noștri acum dacă poate trebuie să
        fost era erau acest această aceste sau dar că doar foarte fără
        înainte după
    """),
    "vi": _words("""
        là của gì có những một các trong đã được cho không nào ai ở đâu khi và với từ đến về
        bao nhiêu này đó thì mà bị hoặc như tại sao làm tôi bạn chúng ta họ nó mình ấy sẽ
        đang rồi cũng vẫn còn chỉ đều trên dưới trước sau bởi vì nếu nhưng để hiện nay bây
        giờ nên phải rất nhất ngoài giữa qua do
    """),
    "id": _words("""
        apa siapa kapan mana dimana bagaimana mengapa kenapa berapa yang di ke dari untuk
        dengan pada dalam oleh ini itu dan atau saya aku kamu anda dia ia kami kita mereka
        adalah ialah ada sudah telah belum akan sedang tidak bukan sekarang saat nya juga
        lagi bisa dapat harus jika kalau karena tetapi tapi sebelum sesudah setelah sampai
        antara
    """),
    "ar": _words("""
        ما ماذا من في هو هي هم كم متى أين كيف على إلى الذي التي الذين كان كانت هل عن مع أي
        لماذا هذا هذه ذلك تلك و أو ثم لا لم لن قد أن إن أنا أنت نحن كل بعد قبل عند بين منذ
        حتى غير لدى الآن حاليا كما إذا لكن بل يكون تكون ليس ليست فيه فيها به بها له لها منه
        منها
    """),
    "he": _words("""
        מה מי מתי איפה היכן איך כיצד למה מדוע כמה איזה איזו אילו של את על אל עם בין לפני
        אחרי עד גם רק כבר עוד לא כן אם כי או אבל הוא היא הם הן אני אתה אנחנו שלי שלנו שלו
        שלה שלך זה זאת זו אלה היה הייתה היו יש אין עכשיו כרגע כל מן
    """),
    "hi": _words("""
        क्या कौन कब कहाँ कहां कैसे क्यों कितने कितनी कितना किस किसने किसे किसका किसकी का के
        की को में से पर ने है हैं था थी थे हो होता होती होते और या एक यह वह ये वे इस उस इन
        उन जो कि भी ही तो नहीं मैं हम तुम आप मेरा मेरी मेरे हमारा हमारी हमारे अब अभी लिए साथ
        बाद पहले द्वारा तक कोई कुछ सा सी
    """),
}
"""Words of other languages that name no subject; those of the Nordic ones are together.

Without those that are English or a name where their accents are taken off: "thế", "mấy"."""
MIN_WORDS = {"id": 2, "vi": 2}
"""Function words from which on a text is of a language where they are also names, as Ada and Bao
are; of others, one is enough."""
