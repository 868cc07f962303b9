"""Scripts with a session of their own, run as the processes that they are."""

import subprocess
import sys

LONGEST = 400


def run_script(script, arguments, environment, folder, *, status=0):
    """Run a Python script, expect how it ends, and return what it printed."""
    path = folder / "script.py"
    path.write_text(script)
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
