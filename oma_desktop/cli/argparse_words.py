"""The few sentences argparse says itself, in the language of the program."""

from __future__ import annotations

import argparse
from typing import Final

from oma_desktop.base.text import N_, tr

WORDS: Final = (
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("show this help message and exit"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("the following arguments are required: %s"),
    N_("one of the arguments %s is required"),
    N_("unrecognized arguments: %s"),
    N_("not allowed with argument %s"),
    N_("ignored explicit argument %r"),
    N_("expected one argument"),
    N_("expected at least one argument"),
    N_("invalid %(type)s value: %(value)r"),
    N_("invalid choice: %(value)r (choose from %(choices)s)"),
)
"""What our commands can make it say; argparse fills the places itself."""


def translate_argparse() -> None:
    """Let argparse look its words up in our catalogue.

    It asks `gettext` for them under the name `_` in its own module and offers no other way; a
    text domain would need compiled files on disk, and there are none.
    """
    vars(argparse)["_"] = _said


def _said(text: str) -> str:
    return tr(text)
