"""Patterns of secrets that are recognised by the syntax around them: commands, headers, URLs, code.

The last group of a pattern that took part in a match is the secret.
"""

from __future__ import annotations

import re

from commonplace.text.login_patterns import LOGINS
from commonplace.text.secret_patterns import MIXED, SecretPattern, pattern

__all__ = ["SYNTAX"]

_I = re.IGNORECASE
_OPENED = r"(?:\\{0,8}[\"'])?"
_STRING = r"[brfuLN@]{0,2}[\"'`]"


def _option(flag: str, tools: str, *, value: str = r"[^\s\"'$<=-][^\s\"']{2,255}") -> SecretPattern:
    """Return the form of a password behind an option of command line tools.

    Args:
        flag: The option, with what may stand between it and the value.
        tools: Names of the tools, separated by blanks; ``*`` stands for more characters.
        value: The password.
    """
    names = tools.split()
    hints = [name.partition("*")[0].replace("+", " ") for name in names]
    called = "|".join(re.escape(name).replace(r"\*", r"\w{0,12}") for name in names)
    called = called.replace(r"\+", r"\s[^\n]{0,60}?\b")
    return pattern(
        *(hint.split()[-1] for hint in hints),
        regex=rf"(?<![\w-])(?:{called})(?:\.exe)?\s(?:[^\n]{{0,200}}?\s)?{flag}{_OPENED}({value})",
    )


def _called(names: str, *, hints: tuple[str, ...], before: int) -> SecretPattern:
    """Return the form of a password that is an argument of a call, behind so many others."""
    other = (
        r"\s{0,4}[^\s\"'(),][^\"'(),\n]{0,80}[\"']?\s{0,4},|\s{0,4}[\"'][^\"'\n]{0,80}[\"']\s{0,4},"
    )
    return pattern(
        *hints,
        regex=rf"\b(?:{names})\((?:{other}){{{before}}}\s{{0,4}}{_STRING}([^\"'`\n]{{4,200}})[\"'`]",
        flags=_I,
    )


