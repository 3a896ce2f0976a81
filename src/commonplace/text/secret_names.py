"""Words of secrets: names of passwords, keys and PINs, and values that are no secret, as patterns.

Names are searched in texts in lower case.
"""

from __future__ import annotations

import re

__all__ = [
    "HINTS",
    "NAMES",
    "NOT_A_CODE",
    "NOT_A_KEY",
    "NOT_A_SECRET",
    "NO_SECRETS",
    "QUALIFIED_KEY",
    "TECHNICAL",
    "kind_of",
]

_PASSWORDS = (
    r"passwords?|passwd|pass[ _-]?phrases?|passcodes?|pass[ _-]words?|pwd|pword|passwor[td]e?s?"
    r"|kennwort|kennwörter|zugangsdaten|mots? de passe|mdp|contrase(?:ñ|n)as?|senhas?|palavra-passe"
    r"|wachtwoord(?:en)?|has[łl](?:o|em|a)|парол[ьяюием]{1,3}|lösenord(?:et)?|adgangskode[nr]?"
    r"|passord(?:et)?|kodeord(?:et)?|app[ -]specific|salasana(?:ni|si|n|t)?|[şs]ifre(?:m|si|n|niz"
    r"|miz|ler)?|jelsz[óa]\w{0,4}"
    r"|hesl(?:o|a|em)|κωδικός(?: πρόσβασης)?|סיסמ[הא]|كلمة (?:السر|المرور)|पासवर्ड|mật khẩu"
    r"|kata sandi|parol(?:ă|ei)|requirepass|psk|community string|(?:pre-?)?shared[ _-]secret"
    r"|memorable (?:word|name|information)|geheimwort|masterauth"
    r"|code[ -]?words?|codewort|parola d['’]ordine|wi-?fiの?パス(?!ワ)"
    r"|security answers?|answer to (?:the|my|his|her|our|your) (?:security|secret) question"
    r"|antwort auf die (?:sicherheits|geheim)frage"
)
_CJK_PASSWORDS = r"パスワード|パスフレーズ|合言葉|密码|密碼|口令|비밀번호|암호|비번|패스워드|รหัสผ่าน"
_SHORT_PASSWORDS = (
    r"(?:(?:db|ssh|smb|root|admin|user|store|key|ftp|ldap|mail|smtp|pg|sql|auth|wifi|web|sys|net"
    r"|gpg|priv|enc|zip|vpn|sudo|become|host|login|my|trust|bind)_?)?(?:pass|pw)|clave|ww"
    r"|parola(?:m|sı)?"
)
_TOKENS = (
    r"secrets?|tokens?|credentials?|creds|zugang|wi-?fi|wlan|jetons?(?: d['’]acc[eè]s)?"
    r"|(?:log|sign)(?:ging|ged|s)?[ -]?(?:in|on)(?:to)?(?: [\"'`]?[\w.@-]{1,40}[\"'`]?){0,5}? with"
    r"|logins?|(?:log|sign) in"
    r"|(?:get|let)s?(?: [\w.@-]{1,20}){0,2} (?:in|on)(?:to)?(?: [\w.@-]{1,20}){0,3}? with"
    r"|(?:join|connect|unlock)(?:s|ed|ing)?(?: [\w.@-]{1,20}){0,3}? (?:with|using)"
    r"|(?:anmelden|einloggen)(?: \w{1,20}){0,3}? mit"
    r"|(?:se connecter|connecte[rz]?-?(?:toi|vous)?) avec"
    r"|(?:cl[ée]s?|clave|llave|chave|chiave)[ -](?:d['’]|de )?api|логин"
    r"|(?:(?<=api)|(?<=auth)|(?<=access)|(?<=refresh)|(?<=bot)|(?<=session)|(?<=deploy)"
    r"|(?<=bearer))[_-]tok"
    r"|identifiants?|credencia(?:les|is)|credenziali"
)
_KEYS = (
    r"keys?|schlüssel|cl[ée]s?|llave|chave|chiave|sleutel|ключ|klucz|nyckel"
    r"|(?<![^\W_])(?:pepper|salt)|(?<![^\W_])(?:auth(?:entication|orization)?|pat|bearer|hmac)"
)
_CJK_KEYS = r"キー|密钥|密鑰|金鑰|키|ログイン|登录"
_DOORS = (
    r"door|gate|alarm|entry|access|security|safe|unlock|lock|lockbox|garage|verification|sms|pin"
    r"|2fa|otp|mfa|token|login|sign-?in|confirmation|backup|recovery|one-time|parental|voicemail"
    r"|vault"
    r"|keypad|elevator|lift|screen|phone|card|activation|pairing"
)
_LOCKS = (
    r"locker|door|gate|alarm\w{0,6}|safe|\w{0,8}lock|garage|tablet|i?phone|ipad|keypad|elevator"
    r"|\w{0,8}tür|tresor|handy|porte|puerta|porta"
)
"""What a code opens."""
_NO_CODES = (
    "zip|postal|post|area|promo|country|source|discount|voucher|dress|error|exit|referral|tax|qr"
)
_PINS = (
    rf"(?:{_DOORS})(?:[ _-]|: )codes?|use code|totp|pins?(?:-?codes?|-?nummer|番号)?|geheimzahl"
    rf"|digicode|alarm (?:disarm|off)|pin-kód|lockbox|key ?safe"
    rf"|(?:your|ihr|dein|votre|ton|tu|su)(?: (?!{_NO_CODES})[\w-]{{1,16}}){{0,3}}"
    r" (?:code|código)|(?:2fa|mfa|otp)[ _-](?:backups?|recovery)(?:[ _-]codes?)?"
    rf"|pinkod[ei]?n?|wiederherstellungs-?codes?|codes de (?:secours|récupération)"
    r"|códigos de (?:recupera(?:ción|ção)|respaldo|backup)|codici di (?:backup|recupero|riserva)"
    r"|(?:scratch|emergency|single-use)[ -]codes|(?:リカバリー|バックアップ)コード"
    r"|(?:tür|alarm|zugangs|sicherheits|tor|bestätigungs|haus|zahlen|safe|tresor|schloss)-?codes?"
    r"|(?:code|codice|código) (?:secret|segreto|secreto|confidentiel)|code[ -](?:pin"
    r"|d['’](?:accès|entrée)|de (?:la porte|l['’]alarme|sécurité))"
    r"|código de (?:la puerta|acceso|seguridad|la alarma)|code (?:porte|portail|immeuble|alarme"
    r"|garage|coffre)|пин(?:-?код)?|код(?= (?:от|домофона|двери|подъезда|сейфа|для))|пін(?:-?код)?"
    r"|combination|combo|puk2?|(?:phone|screen|tablet|ipad|iphone|handy)[ -](?:un)?lock"
    r"|(?:locker|haustür|apartment|building)[ -]?codes?|keypad"
    r"|(?:bike |bicycle |luggage |suitcase |pad|door |gym |u-|cable |fahrrad|koffer|zahlen)"
    r"(?:lock|schloss)(?: codes?)?"
    r"|(?:code|codice|código|kod|codigo)(?= (?:for|für|to|of|pour|por|para|per|de|du|del|della|di"
    r"|do"
    r"|da|dos|vom|von|zum|zur|van|voor|till|til|do) )"
    r"|(?:opens|unlocks|disarms|opened|unlocked|disarmed|öffnet|entsperrt)(?= (?:with|mit))"
    rf"|(?:{_LOCKS})[^\n.,;:|]{{0,24}}? (?:code|pin)"
    r"|(?:setup|authenticator)[ _-](?:key|secret)"
    r"|(?:totp|otp|2fa|mfa)[ _-]?(?:(?:setup|auth\w{0,9})[ _-])?(?:secret|key|seed)|otps?"
)
_CJK_PINS = r"暗証番号|锁屏(?:密码)?|验证码|驗證碼|인증번호"
_PHRASES = (
    r"(?:seed|recovery|backup|mnemonic|secret|wallet|wiederherstellungs|hardware wallet)[ _-]?"
    r"(?:phrase|words?|sätze|mnemonic)s?|mnemonic|seed phrase"
    r"|seed(?! (?:list|order|catalog|packet|swap|mix))"
    r"|phrase (?:de récupération|secrète|mnémonique|de sauvegarde)|frase (?:semilla|semente"
    r"|-semente"
    r"|mnem[oó]nica|segreta"
    r"|de recupera(?:ci[oó]n|[cç][aã]o)|di recupero)|palabras (?:semilla|de recuperaci[oó]n)"
    r"|frase-(?:semente|semilla|seme)|palavras[ -](?:semente|de recuperação)|parole seme"
    r"|seed-?(?:zin|phrase"
    r"|wörter|words|frase)|herstelfrase|fraza (?:seed|odzyskiwania)|słowa (?:seed|odzyskiwania)"
    r"|phrase de (?:12|18|24) mots|frase d[ei] (?:12|18|24) (?:palabras|parole|palavras)"
    r"|parole di recupero|herstelzin|herstelwoorden|сид-фраза|мнемоника"
    r"|(?:12|15|18|21|24)[ -]words?"
    r"|metamask|ledger|trezor|electrum|phantom|bip-?39|wallet(?: backup)?|wörter|mots"
)
_CJK_PHRASES = r"助记词|助記詞|ニーモニック|(?:リカバリー|シード|復元)フレーズ|니모닉|복구 구문"
_SUFFIX = (
    r"(?:_?\d{1,2}|[_-](?:v\d|base|value|string|plain|text|plaintext|raw|prod(?:uction)?|dev"
    r"|test|staging"
    r"|stage|live|old|new|current|main|primary|secondary|default|local|write|rw|ro|hex|b64"
    r"|base64)){0,2}"
    r"(?!_{0,3}[a-z0-9à-öø-ÿа-яё])"
)
NAMES = re.compile(
    rf"(?P<phrase>(?<!\w)(?:{_PHRASES})(?!\w))|(?P<phrase_cjk>{_CJK_PHRASES})"
    rf"|(?P<pin>(?<![^\W_])(?:{_PINS}){_SUFFIX})|(?P<pin_cjk>{_CJK_PINS})"
    rf"|(?P<password>(?:{_PASSWORDS}){_SUFFIX})|(?P<password_cjk>{_CJK_PASSWORDS})"
    rf"|(?P<token>(?:{_TOKENS}){_SUFFIX})"
    rf"|(?P<short>(?<![^\W_])(?:{_SHORT_PASSWORDS}){_SUFFIX})"
    rf"|(?P<key>(?:{_KEYS}){_SUFFIX})|(?P<key_cjk>{_CJK_KEYS})"
)
"""Names of secrets; the group says of which kind."""


