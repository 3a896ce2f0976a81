"""No secret is kept: whatever its kind, wherever it stands."""

import json
import re
import time

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from commonplace.text.redaction import mask, redact, redacted_between
from commonplace.text.secret_names import NO_SECRETS
from support.reference import vectors
from support.sampling import sampled

LOWER, UPPER, DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
ALNUM = LOWER + UPPER + DIGITS
HEX = DIGITS + "abcdef"


@pytest.mark.parametrize(("given", "expected"), vectors("redactSensitiveText"))
def test_the_reference_masks_the_same(given, expected):
    assert redact(given["text"]) == expected
    assert redact(expected) == expected


def of(alphabet, low, high=None):
    return st.text(alphabet, min_size=low, max_size=high or low)


def after(prefix, alphabet, low, high=None):
    return of(alphabet, low, high).map(lambda rest: prefix + rest)


def mixed(low, high):
    """Texts in which letters and digits alternate, as in keys that are drawn at random."""
    pairs = st.tuples(st.sampled_from(LOWER), st.sampled_from(DIGITS), st.sampled_from(UPPER))
    return st.lists(pairs, min_size=low // 3 + 1, max_size=high // 3).map(
        lambda found: "".join("".join(pair) for pair in found)
    )


# Secrets that are told by their own form.
SELF_EVIDENT = {
    "openai": after("sk-", ALNUM, 20, 60),
    "openai project": after("sk-proj-", ALNUM + "_-", 30, 60).map(lambda key: key + "x"),
    "anthropic": after("sk-ant-api03-", ALNUM, 40, 90),
    "github": st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]).flatmap(
        lambda prefix: after(prefix, ALNUM, 36)
    ),
    "github fine-grained": after("github_pat_", ALNUM + "_", 60, 82),
    "gitlab": after("glpat-", ALNUM, 20),
    "slack": st.sampled_from(["xoxb-", "xoxp-", "xapp-", "xoxa-"]).flatmap(
        lambda prefix: after(prefix, ALNUM, 20, 50)
    ),
    "slack webhook": st.builds(
        "https://hooks.slack.com/services/{}/{}/{}".format,
        after("T", UPPER, 9),
        after("B", UPPER, 9),
        of(ALNUM, 24),
    ),
    "discord webhook": st.builds(
        "https://discord.com/api/webhooks/{}/{}".format, of(DIGITS, 18), of(ALNUM, 60)
    ),
    "groq": after("gsk_", ALNUM, 52),
    "google": after("AIza", ALNUM + "_-", 35).map(lambda key: key[:-1] + "x"),
    "google oauth": after("ya29.", ALNUM, 60, 120),
    "google client secret": after("GOCSPX-", ALNUM, 28),
    "perplexity": after("pplx-", ALNUM, 40),
    "npm": after("npm_", ALNUM, 36),
    "hugging face": after("hf_", ALNUM, 34),
    "pypi": after("pypi-AgEIcHlwaS5vcmc", ALNUM + "_-", 60, 100),
    "stripe": st.sampled_from(["sk_live_", "rk_live_", "sk_test_"]).flatmap(
        lambda prefix: after(prefix, ALNUM, 24, 90)
    ),
    "stripe webhook": after("whsec_", ALNUM, 32),
    "aws id": st.sampled_from(["AKIA", "ASIA"]).flatmap(
        lambda prefix: after(prefix, UPPER + DIGITS, 16)
    ),
    "sendgrid": st.builds("SG.{}.{}".format, of(ALNUM, 22), of(ALNUM, 43)),
    "twilio": after("AC", HEX, 32),
    "telegram": st.builds("{}:{}".format, of("123456789", 9), of(ALNUM, 35)),
    "jwt": st.builds(
        "eyJ{}.eyJ{}.{}".format, of(ALNUM, 20, 40), of(ALNUM, 20, 200), of(ALNUM + "-_", 43)
    ),
    "vault": after("hvs.", ALNUM, 24, 90),
    "databricks": after("dapi", HEX, 32),
    "shopify": after("shpat_", HEX, 32),
}

