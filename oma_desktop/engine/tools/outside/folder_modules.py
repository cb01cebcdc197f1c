"""Modules of one folder, imported apart from everything else in the process.

They live under a private package name, so two runs whose folders both have a `tools.py` never meet,
nothing in the folder stands in for an installed package, and every attempt reads the files as they
are now. Absolute imports of a neighbour file work as its author expects; a name that is installed
or built in always means that one. No byte code is written beside the files.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import itertools
import sys
import types
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Final

from typing_extensions import override

_numbers: Final = itertools.count(1)
_PREFIX: Final = "_oma_folder_"


class FolderModules(MetaPathFinder):
    """Finds and loads the modules of `folder`, which a person agreed to. `close` forgets them.

    Invariant: only regular files whose resolved path lies inside the folder are ever loaded.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.package = f"{_PREFIX}{next(_numbers)}"
        root = types.ModuleType(self.package, "Modules of one folder of tools.")
        root.__path__ = []
        sys.modules[self.package] = root
        sys.meta_path.insert(0, self)

    def close(self) -> None:
        """Forget the modules; functions that were taken from them go on working."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name in [n for n in sys.modules if n.partition(".")[0] == self.package]:
            del sys.modules[name]

    def load(self, module: str) -> types.ModuleType:
        """Import one module by its name in the folder; what it raises passes through."""
        return importlib.import_module(f"{self.package}.{module}")

    def file_of(self, module: str) -> Path | None:
        """Return the file of a module, None where the folder has none.

        Raises ValueError when a link leads to a file outside the folder.
        """
        place = self.folder.joinpath(*module.split("."))
        for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if file.is_file():
                real = file.resolve()
                if not real.is_relative_to(self.folder):
                    raise ValueError(str(real))
                return file
        return None

    @override
    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> ModuleSpec | None:
        root, _, module = fullname.partition(".")
        if root != self.package or not module:
            return None
        try:
            file = self.file_of(module)
        except ValueError as error:
            raise ImportError(f"{module} leads out of the folder, to {error}") from error
        if file is None:
            return self._bare_folder(fullname, module)
        spec = importlib.util.spec_from_file_location(
            fullname,
            file,
            loader=_SourceLoader(self, file),
            submodule_search_locations=[] if file.name == "__init__.py" else None,
        )
        if spec is not None:
            spec.cached = None
        return spec

    def _bare_folder(self, fullname: str, module: str) -> ModuleSpec | None:
        """A folder without `__init__.py` is a package too."""
        place = self.folder.joinpath(*module.split("."))
        if not (place.is_dir() and place.resolve().is_relative_to(self.folder)):
            return None
        return ModuleSpec(fullname, None, is_package=True)

    def import_(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002 - the names of __import__
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> types.ModuleType:
        """Stand in for `__import__` inside modules of the folder."""
        top = name.partition(".")[0]
        if level or not self._has(top) or is_installed(top, besides=self.folder):
            return builtins.__import__(name, globals, locals, fromlist, level)
        found = builtins.__import__(
            f"{self.package}.{name}", globals, locals, fromlist or ("__name__",), 0
        )
        return found if fromlist else sys.modules[f"{self.package}.{top}"]

    def _has(self, top: str) -> bool:
        try:
            return self.file_of(top) is not None or (self.folder / top).is_dir()
        except ValueError:
            return True  # a link out of the folder: the import says so


class _SourceLoader(Loader):
    """Runs the source of one file as it is now."""

    def __init__(self, modules: FolderModules, file: Path) -> None:
        self._modules = modules
        self._file = file

    @override
    def exec_module(self, module: types.ModuleType) -> None:
        code = compile(self._file.read_bytes(), str(self._file), "exec", dont_inherit=True)
        own = {**vars(builtins), "__import__": self._modules.import_}
        vars(module)["__builtins__"] = own
        exec(code, vars(module))


def is_installed(top: str, *, besides: Path) -> bool:
    """Whether a top-level name belongs to Python or an installed package, not to `besides`.

    Nothing is imported to find out.
    """
    if top in sys.stdlib_module_names:
        return True
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    if spec is None:
        return False
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return not any(Path(place).resolve().is_relative_to(besides) for place in places if place)
