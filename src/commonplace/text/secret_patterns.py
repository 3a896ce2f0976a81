"""Patterns of secrets that are recognised by their own form: tokens of services, keys, hashes.

The last group of a pattern that took part in a match is the secret. Time is linear in the text,
because each repetition either is bounded or cannot fail after a long run.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

__all__ = ["LONG", "LONG_TOKENS", "MIXED", "SHORT_TOKENS", "SecretPattern", "pattern"]


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
MIXED = r"(?=[^\s\"'@]{0,40}[A-Za-z])(?=[^\s\"'@]{0,40}[\d!#%^&?+~])"
"""Look-ahead: the value has letters, and digits or punctuation."""
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"


def pattern(*hints: str, regex: str, flags: int = 0, random: bool = False) -> SecretPattern:
    """Return a form by its hints and its expression."""
    return SecretPattern(hints, regex, flags, random)


def _prefixed(*prefixes: str, rest: str, flags: int = 0) -> SecretPattern:
    """Return the form of tokens with a known prefix."""
    starts = "|".join(map(re.escape, prefixes))
    hints = tuple(prefix.lower() for prefix in prefixes)
    return SecretPattern(hints, rf"{_START}((?:{starts}){rest})", flags)


def _random(*prefixes: str, rest: str) -> SecretPattern:
    """Return the form of tokens with a prefix that other words have, too."""
    return replace(_prefixed(*prefixes, rest=rest), random=True)


SHORT_TOKENS = (
    _prefixed("sk-", rest=r"(?!ecdsa|ssh|ed25519|(?-i:[a-z]{2,12}(?:-[a-z]{2,12}){1,6})(?![\w-]))"
              r"[A-Za-z0-9_-]{7,}[A-Za-z0-9]", flags=_I),
    _prefixed("gsk_", "pplx-", rest=r"[A-Za-z0-9_-]{10,}", flags=_I),
    _prefixed("npm_", rest=r"[A-Za-z0-9]{10,}", flags=_I),
    _prefixed("xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-", "xoxe.xoxb-",
              "xoxc-", "xoxd-", "xapp-", rest=r"[A-Za-z0-9.%-]{9,}[A-Za-z0-9]", flags=_I),
    pattern("airtable",
            regex=rf"{_START}(key(?=(?:[a-z]{{0,12}}[A-Z0-9]){{3}})[A-Za-z0-9]{{14}}){_END}"),
    _prefixed("sk_", "rk_", "pk_", rest=r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
)  # fmt: skip
"""Tokens that may be shorter than `LONG`."""

LONG_TOKENS = (
    # AI
    _prefixed("hf_", "api_org_", "r8_", "lsv2_pt_", "lsv2_sk_", "pcsk_", rest=r"[A-Za-z0-9_]{20,}"),
    _prefixed("xai-", "nvapi-", "tvly-", "fw_", "csk-", "fal-", rest=r"[A-Za-z0-9_-]{16,}"),
    _prefixed("bedrock-api-key-", rest=r"[A-Za-z0-9+/=]{40,}"),
    _prefixed("AQ.", rest=rf"[A-Za-z0-9_-]{{48,56}}{_END}"),
    _prefixed("bce-v3/ALTAK-", rest=r"[A-Za-z0-9]{16,32}/[0-9a-f]{40}"),
    _random("BSA", rest=rf"[A-Za-z0-9_-]{{27}}{_END}"),
    _random("ak-", "as-", rest=rf"[A-Za-z0-9]{{22}}{_END}"),
    pattern("-", regex=rf"{_START}({_UUID}:(?:[0-9a-f]{{32,64}}|fx)){_END}"),
    # Code and packages
    _prefixed("ghp_", "gho_", "ghu_", "ghs_", "ghr_", rest=r"[A-Za-z0-9]{20,}", flags=_I),
    _prefixed("github_pat_", rest=r"[A-Za-z0-9_]{20,}", flags=_I),
    _prefixed("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glagent-", "glimt-",
              "glcbt-", "gloas-", "glffct-", "glrtr-", "_gitlab_session=",
              rest=r"[A-Za-z0-9_.-]{16,}"),
    _prefixed("ATTA", rest=rf"[0-9a-f]{{64}}(?:[0-9A-F]{{8}})?{_END}"),
    _prefixed("ATATT3", "ATCTT3", "ATBB", "ATOA", rest=r"[A-Za-z0-9_=-]{20,}"),
    _prefixed("pypi-AgE", "dckr_pat_", "dckr_oat_", "bkua_", "CLOJARS_", "rubygems_", "cio",
              rest=r"[A-Za-z0-9_-]{24,}"),
    _prefixed("oy2", rest=rf"[a-z0-9]{{43}}{_END}"),
    _prefixed("AKCp", "cmVmdGtu", rest=r"[A-Za-z0-9]{50,}"),
    _prefixed("CCIPAT_", "CCIPRJ_", "sgp_", "pul-", "pnu_", "snyk_", "sqp_", "squ_", "sqa_",
              "unkey_", rest=r"[A-Za-z0-9_]{20,}"),
    _prefixed("snyk_uat.", "snyk_sat.", rest=r"[A-Za-z0-9_.-]{20,}"),
    _prefixed("11", rest=rf"[0-9a-f]{{32}}{_END}"),  # Jenkins
    _prefixed("pat.", "sat.", rest=rf"[\w-]{{22}}\.[A-Za-z0-9]{{24}}\.[A-Za-z0-9]{{20}}{_END}"),
    _prefixed("API-", rest=rf"[A-Z0-9]{{26}}{_END}"),
    # Clouds and hosting
    _prefixed("AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA", rest=rf"[A-Z0-9]{{16}}{_END}"),
    _prefixed("A3T", rest=rf"(?=[A-Z]{{0,16}}\d)[A-Z0-9]{{17}}{_END}"),
    _prefixed("da2-", rest=rf"[a-z0-9]{{26}}{_END}"),
    _prefixed("amzn.mws.", rest=_UUID),
    _prefixed("amzn1.oa2-cs.v1.", rest=r"[0-9a-f]{64}"),
    _prefixed("Atza|", "Atzr|", rest=r"[A-Za-z0-9_-]{40,}"),
    _prefixed("ABSK", rest=r"[A-Za-z0-9+/=]{60,}"),
    _prefixed("IQoJb3JpZ2lu", "FwoGZXIvYXdz", rest=r"[A-Za-z0-9+/=]{60,}"),
    pattern("akia", "asia", regex=r"(?:AKIA|ASIA)[A-Z0-9]{16}[^\n]{0,80}?(?:\n[^\n]{0,60}?)?"
             r"(?<![A-Za-z0-9/+])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"),
    pattern("akia", "asia", regex=r"(?<![A-Za-z0-9/+])([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
             r"(?=(?:[^\n]{0,60}\n)?[^\n]{0,60}(?:AKIA|ASIA)[A-Z0-9]{16})"),
    pattern("q~", regex=r"(?<![\w.~-])([A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})(?![\w~-])"),
    pattern("azdo", regex=rf"{_START}([A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}){_END}"),
    pattern("jqqj9", regex=rf"{_START}([A-Za-z0-9]{{52}}JQQJ9[A-Za-z0-9]{{27}}){_END}"),
    pattern("azfu", "azca", "azse", "apim", "acdb", "aiot", "+ast", "+aba", "+aeh", "+asb", "+arm",
            regex=r"(?<![\w+/-])([A-Za-z0-9+/_-]{33,76}"
            r"(?:AzFu|AzCa|AzSe|APIM|ACDb|AIoT|\+A(?:St|Ba|Eh|Sb|Rm))[A-Za-z0-9+/_-]{5,10}={0,2})"
            r"(?![\w+/-])"),
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
    _prefixed("t1.", rest=r"[A-Za-z0-9_-]{33,}={0,2}(?:\.[A-Za-z0-9_-]{86}={0,2})?"),
    _prefixed("AQVN", "YCA", rest=r"[A-Za-z0-9_-]{33,}"),
    _prefixed("AKLT", rest=r"[A-Za-z0-9]{36,}"),
    _prefixed("token-", rest=rf"[a-z0-9]{{5}}:[a-z0-9]{{54}}{_END}"),
    pattern(".", random=True, regex=r"(?<![\w./-])((?=[a-z]{0,5}\d)[a-z0-9]{6}"
            r"\.(?=[a-z]{0,15}\d)[a-z0-9]{16})(?![\w./-])"),  # kubeadm
    _random("2", "3", rest=rf"[A-Za-z0-9]{{26}}_[A-Za-z0-9]{{20,22}}{_END}"),  # ngrok
    pattern("bundle_", regex=r"\bBUNDLE_[A-Z0-9_]{2,60}__[A-Z]{2,10}[\"']?[:=]\s?[\"']?"
            r"([^\s\"'$]{8,128})"),
    _prefixed("sha256~", "GR1348941", rest=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("4b1d", rest=rf"[A-Za-z0-9]{{38}}{_END}"),
    _prefixed("sdk-", "api-", "mob-", rest=_UUID),
    _prefixed("fc-", "e2b_", "bb_", "phx_", "phc_", "pk_", "cu_", "ck_", "cs_", "hbp_",
              rest=rf"[0-9a-f]{{32,64}}{_END}"),
    _prefixed("bb_live_", rest=r"[A-Za-z0-9_-]{20,}"),
    pattern("_mmk", regex=rf"{_START}([A-Za-z0-9]{{6}}_[A-Za-z0-9]{{29}}_mmk){_END}"),
    _prefixed("0x4AAAAAAA", rest=r"[A-Za-z0-9_-]{24,}"),
    pattern(":", regex=r"(?<![\w*-])([\w*-]{1,40}:[\w*-]{1,40}\.[0-9a-f]{56,64})(?!\w)"),
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
    pattern(":", regex=rf"{_START}([0-9a-f]{{24}}:[0-9a-f]{{64}}){_END}"),  # Ghost
    pattern(":", regex=r"(?<![\w.-])([\w-]{6}\.[\w-]{6}:(?=[a-zA-Z_-]{0,20}\d)[\w-]{40,48})(?!\w)"),
    _prefixed("mlsn.", rest=rf"[0-9a-f]{{64}}{_END}"),
    pattern("-", regex=rf"{_START}([0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}){_END}"),  # Mailgun
    _prefixed("KEY0", rest=rf"[0-9A-F]{{31}}_[A-Za-z0-9]{{22}}{_END}"),
    _prefixed("sec-c-", rest=r"[A-Za-z0-9+/=]{30,}"),
    _prefixed("SG.", rest=r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    _prefixed("key-", rest=rf"[0-9a-f]{{32}}{_END}"),
    _prefixed("md-", rest=rf"(?=[a-zA-Z_-]{{0,16}}\d)[A-Za-z0-9_-]{{22}}{_END}"),
    _prefixed("re_", rest=rf"[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,}}{_END}"),
    _prefixed("xkeysib-", "xsmtpsib-", rest=r"[A-Za-z0-9-]{32,}"),
    pattern("-us", regex=rf"{_START}([0-9a-f]{{32}}-us\d{{1,2}}){_END}"),
    _prefixed("AC", "SK", rest=rf"[0-9a-f]{{32}}{_END}"),
    _prefixed("sk_", rest=rf"[0-9a-f]{{40,64}}{_END}"),
    pattern("live_", regex=rf"{_START}(live_\d{{6,12}}_[A-Za-z0-9]{{20,}})"),  # Twitch
    _prefixed("FB-", rest=r"\d{12,20}-\d{1,2}-[\w-]{10,}"),
    _prefixed("oauth:", rest=rf"[a-z0-9]{{30}}{_END}"),
    # Money
    _prefixed("whsec_", rest=r"[A-Za-z0-9+/=]{16,}"),
    _prefixed("sq0atp-", "sq0csp-", "sq0idb-", "sandbox-sq0idb-", "sandbox-sq0csb-",
              rest=r"[A-Za-z0-9_-]{16,}"),
    _prefixed("EAAA", "EAAC", "EAAB", rest=r"[A-Za-z0-9_-]{22,}"),
    pattern("eaa", "igqv", "igaa", regex=rf"{_START}((?:EAA[A-Z]|IGQV|IGAA)[A-Za-z0-9_-]{{60,}})"),
    pattern("aaaaaaaaaaaaaaaaaaaaa", random=True,
            regex=rf"{_START}(A{{21,22}}(?!A)[A-Za-z0-9%]{{60,}})"),
    _prefixed("A21AA", rest=r"[A-Za-z0-9_-]{60,}"),
    pattern("access_token$",
            regex=r"(access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32})"),
    _prefixed("rzp_live_", "rzp_test_", rest=rf"[A-Za-z0-9]{{14}}{_END}"),
    _prefixed("live_", "test_", rest=rf"[0-9a-f]{{35}}{_END}"),
    _prefixed("FLWSECK-", "FLWSECK_TEST-", "shippo_live_", "shippo_test_", "duffel_live_",
              "duffel_test_", "EZAK", "EZTK", "access-sandbox-", "access-production-",
              rest=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("shpat_", "shpss_", "shpca_", "shppa_", rest=r"[A-Za-z0-9]{20,}"),
    # Tools of teams
    _prefixed("pat", rest=rf"[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_END}"),
    _prefixed("pat-na", "pat-eu", "pat-ap", rest=rf"\d-{_UUID}"),
    _prefixed("secret_", rest=rf"[A-Za-z0-9]{{40,50}}{_END}"),
    _prefixed("ntn_", "lin_api_", "lin_oauth_", "figd_", "figo_", "rdme_", "tfp_", "aio_",
              rest=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("glsa_", rest=r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    _prefixed("glc_", "sntrys_", "ops_", rest=r"eyJ[A-Za-z0-9+/_=-]{30,}"),
    _prefixed("sntryu_", rest=r"[a-f0-9]{64}"),
    pattern("ingest", regex=r"://([0-9a-f]{32})(?::[0-9a-f]{32})?@[\w.-]{1,80}ingest"),
    pattern("ffffnral", regex=rf"{_START}([A-Fa-f0-9]{{32,40}}FFFFNRAL){_END}"),
    _prefixed("NRAK-", "NRII-", "NRIQ-", "NRRA-", "NRJS-", rest=r"[A-Za-z0-9_-]{19,}"),
    pattern("aaaaaaaaaa", regex=rf"{_START}([a-z0-9]{{11}}AAAAAAAAAA[A-Za-z0-9_=-]{{43}})"),
    _prefixed("A3-",
              rest=r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    pattern(".acc", regex=r"(?<!\w)((?:sc|ext|scauth|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}"
            r"\.acc"
            r"[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120})"),
    _prefixed("sm_aat_", "sm_pat_", "sm_sat_", rest=rf"[A-Za-z0-9]{{16}}{_END}"),
    _prefixed("xaat-", "xapt-", "waka_", rest=_UUID),
    _prefixed("sk_", "testsk_", rest=r"[A-Za-z0-9]{32}\.(?:eu|us|in)\b"),
    _prefixed("sk", rest=rf"(?=[A-Za-z]{{0,40}}\d)[A-Za-z0-9]{{80,}}{_END}"),
    _random("u+", rest=rf"[A-Za-z0-9_-]{{18}}{_END}"),
    pattern("ssws", regex=r"\bSSWS\s(00[A-Za-z0-9_-]{40})"),
    _prefixed("sl.", rest=r"(?:u\.)?[A-Za-z0-9_-]{100,}"),
    _prefixed("1/", rest=rf"\d{{10,20}}:[0-9a-f]{{32}}{_END}"),
    _prefixed("2/", rest=rf"\d{{10,20}}/\d{{10,20}}:[0-9a-f]{{32}}{_END}"),
    _prefixed("CFPAT-", "PMAK-", "ico-", "secret-token:", rest=r"[A-Za-z0-9_.-]{20,}"),
    pattern("dt0", regex=rf"{_START}(dt0[a-z]\d\d\.[A-Z0-9]{{8,24}}(?:\.[A-Z0-9]{{64}})?){_END}"),
    _prefixed("sk.eyJ", rest=r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}"),
    pattern("okta", regex=rf"(?i:okta)[^\n]{{0,60}}?{_START}(00[A-Za-z0-9_-]{{40}}){_END}"),
    pattern("okta", regex=rf"{_START}(00[A-Za-z0-9_-]{{40}}){_END}[^\n]{{0,60}}?(?i:okta)"),
    # Keys, tokens of any service, hashes of passwords
    _prefixed("AGE-SECRET-KEY-1", rest=r"[A-Z0-9]{20,}"),
    _prefixed("eyJrIjoi", rest=r"[A-Za-z0-9+/]{50,}={0,2}"),  # Grafana
    pattern("eyj",
             regex=r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))[_-]{0,3}"
             r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)"),
    pattern("eyj", regex=r"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{8,}(?:\.[ \t]?"
        r"|(?=\s{1,2}[> \t]{0,8}\.))(?:\r?\n)[> \t]{0,8}\.?"
            r"eyJ[A-Za-z0-9_-]{8,}\.?(?:\r?\n)?[> \t]{0,8}\.?[A-Za-z0-9_-]{16,})"),
    _prefixed("5H", "5J", "5K", rest=rf"(?=[a-zA-Z]{{0,40}}[1-9])[1-9A-HJ-NP-Za-km-z]{{49}}{_END}"),
    _prefixed("K", "L", rest=rf"(?=[a-zA-Z]{{0,40}}[1-9])[1-9A-HJ-NP-Za-km-z]{{51}}{_END}"),
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
    # Numbers of a private key, as OpenSSL prints them
    pattern("priv:", "exponent", "prime1:", "prime2:", "coefficient:",
            regex=r"\b(?:priv|privateExponent|prime[12]|exponent[12]|coefficient):"
            r"[ \t]{0,4}\n[ \t]{1,12}((?:[0-9a-f]{2}:){4,}[0-9a-f]{0,2}"
            r"(?:\n[ \t]{1,12}(?:[0-9a-f]{2}:){1,20}[0-9a-f]{0,2})*)"),
    # PuTTY
    pattern("private-lines",
             regex=r"Private-Lines: \d{1,4}\s{1,4}((?:[A-Za-z0-9+/=]{16,}\s{1,4}){0,200}"
             r"[A-Za-z0-9+/=]{8,})"),
    pattern("private-mac", regex=r"Private-MAC: ([0-9a-f]{40,64})\b"),
)  # fmt: skip
"""Tokens of which each has a run of `LONG` characters."""

LONG = re.compile(r"[\w.:/+=${}~-]{18}", re.ASCII)
"""Run of characters that every long token has: few lines of prose have one."""