# Secrets that are told by what stands around them: {} is the secret.
NAMED = {
    "env": ("AWS_SECRET_ACCESS_KEY={}", of(ALNUM + "/+", 40)),
    "env export": ("export DB_PASSWORD='{}'", of(ALNUM + "!$%", 6, 40)),
    "quoted with blanks": ('PASSWORD="{}"', of(ALNUM + " !?", 8, 40)),
    "yaml": ("api_key: {}", of(ALNUM, 8, 60)),
    "yaml password": ("password: {}", of(ALNUM + "!#%", 4, 30)),
    "camel case": ("clientSecret = {}", of(ALNUM, 10, 60)),
    "json": ('{{"apiKey": "{}"}}', of(ALNUM + " -_", 4, 60)),
    "json token": ('{{"user": "x", "refresh_token":"{}"}}', of(ALNUM, 10, 60)),
    "python": ("{{'password': '{}'}}", of(ALNUM + " ", 8, 30)),
    "flag": ("tool --api-key {} --verbose", of(ALNUM, 8, 60)),
    "flag with equals": ("tool --password={}", of(ALNUM, 8, 60)),
    "bearer": ("Authorization: Bearer {}", of(ALNUM + "._-", 20, 60)),
    "basic": ("Authorization: Basic {}", of(ALNUM, 8, 60)),
    "bearer alone": ("curl -H 'x: Bearer {}'", of(ALNUM, 20, 60)),
    "header": ("X-Api-Key: {}", of(ALNUM, 8, 60)),
    "postgres": ("postgres://bob:{}@db.example:5432/x", of(ALNUM + "%.~-", 1, 60)),
    "redis": ("redis://:{}@cache:6379/0", of(ALNUM, 6, 60)),
    "mongodb": ("mongodb+srv://app:{}@c0.mongodb.net", of(ALNUM + "#?&", 6, 40)),
    "query": ("https://x.example/a?b=1&access_token={}&c=2", of(ALNUM, 8, 60)),
    "sas": ("https://a.blob.core.windows.net/c?sv=1&sig={}", of(ALNUM + "%", 20, 60)),
    "azure": ("DefaultEndpointsProtocol=https;AccountKey={};Suffix=x", of(ALNUM + "+/", 40, 88)),
    "curl": ("curl -u bob:{} https://x.example", of(ALNUM, 6, 40)),
    "key in prose": ("The API key is {} since May", mixed(15, 60)),
    "token in prose": ("I changed the token to `{}`", mixed(15, 60)),
    "secret in prose": ("secret for the webhook: {}", mixed(15, 60)),
    "password in prose": ("his password was {} until Monday", mixed(6, 30)),
    "new password": ('the new Wi-Fi password is now "{}"', mixed(6, 30)),
}
PEM = st.lists(of(ALNUM + "+/", 64), min_size=1, max_size=20)
PEM_KINDS = ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"]

AROUND = [
    "{}",
    "Before {} and after.",
    "end of the sentence: {}.",
    "({})",
    "`{}`",
    "**{}**",
    "_{}_",
    "<{}>",
    "first line\n{}\nlast line",
    "- {}\n- {}",
    "密钥是{}。",
    "é{}é",
    "a,{},b",
    "tab\t{}\r\n",
    "[link]({})",
    "| cell | {} |",
    "\\n{}\\n",
    "💥{}💥",
]
UNHURRIED = [HealthCheck.too_slow, HealthCheck.filter_too_much]
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=UNHURRIED)


def leaks(secret, text):
    """Tell whether a text shows more of a secret than both its ends."""
    shown = 11
    if len(secret) < 18:
        return secret in text
    return any(secret[at : at + shown] in text for at in range(len(secret) - shown + 1))