def kind_of(name: re.Match[str]) -> str:
    """Return the kind of a name: phrase, pin, password, short (for "pass"), token, or key."""
    return (name.lastgroup or "").removesuffix("_cjk")


HINTS = (
    "pass", "pw", " ww", "kennw", "zugang", "mots", "mot de", "mdp", "contrase", "senha", "wachtw",
    "parol", "hasł", "hasl", "парол", "lösen", "adgang", "salas", "şifre", "sifre", "jelsz",
    "hesl", "psk",
    "community", "geheim", "パス", "合言葉", "密", "口令", "비밀", "암호", "비번", "패스", "clave",
    "κωδικ", "סיסמ", "كلمة", "पास", "รหัส", "mật", "sandi", "identifiant", "credenc", "credenz",
    "secret", "token", "cred", "login", "log in", "sign in", "wifi", "wi-fi", "wlan", "логин",
    "key", "schlüssel", "clé", "cle", "llave", "chave", "chiave", "sleutel", "ключ", "キー", "金鑰",
    "klucz", "nyckel", "키", "ログ", "登录", "auth", "pat", "bearer", "hmac",
    "code", "codice", "código", "kod", "kód", "pin", "combination", "combo", "puk", "otp", "opens",
    "unlocks", "öffnet", "lock", "schloss", "пин", "пін", "暗証", "验证", "驗證", "인증",
    "logs in", "logged in", "logging in", "2fa", "mfa", "jeton", "anmelden", "einlogg", "connecte",
    "disarm", "frase", "secours", "parole di", "palabras", "herstel", "сид-", "мнемо", "助",
    "フレーズ", "ニーモ", "니모", "복구", "コード",
    "question", "answer", "antwort", "log on", "logs on", "logged on", "sign on", " in with",
    " on with", "join", "connect",
    "allarm", "cassaf", "lucch", " ww ", " psw", "オートロック", "金庫", "ロッカー", "ボックス",
    "门禁", "保险", "柜", "semente", "odzyski", "parole", "seed", "mnemonic",
    "phrase", "word", "wallet", "totp",
    "код", "metamask", "ledger", "trezor", "electrum",
    "phantom", "bip", "wörter", "pepper", "salt", "_tok", "-tok", "memorable", "shared", "setup",
    "dial", "digita", "tape", "type", "press", "punch", "tipp", "marca", "marque", "pulsa", "toets",
    "garage", "alarm", "cadenas", "caja", "kłódk", "cassett", "sejf", "kluis", "candado",
    "lucchett", "cadeado",
    "cofre", "coffre", "safe", "tresor", "gate", "portail", "portón", "cancell", "portão", "furtk",
    "bram", "domofon", "haustür", "front door", "skrytk", "padlock",
    "wpisz", "drück", "enter", "eingeb", "番号", "コード", "szyfr", "compose", "号码",
    "暗証", "锁屏",
)  # fmt: skip
"""Parts of which every name has one: a fast check."""