_COMMANDS = (
    _option(rf"(?:-[a-zA-Z]{{0,5}}u|--user|-a)[\s=]{{1,8}}{_OPENED}[^\s:\"'$]{{1,128}}:", "curl"
            " http https wget xh",
            value=r"[^\s\"'$]{1,256}"),
    _option(r"-p\s{0,4}", "sshpass", value=r"[^\s\"'$][^\s\"']{0,255}"),
    _option("-p", "mysql* mariadb* mongo* 7z 7za unrar rar",
            value=r"[^\s\"'$=-][^\s\"']{2,255}"),
    _option(r"-p\s{1,4}", "mongo* rdesktop psexec* useradd usermod rabbitmqadmin arangosh cqlsh"
            " docker+login podman+login az+login helm+login skopeo+login buildah+login oras+login"),
    _option(r"-pw\s{1,4}", "plink pscp psftp putty"),
    _option(r"-P\s?", "zip unzip sqlcmd bcp tsql isql mosquitto* ipmitool"),
    _option(r"-w\s{1,4}", "ldap* ntlm_auth kadmin* htdigest"),
    _option(r"-a\s", "redis-cli valkey-cli"),
    _option(r"-k\s", "openssl"),
    _option(r"-K\s{1,4}", "openssl", value=r"[0-9A-Fa-f]{16,128}"),
    pattern("kubeadm", regex=r"--token[ =]([a-z0-9]{6}\.[a-z0-9]{16})(?![\w.])"),
    # A line of .pgpass: host, port, database, user.
    pattern(":5432:", ":5433:", ":6432:", ":3306:", ":*:",
            regex=r"(?m)^[ \t>]{0,8}[\w.*-]{1,80}:(?:\d{2,5}|\*):[^:\s]{1,64}:[^:\s/]{1,64}:"
            r"((?:[^\s:\\]|\\.){4,128})(?=\s|$)"),
    # What a tool prints that is asked for a token.
    pattern("auth:token", "auth token", "-access-token", "-identity-token", "get-login-password",
            "op read", "pass show", "kv get",
            regex=r"(?m)\b(?:auth[: ]token|print-(?:access|identity)-token|get-access-token"
            r"|get-login-password|op read|pass show|kv get -field)\b[^\n]{0,120}\n"
            r"(?:[^\n]{0,40}\b(?i:warning|expires?)\b[^\n]{0,80}\n){0,2}"
            r"[ \t>]{0,8}(?=\S{0,60}\d)(\S{16,2000})[ \t]*$"),
    # Words with dots between, given to a command: no place in a program, as they would be in one.
    pattern("password=", "passwd=", "pwd=", "pass=",
            regex=r"(?:^|(?<=[\s;&|]))[A-Z][A-Z0-9_]{0,30}(?:PASSWORD|PASSWD|PASS|PWD)="
            r"(?![^\s]{0,80}(?i:secret|vault|conf|env|setting|pass|token|key|file|example|your))"
            r"([a-z]{2,20}(?:\.[a-z]{2,20}){1,6})(?=[ \t]{1,2}[a-z./])"),
    pattern('variable "',
            regex=r"(?:^|\n)[ \t]{0,8}variable\s{1,4}\"\w{0,60}(?:password|passwd|pwd|passphrase"
                r"|secret|token"
            r"|(?:api|access|secret|private|auth)_key)\"\s{0,4}\{(?:[^{}\n]{0,200}\n){0,8}?"
            r"[ \t]{0,8}default[ \t]{0,12}=[ \t]{0,8}\"([^\"\n$]{4,200})\""),
    _option(r"-(?:c|A|X)\s{1,4}", "snmp*"),
    _option(r"-X\s{1,4}", "snmp*"),
    _option(r"-N\s{1,4}", "ssh-keygen"),
    _option(r"-P\s{1,4}", "ssh-keygen"),
    _option(r"-s\s{1,4}", "ldappasswd"),
    _option(r"(?:add_user|change_password)\s\S{1,64}\s", "rabbitmqctl"),
    _option(r"--base64\s", "virsh"),
    _option(r"/rp\s", "schtasks"),
    _option(r"(?:obscure|unlock)\s", "rclone bw"),
    _option(r"-U\s{0,2}[^\s%]{1,64}%", "smbclient smbget rpcclient winexe wmic smbmap net"),
    _option(r"/p:", "xfreerdp wfreerdp mstsc net cmdkey"),
    _option(r"-u\s{1,2}[^\s,]{1,64},", "lftp"),
    _option(r"[\w$#]{1,40}/", "sqlplus expdp impdp sqlldr rman exp imp",
            value=rf"{MIXED}[^\s\"'$@/]{{4,128}}"),
    _option(r"\S{1,64}\s{1,4}", "wpa_passphrase"),
    pattern("redis auth", "> auth ", "\nauth ", "\npass ", "redis-cli auth",
            regex=r"(?:(?<=\n)|(?<=[>$#] )|\bredis(?:-cli)?[ \t]{1,2})(?:AUTH|PASS)[ \t](?!LOGIN"
                        r"|PLAIN)"
            r"([^\s\"']{6,128})(?=[ \t]*(?:$|\n))"),
    # Behind the name of a user, whatever the tool.
    pattern(" -u", "--user", "user=", "/user:", "/u:",
            regex=r"[ \t](?:-[uU]|--user(?:name)?|/u(?:ser)?:?)[ \t=:]?[ \t]?[^\s\"'-]\S{0,63}"
            rf"[^\n]{{0,60}}?[ \t](?:-[pPwW]"
            rf"|/p)[ \t=:]?{_OPENED}{MIXED}([^\s\"'$<=/-][^\s\"']{{5,127}})"),
    pattern("net use", regex=r"\bnet use\s(?:[^\n]{0,160}?/user:[^\s]{1,80}|\S{1,8}\s\\\\\S{1,100})"
            r"\s{1,4}([^\s/]{4,128})",
            flags=_I),
    pattern("net user", regex=r"\bnet user\s{1,4}[^\s/]{1,64}\s{1,4}([^\s/*]{4,128})", flags=_I),
    # Sent to a tool that asks for it.
    pattern("|", regex=r"\b(?:echo"
                r"|printf)\s{1,4}(?:-\w{1,2}\s)?(?:[\"']%s(?:\\n)?[\"']\s)?[\"']?(?:[\w.-]{1,32}:)?"
            r"([^\s\"'$|:]{4,128})[\"']?\s{0,4}\|\s{0,4}(?:sudo|chpasswd|cryptsetup|passwd"
            r"|smbpasswd"
            r"|kinit|gpg|openssl|(?:docker|podman|helm)\s[^\n]{0,40}login)"),
    pattern("<<<", random=True, regex=rf"<<<\s{{0,2}}{_OPENED}([\w+/=.-]{{20,256}})"),
    pattern("http-basic", regex=r"\bhttp-basic\.\S{1,80}\s[^\s-]\S{0,63}\s([^\s\"'$-]\S{3,127})"),
    pattern("ftp> user", regex=r"ftp>\s{0,2}user\s\S{1,64}\s(\S{4,128})"),
    pattern("<<<", regex=r"\b(?:kinit|sudo|passwd|gpg|openssl|docker|cryptsetup|gh"
                r"|su|chpasswd)(?:\s[^\n]{0,120}?)?\s"
            rf"<<<\s{{0,2}}{_OPENED}(?:[\w.-]{{1,32}}:)?{MIXED}([^\s\"'$]{{5,128}})"),
    pattern(" login ", regex=r"(?mi)(?:^\w{1,8}|\bimap)\sLOGIN\s[\"']?[\w.@+-]{1,64}[\"']?\s[\"']?"
            rf"{MIXED}([^\s\"']{{5,128}})[\"']?[ \t]*$"),
    pattern("echo", regex=r"pass[\w-]{0,20}=?[ \t]?[\"']?(?:<\()?\s{0,2}echo\s{1,4}"
                r"([^\s\"'$)]{4,128})"),
    pattern("htpasswd", regex=r"\bhtpasswd\s[^\n]{0,80}?-\w{0,4}b\w{0,4}\s[^\n]{0,120}?"
            r"(?<=\s)([^\s\"'$]{4,128})[ \t]*(?=$|[\n;|&])"),
    pattern("pass:", regex=r"-pass(?:in|out)?\s{1,4}[\"']?pass:([^\s\"'$]{1,128})"),
)  # fmt: skip