@pytest.mark.parametrize("kind", sampled(SELF_EVIDENT, every=3))
@QUICK
@given(data=st.data(), around=st.sampled_from(AROUND))
def test_a_secret_that_says_what_it_is_is_masked_everywhere(kind, data, around):
    secret = data.draw(SELF_EVIDENT[kind])
    tail = secret.removeprefix("https://hooks.slack.com/services/").split("webhooks/")[-1]
    masked = redact(around.replace("{}", secret))
    assert not leaks(tail, masked)
    assert redact(masked) == masked


@pytest.mark.parametrize("kind", sampled(NAMED, every=3))
@QUICK
@given(
    data=st.data(), around=st.sampled_from(["{}", "So: {}", "one\n{}\ntwo", "- {}\n- b", "。{}"])
)
def test_a_secret_with_a_name_is_masked(kind, data, around):
    form, secrets = NAMED[kind]
    secret = data.draw(secrets.filter(lambda found: found.strip() == found and found[-1:] != "."))
    assume(secret.lower() not in NO_SECRETS and any(map(str.isalnum, secret)))
    assume(not re.fullmatch("[a-z]+([_-][a-z]+)+", secret))  # the name of a column, or the like
    # Chosen, and not a color, a count or a template: "#000", "__0__", "?AAAAAAA", "%D%0".
    assume(len(secret) >= 8 and len(set(secret.strip("_"))) > 5)
    assume(any(map(str.isdecimal, secret)) and not re.search("%.*%", secret))
    # What a token or a key is given in code may be a variable: "clientSecret = configured".
    assume("assword" in form or not re.fullmatch("[A-Za-z][a-z]*([A-Z]+[a-z]+)*", secret))
    text = around.replace("{}", form.format(secret))
    masked = redact(text)
    before, _, behind = form.format("\0").partition("\0")
    assert f"{before}{secret}{behind}" not in masked
    assert len(secret) < 4 or not leaks(secret, masked.replace(before, ""))
    assert redact(masked) == masked


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(PEM_KINDS, every=2))
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n"], ids=["lf", "crlf", "escaped"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "cut off"])
@QUICK
@given(lines=PEM)
def test_private_keys_are_masked(kind, newline, whole, lines):
    begin, end = f"-----BEGIN {kind}-----", f"-----END {kind}-----"
    text = newline.join([begin, *lines, *([end] if whole else [])])
    masked = redact(f"Here it is:\n{text}\nand a word after it")
    assert not any(line[20:40] in masked for line in lines)
    assert masked.startswith("Here it is:\n")
    assert masked.endswith("\nand a word after it")
    assert redact(masked) == masked


def test_two_keys_of_which_one_is_cut_off_leave_the_text_between():
    body = "A" * 64
    text = (
        f"-----BEGIN PRIVATE KEY-----\n{body}\n\nsome words\n"
        f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    )
    masked = redact(text)
    assert "some words" in masked
    assert body not in masked


@pytest.mark.parametrize(
    "text",
    [
        "The VPN listens on 51820; ask in #ops.",
        "We decided on Postgres 16 and TLS 1.3 for api.example.com:8443.",
        "The keyboard shortcut is Ctrl+Shift+P, the monkey is called Token.",
        "max_tokens is 4096 and the token count was 128000 yesterday.",
        "The password must be changed every 90 days.",
        "The secret of a good soup is patience.",
        "API key rotation-2026-policy is in memory/2026-11-20.md",
        "a token-bucket-algorithm-v2-design document",
        "The key is in the safe; the token is for the laundry.",
        "See https://example.com/a/b?page=2#L10 and http://localhost:8080/@me",
        "commit 3f2a9c1d7e5b8a4c6d0e1f2a3b4c5d6e7f8a9b0c fixed it",
        "uuid 550e8400-e29b-41d4-a716-446655440000 of the order",
        "risk-based-authentication-2 and task-1234567890",
        '{"max_tokens": "5", "keyboard": "qwerty-de"}',
        "Treffpunkt 18:30 Uhr, Telefon 030 1234567",
        "",
    ],
)
def test_what_is_no_secret_stays(text):
    assert redact(text) == text


