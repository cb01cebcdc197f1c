"""What tells runs of one name apart (ux.md C5). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import PurePath

from oma_desktop.model.view import RunRef


def places_of(refs: Collection[RunRef]) -> dict[RunRef, str]:
    """Return for each of some runs the nearest folder in which they differ.

    Where one folder does not do, the one above is said as well; in one store, the key tells.
    """
    paths = {ref: _parts(ref) for ref in refs}
    deepest = max((len(parts) for parts in paths.values()), default=0)
    for i in range(deepest):
        found = {ref: parts[i] if i < len(parts) else "" for ref, parts in paths.items()}
        counts = Counter(found.values())
        if len(counts) > 1:
            return {
                ref: part if counts[part] == 1 else "/".join(reversed(paths[ref][i : i + 2]))
                for ref, part in found.items()
            }
    return dict.fromkeys(refs, "")


def _parts(ref: RunRef) -> list[str]:
    """Key and path, the nearest part first; the key only counts inside one store."""
    path = PurePath(ref.store)
    return [path.name, *(p.name for p in path.parents if p.name), ref.key.rpartition("/")[2]]
