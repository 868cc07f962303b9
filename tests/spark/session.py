"""Scripts with a session of their own, run as the processes that they are."""

import socket
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

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


@contextmanager
def cluster(environment, folder):
    """Run a master and two workers on two addresses of this machine, and yield the master's URL.

    A task is never speculated on the host that runs it, so that one address would not do.
    """
    scripts = Path(find_spec("pyspark").origin).parent / "bin"
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{free.getsockname()[1]}"
    port = url.rpartition(":")[2]
    settings = environment | {"SPARK_DAEMON_MEMORY": "256m", "SPARK_WORKER_DIR": str(folder)}
    settings.pop("SPARK_LOCAL_IP", None)
    daemons = [["master.Master", "--host", "127.0.0.1", "--port", port]] + [
        ["worker.Worker", "--host", host, "--cores", "2", "--memory", "1g", url]
        for host in ("127.0.0.1", "127.0.0.2")
    ]
    with ExitStack() as stack:
        for name, *arguments in daemons:
            kind = f"org.apache.spark.deploy.{name}"
            command = [str(scripts / "spark-class"), kind, "--webui-port", "0", *arguments]
            daemon = subprocess.Popen(
                command, env=settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.callback(daemon.wait)
            stack.callback(daemon.terminate)
        yield url
