"""What a new installation is asked to do: run by its own Python, in an empty folder."""

import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

DENIABLE = Path(sys.executable).parent / "deniable"


def run(*arguments: str) -> str:
    """Run the command line and return what it printed."""
    done = subprocess.run([DENIABLE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def main() -> None:
    """Use everything once."""
    import deniable  # noqa: PLC0415 - only where it is installed

    print(deniable.__file__)
    assert run("--version").split()[-1] == deniable.__version__
    assert "Smith" in run("demo").title()
    run("question", "create", "fruit", "--label", "kiwi", "--label", "fig", "--epsilon", "3",
        "-o", "fruit.json")  # fmt: skip
    Path("answers.txt").write_text("kiwi\n" * 300 + "fig\n" * 100)
    with Path("log").open("w+") as log:
        collector = subprocess.Popen(
            [DENIABLE, "serve", "fruit.json", "--port", "0"], stdout=log, stderr=log
        )
        try:
            for _ in range(300):
                words = Path("log").read_text().split()
                found = [
                    word.rstrip(".,/") for word in words if word.startswith("http://127.0.0.1")
                ]
                if found:
                    break
                time.sleep(0.1)
            address = found[0]
            with urlopen(f"{address}/readyz", timeout=10) as answer:
                assert answer.status == 200
            run("send", address, "answers.txt")
            token = run("token", "create", "me", "--role", "viewer").split()[-1]
            run("pull", address, "fruit", "--token", token, "-o", "tally.bin")
            run("estimate", "fruit.json", "tally.bin", "-o", "estimates.csv")
        finally:
            collector.terminate()
            assert collector.wait(30) == 0, Path("log").read_text()
    rows = dict(line.split(",")[:2] for line in Path("estimates.csv").read_text().splitlines()[1:])
    assert 250 < float(rows["kiwi"]) < 350, rows


if __name__ == "__main__":
    main()
