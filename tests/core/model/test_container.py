"""The file of a FileStore (formats.md 1.4): every row of the load table, and the bytes written."""

import json
from pathlib import Path

import pytest

from oma_desktop.base.clock import to_ms_iso
from oma_desktop.model.container import (
    Container,
    ContainerEntry,
    encode_container,
    parse_container,
)
from oma_desktop.model.dates import parse_js_date
from oma_desktop.model.errors import Corrupt, SchemaTooNew, StoreError

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = Path(__file__).parents[2] / "cases"
OURS = json.loads((GOLDEN / "n_corrupt/ours.json").read_text("utf-8"))
STORES = sorted(p for p in GOLDEN.glob("*/checkpoint.json"))
ROW = '{"key":"k","value":"v","createdAt":"2026-01-02T03:04:05.678Z"%s}'


def store(rows, more=""):
    return f'{{"version":1,"entries":[{rows}]{more}}}'.encode()


def load(data):
    return parse_container(data, path="/x/store.json")


@pytest.mark.parametrize("path", STORES, ids=lambda p: p.parent.name)
def test_files_of_the_peer_round_trip_byte_for_byte(path):
    data = path.read_bytes()
    container = load(data)
    assert container.problems == ()
    assert encode_container(container) == data


def test_there_are_stores_to_round_trip():
    assert len(STORES) > 50


@pytest.mark.parametrize(
    ("data", "code", "where"),
    [
        (b"[]", "STORE_NOT_OBJECT", "$"),
        (b"null", "STORE_NOT_OBJECT", "$"),
        (b"{}", "STORE_VERSION_UNKNOWN", "$.version"),
        (b'{"version":true,"entries":[]}', "STORE_VERSION_UNKNOWN", "$.version"),
        (b'{"version":"1","entries":[]}', "STORE_VERSION_UNKNOWN", "$.version"),
        (b'{"version":null,"entries":[]}', "STORE_VERSION_UNKNOWN", "$.version"),
        (b'{"version":0,"entries":[]}', "STORE_VERSION_UNKNOWN", "$.version"),
        (b'{"version":1.5,"entries":[]}', "STORE_VERSION_UNKNOWN", "$.version"),
        (b'{"version":1}', "STORE_NO_ENTRIES", "$.entries"),
        (b'{"version":1,"entries":{}}', "STORE_NO_ENTRIES", "$.entries"),
        (store("null"), "STORE_ENTRY_MALFORMED", "$.entries[0]"),
        (store("[]"), "STORE_ENTRY_MALFORMED", "$.entries[0]"),
        (store(ROW % "" + ",{}"), "STORE_ENTRY_MALFORMED", "$.entries[1].key"),
        (store('{"key":"k","value":{}}'), "STORE_ENTRY_MALFORMED", "$.entries[0].value"),
        (store('{"key":"k","value":"v"}'), "STORE_ENTRY_MALFORMED", "$.entries[0].createdAt"),
        (
            store('{"key":"k","value":"v","createdAt":"soon"}'),
            "STORE_CREATED_AT_INVALID",
            "$.entries[0].createdAt",
        ),
        (store(ROW % ',"metadata":null'), "STORE_METADATA_INVALID", "$.entries[0].metadata"),
        (store(ROW % ',"metadata":[]'), "STORE_METADATA_INVALID", "$.entries[0].metadata"),
        (store(ROW % ',"metadata":"x"'), "STORE_METADATA_INVALID", "$.entries[0].metadata"),
        (store(ROW % "" + "," + ROW % ',"key":"x"'), "JSON_DUPLICATE_NAME", "$.entries[1].key"),
    ],
)
def test_refuses_naming_file_and_place(data, code, where):
    with pytest.raises(Corrupt) as caught:
        load(data)
    error = caught.value
    assert (error.code, error.facts["where"]) == (code, where)
    assert error.facts["path"] == "/x/store.json"


@pytest.mark.parametrize("version", [b"1", b"1.0", b"1e0"])
def test_accepts_every_spelling_of_version_1(version):
    assert load(b'{"version":' + version + b',"entries":[]}').entries == []


