import json

import pytest


@pytest.mark.long("makes all vectors twice")
def test_vectors_are_written_and_piped(shell):
    """The vectors go to a directory, or as one JSON object to standard output."""
    shell("vectors", "out")
    piped = json.loads(shell("vectors", "-").out)
    assert {path.stem for path in shell.path("out").iterdir()} == set(piped)
    assert json.loads(shell.read("out/DE.json")) == piped["DE"]


@pytest.mark.long("writes all vectors several times")
def test_vectors_of_another_version_are_kept(shell):
    """A file of vectors that differs is replaced only when asked for; the same ones are no harm."""
    shell("vectors", "v")
    assert "0 of them written" in shell("vectors", "v").err
    shell.write("v/DE.json", "mine")
    assert "v/DE.json exists already" in shell.fails("vectors", "v")
    assert shell.read("v/DE.json") == b"mine"
    assert "1 of them written" in shell("vectors", "v", "--force").err
