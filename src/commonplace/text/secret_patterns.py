"""Patterns of secrets that are recognised by their own form, or by the syntax around them.

The last group of a pattern that took part in a match is the secret. Time is linear in the text,
because each repetition either is bounded or cannot fail after a long run.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

__all__ = ["LONG", "LONG_TOKENS", "SHORT_TOKENS", "SYNTAX", "SecretPattern"]


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """Form of a secret.

    Attributes:
        hints: Lower-case parts, at least one of which every match contains: a fast check.
        source: Regular expression whose last group is the secret.
        flags: Flags of the expression.
    """

    hints: tuple[str, ...]
    source: str
    flags: int = 0

    @property
    def regex(self) -> re.Pattern[str]:
        """The expression, compiled at its first use: most texts need few of them."""
        return _compiled(self.source, self.flags)


@functools.cache
def _compiled(source: str, flags: int) -> re.Pattern[str]:
    return re.compile(source, re.ASCII | flags)


_I = re.IGNORECASE
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""Start of a token: no letter or digit before it, but for escapes of JSON and of URLs."""
_END = r"(?![A-Za-z0-9])"
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"


def _pattern(*hints: str, regex: str, flags: int = 0) -> SecretPattern:
    return SecretPattern(hints, regex, flags)


def _prefixed(*prefixes: str, rest: str, flags: int = 0) -> SecretPattern:
    """Return the form of tokens with a known prefix."""
    starts = "|".join(map(re.escape, prefixes))
    hints = tuple(prefix.lower() for prefix in prefixes)
    return SecretPattern(hints, rf"{_START}((?:{starts}){rest})", flags)