def test_a_newer_version_names_both(caplog):
    with pytest.raises(SchemaTooNew) as caught:
        load((CASES / "s10-newer-schema/store-v2.json").read_bytes())
    facts = caught.value.facts
    assert (caught.value.code, facts["found"], facts["supported"]) == ("STORE_TOO_NEW", 2, 1)


def test_an_expiry_that_is_no_number_is_dropped_with_a_warning():
    container = load(store(ROW % ',"expiresAtTurn":"3"'))
    assert container.entries[0].expires_at_turn is None
    assert [(p.code, p.severity) for p in container.problems] == [
        ("STORE_EXPIRY_IGNORED", "warning")
    ]
    assert load(store(ROW % ',"expiresAtTurn":0')).entries[0].expires_at_turn == 0


def test_the_later_of_two_rows_wins_at_the_place_of_the_first():
    rows = ",".join(
        f'{{"key":"{k}","value":"{v}","createdAt":"2026-01-02"}}' for k, v in ("a1", "b2", "a3")
    )
    container = load(store(rows))
    assert [(e.key, e.value) for e in container.entries] == [("a", "3"), ("b", "2")]
    assert [p.code for p in container.problems] == ["STORE_DUPLICATE_KEY"]


def test_unknown_keys_survive_and_dates_are_normalised():
    data = store(
        '{"owner":{"2":1,"1":2},"key":"k","createdAt":"2026-01-02","value":"v"}', ',"future":[1.50]'
    )
    assert encode_container(load(data)) == (
        b'{"version":1,"entries":[{"key":"k","value":"v","createdAt":"2026-01-02T00:00:00.000Z",'
        b'"owner":{"1":2,"2":1}}],"future":[1.5]}'
    )


def test_unknown_index_keys_stand_first_as_in_javascript():
    data = b'{"7":{"entries":[]},"version":1,"entries":[]}'
    assert encode_container(load(data)) == data


def test_bom_is_read_with_a_warning_and_never_written():
    data = (CASES / "s22-bom-crlf/store.json").read_bytes()
    container = load(data)
    assert container.bom
    assert [p.code for p in container.problems] == ["STORE_BOM"]
    assert container.entries
    assert encode_container(container).startswith(b'{"version":1,"entries":[')


@pytest.mark.parametrize("name", ["zero", "nul", "half", "null", "array"])
def test_damaged_files_are_never_an_empty_store(name):
    with pytest.raises(Corrupt):
        load((CASES / f"s13-zero-and-nul-files/{name}.json").read_bytes())


CONTAINER_FILES = [n for n in OURS if not n.startswith(("cp-", "ap-"))]


@pytest.mark.parametrize("name", CONTAINER_FILES)
def test_verdict_on_damaged_files(name):
    data = (GOLDEN / "n_corrupt" / name).read_bytes()
    if OURS[name]["exit"] == 0:
        load(data)
        return
    with pytest.raises(StoreError) as caught:
        load(data)
    assert caught.value.facts["where"]


def replay(ops):
    """The vectors' operations on a plain ordered map, as a store does them (formats.md 1.3)."""
    rows: dict[str, ContainerEntry] = {}
    now = parse_js_date("2026-01-02T03:04:05.678Z")
    for op in ops:
        name, *args = op
        if name == "clear":
            rows.clear()
        elif name == "delete":
            rows.pop(args[0], None)
        elif name == "cas":
            current = rows[args[0]].value if args[0] in rows else None
            if current == args[1]:
                rows[args[0]] = ContainerEntry(args[0], args[2], now, *args[3:])
        elif name == "set":
            rows[args[0]] = ContainerEntry(args[0], args[1], now, *args[2:])
        else:
            key, value, turn, *metadata = args
            rows[key] = ContainerEntry(key, value, now, *metadata, expires_at_turn=turn)
    return Container(list(rows.values()))


@pytest.mark.parametrize(
    "vector",
    json.loads((GOLDEN / "vectors/filestore_bytes.json").read_text("utf-8"))["vectors"],
    ids=lambda v: v["name"],
)
def test_bytes_are_those_of_the_peer(vector):
    written = encode_container(replay(vector["ops"])).decode()
    now = to_ms_iso(parse_js_date("2026-01-02T03:04:05.678Z"))
    assert written.replace(f'"createdAt":"{now}"', '"createdAt":"<iso>"') == vector["fileText"]
