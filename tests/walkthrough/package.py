"""A kind of answers as another package brings it: a module, and the metadata that names it."""

import importlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from deniable.answers import Answers
from deniable.tally import Summable

HERE = Path(__file__).parent
REGISTRIES: tuple[dict, dict] = (Answers.registry, Summable.registry)
_made: dict[str, tuple[dict, ...]] = {}


@contextmanager
def installed(
    folder: Path, module: str, kind: str, protocol: str | None = None
) -> Iterator[ModuleType]:
    """Install a module of the walk-through in a folder that this process and its children see."""
    shutil.copy(HERE / f"{module}.py", folder)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    points = f"[deniable.answers]\n{kind.lower()} = {module}:{kind}\n"
    points += f"[deniable.protocols]\n{protocol} = {module}:{protocol}\n" if protocol else ""
    (metadata / "entry_points.txt").write_text(points)
    path = os.environ.get("PYTHONPATH")
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), path)))
    # Caches hold what was read, so that a class is made once and only put back later.
    for registry, classes in zip(REGISTRIES, _made.get(module, ({}, {})), strict=True):
        registry.update(classes)
    try:
        yield importlib.import_module(module)
    finally:
        sys.path.remove(str(folder))
        os.environ.pop("PYTHONPATH")
        if path is not None:
            os.environ["PYTHONPATH"] = path
        _made[module] = tuple(
            {name: each for name, each in registry.items() if each.__module__ == module}
            for registry in REGISTRIES
        )
        for registry, classes in zip(REGISTRIES, _made[module], strict=True):
            for name in classes:
                del registry[name]
