import os
import subprocess
import sys
from pathlib import Path

import pytest

from deniable.kernels import jit
from tests.kernels import survey
from tests.marks import shortened

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    f"deniable.kernels.{path.stem}"
    for path in Path(jit.__file__).parent.glob("*.py")
    if path.stem != "__init__"
)


@pytest.fixture
def accounts(monkeypatch):
    """Let each test begin with nothing spent and nothing compiled, and Numba at hand."""
    monkeypatch.setattr(jit, "_spent", {})
    monkeypatch.setattr(jit, "_compiled", set())
    monkeypatch.setattr(jit, "available", lambda: True)
    monkeypatch.setattr(jit, "_importable", lambda: True)
    yield
    jit.set_compiled(None)


def run(script, **environment):
    """Run a script in a new process and return what it prints."""
    path = os.pathsep.join([str(ROOT), str(Path(jit.__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": path} | environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.mark.usefixtures("accounts")
def test_much_work_is_compiled_at_once_and_little_never():
    """A kernel is compiled for work that costs more than compiling; small calls do not add up."""
    assert jit.pays("much", jit.FIRST_PRICE)
    assert not any(jit.pays("little", jit.FLOOR / 2) for _ in range(10_000))


@pytest.mark.usefixtures("accounts")
def test_middling_work_adds_up():
    """What NumPy has spent on the way counts, for each kernel alone; then it stays compiled."""
    half = jit.FIRST_PRICE / 2
    assert not jit.pays("one", half)
    assert not jit.pays("other", half)
    assert jit.pays("one", half)
    assert jit.pays("one", 1.0)


@pytest.mark.usefixtures("accounts")
def test_further_kernels_cost_less():
    """Once Numba is there, less work is enough for another kernel."""
    assert not jit.pays("second", jit.LATER_PRICE)
    assert jit.pays("first", jit.FIRST_PRICE)
    assert jit.pays("second", jit.LATER_PRICE)


@pytest.mark.usefixtures("accounts")
def test_the_choice_can_be_taken_away():
    """A setting decides for all sizes, until it is taken back."""
    jit.set_compiled(True)
    assert jit.pays("any", 0.0)
    jit.set_compiled(False)
    assert not jit.pays("any", 1e18)
    jit.set_compiled(None)
    assert not jit.pays("any", 0.0)
    assert jit.pays("any", 1e18)


@pytest.mark.usefixtures("accounts")
def test_a_numba_that_cannot_be_imported_is_none(monkeypatch):
    """Neither a setting nor any amount of work insists on a Numba that does not load."""
    monkeypatch.setattr(jit, "_importable", lambda: False)
    assert not jit.pays("any", 1e18)
    jit.set_compiled(True)
    assert not jit.pays("any", 1e18)


@pytest.mark.numba
def test_importing_kernels_never_imports_numba():
    """All modules of the package together leave Numba alone."""
    script = f"import sys, {', '.join(MODULES)}; print('numba' in sys.modules)"
    assert run(script) == "False"


@pytest.mark.numba
def test_a_survey_of_middling_size_compiles_nothing(tmp_path):
    """Making, counting and decoding hundreds of thousands of reports never touches Numba."""
    script = "import sys; from tests.kernels import survey; survey.hold(300_000);"
    cache = tmp_path / "cache"
    assert run(script + "print('numba' in sys.modules)", NUMBA_CACHE_DIR=str(cache)) == "False"
    assert not cache.exists()


BLOCKED = "import sys; sys.modules['numba'] = None;"
WITHOUT = "from deniable.kernels import jit as c; from tests.kernels import survey;"
REPORT = "c.set_compiled(True); print(survey.fingerprint(), c.pays('any', 1e18))"


@pytest.mark.parametrize("kind", shortened(["broken", "absent"], "more processes"))
def test_everything_works_without_numba(tmp_path, kind):
    """Where Numba is absent, or fails to load, all functions give what they give with it."""
    broken = tmp_path / "numba"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('Numba needs NumPy 1.0 or less')")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r});" if kind == "broken" else BLOCKED
    jit.set_compiled(jit.available())
    expected = survey.fingerprint()
    jit.set_compiled(None)
    assert run(script + WITHOUT + REPORT) == f"{expected} False"


def test_without_numba_a_kernel_is_its_function():
    """Where there is no Numba, calling a kernel runs the Python that it is written in."""
    script = "import numpy as np; from deniable.kernels.hashes import _eight as k;"
    shown = "print(k.compiled is k.function, k(np.arange(8)) == tuple(range(8)))"
    assert run(BLOCKED + script + shown) == "True True"