@QUICK
@given(st.text(max_size=300))
def test_masking_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once) == once


PIECES = [
    *"=:\"'`@ \n-_?&…*", "key", "token", "PASSWORD", "secret", "api_key", "Bearer ", "://", "is ",
    "sk-", "AKIA", "eyJ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "***",
    "abcdefgh", "A1b2C3d4E5f6G7h8", "Authorization: ", "--token ", "curl -u ", "https", "sig=",
    "123456:",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_masking_what_looks_like_secrets_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once) == once


@QUICK
@given(st.text(max_size=60))
def test_a_mask_shows_nothing_of_a_short_secret_and_both_ends_of_a_long_one(secret):
    shown = mask(secret)
    assert shown in ("***", secret, f"{secret[:6]}…{secret[-4:]}")
    assert mask(shown) == shown
    if shown == secret:
        assert secret == "***" or secret[6] == "…"


UGLY = {
    "key": "key ", "keys": "key-", "open quotes": 'KEY="', "sk": "sk-", "dashes": "sk-" + "-" * 50,
    "jwt": "eyJaaaaaaaa-", "pem": "-----BEGIN PRIVATE KEY-----\n", "letters": "A", "spaces": " ",
    "password": "password is a ", "url": "://a:b", "curl": "curl ", "is": "key is is is is is ",
    "json": '"apiKey":"x', "flags": "--token ", "auth": "Authorization: ",
    "dots": "a.", "digits": "1", "of": "key of a b c d ", "encoded": "%20eyJaaaaaaaa",
    "telegram": "123456:", "query": "?token=", "colon": "key:", "equals": "=", "quote": "'\"",
    "webhook": "hooks.slack.com/services/", "key and spaces": "key" + " " * 60, "slashes": "://",
    "long values": "password is " + "a" * 200, "backslashes": '"key": "\\',
    "tables": "| password | a |\n|---|---|\n| x | y |\n", "pipes": "|", "entities": "&quot;",
    "ids beside keys": "AKIAABCDEFGHIJKLMNOP " + "aB3" * 13 + "a ", "percents": "%3D",
    "invisible": "a\u200b", "base64": "QUFB", "cookies": "cookie: a=aaaaaaaaaaaa; ",
    "commands": "mysql ", "words": "seed phrase abandon ability ", "codes": "PIN is ",
    "fences": "key:\n```\n", "wide": "İpassword ", "owners": "password of a b c d ",
    "wrapped": "ghp_" + "a" * 36 + "\n", "behind": "x1y2z3q4 is the password ",
    "cjk": "パスワードは", "html rows": "<tr><td>password</td><td>hunter2x</td></tr>",
    "html cells": "<td>API key</td><td>value</td>", "questions": "what is the pw? ",
    "changes": "password was abcd1, now ", "fronted": "Abc1!xyz it's the password ",
    "given": "with Abc1!xyz ", "doors": "door code ", "locks": "safe ", "lock codes": "safe 4471, ",
    "locks of": "safe of a b c d ", "asked": "what is the code? ", "answers": "the code?\nit is ",
    "gaps": "code a b c d e ",
    "logins": "user ann\npass x\n", "joined strings": '"abcd" + ', "licences": "license key ",
    "headings": "password\n\t", "community": "rocommunity ", "spelled": "password: abcd ",
    "boxes": "│ ghp_" + "a" * 30 + " │\n", "wide blanks": "mot de passe\u00a0: ",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("piece", sampled(UGLY.values(), every=6), ids=UGLY)
def test_time_is_linear_in_the_text(piece):
    def seconds(size):
        text = (piece * (size // len(piece) + 1))[:size]
        begun = time.process_time()
        redact(text)
        return time.process_time() - begun

    small, large = 5_000, 40_000
    few = max(min(seconds(small) for _ in range(2)), 0.002)
    assert seconds(large) < few * (large / small) * 4


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(240)
def test_a_long_line_takes_as_much_for_each_character_as_a_short_one():
    """Nothing looks back to the beginning of the line: the ratio would be 17, not 12."""
    row = "<tr><td>password</td><td>hunter2x</td></tr>"

    def seconds(rows):
        begun = time.process_time()
        redact(row * rows)
        return time.process_time() - begun

    few = min(seconds(3_000) for _ in range(3))
    assert any(seconds(36_000) < few * 12 * 1.35 for _ in range(2))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("name", ["password", "api_key", "x-secret", "a_token", "Authorization"])
def test_json_in_a_text_is_masked_however_often_it_is_escaped(name, depth):
    value = "Bearer Tr0ub4dor" if name == "Authorization" else "Tr0ub4dor"
    text = {name: value, "user": "ann"}
    for _ in range(depth + 1):
        text = json.dumps(text)
    masked = redact(f"curl -d {text} https://x.example")
    assert "Tr0ub4dor" not in masked
    assert "ann" in masked
    assert redact(masked) == masked


@pytest.mark.parametrize("newline", ["\n", "\n> ", "\n> > ", "\\n"])
@pytest.mark.parametrize("head", ["", "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,5B0E"])
def test_a_private_key_without_its_end_is_masked_in_a_quote_and_with_headers(newline, head):
    lines = [
        "-----BEGIN RSA PRIVATE KEY-----",
        head,
        "",
        "MIIEowIBAAKCAQEAqu0ted0123456789ABCDEFGH",
    ]
    masked = redact("> " + newline.join(line for line in lines if line or not head))
    assert "MIIEow" not in masked


def test_a_token_behind_an_escaped_sign_is_masked():
    assert "ghijklmnopqrs" not in redact(
        r'{"url":"https://x.example?a=1\u0026ghp_abcdefghijklmnopqrstuv1"}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "image: postgres:16-alpine",
        "docker run postgres:15beta2-alpine",
        "npm run test:node18-esm",
        "Authorization: see documentation/authorization-guide",
        "authorization: uses role-based-access-control",
        "2025 is your year of writing code",
        "tablet arrived, the code 2024 is due",
    ],
)
def test_images_scripts_and_sentences_stay(text):
    assert redact(text) == text


@pytest.mark.parametrize("words", range(0, 30, 3))
def test_a_key_far_behind_its_name_is_masked_to_its_end(words):
    key = "q8Zr3TnW5xYb7LkD2vHs9PfG4mJc6RtA1eUo0iNw"
    text = f"The API key {'for it ' * (words // 2)}is {key} now"
    masked = redact(text)
    assert masked == text or key[-12:] not in masked


KEY = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("note", "written", "expected"),
    [
        ("The door code is {}.", "4821", "***"),
        ("password:\n{}\n", "sunflower88", "***"),
        ("- password: hunter{}\n", "2233", "***"),
        ("| N | Password |\n|---|---|\n" + "| a | *** |\n" * 200 + "{}", "| b | hunter22 |", "***"),
        (KEY, "MIIEowIBAAKCAQEA1234567890abcdef", "…redacted…"),
        ("- password: sunflower88\n- The printer is in the {}.", "hall", "hall"),
        ("- {} password: sunflower88", "Wi-Fi", "Wi-Fi"),
    ],
)
def test_a_part_of_a_text_is_masked_as_it_is_read_there(note, written, expected):
    above, below = note.split("{}")
    masked = redacted_between(above, written, below, True, personal=False)
    assert expected in masked
    assert (masked == written) == (expected == written)
    assert redacted_between(above, masked, below, True, personal=False) == masked
    assert redacted_between(above, written, below, False, personal=True) == written


def test_the_time_of_a_masked_part_does_not_depend_on_the_length_of_the_text():
    above = "- The boiler is in the hall; its password is in the safe.\n" * 50_000
    start = time.perf_counter()
    redacted_between(above, "sunflower88", "\n" + above, True, personal=False)
    assert time.perf_counter() - start < 2