_NAME = r"(?:password|passwd|passphrase|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key)"
_FIELDS = r"\s{0,4},[^{}\n]{0,120}?[\"']"
_CODE = (
    _called(r"mysqli|PDO|\w{0,30}connect|\w{0,20}login", before=2,
            hints=("mysqli", "pdo(", "connect(", "login(")),
    _called(r"(?:\w{1,20}\.){0,3}(?:log_?in(?:_as)?|sign_?in|authenticate|setcredentials"
        r"|basic_?auth)"
            r"|\w{0,20}(?:basicauth|credentials?|passwordauthentication)",
            hints=("login(", "login_as(", "log_in(", "signin(", "sign_in(", "authenticate(",
                   "auth(",
                   "credential(", "credentials(", "passwordauthentication("), before=1),
    _called("(?:drivermanager\\.)?getconnection", hints=("getconnection(",), before=2),
    _called(r"jwt\.(?:sign|encode|decode|verify)|createhmac|createcipher\w{0,4}|sign_?jwt",
            hints=("jwt.", "createhmac(", "createcipher", "signjwt(", "sign_jwt("), before=1),
    _called(r"(?:hmac|cipher|aes)\.new|fernet|secretkeyspec|cookie_?session|securecookie", before=0,
            hints=("hmac.new(", "cipher.new(", "fernet(", "aes.new(", "secretkeyspec(",
                   "cookiesession(")),
    pattern("convertto-securestring",
            regex=r"ConvertTo-SecureString\s{1,4}(?:-String\s{1,4})?[\"']([^\"'\n]{1,200})[\"']",
            flags=_I),
    pattern('"ac', "'ac", regex=r"[\"']AC[0-9a-f]{32}[\"']\s{0,4},\s{0,4}[\"']([0-9a-f]{32})[\"']"),
    pattern("credentials", "authinfo",  # of Emacs: server, port, user
            regex=r"(?:credentials|authinfo)\s{1,4}'?\({1,3}\"[^\"\n]{1,80}\"\s(?:\d{2,5}|nil)\s\""
            r"[^\"\n]{1,64}\"\s\"([^\"\n]{4,128})\""),
    pattern("auth", regex=r"\bauth\s{0,4}=\s{0,4}(?:\w{1,30})?\(\s{0,4}[\"'][^\"'\n]{0,80}[\"']"
            r"\s{0,4},\s{0,4}[\"']([^\"'\n]{1,200})[\"']"),
    pattern("identified by", regex=r"\bIDENTIFIED\s{1,4}(?:WITH\s\w{1,40}\s)?BY\s{1,4}[\"']"
            r"([^\"'\n]{1,200})[\"']", flags=_I),
    # A record of a name and its value, in this order or the other.
    pattern("name", "key",
            regex=rf"(?:name|key)[\"']\s{{0,4}}:\s{{0,4}}[\"'][^\"'\n]{{0,60}}{_NAME}[\"']{_FIELDS}"
            r"value[\"']\s{0,4}:\s{0,4}[\"']([^\"'\n<$]{5,512})[\"']", flags=_I),
    pattern("name", "key",
            regex=rf"value[\"']\s{{0,4}}:\s{{0,4}}[\"']([^\"'\n<$]{{5,512}})[\"']{_FIELDS}"
            rf"(?:name|key)[\"']\s{{0,4}}:\s{{0,4}}[\"'][^\"'\n]{{0,60}}{_NAME}[\"']", flags=_I),
    # Keys of a JSON Web Key, and of an XML one.
    pattern('"kty"', regex=r"[\"'](?:d|k|p|q|dp|dq|qi)[\"']\s{0,4}:\s{0,4}[\"']([\w-]{20,})[\"']"),
    pattern("<rsakeyvalue", "<dsakeyvalue",
            regex=r"<(?:D|P|Q|DP|DQ|X|InverseQ)>([A-Za-z0-9+/=\s]{20,})</"),
    pattern("keypair", "private", "secret", "solana",
            regex=r"(?:keypair|private|secret|solana)[^\[\n]{0,40}"
            r"\[(\s{0,4}\d{1,3}(?:\s{0,4},\s{0,4}\d{1,3}){15,127})", flags=_I),
)  # fmt: skip

