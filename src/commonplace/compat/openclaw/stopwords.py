"""Stop words by language, as OpenClaw 2026.3.24 removes them in keyword extraction.

Standard lists, shortened; edge cases follow the outputs of that build.
"""

from __future__ import annotations

from commonplace.text.stopwords import ENGLISH, ENGLISH_REQUESTS

__all__ = [
    "ALL_LANGUAGES",
    "ARABIC",
    "CHINESE",
    "JAPANESE",
    "KOREAN",
    "KOREAN_PARTICLES",
    "PORTUGUESE",
    "SPANISH",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SPANISH = _words("""
    el la los las un una unos unas lo al del de en con por para sin sobre entre hasta desde hacia
    contra durante según ante bajo tras y e o u ni que qué quien quién quienes cual cuál cuales
    cuáles cuando cuándo donde dónde como cómo cuanto cuánto porque pero aunque si sí no
    yo tú usted ustedes él ella ello ellos ellas nosotros nosotras vosotros me te se nos os le les
    mi mis tu tus su sus nuestro nuestra nuestros nuestras este esta esto estos estas ese esa eso
    esos esas aquel aquella aquellos aquellas otro otra otros otras
    es son era eran fue fueron ser sido siendo está están estaba estaban estar estoy estamos
    ha han he hemos había habían haber hay tiene tienen tener tengo hace hacer puede pueden poder
    muy más menos también tampoco ya aún todavía solo sólo así
    hoy ayer mañana ahora antes después luego recientemente
    cosa cosas algo nada ayuda ayudar buscar busca encontrar mostrar muestra dime decir favor
""")

PORTUGUESE = _words("""
    o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às por pelo pela pelos
    pelas para pra com sem sobre entre até desde contra durante sob
    e ou nem que quê quem qual quais quando onde como quanto porque porquê mas embora se sim não
    eu tu você vocês ele ela eles elas nós vós me te lhe lhes meu minha meus minhas teu tua seu sua
    seus suas nosso nossa nossos nossas este esta isto estes estas esse essa isso esses essas
    aquele aquela aquilo aqueles aquelas outro outra outros outras
    é são era eram foi foram ser sido sendo está estão estava estavam estar estou estamos
    há tem têm tinha tinham ter tenho faz fazer pode podem poder
    muito mais menos também já ainda só assim
    hoje ontem amanhã agora antes depois recentemente
    coisa coisas algo nada ajuda ajudar buscar busca encontrar mostrar mostra diga dizer favor
""")

ARABIC = _words("""
    في من إلى الى على عن مع بين حتى منذ خلال بعد قبل عند حول ضد دون بدون لدى
    و أو او ثم لكن بل إذا اذا لو أن ان إن لأن كما كي ل ب ك ف
    ما ماذا من متى أين اين كيف لماذا هل أي اي كم
    أنا انا أنت انت هو هي هم هن نحن أنتم انتم
    هذا هذه ذلك تلك هؤلاء أولئك الذي التي الذين اللاتي
    كان كانت كانوا يكون تكون ليس ليست لا لم لن قد سوف
    كل بعض غير نفس أيضا ايضا فقط جدا هنا هناك
    اليوم أمس امس بالأمس بالامس غدا الآن الان مؤخرا
    شيء أشياء اشياء ساعدني مساعدة ابحث أعطني اعطني أخبرني اخبرني أظهر
""")

CHINESE = _words("""
    的 了 着 过 和 与 或 及 而 但 在 是 有 不 没 也 都 就 还 又 很 把 被 让 给 对 从 到 向 为 以 于
    吗 呢 吧 啊 呀 嘛 哦 个 们 得 地 之 其
    我 你 他 她 它 您 我们 你们 他们 她们 它们 自己
    这 那 哪 这个 那个 哪个 这些 那些 哪些 这里 那里 哪里 这样 那样
    什么 怎么 怎样 如何 为什么 谁 何时 多少 几 是否
    因为 所以 如果 虽然 但是 然后 可以 可能 应该 需要 已经 正在 一个 一些 没有 不是 就是
    昨天 今天 明天 现在 之前 以前 之后 以后 最近 刚才
    东西 事情 帮 帮忙 帮助 找 查找 请 请问 告诉 显示
    关于
""")

JAPANESE = _words("""
    これ それ あれ どれ この その あの どの ここ そこ あそこ どこ こと もの ため よう わけ はず
    どう なぜ なに なん いつ だれ どんな どうして どうやって いくつ いくら
    です ます でした ました ません でしょう だった だろう である する した して いる ある なる
    いた いて れる られる せる させる できる ない なかった たい たら なら
    そして しかし また または および でも だから それで それから けど けれど ので のに から まで
    より など だけ しか ほど くらい ぐらい ばかり という とか には では とは への
    私 僕 俺 彼 彼女 何 誰 今日 昨日 明日 今 最近 先ほど 前 後 さっき
    ください 教えて 見せて 探して 助けて お願い
""")

KOREAN = _words("""
    은 는 이 가 을 를 의 에 에서 로 으로 와 과 도 만 까지 부터 한테 에게 께 처럼 보다
    나 나는 내 내가 나를 너 너는 네가 우리 우리는 저 저는 제 제가 그 그는 그녀 그들 당신
    이것 그것 저것 이런 그런 저런 여기 거기 저기 이거 그거 저거
    무엇 무슨 뭐 뭘 어떤 어떻게 왜 언제 어디 어디서 누구 누가 얼마 몇
    그리고 그러나 그런데 그래서 하지만 또는 혹은 그러면 때문 때문에 만약 만일 및
    있다 있는 있어 있었다 없다 없는 하다 하는 했다 했던 한 할 해 되다 되는 된 이다 입니다 아니다
    것 거 수 때 등 더 덜 매우 아주 너무 정말 좀 잘 다 또 안 못 아직 이미 모두
    오늘 어제 내일 지금 아까 방금 나중에 최근 최근에
    찾아 찾아줘 보여줘 알려줘 말해줘 도와줘 부탁 제발
""")

ALL_LANGUAGES = (
    ENGLISH | ENGLISH_REQUESTS | SPANISH | PORTUGUESE | ARABIC | CHINESE | JAPANESE | KOREAN
)
"""Words that keyword extraction removes, whatever the language of the query."""

KOREAN_PARTICLES = (
    *("으로부터", "에서는", "에서의", "에게서", "한테서", "이라고", "이라는"),
    *(
        "에서",
        "에게",
        "한테",
        "으로",
        "부터",
        "까지",
        "처럼",
        "보다",
        "마다",
        "밖에",
        "대로",
        "에는",
    ),
    *("이나", "이랑", "라고", "라는", "하고", "조차"),
    *("은", "는", "이", "가", "을", "를", "의", "에", "로", "와", "과", "도", "만", "나", "랑"),
)
"""Particles at the end of nouns, the longer ones first."""