SHORT_TOKENS = (
    _prefixed("sk-", rest=r"[A-Za-z0-9_-]{7,}[A-Za-z0-9]", flags=_I),
    _prefixed("gsk_", "pplx-", rest=r"[A-Za-z0-9_-]{10,}", flags=_I),
    _prefixed("npm_", rest=r"[A-Za-z0-9]{10,}", flags=_I),
    _prefixed("xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-",
              "xoxc-", "xoxd-", "xapp-", rest=r"[A-Za-z0-9.%-]{9,}[A-Za-z0-9]", flags=_I),
    _prefixed("sk_", "rk_", "pk_", rest=r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
)  # fmt: skip
"""Tokens that may be shorter than `LONG`."""

_VENDORS = (
    "dropbox|twitch|okta|cloudflare|heroku|datadog|twilio|mailgun|sendgrid|algolia|auth0|openai"
    "|anthropic|mistral|cohere|replicate|pinecone|discord|telegram|notion|airtable|grafana|sentry"
    "|new ?relic|doppler|planetscale|terraform|square|mailchimp|stripe|paypal|plaid|zendesk"
    "|intercom|hubspot|atlassian|jira|bitbucket|gitlab|netlify|vercel|supabase|linear|figma|asana"
)
LONG_TOKENS = (
    # AI
    _prefixed("hf_", "api_org_", "r8_", "lsv2_pt_", "lsv2_sk_", "pcsk_", rest=r"[A-Za-z0-9_]{20,}"),
    _prefixed("xai-", "nvapi-", "tvly-", "fw_", "csk-", "fal-", rest=r"[A-Za-z0-9_-]{16,}"),
    # Code and packages
    _prefixed("ghp_", "gho_", "ghu_", "ghs_", "ghr_", rest=r"[A-Za-z0-9]{20,}", flags=_I),
    _prefixed("github_pat_", rest=r"[A-Za-z0-9_]{20,}", flags=_I),
    _prefixed("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glagent-", "glimt-",
              "glcbt-", "gloas-", "glffct-", "_gitlab_session=", rest=r"[A-Za-z0-9_.-]{16,}"),
    _prefixed("ATATT3", "ATCTT3", "ATBB", "ATOA", rest=r"[A-Za-z0-9_=-]{20,}"),
    _prefixed("pypi-AgE", "dckr_pat_", "dckr_oat_", "bkua_", "CLOJARS_", "rubygems_", "cio",
              rest=r"[A-Za-z0-9_-]{24,}"),
    _prefixed("oy2", rest=rf"[a-z0-9]{{43}}{_END}"),
    _prefixed("AKCp", "cmVmdGtu", rest=r"[A-Za-z0-9]{50,}"),
    _prefixed("CCIPAT_", "CCIPRJ_", "sgp_", "pul-", "pnu_", "snyk_", "sqp_", "squ_", "sqa_",
              rest=r"[A-Za-z0-9_]{20,}"),
    _prefixed("API-", rest=rf"[A-Z0-9]{{26}}{_END}"),
    # Clouds and hosting
    _prefixed("AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA", rest=rf"[A-Z0-9]{{16}}{_END}"),
    _prefixed("ABSK", rest=r"[A-Za-z0-9+/=]{60,}"),
    _prefixed("IQoJb3JpZ2lu", "FwoGZXIvYXdz", rest=r"[A-Za-z0-9+/=]{60,}"),
    _pattern("akia", "asia", regex=r"(?:AKIA|ASIA)[A-Z0-9]{16}[^\n]{0,80}?(?:\n[^\n]{0,60}?)?"
             r"(?<![A-Za-z0-9/+])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    _pattern("akia", "asia", regex=r"(?<![A-Za-z0-9/+])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
             r"(?=(?:[^\n]{0,60}\n)?[^\n]{0,60}(?:AKIA|ASIA)[A-Z0-9]{16})"),
    _pattern("q~", regex=r"(?<![\w.~-])([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![\w~-])"),
    _pattern("azdo", regex=rf"{_START}([A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}){_END}"),
    _pattern("accountkey", "sharedaccess", "sig=",
             regex=r"(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig)="
             r"([A-Za-z0-9%+/=_-]{16,})", flags=_I),
    _prefixed("AIza", rest=r"[0-9A-Za-z_-]{20,}", flags=_I),
    _prefixed("ya29.", "GOCSPX-", "1//0", "4/0A", rest=r"[0-9A-Za-z._-]{20,}"),
    _pattern("apa91b", regex=rf"{_START}([A-Za-z0-9_-]{{7,24}}:APA91b[A-Za-z0-9_-]{{60,}})"),
    _prefixed("dop_v1_", "doo_v1_", "dor_v1_", "HRKU-", "nfp_", "nfc_", "nfo_", "vercel_blob_rw_",
              "sb_secret_", "sbp_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "hvs.", "hvb.",
              "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.", "fo1_", "tskey-",
              rest=r"[A-Za-z0-9_.=-]{16,}"),
    _pattern("flyv1", regex=r"(FlyV1 fm[12][ar]?_[A-Za-z0-9+/=,_]{20,})"),
    _prefixed("fm1a_", "fm1r_", "fm2_", rest=r"[A-Za-z0-9+/=,]{40,}"),
    _prefixed("v1.0-", rest=rf"[0-9a-f]{{24}}-[0-9a-f]{{146}}{_END}"),
    _pattern(".atlasv1.", regex=rf"{_START}([A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{40,}})"),
    _prefixed("s.", rest=rf"(?=[A-Za-z]{{0,20}}[0-9])[A-Za-z0-9]{{24}}{_END}"),
    _prefixed("dapi", rest=r"[a-f0-9]{32}(?:-\d)?"),
    # Chat and mail
    _pattern("hooks.slack.com", "discord",
             regex=r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/"
             r"|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9/_-]{16,})", flags=_I),
    _pattern("webhook.office.com", regex=r"webhook\.office\.com/webhookb?2?/([\w@/-]{36,})"),
    _pattern(".", regex=r"(?<![\w.-])([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{5,7}"
             r"\.[A-Za-z0-9_-]{27,45})(?![\w-])"),
    _pattern("bot", regex=r"\bbot(\d{6,20}:[A-Za-z0-9_-]{20,})", flags=_I),
    _pattern(":", regex=rf"{_START}(\d{{6,20}}:[A-Za-z0-9_-]{{20,}})"),
    _prefixed("SG.", rest=r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _prefixed("key-", rest=rf"[0-9a-f]{{32}}{_END}"),
    _prefixed("re_", rest=rf"[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,}}{_END}"),
    _prefixed("xkeysib-", "xsmtpsib-", rest=r"[A-Za-z0-9-]{32,}"),
    _pattern("-us", regex=rf"{_START}([0-9a-f]{{32}}-us\d{{1,2}}){_END}"),
    _prefixed("AC", "SK", rest=rf"[0-9a-f]{{32}}{_END}"),
    _prefixed("oauth:", rest=rf"[a-z0-9]{{30}}{_END}"),
    # Money
    _prefixed("whsec_", rest=r"[A-Za-z0-9+/=]{16,}"),
    _prefixed("sq0atp-", "sq0csp-", "sq0idb-", "sandbox-sq0idb-", "sandbox-sq0csb-",
              rest=r"[A-Za-z0-9_-]{16,}"),
    _prefixed("EAAA", "EAAC", "EAAB", rest=r"[A-Za-z0-9_-]{22,}"),
    _prefixed("FLWSECK-", "FLWSECK_TEST-", "shippo_live_", "shippo_test_", "duffel_live_",
              "duffel_test_", "EZAK", "EZTK", "access-sandbox-", "access-production-",
              rest=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("shpat_", "shpss_", "shpca_", "shppa_", rest=r"[A-Za-z0-9]{20,}"),
    # Tools of teams
    _prefixed("pat", rest=rf"[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_END}"),
    _pattern("airtable", regex=rf"(?i:airtable)[^\n]{{0,40}}?{_START}(key[A-Za-z0-9]{{14}}){_END}"),
    _prefixed("pat-na", "pat-eu", rest=rf"\d-{_UUID}"),
    _prefixed("secret_", rest=rf"[A-Za-z0-9]{{40,50}}{_END}"),
    _prefixed("ntn_", "lin_api_", "lin_oauth_", "figd_", "figo_", "rdme_", "tfp_", "aio_",
              rest=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("glsa_", rest=r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _prefixed("glc_", "sntrys_", "ops_", rest=r"eyJ[A-Za-z0-9+/_=-]{30,}"),
    _prefixed("sntryu_", rest=r"[a-f0-9]{64}"),
    _pattern("ingest", regex=r"://([0-9a-f]{32})(?::[0-9a-f]{32})?@[\w.-]{1,80}ingest"),
    _pattern("ffffnral", regex=rf"{_START}([A-Fa-f0-9]{{32,40}}FFFFNRAL){_END}"),
    _prefixed("NRAK-", "NRII-", "NRIQ-", "NRRA-", "NRJS-", rest=r"[A-Za-z0-9_-]{19,}"),
    _prefixed("sl.", rest=r"(?:u\.)?[A-Za-z0-9_-]{100,}"),
    _prefixed("1/", rest=rf"\d{{10,20}}:[0-9a-f]{{32}}{_END}"),
    _prefixed("2/", rest=rf"\d{{10,20}}/\d{{10,20}}:[0-9a-f]{{32}}{_END}"),
    _prefixed("CFPAT-", "PMAK-", "ico-", "dt0c01.", "secret-token:",
              rest=r"[A-Za-z0-9_.-]{20,}"),
    _prefixed("sk.eyJ", rest=r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}"),
    _pattern("okta", regex=rf"(?i:okta)[^\n]{{0,60}}?{_START}(00[A-Za-z0-9_-]{{40}}){_END}"),
    _pattern("okta", regex=rf"{_START}(00[A-Za-z0-9_-]{{40}}){_END}[^\n]{{0,60}}?(?i:okta)"),
    _pattern(*_VENDORS.replace("?", "").split("|"),
             regex=rf"(?i:{_VENDORS})[ \t]?[:=][ \t]?[\"'`]?(?=[^\s\d]{{0,60}}\d)"
             r"(?=[^\sA-Z]{0,60}[A-Z])([A-Za-z0-9_-]{24,})"),
    # Keys, tokens of any service, hashes of passwords
    _prefixed("AGE-SECRET-KEY-1", rest=r"[A-Z0-9]{20,}"),
    _pattern("eyj",
             regex=r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))[_-]{0,3}"
             r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)"),
    _prefixed("5H", "5J", "5K", rest=rf"(?=[a-zA-Z]{{0,20}}[1-9])[1-9A-HJ-NP-Za-km-z]{{49}}{_END}"),
    _prefixed("K", "L", rest=rf"(?=[a-zA-Z]{{0,24}}[1-9])[1-9A-HJ-NP-Za-km-z]{{51}}{_END}"),
    _prefixed("xprv", "yprv", "zprv", "tprv", rest=r"[1-9A-HJ-NP-Za-km-z]{80,}"),
    _pattern("$", regex=r"(\$(?:apr1|1|2[abxy]|5|6|7|y|argon2(?:id?|d)|pbkdf2[\w-]{0,10}|scrypt)"
             r"\$[./A-Za-z0-9$=,+_-]{20,})"),
    _pattern("{sha}", "{ssha}", regex=r"(\{S?SHA\}[A-Za-z0-9+/=]{20,})", flags=_I),
    _pattern("ls0tls1crudjti", regex=r"(LS0tLS1CRUdJTi[A-Za-z0-9+/=]{20,})"),
    _pattern("_|warning:", regex=r"_\|WARNING:[^\n|]{0,160}\|_([A-F0-9]{60,})"),
    _pattern("-",
             regex=r"(?<![\w-])(?=[A-Z-]{0,24}\d)(?=[\d-]{0,24}[A-Z])([A-Z0-9]{5}(?:-[A-Z0-9]{5}){4,5})"
             r"(?![\w-])"),
    _pattern("-", regex=r"(?<![\w-])(\d{6}(?:-\d{6}){7})(?![\w-])"),
    # PuTTY
    _pattern("private-lines",
             regex=r"Private-Lines: \d{1,4}\s{1,4}((?:[A-Za-z0-9+/=]{16,}\s{1,4}){0,200}"
             r"[A-Za-z0-9+/=]{8,})"),
)  # fmt: skip
"""Tokens of which each has a run of `LONG` characters."""

LONG = re.compile(r"[\w.:/+=${}~-]{18}", re.ASCII)
"""Run of characters that every long token has: few lines of prose have one."""

_VALUE = r"(?:\\{0,8}[\"'])?"
SYNTAX = (
    _pattern("authorization",
             regex=r"Authorization(?:\\{0,16}[\"'])?\s{0,40}[:=]\s{0,40}(?:\\{0,16}[\"'])?"
             r"(?:(?:Bearer|Basic|Token|ApiKey|Digest)\s{1,40}([^\s\"',;<>\\$]+)"
             r"|([^\s\"',;<>\\$]{16,}))", flags=_I),
    _pattern("bearer", regex=r"\bBearer\s{1,40}([A-Za-z0-9._\-+=/~]{18,})", flags=_I),
    _pattern("://", regex=r"(?<=://)[^\s:/?#@\"'<>]{0,256}:([^\s/\"'<>$]{1,512})@(?=[^\s@])"),
    _pattern("://", regex=r"(?<=://)([A-Za-z0-9_-]{30,})@(?=[^\s@])"),
    _pattern("sig=", "token=", "code=", "key=", "secret=", "signature=", "password=",
             regex=r"[?&;#](?:[a-z_-]{0,24}token|api_?key|key|sig|signature|secret|client_secret"
             r"|password|x-amz-(?:signature|credential|security-token)|code)"
             r"=(?![a-z-]{1,40}(?:[\s&#\"'<>)]|$))([^\s&#\"'<>)]{6,})", flags=_I),
    _pattern("curl", "http ", "wget",
             regex=rf"\b(?:curl|https?|wget)\s[^\n]{{0,200}}?(?:-u|--user|-a)[\s=]{{1,8}}{_VALUE}"
             r"[^\s:\"'$]{1,128}:([^\s\"'$]{1,256})"),
    _pattern("sshpass",
             regex=rf"\bsshpass\s{{1,4}}-p\s{{0,4}}{_VALUE}([^\s\"'$][^\s\"']{{0,255}})"),
    _pattern("mysql", "mariadb", "mongo",
             regex=r"\b(?:mysql|mariadb|mongo)[a-z]{0,10}\s[^\n]{0,200}?\s-p"
             rf"{_VALUE}([^\s\"'$=-][^\s\"']{{2,255}})"),
    _pattern("login", regex=r"\b(?:docker|podman|az|helm|skopeo|buildah|oras)\s[^\n]{0,60}\blogin\s"
             rf"[^\n]{{0,200}}?\s-p\s{{1,4}}{_VALUE}([^\s\"'$-][^\s\"']{{2,255}})"),
    _pattern("zip", "7z", "redis-cli", "mongo", "openssl", "rclone",
             regex=r"\b(?:(?:un)?zip(?=\s)[^\n]{0,200}?\s-P\s?|7z[ar]?(?=\s)[^\n]{0,200}?\s-p"
             r"|redis-cli(?=\s)[^\n]{0,200}?\s-a\s|mongo\w{0,10}(?=\s)[^\n]{0,200}?\s-p\s"
             r"|openssl(?=\s)[^\n]{0,200}?\s-k\s|rclone\sobscure\s)"
             rf"{_VALUE}([^\s\"'$<-][^\s\"']{{3,127}})"),
    _pattern("sudo",
             regex=r"\becho\s{1,4}(?:-\w\s)?[\"']?([^\s\"'$|]{4,128})[\"']?\s{0,4}\|\s{0,4}sudo"),
    _pattern("net use", regex=r"\bnet use\s[^\n]{0,160}?/user:[^\s]{1,80}\s{1,4}([^\s/]{4,128})",
             flags=_I),
    _pattern("mysqli", "connect(", "login(",
             regex=r"\b(?:mysqli|\w{0,30}connect|\w{0,20}login)\("
             r"(?:\s{0,4}[\"'][^\"'\n]{0,80}[\"']\s{0,4},){2}"
             r"\s{0,4}[\"']([^\"'\n]{4,128})[\"']", flags=_I),
    _pattern("auth",
             regex=r"auth[\w-]{0,20}[\"']?\]?\s{0,4}[:=]\s{0,4}f?[\"']"
             r"(?:Basic|Bearer|Token)\s{1,4}([A-Za-z0-9._+/=~-]{8,})", flags=_I),
    _pattern("admin", "root", "postgres",
             regex=r"\b(?:admin|administrator|root|postgres|sa)[ \t]{1,2}/[ \t]{1,2}[`\"']?"
             r"(?=[^\s,;|]{0,40}\d)(?=[^\s,;|]{0,40}[A-Za-z])([^\s,;|`\"']{6,64})", flags=_I),
    _pattern(" p:", regex=r"\bu(?:ser)?:\s?[^\s,;]{1,64}[\s,;]{1,3}p:\s?([^\s,;]{4,128})"),
    _pattern("@", regex=r"[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{1,60}[ \t]{0,2}[/|][ \t]{0,2}"
             r"(?=[^\s,;|]{0,40}\d)(?=[^\s,;|]{0,40}[A-Za-z])([^\s,;|]{6,64})"),
    _pattern("htpasswd", regex=r"\bhtpasswd\s[^\n]{0,80}?-\w{0,4}b\w{0,4}\s[^\n]{0,120}?"
             r"(?<=\s)([^\s\"'$]{4,128})[ \t]*(?=$|[\n;|&])"),
    _pattern("auth", regex=r"\bauth\s{0,4}=\s{0,4}(?:\w{1,30})?\(\s{0,4}[\"'][^\"'\n]{0,80}[\"']"
             r"\s{0,4},\s{0,4}[\"']([^\"'\n]{1,200})[\"']"),
    _pattern("identified by", regex=r"\bIDENTIFIED\s{1,4}BY\s{1,4}[\"']([^\"'\n]{1,200})[\"']",
             flags=_I),
    _pattern("wifi:", regex=r"\bWIFI:[^\n]{0,120}?[:;]P:([^;\n]{1,80});"),
    _pattern("sess", "sid=", "csrf", "xsrf",
             regex=r"(?<![A-Za-z])(?:\w{0,30}sess(?:ion)?[_-]?(?:id)?|connect\.sid|sid|csrf[_-]?token"
             r"|xsrf-token)=(?=[^;&\s]{0,64}\d)([^;&\s\"'()]{16,})(?![(])", flags=_I),
    _pattern(":5432:", ":5433:", ":6432:", ":3306:", ":*:",
             regex=r"(?m)^[\w.*-]{1,80}:(?:5432|5433|6432|3306|\*):[^:\s]{1,64}:[^:\s/]{1,64}:"
             r"([^\s:]{4,128})$"),
    _pattern('"auth"', "'auth'", regex=r"[\"']auth[\"']\s{0,4}:\s{0,4}[\"']"
             r"([A-Za-z0-9+/]{10,}={0,2})[\"']"),
)  # fmt: skip
"""Secrets in commands, headers, URLs and configuration."""
