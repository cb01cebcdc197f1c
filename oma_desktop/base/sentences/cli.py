"""Sentences of the command line itself."""

from oma_desktop.base.text import N_, Sentence

SENTENCES = {
    "WORKING_FOLDER_GONE": Sentence(
        N_("The folder this command was started in cannot be used: {reason}."),
        N_("Nothing was changed."),
        N_("Change to a folder that is there and try again."),
    ),
    "USAGE": Sentence(
        N_("This command line cannot be understood: {detail}."),
        hint=N_("See `{command} --help`."),
    ),
    "USAGE_VARIABLE": Sentence(
        N_("The environment variable {name} is not a number from 0 on: {found}."),
        hint=N_("Correct it or remove it."),
    ),
    "COMMAND_UNKNOWN": Sentence(
        N_("{found} is neither a command nor a file or folder."),
        hint=N_("Did you mean `{nearest}`? `oma-desktop --help` lists the commands."),
    ),
    "PATH_NOT_FOUND": Sentence(
        N_("There is nothing at {path}."), hint=N_("Check the spelling of the path.")
    ),
    "PATH_IS_FOLDER": Sentence(
        N_("{path} is a folder, a file is needed."),
        hint=N_("Name the store file itself, usually checkpoint.json inside it."),
    ),
    "FILE_NOT_REGULAR": Sentence(
        N_("{path} is no regular file but a pipe or a device, so it was not read."),
        hint=N_("Write its content to a file and name that."),
    ),
    "FILE_NOT_READABLE": Sentence(
        N_("{path} cannot be read: {detail}."), hint=N_("Check the rights of the file.")
    ),
    "RUNFILE_UNREADABLE": Sentence(
        N_("The run file {path} cannot be read: {found}."),
        N_("Nothing was changed."),
        N_("Check the spelling of the path and the rights of the file."),
    ),
    "RESTORE_NEEDS_FILES": Sentence(
        N_("It is not known which run file or script {path} was started from."),
        N_("Nothing was changed."),
        N_("Name the run file, or the script with --script."),
    ),
    "RESTORE_FILES_GONE": Sentence(
        N_("{path} was started from what is not there any more: {missing}."),
        N_("Nothing was changed."),
        N_(
            "Put it back, or say where it is now: name the run file on the command line, with "
            "--script and --team if the run had them."
        ),
    ),
    "CHECKPOINT_NOT_FOUND": Sentence(
        N_("{path} holds no run to go on with ({key})."),
        N_("Nothing was changed."),
        N_("Look with `oma-desktop inspect`; a new run is started with `oma-desktop run`."),
    ),
    "SAMPLE_FOLDER_TAKEN": Sentence(
        N_("{path} is not from this sample."),
        N_("Nothing was changed."),
        N_("Choose an empty folder for the sample."),
    ),
    "NO_DISPLAY": Sentence(
        N_("There is no display here, so no window can be opened."),
        hint=N_(
            "Use the commands; `oma-desktop --help` lists them. `demo` works without a display."
        ),
    ),
    "DISPLAY_NOT_REACHED": Sentence(
        N_("The display {display} cannot be reached, so no window can be opened."),
        hint=N_("Check DISPLAY and the rights to it, or use the commands."),
    ),
    "SYSTEM_LIBRARY_MISSING": Sentence(
        N_("The window needs the system library {name}, which is not installed."),
        hint=N_("On Debian and Ubuntu: apt-get install {package}"),
    ),
    "OUTPUT_NOT_WRITTEN": Sentence(
        N_("The output could not be written: {reason}."),
        N_("What the command did is done; only its answer is missing."),
        N_("Look with `oma-desktop inspect` once the output has a place to go."),
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
