"""Patterns of secrets that are recognised by their own form: tokens of services, keys, hashes.

The last group of a pattern that took part in a match is the secret. Time is linear in the text,
because each repetition either is bounded or cannot fail after a long run.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

__all__ = ["LONG", "LONG_TOKENS", "SHORT_TOKENS", "SecretPattern", "pattern"]


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """Form of a secret.

    Attributes:
        hints: Lower-case parts, at least one of which every match contains: a fast check.
        source: Regular expression whose last group is the secret.
        flags: Flags of the expression.
        random: Whether what is found must look as if it was drawn at random.
    """

    hints: tuple[str, ...]
    source: str
    flags: int = 0
    random: bool = False

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


def pattern(*hints: str, regex: str, flags: int = 0, random: bool = False) -> SecretPattern:
    """Return a form by its hints and its expression."""
    return SecretPattern(hints, regex, flags, random)


def _prefixed(*prefixes: str, rest: str, flags: int = 0) -> SecretPattern:
    """Return the form of tokens with a known prefix."""
    starts = "|".join(map(re.escape, prefixes))
    hints = tuple(prefix.lower() for prefix in prefixes)
    return SecretPattern(hints, rf"{_START}((?:{starts}){rest})", flags)


SHORT_TOKENS = (
    _prefixed("sk-", rest=r"(?!ecdsa|ssh|ed25519)[A-Za-z0-9_-]{7,}[A-Za-z0-9]", flags=_I),
    _prefixed("gsk_", "pplx-", rest=r"[A-Za-z0-9_-]{10,}", flags=_I),
    _prefixed("npm_", rest=r"[A-Za-z0-9]{10,}", flags=_I),
    _prefixed("xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-",
              "xoxc-", "xoxd-", "xapp-", rest=r"[A-Za-z0-9.%-]{9,}[A-Za-z0-9]", flags=_I),
    _prefixed("sk_", "rk_", "pk_", rest=r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
)  # fmt: skip
"""Tokens that may be shorter than `LONG`."""

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
    pattern("akia", "asia", regex=r"(?:AKIA|ASIA)[A-Z0-9]{16}[^\n]{0,80}?(?:\n[^\n]{0,60}?)?"
             r"(?<![A-Za-z0-9/+])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    pattern("akia", "asia", regex=r"(?<![A-Za-z0-9/+])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
             r"(?=(?:[^\n]{0,60}\n)?[^\n]{0,60}(?:AKIA|ASIA)[A-Z0-9]{16})"),
    pattern("q~", regex=r"(?<![\w.~-])([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![\w~-])"),
    pattern("azdo", regex=rf"{_START}([A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}){_END}"),
    pattern("accountkey", "sharedaccess", "sig=",
             regex=r"(?:AccountKey|SharedAccessKey|SharedAccessSignature|sig)="
             r"([A-Za-z0-9%+/=_-]{16,})", flags=_I),
    _prefixed("AIza", rest=r"[0-9A-Za-z_-]{20,}", flags=_I),
    _prefixed("ya29.", "GOCSPX-", "1//0", "4/0A", rest=r"[0-9A-Za-z._-]{20,}"),
    pattern("apa91b", regex=rf"{_START}([A-Za-z0-9_-]{{7,24}}:APA91b[A-Za-z0-9_-]{{60,}})"),
    _prefixed("dop_v1_", "doo_v1_", "dor_v1_", "HRKU-", "nfp_", "nfc_", "nfo_", "vercel_blob_rw_",
              "sb_secret_", "sbp_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "hvs.", "hvb.",
              "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit.", "fo1_", "tskey-",
              rest=r"[A-Za-z0-9_.=-]{16,}"),
    pattern("flyv1", regex=r"(FlyV1 fm[12][ar]?_[A-Za-z0-9+/=,_]{20,})"),
    _prefixed("fm1a_", "fm1r_", "fm2_", rest=r"[A-Za-z0-9+/=,]{40,}"),
    _prefixed("v1.0-", rest=rf"[0-9a-f]{{24}}-[0-9a-f]{{146}}{_END}"),
    pattern(".atlasv1.", regex=rf"{_START}([A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{40,}})"),
    _prefixed("s.", rest=rf"(?=[A-Za-z]{{0,20}}[0-9])[A-Za-z0-9]{{24}}{_END}"),
    _prefixed("dapi", rest=r"[a-f0-9]{32}(?:-\d)?"),
    pattern("ltai", "akid", regex=r"(?:LTAI"
                r"|AKID)[A-Za-z0-9]{12,32}[^\n]{1,40}?(?<![\w/+])([A-Za-z0-9]{30,32})(?!\w)"),
    _prefixed("LTAI", rest=rf"[A-Za-z0-9]{{12,24}}{_END}"),
    _prefixed("AQVN", "YCA", "t1.", rest=r"[A-Za-z0-9_-]{33,}"),
    _prefixed("sha256~", "GR1348941", rest=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("4b1d", rest=rf"[A-Za-z0-9]{{38}}{_END}"),
    _prefixed("sdk-", "api-", "mob-", rest=_UUID),
    _prefixed("fc-", "e2b_", "bb_", "phx_", "phc_", "pk_", rest=rf"[0-9a-f]{{32,64}}{_END}"),
    pattern("_mmk", regex=rf"{_START}([A-Za-z0-9]{{6}}_[A-Za-z0-9]{{29}}_mmk){_END}"),
    pattern("|", regex=r"(?<!\w)(\d{15,16}\|[A-Za-z0-9_-]{27,40})(?![\w|])"),
    _prefixed("eyJ", rest=r"[A-Za-z0-9+/_-]{100,}={0,2}"),
    _prefixed("CfDJ8", rest=r"[A-Za-z0-9_-]{40,}"),
    # Chat and mail
    pattern("hooks.slack.com", "discord",
             regex=r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/"
             r"|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9/_-]{16,})", flags=_I),
    pattern("webhook.office.com", regex=r"webhook\.office\.com/webhookb?2?/([\w@/-]{36,})"),
    pattern(".", regex=r"(?<![\w.-])([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{5,7}"
             r"\.[A-Za-z0-9_-]{27,45})(?![\w-])"),
    pattern("bot", regex=r"\bbot(\d{6,20}:[A-Za-z0-9_-]{20,})", flags=_I),
    pattern(":", regex=rf"{_START}(\d{{6,20}}:[A-Za-z0-9_-]{{20,}})"),
    _prefixed("SG.", rest=r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _prefixed("key-", rest=rf"[0-9a-f]{{32}}{_END}"),
    _prefixed("md-", rest=rf"(?=[a-zA-Z_-]{{0,16}}\d)[A-Za-z0-9_-]{{22}}{_END}"),
    _prefixed("re_", rest=rf"[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,}}{_END}"),
    _prefixed("xkeysib-", "xsmtpsib-", rest=r"[A-Za-z0-9-]{32,}"),
    pattern("-us", regex=rf"{_START}([0-9a-f]{{32}}-us\d{{1,2}}){_END}"),
    _prefixed("AC", "SK", rest=rf"[0-9a-f]{{32}}{_END}"),
    _prefixed("sk_", rest=rf"[0-9a-f]{{40,64}}{_END}"),
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
    pattern("airtable", regex=rf"(?i:airtable)[^\n]{{0,40}}?{_START}(key[A-Za-z0-9]{{14}}){_END}"),
    _prefixed("pat-na", "pat-eu", rest=rf"\d-{_UUID}"),
    _prefixed("secret_", rest=rf"[A-Za-z0-9]{{40,50}}{_END}"),
    _prefixed("ntn_", "lin_api_", "lin_oauth_", "figd_", "figo_", "rdme_", "tfp_", "aio_",
              rest=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("glsa_", rest=r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _prefixed("glc_", "sntrys_", "ops_", rest=r"eyJ[A-Za-z0-9+/_=-]{30,}"),
    _prefixed("sntryu_", rest=r"[a-f0-9]{64}"),
    pattern("ingest", regex=r"://([0-9a-f]{32})(?::[0-9a-f]{32})?@[\w.-]{1,80}ingest"),
    pattern("ffffnral", regex=rf"{_START}([A-Fa-f0-9]{{32,40}}FFFFNRAL){_END}"),
    _prefixed("NRAK-", "NRII-", "NRIQ-", "NRRA-", "NRJS-", rest=r"[A-Za-z0-9_-]{19,}"),
    _prefixed("sl.", rest=r"(?:u\.)?[A-Za-z0-9_-]{100,}"),
    _prefixed("1/", rest=rf"\d{{10,20}}:[0-9a-f]{{32}}{_END}"),
    _prefixed("2/", rest=rf"\d{{10,20}}/\d{{10,20}}:[0-9a-f]{{32}}{_END}"),
    _prefixed("CFPAT-", "PMAK-", "ico-", "dt0c01.", "secret-token:",
              rest=r"[A-Za-z0-9_.-]{20,}"),
    _prefixed("sk.eyJ", rest=r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}"),
    pattern("okta", regex=rf"(?i:okta)[^\n]{{0,60}}?{_START}(00[A-Za-z0-9_-]{{40}}){_END}"),
    pattern("okta", regex=rf"{_START}(00[A-Za-z0-9_-]{{40}}){_END}[^\n]{{0,60}}?(?i:okta)"),
    # Keys, tokens of any service, hashes of passwords
    _prefixed("AGE-SECRET-KEY-1", rest=r"[A-Z0-9]{20,}"),
    pattern("eyj",
             regex=r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))[_-]{0,3}"
             r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)"),
    _prefixed("5H", "5J", "5K", rest=rf"(?=[a-zA-Z]{{0,20}}[1-9])[1-9A-HJ-NP-Za-km-z]{{49}}{_END}"),
    _prefixed("K", "L", rest=rf"(?=[a-zA-Z]{{0,24}}[1-9])[1-9A-HJ-NP-Za-km-z]{{51}}{_END}"),
    _prefixed("xprv", "yprv", "zprv", "tprv", rest=r"[1-9A-HJ-NP-Za-km-z]{80,}"),
    _prefixed("nsec1", rest=rf"[a-z0-9]{{50,60}}{_END}"),
    _prefixed("S", rest=rf"(?=[A-Z]{{0,30}}\d)[A-Z0-9]{{55}}{_END}"),
    pattern("pbkdf2", "bcrypt", "scrypt", "argon2", "$",
            regex=r"((?:pbkdf2_\w{3,12}|bcrypt\w{0,8}|scrypt|argon2)\$[./A-Za-z0-9$=,:+_-]{30,})"),
    pattern("$", regex=r"(\$(?:apr1|1|2[abxy]|5|6|7|y|argon2(?:id?|d)|pbkdf2[\w-]{0,10}|scrypt)"
             r"\$[./A-Za-z0-9$=,+_-]{20,})"),
    pattern("{sha}", "{ssha}", regex=r"(\{S?SHA\}[A-Za-z0-9+/=]{20,})", flags=_I),
    pattern("ls0tls1crudjti", regex=r"(LS0tLS1CRUdJTi[A-Za-z0-9+/=]{20,})"),
    pattern("_|warning:", regex=r"_\|WARNING:[^\n|]{0,160}\|_([A-F0-9]{60,})"),
    pattern("-",
             regex=r"(?<![\w-])(?=[A-Z-]{0,24}\d)(?=[\d-]{0,24}[A-Z])([A-Z0-9]{5}(?:-[A-Z0-9]{5}){4,5})"
             r"(?![\w-])"),
    pattern("-", regex=r"(?<![\w-])(\d{6}(?:-\d{6}){7})(?![\w-])"),
    # PuTTY
    pattern("private-lines",
             regex=r"Private-Lines: \d{1,4}\s{1,4}((?:[A-Za-z0-9+/=]{16,}\s{1,4}){0,200}"
             r"[A-Za-z0-9+/=]{8,})"),
)  # fmt: skip
"""Tokens of which each has a run of `LONG` characters."""

LONG = re.compile(r"[\w.:/+=${}~-]{18}", re.ASCII)
"""Run of characters that every long token has: few lines of prose have one."""
