"""Where keys come from: the environment first, then the system's key store, which may be none."""

import logging

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, NoKeyringError

from oma_desktop.engine.llm.keys import KEYRING_SERVICE, find_key, stored_key


class Store(KeyringBackend):
    """A key store with one key, or with a problem."""

    priority = -1  # nobody's choice but the fixture's: keyring finds backends by their class
    problem = None

    def get_password(self, service, username):
        if self.problem is not None:
            raise self.problem
        return {(KEYRING_SERVICE, "openai"): " sk-stored\n"}.get((service, username))

    def set_password(self, service, username, password):
        raise NotImplementedError

    def delete_password(self, service, username):
        raise NotImplementedError


@pytest.fixture
def store():
    before, made = keyring.get_keyring(), Store()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def found(**environ):
    return find_key("openai", ["FIRST", "SECOND"], environ=environ, stored=stored_key)


def test_the_environment_comes_first_in_the_order_of_its_names(store):
    assert found(FIRST="a", SECOND="b") == "a"
    assert found(FIRST="  ", SECOND=" b\n") == "b"


def test_then_the_key_store(store):
    assert found() == "sk-stored"
    assert find_key("groq", [], environ={}, stored=stored_key) is None


@pytest.mark.parametrize(
    "problem", [NoKeyringError(), KeyringLocked(), RuntimeError("no bus"), OSError("no socket")]
)
def test_a_machine_without_a_usable_store_has_no_key_there(store, problem, caplog):
    store.problem = problem
    with caplog.at_level(logging.DEBUG):
        assert found() is None
        assert found(FIRST="sk-environment") == "sk-environment"
    assert "sk-" not in caplog.text
