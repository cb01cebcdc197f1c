"""Where model calls may go (engine.md 8.7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from oma_desktop.model.egress import EgressPolicy, allowed, is_loopback, origin_of

POLICY = TypeAdapter(EgressPolicy)
OFFLINE = POLICY.validate_python({"mode": "offline"})


def allowlist(*origins):
    return POLICY.validate_python({"mode": "allowlist", "allowedOrigins": list(origins)})


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://API.Example.com/v1", "https://api.example.com:443"),
        ("http://localhost:11434/v1", "http://localhost:11434"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("https://a.example.:8443", "https://a.example:8443"),
        ("ftp://a.example", None),
        ("https://a.example:notaport", None),
        ("nothing", None),
    ],
)
def test_an_origin_is_scheme_host_and_port(address, origin) -> None:
    assert origin_of(address) == origin


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("model.localhost", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("10.0.0.1", False),
        ("localhost.example.com", False),
        ("127.0.0.1.example.com", False),
        ("0.0.0.0", False),
    ],
)
def test_offline_means_this_machine(host, ours) -> None:
    origin = origin_of(f"http://{host}:1/v1")
    assert is_loopback(origin) == ours
    assert OFFLINE.allows(origin) == ours


@pytest.mark.parametrize(
    "origin",
    [
        "https://user:pw@a.example",
        "https://a.example/v1",
        "https://a.example/?q=1",
        "https://a.example/#f",
        "a.example",
        "ftp://a.example",
        "",
    ],
)
def test_an_allowlist_takes_origins_only(origin) -> None:
    with pytest.raises(ValidationError):
        allowlist(origin)


@pytest.mark.parametrize(
    "document",
    [{"mode": "offline", "allowedOrigins": []}, {"mode": "allowlist"}, {"mode": "open"}, {}],
)
def test_other_policies_do_not_exist(document) -> None:
    with pytest.raises(ValidationError):
        POLICY.validate_python(document)


ORIGINS = [f"https://{c}.example" for c in "abc"] + ["http://localhost"]
policies = st.one_of(
    st.none(),
    st.just(OFFLINE),
    st.lists(st.sampled_from(ORIGINS), unique=True).map(lambda some: allowlist(*some)),
)


@given(st.lists(policies), policies, st.sampled_from(ORIGINS))
def test_idea_58_a_further_policy_never_widens(some, another, address) -> None:
    origin = origin_of(address)
    if allowed(origin, [*some, another]):
        assert allowed(origin, some)
        assert another is None or another.allows(origin)


def test_an_empty_allowlist_denies_all() -> None:
    assert not any(allowed(origin_of(o), [allowlist()]) for o in ORIGINS)
