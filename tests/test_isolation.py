"""What a process shares with others, and what importing and privatizing load."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from deniable import DE, OUE, OpenLH, Protocol, Question, Text
from deniable.kernels import parallel
from deniable.protocols import discover
from deniable.randomness import open_source

HEAVY = ("numba", "scipy", "sklearn", "matplotlib", "click", "rich", "pandas", "polars", "pyarrow")

ONE_ANSWER = """
import sys, deniable
from deniable.protocols import discover
for name in ("DE", "SHE", "THE", "SUE", "OUE", "BLH", "OLH"):
    discover()[name](epsilon=1.0, domain_size=1024).privatize([7])
for name in ("SubsetSelection", "AffineSelection"):
    discover()[name](epsilon=1.0, domain_size=64).privatize([7])
deniable.UE(0.5, 0.1, 1024).privatize([7])
deniable.LH(1.0, 1024, 6).privatize([7])
deniable.OpenLH(1.0).privatize(deniable.fingerprints(["kiwi"]))
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def loaded_by(code: str) -> set[str]:
    """Return what a fresh interpreter prints, here names of modules, after ``code``."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    """``import deniable`` loads nothing, and all its names together no more than NumPy."""
    names = 'print(*sorted({n.partition(".")[0] for n in sys.modules}))'
    assert loaded_by(f"import sys, deniable; {names}").isdisjoint({*HEAVY, "numpy"})
    every = loaded_by(f"import sys; from deniable import *; {names}")
    assert every.isdisjoint(HEAVY)
    assert "numpy" in every


def test_a_protocol_loads_when_it_is_named() -> None:
    """Naming one loads no other, nothing that draws, and no kind of answers but lists."""
    code = "import sys, deniable; deniable.OLH; deniable.Question; print(*sys.modules)"
    mine = {name for name in loaded_by(code) if name.startswith("deniable.")}
    folders = ("protocols", "answers", "presentation")
    found = {folder: {n for n in mine if n.startswith(f"deniable.{folder}.")} for folder in folders}
    assert found["protocols"] == {
        f"deniable.protocols.{n}" for n in ("direct", "hashing", "linear")
    }
    assert found["answers"] == {"deniable.answers.base", "deniable.answers.choice"}
    assert found["presentation"] == {
        f"deniable.presentation.{name}" for name in ("exports", "tables", "view")
    }
    assert len(mine) <= 45  # version 0.2.0 loaded 72


def test_every_protocol_is_where_the_table_says() -> None:
    """A name is found by the table in the module that defines it, whatever was loaded before."""
    homes = Protocol.registry.homes
    assert {name: kind.__module__ for name, kind in discover(offers=False).items()}.items() >= (
        homes.items()
    )
    names = "assert all(find(name).__name__ == name for name in Protocol.registry.homes)"
    loaded_by(f"from deniable.protocols import Protocol, find; {names}")


@pytest.mark.parametrize("module", ["deniable.tally", "deniable.question"])
def test_documents_are_read_whatever_was_imported_before(module: str) -> None:
    """A module that reads names of protocols and of answers finds them by itself."""
    tally, question = (
        OUE(1.0, 3).tally([]),
        Question("q", Text(), OpenLH(1.0), segments={"a": ("b", "c")}),
    )
    code = {
        "deniable.tally": f"Tally.from_bytes({tally.to_bytes()!r}).n",
        "deniable.question": f"Question.from_json({question.to_json()!r}).protocol.epsilon",
    }[module]
    assert loaded_by(f"from {module} import *; print({code})") <= {"0", "1.0"}


def test_a_name_of_ours_is_taken_before_it_is_loaded() -> None:
    """A class of another package cannot have the name of a protocol of ours."""
    code = """
from deniable.protocols import Protocol
try:
    type("OLH", (Protocol,), {})
except TypeError as error:
    print(error)
"""
    assert "deniable.protocols.hashing.OLH;" in loaded_by(code)


def test_privatizing_one_answer_loads_nothing_beyond_numpy() -> None:
    """The client's path compiles nothing and needs no other package, whatever the protocol."""
    assert loaded_by(ONE_ANSWER).isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "protocol",
    [example for kind in discover().values() for example in kind.examples()],
    ids=repr,
)
def test_the_path_of_devices_is_numpy_alone(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many reports ``_perturb`` makes, it asks for no compiled kernel and no threads.

    For one report nobody even asks how many threads there are.
    """

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a compiled kernel or a thread pool was asked for")

    count = 20_000
    words = protocol.words.draw(open_source(np.random.default_rng(1)), count)
    monkeypatch.setattr(parallel, "ThreadPoolExecutor", refuse)
    monkeypatch.setattr(parallel, "threads", refuse)
    for module in [name for name in sys.modules if name.startswith("deniable.kernels")]:
        if hasattr(sys.modules[module], "pays"):
            monkeypatch.setattr(f"{module}.pays", refuse)
    ones = protocol.numbered(np.ones(count, dtype=np.uint64))
    assert len(protocol._perturb(ones, words)) == count
    assert len(protocol.privatize(ones[:1].tolist())) == 1


def _reports(pipe) -> None:
    pipe.send(OUE(1.0, 256).privatize([3] * 1000).tobytes())
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_workers_never_share_noise() -> None:
    """A thousand reports of two forked workers are pairwise different."""
    # Two reports agree with probability below 0.61^255, any two of 2000 below 1e-48.
    OUE(1.0, 256).privatize([3])
    context = multiprocessing.get_context("fork")
    received = []
    for _ in range(2):
        mine, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_reports, args=(theirs,))
        worker.start()
        theirs.close()  # so that a worker that dies is noticed and not waited for
        received.append(mine.recv())
        worker.join()
    first, second = ([data[i : i + 32] for i in range(0, 32_000, 32)] for data in received)
    assert len(first) == 1000
    assert all(a != b for a, b in zip(first, second, strict=True))
    assert len(set(first) | set(second)) == 2000


def test_threads_never_share_noise() -> None:
    """Reports made in parallel threads are all different."""
    # As above: two of the 2000 agree with probability below 1e-48.
    protocol = OUE(1.0, 256)
    with ThreadPoolExecutor(8) as pool:
        reports = list(pool.map(lambda _: protocol.privatize([3]).tobytes(), range(2000)))
    assert len(set(reports)) == 2000


def test_the_number_of_threads_changes_no_result() -> None:
    """With a seeded generator the reports are the same on one core and on three."""
    import numpy as np  # noqa: PLC0415 - one use

    from deniable import BLH, OLH, SHE, set_threads  # noqa: PLC0415 - one use

    for protocol in (DE(1.0, 50), OUE(1.0, 50), OLH(0.5, 5000), BLH(1.0, 50), SHE(2.0, 3)):
        values = np.arange(600_000) % 3
        seen = []
        for count in (1, 2, 3):
            set_threads(count)
            try:
                reports = protocol.privatize(values, np.random.default_rng(9))
                seen.append((reports.tobytes(), protocol.tally(reports).to_bytes()))
            finally:
                set_threads(None)
        assert seen[0] == seen[1] == seen[2]