_PARAMETERS = (
    r"[a-z_-]{0,24}token|passphrase|api_?key|key|sig|signature|secret|client_secret|password"
    r"|pass|passwd|pwd"
    r"|x-(?:amz|goog)-(?:signature|credential|security-token)|code|app_?id|auth|access_?key|jwt"
    r"|ticket"
)
_ADDRESSES = (
    pattern("://", regex=r"(?<=://)[^\s:/?#@\"'<>]{0,256}:([^\s/\"'<>$]{1,512})@(?=[^\s@])"),
    pattern("://", regex=r"(?<=://)([A-Za-z0-9_-]{30,})(?::[\w-]{1,40})?@(?=[^\s@])"),
    pattern("@", regex=r"(?<![^\s\"'`(=])(?!mailto:|npm:|pkg:|xmpp:|sips?:)[\w.-]{1,40}:"
            rf"{MIXED}([^\s:/@\"'`(){{}}]{{4,64}})@(?:(?:tcp|unix)\(|localhost\b"
            rf"|[\w-]{{1,40}}:\d{{2,5}}\b"
            r"|[\w-]{1,40}(?:\.[\w-]{1,40}){0,4}\.[a-z]{2,10}\b|\d{1,3}(?:\.\d{1,3}){3})"),
    pattern("sig=", "token=", "code=", "key=", "secret=", "signature=", "pass", "pwd=", "appid=",
            "app_id=", "auth=", "jwt=", "ticket=",
            regex=rf"[?&;#](?:{_PARAMETERS})"
            r"=(?!\{|<|\$|%7[Bb]|[a-z]{1,40}(?:-[a-z]{1,30}|-\d{1,4}){0,6}(?:[\s&#\"'<>)]"
            r"|$))([^\s&#\"'<>)]{6,})", flags=_I),
    pattern("rtmp", regex=r"\brtmps?://[^\s/]{1,120}/[\w-]{1,40}/([\w-]{16,})"),
    pattern("appid=", regex=r"\bappid=([0-9a-f]{32})\b", flags=_I),
    pattern("hook", "/incoming/", random=True,
            regex=r"://[\w.-]{0,80}/(?:[\w-]{1,40}/){0,4}?(?<=[/.])(?:build_hooks|(?:web)?hooks?"
                r"|incoming"
            r"|catch)/(?:[a-z]{1,20}/)?([A-Za-z0-9_/-]{12,})"),
    pattern("/catch/", regex=r"/catch/\d{1,12}/(\w{5,64})"),
    pattern("wifi:", regex=r"\bWIFI:[^\n]{0,120}?[:;]P:([^;\n]{1,80});"),
)  # fmt: skip

