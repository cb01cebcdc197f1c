"""Redaction: the peer's vectors, the peer's expressions as oracle, and what ours does beyond."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oma_desktop.model import redaction_assignments, redaction_finds, redaction_names
from oma_desktop.model.errors import InvalidInput
from oma_desktop.model.json_text import parse, stringify
from oma_desktop.model.redaction import (
    REDACTED,
    TextRules,
    compile_patterns,
    is_sensitive_name,
    redact_text,
)
from oma_desktop.model.redaction_shapes import CHECKPOINT
from oma_desktop.model.redaction_values import ValueRedactor, redact_document, redact_object

FILE = Path(__file__).parents[2] / "golden" / "vectors" / "redaction.json"
VECTORS = json.loads(FILE.read_text("utf-8"))["vectors"]
KEY = "sk-FAKE0123456789fakeABCD"
LISTED = {"object 3": '{"__proto__":{"password":"[redacted]"},"constructor":"c"}'}
"""Where ours differs on purpose (golden README): the member is kept and redacted inside."""

strict = TextRules(strict=True)
mask = ValueRedactor()


def of(fn):
    return [pytest.param(v, id=v["name"]) for v in VECTORS if v["fn"] == fn]


def patterns_of(vector):
    given_ones = vector.get("extraPatterns", ())
    return [f"(?i:{p['source']})" if p["flags"] == "i" else p["source"] for p in given_ones]


class TestVectors:
    @pytest.mark.parametrize("vector", of("redactSensitiveText"))
    def test_text(self, vector):
        patterns = compile_patterns(patterns_of(vector))
        assert redact_text(vector["input"], patterns) == vector["output"]

    @pytest.mark.parametrize("vector", of("redactSensitiveObject"))
    def test_object(self, vector):
        value = parse(vector["inputJson"])
        expected = LISTED.get(vector["name"], vector["outputJson"])
        assert stringify(redact_object(value)) == expected
        assert value == parse(vector["inputJson"]), "the caller's value is not changed"

    @pytest.mark.parametrize("vector", of("RedactingStore.set"))
    def test_store_value(self, vector):
        assert redact_document(vector["input"]) == vector["output"]
        assert mask(vector["input"]) == vector["output"]

    @pytest.mark.parametrize("vector", of("isSensitiveName"))
    def test_name(self, vector):
        assert is_sensitive_name(vector["input"]) is vector["output"]

    def test_none_is_left_out(self):
        known = {"redactSensitiveText", "redactSensitiveObject"}
        known |= {"RedactingStore.set", "isSensitiveName"}
        assert {v["fn"] for v in VECTORS} == known


# The expressions of formats.md 1.5.4 written down as they stand there: slow, but plain to read.
_S = "[\\t\\n\\v\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
_I = re.IGNORECASE | re.ASCII
_PEM = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL
)
_AUTHORIZATION = re.compile(rf"(\bAuthorization{_S}*:{_S}*)(?:Bearer{_S}+)?[^\n\r,;}}]+", _I)
_BEARER = re.compile(rf"\bBearer{_S}+[A-Za-z0-9._~+/=-]{{8,}}", _I)
_QUOTED = re.compile(
    rf"((?P<k>[\"']?)(?P<name>{_NAME})(?P=k){_S}*[:=]{_S}*(?P<q>[\"'])).*?(?P=q)",
    re.ASCII | re.DOTALL,
)
_UNQUOTED = re.compile(
    rf"((?P<k>[\"']?)(?P<name>{_NAME})(?P=k){_S}*[:=]{_S}*)"
    rf"(?P<value>(?!{_S})[^\"',;}}\]][^,;}}\]\n\r]*)",
    re.ASCII,
)
_LITERALS = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9_]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|AKIA[0-9A-Z]{16}|xox[baprs]-[A-Za-z0-9-]{10,})\b",
    re.ASCII,
)


def oracle(text):
    def assigned(match):
        if not is_sensitive_name(match["name"]):
            return match[0]
        if "q" in match.groupdict():
            return f"{match[1]}{REDACTED}{match['q']}"
        return match[0] if match["value"].startswith("[redacted") else match[1] + REDACTED

    text = _PEM.sub(REDACTED, text)
    text = _AUTHORIZATION.sub(rf"\1{REDACTED}", text)
    text = _BEARER.sub(f"Bearer {REDACTED}", text)
    text = _UNQUOTED.sub(assigned, _QUOTED.sub(assigned, text))
    return _LITERALS.sub(REDACTED, text)


PARTS = st.sampled_from(
    [
        *"\"':=,;}] \n\r\\-._aA9x{[",
        "\u00a0",
        "\ufeff",
        "\u2028",
        "\u0130",
        "\u212a",
        "password",
        "token",
        "_token",
        "token-",
        "apiKey",
        "Authorization",
        "aUTHORIZATION:",
        "bearer ",
        "Bearer  abcdefgh1",
        "-----BEGIN ",
        "-----END ",
        "RSA PRIVATE KEY-----",
        KEY,
        "ghp_FAKE0123456789fakeABCD",
        "AKIAFAKEFAKEFAKEFAKE",
        "xoxb-12345-67890",
        "[redacted]",
        "note",
        "=1",
    ]
)
TEXTS = st.lists(PARTS, max_size=14).map("".join)


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_the_linear_rules_do_what_the_expressions_say(text):
    assert redact_text(text) == oracle(text)


_WORD = r"[A-Za-z0-9_.-]"
_SIGN = rf"{_S}*+[:=]{_S}*+"
_STRICT = (
    re.compile(rf"(?<!{_WORD})({_WORD}++)(?:\\*+[\"'])?+{_SIGN}(\\*+[\"'])"),
    re.compile(rf"(?<!{_WORD})({_WORD}++)(?:\\*+[\"'])?+{_SIGN}(?!\\*+[\"'])(?=[^\"',;}}\]])"),
)


def strict_oracle(text):
    """The rules for malformed secrets, every word looked at, nothing skipped by a cheap test."""
    hits = redaction_finds.replace_hits
    text = hits(text, redaction_finds.damaged_key_blocks(text))
    text = hits(text, redaction_finds.authorization(text))
    text = hits(text, redaction_finds.bearer(text))
    for pattern, quoted in zip(_STRICT, (True, False), strict=True):
        text = hits(text, _assigned(text, pattern, quoted=quoted))
    return _LITERALS.sub(REDACTED, text)


def _assigned(text, pattern, *, quoted):
    consumed = at = 0
    while (site := pattern.search(text, at)) is not None:
        at = site.end(1)
        if site.start() < consumed or not is_sensitive_name(site[1]):
            continue
        start = site.end()
        if quoted:
            consumed = redaction_assignments._closing(text, start, site[2])
            marked = text[start:consumed] == REDACTED
        else:
            consumed = re.compile("[^,;}\\]\n\r]*").match(text, start).end()
            marked = text.startswith("[redacted", start)
        if not marked:
            yield start, consumed, REDACTED


ASSIGNING = st.lists(
    st.sampled_from(["password", "token", "note", "x", *"=:\"'\n \\,-9\u212a\u0130"]), max_size=16
).map("".join)


@settings(max_examples=1000, deadline=None)
@given(st.one_of(TEXTS, ASSIGNING))
@example('password="token" : "x"')
@example("password=token\n: x")
def test_the_quick_strict_rules_do_what_the_slow_ones_say(text):
    assert strict(text) == strict_oracle(text)


JSON_PARTS = st.sampled_from(
    [
        "\\u0070assword",
        "\\/",
        "se\\/cret",
        "\\n",
        '\\"',
        "\\u0041KIAFAKEFAKEFAKEFAKE",
        ' "a" : ',
        "1.50",
    ]
)
JSON_TEXTS = st.lists(st.one_of(PARTS, JSON_PARTS), max_size=8).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.lists(JSON_TEXTS, max_size=4), st.booleans())
def test_what_the_cheap_test_skips_would_not_change(texts, nested):
    """Also what no JSON writer of ours would spell that way: escaped letters, spaces, cut ends."""
    text = "[" + ",".join(f'{{"k":"{t}","{t}":1}}' for t in texts) + "]"
    document = [json.dumps([text]) if nested else text, *texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextRules, "may_change", lambda _self, _text: True)
        slow = mask(json.dumps(document))
    assert mask(json.dumps(document)) == slow


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('secret="unterminated', 'secret="[redacted]'),
        ('secret="two\nlines', 'secret="[redacted]'),
        ("password='it''s', user=bob", "password='[redacted]', user=bob"),
        ('password="a ""b"" c" tail', 'password="[redacted]" tail'),
        (r'password="a\"b" tail', 'password="[redacted]" tail'),
        (r'password="a\\" tail', 'password="[redacted]" tail'),
        ("password='it'\"'\"'s' tail", "password='[redacted]' tail"),
        ("password='it's mine' tail", "password='[redacted]' tail"),
        ('password="" next=1', 'password="[redacted]" next=1'),
        (r"body={\"password\":\"x y\",\"n\":1}", r"body={\"password\":\"[redacted]\",\"n\":1}"),
        ("-----BEGIN PRIVATE KEY-----abc", REDACTED),
        ("log: -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RS", "log: [redacted]"),
        ("key:\nMIIE\nZmFrZQ==\n-----END PRIVATE KEY-----\nok", "key:[redacted]\nok"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----", REDACTED),
        ("Result: password=hunter2", "Result: password=[redacted]"),
        ("a=1password=b", "a=1password=[redacted]"),
        ("token_count=12", "token_count=[redacted]"),
        ("nothing: here, at all", "nothing: here, at all"),
        ("tokens=5; author: someone", "tokens=5; author: someone"),
    ],
)
def test_p_18_malformed_secrets_are_redacted_more(text, expected):
    assert strict(text) == expected
    assert strict(expected) == expected, "a fixed point"


@settings(max_examples=500, deadline=None)
@given(st.one_of(TEXTS, ASSIGNING), st.integers(1, 9))
def test_windows_cut_nothing(text, window):
    whole = redact_text(text), strict(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction_finds, "WINDOW", window)
        patch.setattr(redaction_assignments, "WINDOW", window)
        patch.setattr(redaction_names, "_PIECE", window)
        assert (redact_text(text), strict(text)) == whole


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_strict_never_leaves_what_the_peer_finds(text):
    """Whatever secret literal the peer masks, strict masks too."""
    kept = strict(text)
    for secret in (KEY, "ghp_FAKE0123456789fakeABCD", "AKIAFAKEFAKEFAKEFAKE"):
        assert kept.count(secret) <= redact_text(text).count(secret)


VALUES = st.text(st.sampled_from("ab1 '\"\\"), min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(VALUES, st.sampled_from("'\""), st.sampled_from(["", " tail", ", next=1"]), st.booleans())
def test_p_18_no_quoting_leaks_a_marked_secret(value, mark, tail, escaped):
    """The marker stands at the end of the value: it is masked however the value is quoted."""
    inner = value + "SECRETMARK"
    inner = inner.replace("\\", "\\\\").replace(mark, "\\" + mark if escaped else mark + mark)
    assert "SECRETMARK" not in strict(f"password={mark}{inner}{mark}{tail}")
    assert "SECRETMARK" not in strict(f"password={mark}{inner}")


class TestJsonInside:
    def test_w15_nested_json_stays_json(self):
        inner = {"password": 12345, "port": 5432, "deep": '{"apiKey": true, "n": 1.50}'}
        text = json.dumps({"value": json.dumps(inner)})
        got = json.loads(json.loads(mask(text))["value"])
        assert got["password"] == REDACTED
        assert got["port"] == 5432
        assert json.loads(got["deep"]) == {"apiKey": REDACTED, "n": 1.5}

    def test_nested_json_without_secret_keeps_its_bytes(self):
        inner = '{ "n" : 1.50, "b":[1,  2] }'
        assert json.loads(mask(json.dumps([inner]))) == [inner]

    def test_json_cut_off_inside_a_string_is_text(self):
        cut = json.dumps({"user": "x", "password": "hunter2 and more"})[:-8]
        got = json.loads(mask(json.dumps({"log": cut})))["log"]
        assert "hunter2" not in got
        assert '"user": "x"' in got

    @pytest.mark.parametrize("value", ['"password=x"', "12", "null", '"plain"', '{"token":1}'])
    def test_encoded_values_stay_json_scalars_included(self, value):
        got = json.loads(mask(value, encoded=True))
        assert "x" not in str(got) or got == "plain"

    def test_lone_surrogates_pass(self):
        text = '{"a":"\\ud83d","password":"\\ud83d","b":"\ud83d"}'
        assert json.loads(mask(text)) == {"a": "\ud83d", "password": REDACTED, "b": "\ud83d"}

    def test_deep_and_wide_values_do_not_recurse(self):
        deep = '{"a":' * 300 + '{"password":1}' + "}" * 300
        assert '"password":"[redacted]"' in mask(deep)
        too_deep = "[" * 50_000 + '"' + KEY + '"' + "]" * 50_000
        assert KEY not in mask(too_deep)


class TestCheckpointShape:
    def test_structure_stays_and_content_goes(self):
        document = {
            "version": 4,
            "identity": {"runId": "session=1", "attempt": 1},
            "metadata": {"session_id": "abc", "team": "x"},
            "queue": {
                "tasks": [
                    {
                        "id": "token=abc",
                        "title": "Set password=hunter2",
                        "dependsOn": ["secret: a"],
                        "status": "failed",
                        "metadata": {"ticket": "OPS-1"},
                    }
                ],
                "planRevisions": [
                    {
                        "addedTasks": {"session-retry": "task-2"},
                        "reason": f"because {KEY}",
                        "supersededTaskIds": ["token=abc"],
                    }
                ],
            },
            "omaDesktop": {"retries": {"session-login": 2}, "usage": {"input_tokens": 3}},
        }
        got = json.loads(mask(json.dumps(document), shape=CHECKPOINT))
        assert got["identity"] == document["identity"]
        assert got["metadata"] == {"session_id": REDACTED, "team": "x"}
        task = got["queue"]["tasks"][0]
        assert (task["id"], task["dependsOn"]) == ("token=abc", ["secret: a"])
        assert task["title"] == "Set password=[redacted]"
        revision = got["queue"]["planRevisions"][0]
        assert revision["addedTasks"] == {"session-retry": "task-2"}
        assert revision["reason"] == "because [redacted]"
        assert got["omaDesktop"] == document["omaDesktop"]

    def test_calls_stay_calls(self):
        call = {"type": "tool_use", "id": "c1", "name": "set_session", "input": {"pwd": 1, "a": 2}}
        entry = {"taskId": "t", "pendingToolCalls": [{"call": call}]}
        got = json.loads(mask(json.dumps({"inFlightTasks": [entry]}), shape=CHECKPOINT))
        pending = got["inFlightTasks"][0]["pendingToolCalls"][0]["call"]
        assert pending == {**call, "input": {"pwd": REDACTED, "a": 2}}

    def test_images_stay_images_and_signatures_stay_whole(self):
        data = "c2VjcmV0PXg" * 9 + "=="
        image = {"type": "image", "source": {"type": "base64", "data": data, "media_type": "a/b"}}
        thought = {"type": "reasoning", "text": KEY, "signature": "token=abc"}
        fake = {"type": "image", "source": {"type": "base64", "data": "password=hunter2"}}
        messages = [{"role": "assistant", "content": [image, thought, fake]}]
        document = json.dumps({"inFlightTasks": [{"messages": messages}]})
        got = json.loads(mask(document, shape=CHECKPOINT))
        blocks = got["inFlightTasks"][0]["messages"][0]["content"]
        assert blocks[0] == image
        assert blocks[1] == {**thought, "text": REDACTED}
        assert "hunter2" not in blocks[2]["source"]["data"]

    def test_shared_memory_values_stay_what_they_are(self):
        encoded = {"sharedMemoryValueEncoding": "json", "agent": "session-bot"}
        notes = [
            {"key": "a/session", "value": '"password=x"', "metadata": encoded},
            {"key": "a/b", "value": '{"password":1}', "metadata": encoded},
            {"key": "a/c", "value": "password=x", "metadata": {"agent": "a"}},
        ]
        document = json.dumps({"sharedMemory": {"version": 1, "entries": notes}})
        got = json.loads(mask(document, shape=CHECKPOINT))["sharedMemory"]["entries"]
        assert [n["key"] for n in got] == ["a/session", "a/b", "a/c"]
        assert got[0]["metadata"] == encoded
        assert json.loads(got[0]["value"]) == "password=[redacted]"
        assert json.loads(got[1]["value"]) == {"password": REDACTED}
        assert got[2]["value"] == "password=[redacted]"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(TEXTS, max_size=4), min_size=1, max_size=4))
def test_what_is_recalled_is_what_would_be_found(documents):
    recalling = ValueRedactor()
    for texts in documents:
        long = [t * (1 + 64 // max(1, len(t))) for t in texts]
        document = json.dumps({"a": long, "b": {"c": long[:1]}})
        assert recalling(document, recall=True) == mask(document)


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(InvalidInput) as caught:
        compile_patterns(["ok", "(unclosed"])
    assert caught.value.code == "REDACT_PATTERN_INVALID"
    assert caught.value.facts["index"] == 1


N = 400_000
HOSTILE = {
    "one long word": "a" * N,
    "a long word and a sign": "a" * N + " = x",
    "names and no value": "a=" * (N // 2),
    "unclosed quotes": 'password="' * (N // 10),
    "words before unclosed quotes": "abcdefgh='x" + "'abcdefgh=\"y" * (N // 12),
    "key blocks that never end": "-----BEGIN PRIVATE KEY-----" * (N // 27),
    "key words": "-----BEGIN " + "PRIVATE " * (N // 8),
    "ends without begin": "AAAA\n-----END PRIVATE KEY-----" * (N // 30),
    "spaces": "password" + " " * N + "x",
    "spaces after the sign": "password=" + "\n" * N + ",",
    "authorization and spaces": "Authorization:" + "\n" * N + ",",
    "authorization again and again": "Authorization" * (N // 13),
    "bearer and spaces": "Bearer" + " " * N + "x",
    "token and dashes": "sk-" + "-" * N,
    "tokens in tokens": "sk-a" * (N // 4),
    "backslashes": 'password="' + "\\" * N + '"',
    "escaped quotes": 'password="' + '\\"' * (N // 2),
    "a sensitive name of megabytes": "x" * N + "password" + "y" * N + "=1",
    "brackets": "[" * N,
    "nested strings": json.dumps("[" * N),
}


@pytest.mark.parametrize("rules", [TextRules(), strict], ids=["peer", "strict"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_linear_time(text, rules):
    """A quadratic rule would need hours for these; the limit is generous on purpose."""
    started = time.process_time()
    rules(text)
    assert time.process_time() - started < 5