NOT_A_CODE = re.compile(
    r"(?:area|zip|post(?:al)?|country|error|exit|status|promo|coupon|discount|source|https?|qr"
    r"|bar|dress"
    r"|colou?r|product|article|course|booking|sort|swift|bank|iso|return|response|airport"
    r"|language|lang"
    r"|key|char|unicode|morse|tax|drug|icd|hs|naics|event|hex|game|cheat|job|tracking"
    r"|tariff)[ _-]?$"
)
"""End of what stands before the word "code" where it names no secret."""
NOT_A_SECRET = re.compile(
    r"(?:public(?:[ _-]?key)?|pub|design|colou?r|theme|semantic|primary|foreign|sort|partition"
    r"|cache|page|recv|unexpected|/etc/"
    r"|authorized|known|trusted|arn:[^\s]{0,60})"
    r"[ _.:-]{0,2}$"
    r"|(?<![a-z])(?:existing|next|continuation|start|end|stop|last|previous|input|output|page"
    r"|pagination|sync|special|mask|unk|pad|bos|eos|sep|cls)[_-]?$"
)
"""End of what stands before a name where it names no secret: "public key"."""
NOT_A_KEY = re.compile(
    r"(?<![a-z])(?:gpg|pgp|kms|idempotency|file|object|shard|unique|composite|lookup|message|row"
    r"|registry"
    r"|routing|map|dict|json|hash|index|issue|candidate|natural|surrogate|translation"
    r"|i18n)[ _.:-]{0,2}$"
)
"""End of what stands before the word "key" where it names no secret."""
QUALIFIED_KEY = re.compile(
    r"(?:^|[^a-z]|(?<=[a-z]))(?:api|access|secret|private|auth|account|signing|encryption"
    r"|licen[sc]e"
    r"|master|client|ssh|app|application|deploy|service|admin|root|jwt|webhook|consumer|storage"
    r"|subscription|activation|wallet|shared|sas|hmac|aes|rsa|server|integration|license|product"
    r"|user|bot|openai|anthropic|stripe|aws|github|x|wpa[23]?|wi-?fi|wlan|network|pre-?shared"
    r"|vpn|backup"
    r"|recovery|vault)[ _.-]?$"
)
"""End of what stands before the word "key" where it names a secret."""