_HEADERS = (
    pattern("authorization",
            regex=r"Authorization(?:\\{0,16}[\"'])?\s{0,40}[:=]\s{0,40}(?:\\{0,16}[\"'])?"
            r"(?:(?:Bearer|Basic|Token|ApiKey)\s{1,40}(?=[^\s\"',]{0,64}[\dA-Z]"
            r"|[^\s\"',]{12})([^\s\"'`,;<>\\$]+)"
            r"|(?:[A-Za-z][\w-]{1,20}\s{1,4}(?=[^\s\"',]{0,64}\d))?"
            r"([^\s\"',;<>\\$=]{16,}={0,2}))", flags=_I),
    pattern("signature=", regex=r"\bSignature=\"?([0-9a-f]{64})\b"),
    pattern("digest", regex=r"\bDigest\s[^\n]{0,400}?\bresponse=\"?([0-9a-f]{32,64})", flags=_I),
    pattern("bearer", regex=r"\bBearer,?(?:[ \t]{0,3}\\\r?\n)?\s{1,40}"
            r"([A-Za-z0-9._\-+=/~]{18,})", flags=_I),
    pattern("auth", regex=r"auth[\w-]{0,20}[\"']?\]?\s{0,4}[:=]\s{0,4}f?[\"']"
            r"(?:Basic|Bearer|Token)\s{1,4}([A-Za-z0-9._+/=~-]{8,})", flags=_I),
    pattern("auth login", "auth plain",
            regex=r"\bAUTH (?:LOGIN|PLAIN)\s{1,2}([A-Za-z0-9+/]{8,}={0,2})"),
    pattern("sess", "sid=", "csrf", "xsrf",
            regex=r"(?<![A-Za-z])(?:\w{0,30}sess(?:ion)?[_-]?(?:id)?|connect\.sid|sid"
                r"|csrf[_-]?token"
            r"|xsrf-token)=(?=[^;&\s]{0,64}\d)([^;&\s\"'()]{16,})(?![(])", flags=_I),
    pattern('"auth"', "'auth'", regex=r"[\"']auth[\"']\s{0,4}:\s{0,4}[\"']"
            r"([A-Za-z0-9+/]{10,}={0,2})[\"']"),
)  # fmt: skip

