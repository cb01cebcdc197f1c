"""The strict reader and the writer that spells like the peer (formats.md 1.4, 9)."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oma_desktop.model.errors import Corrupt
from oma_desktop.model.json_text import (
    MAX_DEPTH,
    cut_utf16,
    cut_whole,
    encode,
    js_number,
    js_trim,
    parse,
    parse_with_bom,
    replace_halves,
    stringify,
    utf16_length,
)
from oma_desktop.model.json_writer import pieces


def refused(data):
    with pytest.raises(Corrupt) as caught:
        parse(data)
    return caught.value


@pytest.mark.parametrize(
    ("data", "code", "offset"),
    [
        (b"", "JSON_EMPTY", 0),
        (b" \n ", "JSON_EMPTY", 3),
        (b"\0" * 20, "JSON_NUL_BYTES", 0),
        (b'{"a":1', "JSON_TRUNCATED", 6),
        (b'{"a":"long te', "JSON_TRUNCATED", 5),
        (b'{"a":1}{"b":2}', "JSON_TRAILING_DATA", 7),
        (b'{"a":1}\0\0', "JSON_TRAILING_DATA", 7),
        (b'{"a":1,}', "JSON_INVALID", 7),
        (b"{'a':1}", "JSON_INVALID", 1),
        (b'{"a":None}', "JSON_INVALID", 5),
        (b'// x\n{"a":1}', "JSON_INVALID", 0),
        (b'{"a":NaN}', "JSON_CONSTANT", 5),
        (b'{"a":"NaN","b":[1,-Infinity]}', "JSON_CONSTANT", 18),
        (b'{"a":"\xff"}', "JSON_NOT_UTF8", 6),
        (b'\xef\xbb\xbf{"a":1}', "JSON_BOM", 0),
        (b'{"a":"\x01"}', "JSON_INVALID", 6),
        (b'{"a":01}', "JSON_INVALID", 6),
        ('{"é":1,"é":2}'.encode(), "JSON_DUPLICATE_NAME", 8),
    ],
)
def test_refuses_with_code_and_byte_offset(data, code, offset):
    error = refused(data)
    assert (error.code, error.facts["offset"]) == (code, offset)
    assert error.facts["line"] == data[:offset].count(b"\n") + 1


def test_duplicate_names_are_found_anywhere_with_their_path():
    error = refused('{"a":[{"x":{"a":1}},{"b c":{"k":1,"o":{"k":2},"k":3}}]}')
    assert error.code == "JSON_DUPLICATE_NAME"
    assert error.facts["where"] == '$.a[1]["b c"].k'


def test_escaped_and_plain_spelling_of_one_name_are_the_same_name():
    assert refused(r'{"a":1,"\u0061":2}').code == "JSON_DUPLICATE_NAME"


def test_line_and_column_count_characters():
    error = refused('{\n  "名": 1,\n  "b": x}'.encode())
    assert (error.facts["line"], error.facts["column"]) == (3, 8)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.0", 1),
        ("1e0", 1),
        ("-0", 0),
        ("-0.0", 0),
        ("9007199254740991", 2**53 - 1),
        ("9007199254740993", 9007199254740992),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("0.1", 0.1),
    ],
)
def test_numbers_are_what_javascript_sees(text, value):
    got = parse(text)
    assert (got, type(got)) == (value, type(value))


def test_huge_integers_do_not_raise():
    assert parse("9" * 5000) == math.inf
    assert parse("[" + "1" * 4301 + "]") == [math.inf]


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 5_000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded_with_a_clear_error(depth, opening, closing):
    text = opening * depth + "0" + closing * depth
    if depth <= MAX_DEPTH:
        assert stringify(parse(text)) == text
        return
    error = refused(text)
    assert (error.code, error.facts["limit"]) == ("JSON_TOO_DEEP", MAX_DEPTH)
    assert error.facts["offset"] == len(opening) * MAX_DEPTH


def test_surrogates_are_joined_and_lone_ones_kept():
    assert parse(r'"\ud83d\ude00"') == "\U0001f600"
    assert parse(r'["\ud83d","\ude00\ud83d"]') == ["\ud83d", "\ude00\ud83d"]
    assert parse('"\ud83d\\ude00"') == "\U0001f600"
    assert parse('"\ud83d\ude00"') == "\U0001f600"
    assert refused('"\\\ud83d"').code == "JSON_INVALID"


def test_bom_is_reported_once():
    assert parse_with_bom(b'\xef\xbb\xbf{"a":1}') == ({"a": 1}, True)
    assert parse_with_bom(b'{"a":1}') == ({"a": 1}, False)
    with pytest.raises(Corrupt):
        parse_with_bom(b"\xef\xbb\xbf\xef\xbb\xbf1")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e21, "1e+21"),
        (123456789012345680000, "123456789012345680000"),
        (1e16, "10000000000000000"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (1.5e-10, "1.5e-10"),
        (5e-324, "5e-324"),
        (-0.0, "0"),
        (1.0, "1"),
        (100.5, "100.5"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9007199254740993, "9007199254740992"),
        (10**400, "Infinity"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (0.00001234, "0.00001234"),
        (123e-20, "1.23e-18"),
    ],
)
def test_numbers_are_spelled_as_ecmascript_does(number, text):
    assert js_number(number) == text


def test_stringify_puts_array_indices_first_and_nothing_else():
    value = {"b": 1, "10": 2, "9": 3, "01": 4, "4294967294": 5, "4294967295": 6, "-1": 7, "0": 8}
    expected = '{"0":8,"9":3,"10":2,"4294967294":5,"b":1,"01":4,"4294967295":6,"-1":7}'
    assert stringify(value) == expected
    assert stringify({"a": 1, "0": 2}) == '{"0":2,"a":1}'
    assert stringify({"a": [{"x": {"7": 1, "3": 2}}]}) == '{"a":[{"x":{"3":2,"7":1}}]}'


def test_stringify_writes_null_for_what_is_not_finite():
    assert stringify([math.nan, math.inf, -math.inf, {"a": 1e400}]) == '[null,null,null,{"a":null}]'


def test_stringify_escapes_lone_surrogates_only():
    text = '\u007f\u2028/é\U0001f600\ud800\ud83d\ude00\\"\b\f\n\r\t\x00\x1f'
    written = stringify({text: text})
    assert "\\ud800" in written
    assert "\U0001f600\\ud800\U0001f600" in written
    assert "\u007f\u2028/é" in written
    assert '\\\\\\"\\b\\f\\n\\r\\t\\u0000\\u001f' in written
    assert encode("\ud800") == b'"\\ud800"'


def test_stringify_refuses_cycles_and_foreign_types():
    loop: list = []
    loop.append(loop)
    with pytest.raises(ValueError, match="cycle"):
        stringify(loop)
    with pytest.raises(TypeError):
        stringify({"a": {1}})


def test_the_same_value_twice_is_no_cycle():
    shared = {"x": 1.0}
    assert stringify([shared, shared]) == '[{"x":1},{"x":1}]'


def test_stringify_survives_depth():
    deep: list = []
    for _ in range(5_000):
        deep = [deep]
    assert stringify(deep) == "[" * 5_001 + "]" * 5_001


def test_trim_is_the_trim_of_javascript():
    assert js_trim("\ufeff\u00a0\u2028\u3000 x \v\f") == "x"
    assert js_trim("\u0085x\x1c") == "\u0085x\x1c"


def test_lengths_and_cuts_are_utf16_units():
    assert utf16_length("a\U0001f600é") == 4
    assert cut_utf16("\U0001f600\U0001f600", 3) == "\U0001f600\ud83d"
    assert cut_whole("\U0001f600\U0001f600", 3) == "\U0001f600"
    assert cut_whole("ab\ud83dc", 3) == "ab\ud83d"
    assert cut_utf16("abc", 9) == "abc"
    assert replace_halves("a\ud83db\U0001f600") == "a\ufffdb\U0001f600"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False).map(
        lambda x: int(x) if x.is_integer() and abs(x) <= 2**53 else x
    )
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 2**33).map(str), inner, max_size=4)
    ),
    max_leaves=20,
)


def joined(value):
    return json.loads(json.dumps(value))


@given(JSON)
def test_round_trip(value):
    assert parse(stringify(value)) == joined(value)
    assert parse(encode(value)) == joined(value)


@given(JSON)
def test_fast_and_exact_path_agree(value):
    assert stringify(value) == "".join(pieces(value))


@given(JSON)
def test_written_text_is_a_fixed_point(value):
    text = stringify(value)
    assert stringify(parse(text)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_spelling_reads_back(number):
    assert float(js_number(number)) == number


def outcome(data):
    try:
        return stringify(parse(data))
    except Corrupt as error:
        return error.code


@given(st.binary(max_size=40) | st.text('{}[],:"\\u0d8NaInfity 1.e-', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    result = outcome(data)
    assert result.startswith("JSON_") or outcome(result) == result