_WORDS = """
    required optional string str text bool boolean int integer number float bytes none null nil
    undefined true false yes no on off any object array list dict char varchar token tokens key keys
    secret secrets password passwords passwd pwd pass passphrase pin code credential credentials
    user username name email login value values field label type id uuid unknown missing empty
    unset invalid valid wrong correct incorrect expired expires changed unchanged reset forgotten
    forgot lost stolen leaked rotated updated revoked disabled enabled hidden masked redacted
    removed omitted encrypted hashed protected stored saved set new old same different weak strong
    default example sample dummy placeholder here there bearer basic digest oauth oauth2 jwt inherit
    never include includes exclude same-origin self this that it see ask use via from in at with by
    for and or not is are was be the a an my your our his her their todo tbd n/a na pending done ok
    okay fail failed success error denied granted needed not-needed auto automatic manual generated
    random public private internal external read write admin readonly read-only case-sensitive
    case-insensitive write-only end-to-end vault 1password bitwarden keychain keepass lastpass
    dashlane changeme change_me example1 secretstr json yaml xml csv html http https plain
    plaintext base64 utf-8
    erforderlich keine keiner kein leer falsch richtig vergessen geändert bitte siehe unbekannt
    abgelaufen oublié obligatoire incorrecte aucun aucune vide requis olvidada requerida incorrecta
    ninguna vacía obligatoria 必須 なし 错误 忘记 неверный обязательно позже потом нет
    pendiente pendente später folgt esquecida olvidé dimenticata siehe obligatorio obligatorisch
    vereist verplicht gerekli
    povinné wymagane hidden break continue return
"""
NO_SECRETS = frozenset(_WORDS.split())
"""Words that stand where a secret could: a value that is one of them stays."""

TECHNICAL = re.compile(
    r"(?i:(?:hmac[-_]?)?sha-?\d{1,3}|md5|cram-md5|scram-\S{0,20}|base-?\d\d|utf-?\d+|oauth-?2?|aes-?\d{2,3}"
    r"|argon2\w{0,2}|1password|[2m]fa"
    r"|ed25519|rsa-?\d{4}|\d{1,3}(?:\.\d{1,3}){3}\S*|fritz!?box|\d+(?:\.\d+)?[gmk]?hz|k8s|s3|ec2"
    r"|ipv[46]|http2|python3?|es\d{1,4}|v\d[\d.]*"
    r"|\d{1,4}[-–]?(?:char|digit|letter|day|week|month|hour|minute|year|bit|byte|time|word|zeichen"
    r"|tage|caract|jour|d[ií]a)\w{0,8}|\d{1,4}(?:文字|位|桁|字|个|個|자|символ)\S{0,12})(?:-\w{1,20})?"
)
"""Terms with digits that are no passwords."""
