"""The walk-through of CONTRIBUTING works as it stands."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RUN = """
import sys, types
import deniable.protocols
module = types.ModuleType("deniable.protocols.subset")
sys.modules[module.__name__] = module
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), module.__dict__)
assert "SubsetSelection" in deniable.protocols.discover()
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "SubsetSelection",
                      "tests/test_conformance.py"]))
"""


def test_the_example_protocol_passes_the_conformance_suite(tmp_path: Path) -> None:
    """Subset selection, as printed, is discovered and has every property of a protocol."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    path = tmp_path / "subset.py"
    path.write_text(blocks[0])
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= 60


def test_the_example_test_passes(tmp_path: Path) -> None:
    """The test printed beside it passes too."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    code = "import pytest\nfrom deniable import DE\n" + blocks[1]
    script = tmp_path / "both.py"
    script.write_text(blocks[0] + code + "\ntest_one_member_is_direct_encoding()\n")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