_DEVICES = (
    pattern("username ", regex=r"(?m)^[ \t]*username\s\S{1,40}\s[^\n]{0,60}?\b(?:password|secret)\s"
            rf"(?:\d\s)?{MIXED}(\S{{4,128}})(?=[ \t]*(?:$|\n))"),
    pattern("enable ", regex=r"(?m)^[ \t]*enable\s(?:secret|password)\s(?:\d\s)?"
            rf"{MIXED}(\S{{4,128}})(?=[ \t]*(?:$|\n))"),
    pattern("snmp-server", regex=rf"\bsnmp-server\s(?:community|user)\s{MIXED}(\S{{4,64}})"),
    pattern("community", regex=r"(?m)(?:^[ \t]{0,8}(?:r[ow]community6?"
        r"|(?:set[ \t])?snmp(?:-server)?[ \t]community)[ \t]{1,4}"
            r"|\b(?:snmp[\w ]{0,12}|read(?:-only|-write)?[ _-]|r[ow][ _-]"
            r"|trap)community[\"']?[ \t]{0,4}[:=][ \t]{0,4})"
            r"[\"']?(?!(?i:public|private|string|name|user|index|see|none|forum"
            r"|the)\b)([\w!#%&*+./@^~-]{5,64})", flags=_I),
    pattern("com2sec", "trapsink", "trap2sink",
            regex=r"(?m)^[ \t]{0,8}(?:com2sec6?[ \t]{1,8}\S{1,40}[ \t]{1,8}\S{1,60}"
                r"|trap2?sink[ \t]{1,8}\S{1,60})[ \t]{1,8}"
            r"(?!public\b|private\b)(\S{4,64})"),
    pattern("option key", "option wpa_psk", "option password", "option psk",
            regex=r"(?m)^[ \t]{1,8}option[ \t](?:key\d?|wpa_psk|password|psk"
                r"|sae_password)[ \t]{1,4}[\"']([^\"'\n]{6,64})[\"']"),
    pattern("pre-shared-key=", "presharedkey=", "wpa-psk", "ipsec-secret=",
            regex=r"\b(?:wpa\d?-)?(?:pre-?shared-?key|ipsec-secret)=[\"']?([^\s\"';<$*]{6,64})",
            flags=_I),
    pattern("radius", "tacacs", "isakmp",
            regex=r"\b(?:radius|tacacs|isakmp)\S{0,20}\s(?:[^\n]{0,60}?\b)?key\s(?:\d\s)?"
            rf"{MIXED}(\S{{4,128}})"),
    pattern("pre-shared-", "authentication-key",
            regex=r"\b(?:pre-shared-(?:key|secret)"
                r"|authentication-key)\s(?:[\w-]{1,20}\s){0,2}[\"']?"
            rf"{MIXED}([^\s\"';]{{4,128}})"),
    # A line of a shadow file, whatever its hash; a line of a browser's file of cookies.
    pattern(":", regex=r"(?m)^[\w.-]{1,32}:([./A-Za-z0-9$]{13,128}):\d{4,6}:\d{0,6}:\d{0,6}:"),
    pattern("true", "false",
            regex=r"\b(?:TRUE|FALSE)\s/\S{0,40}\s(?:TRUE|FALSE)\s\d{1,12}\s\S{1,64}\s(\S{12,})"),
)  # fmt: skip

_LICENCE = (
    r"(?:licen[sc]e|product|activation|cd|serial)[ -]?(?:key|code)|lizenz(?:schlüssel|key|code)"
    r"|produktschlüssel|aktivierungs(?:schlüssel|code)|clé (?:de licence|produit|d['’]activation)"
    r"|clave (?:de licencia|del producto|de producto)|chiave (?:di licenza|prodotto)"
    r"|codice di attivazione|chave (?:de licença|do produto)|licentiesleutel|activeringscode"
    r"|klucz (?:licencyjny|produktu)|ライセンスキー|プロダクトキー|激活码|许可证密钥|产品密钥"
)
_LICENCES = (
    pattern("licen", "lizenz", "product", "produkt", "activ", "aktivier", "attivaz", "cd key",
            "clé", "serial", "ライセンス", "プロダクト", "激活", "许可", "产品密钥",
            regex=rf"(?i:{_LICENCE})[^\n]{{0,80}}?(?<![\w-])"
            r"(?=[A-Z-]{0,40}\d)(?=[\d-]{0,40}[A-Z])"
            r"([A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,8})(?![\w-])"),
)  # fmt: skip

SYNTAX = (*_HEADERS, *_DEVICES, *_ADDRESSES, *_COMMANDS, *_CODE, *LOGINS, *_LICENCES)
"""Secrets in commands, headers, URLs and configuration."""
