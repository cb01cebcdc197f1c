"""Sentences of the command line itself."""

from oma_desktop.base.text import N_, Sentence

SENTENCES = {
    "USAGE": Sentence(
        N_("This command line cannot be understood: {detail}."),
        hint=N_("See `{command} --help`."),
    ),
    "PATH_NOT_FOUND": Sentence(
        N_("There is nothing at {path}."), hint=N_("Check the spelling of the path.")
    ),
    "PATH_IS_FOLDER": Sentence(
        N_("{path} is a folder, a file is needed."),
        hint=N_("Name the store file itself, usually checkpoint.json inside it."),
    ),
    "FILE_NOT_READABLE": Sentence(
        N_("{path} cannot be read: {detail}."), hint=N_("Check the rights of the file.")
    ),
    "UNEXPECTED": Sentence(
        N_("Something unexpected happened inside the program: {kind}: {detail}"),
        hint=N_("Set OMA_DESKTOP_DEBUG=1 and run it again to see where."),
    ),
    "WINDOW_NOT_AVAILABLE": Sentence(
        N_("The window cannot be opened here: {detail}."),
        hint=N_("Install PySide6, or use the commands; `oma-desktop --help` lists them."),
    ),
}
