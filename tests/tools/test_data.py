import gzip
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools import data

CONTENT = b"1 2 3\n2 5\n" * 1000
PACKED = gzip.compress(CONTENT, mtime=0)


class Handler(BaseHTTPRequestHandler):
    """Serves a good file and every kind of bad one."""

    def do_GET(self):
        bodies = {
            "/good.gz": PACKED,
            "/plain": CONTENT,
            "/other.gz": gzip.compress(CONTENT + b"7\n", mtime=0),
            "/broken.gz": PACKED[:50] + bytes(20) + PACKED[70:],
            "/half.gz": PACKED[: len(PACKED) // 2],
            "/page": b"<html>moved</html>",
            "/truncated.gz": PACKED,
        }
        body = bodies.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/truncated.gz" else body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    """Says nothing when a reader goes away: standard error is that of the command here."""

    def handle_error(self, request, client_address):
        pass


@contextmanager
def serving():
    """Run the server on a free port of this machine."""
    server = Server(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def site(shell, monkeypatch):
    """Serve a file that takes the place of Kosarak, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shell.path("cache")))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(data, "_TIMEOUT", None)  # a machine that stalls is no missing server
    with serving() as (server, url):
        small = data.Dataset(f"{url}/good.gz", "kosarak.dat", data.blob_id(CONTENT))
        monkeypatch.setitem(data.DATASETS, "kosarak", small)
        yield server, url


def files(directory):
    """Return the names of all files below a directory, hidden ones too."""
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


def test_fetch_puts_the_decompressed_file_into_a_directory(shell, site):
    """The file is checked and nothing else is left; a second time nothing is downloaded."""
    server, _ = site
    assert "checksum as published" in shell("fetch", "kosarak", "-o", "a/b").err
    assert shell.read("a/b/kosarak.dat") == CONTENT
    assert files(shell.directory) == ["a/b/kosarak.dat"]
    assert "already" in shell("fetch", "kosarak", "-o", "a/b").err
    assert len(server.asked) == 1


def test_fetch_uses_the_cache_of_the_user(shell, site):
    """Without a directory the file goes where reproduce looks for it."""
    assert data.cached_kosarak() is None
    shell("fetch", "kosarak")
    assert files(shell.directory) == ["cache/deniable/kosarak.dat"]
    assert data.cached_kosarak() == shell.path("cache/deniable/kosarak.dat")


def test_fetch_replaces_a_file_that_is_not_whole(shell, site):
    """What is there is trusted only when its checksum is right."""
    shell.path("a").mkdir()
    shell.write("a/kosarak.dat", CONTENT[:-1])
    assert "--force" in shell.fails("fetch", "kosarak", "-o", "a")
    shell("fetch", "kosarak", "-o", "a", "--force")
    assert shell.read("a/kosarak.dat") == CONTENT


def test_fetch_takes_another_url(shell, site):
    """A mirror may serve the file without compression."""
    _, url = site
    shell("fetch", "kosarak", "-o", "a", "--url", f"{url}/plain")
    assert shell.read("a/kosarak.dat") == CONTENT


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/other.gz", "git blob id"),
        ("/page", "git blob id"),
        ("/broken.gz", "whole"),
        ("/half.gz", "whole"),
        ("/truncated.gz", "cut short"),
        ("/missing.gz", "404"),
    ],
)
def test_a_wrong_download_leaves_nothing(shell, site, path, message):
    """The error is one line that names the URL, and neither file nor remains are there."""
    _, url = site
    error = shell.fails("fetch", "kosarak", "-o", "a", "--url", url + path)
    assert message in error
    assert url + path in error
    assert files(shell.directory) == []


def test_a_wrong_download_keeps_what_was_there(shell, site):
    """A failed update does not touch the old file."""
    _, url = site
    shell.path("a").mkdir()
    shell.write("a/kosarak.dat", b"mine\n")
    shell.fails("fetch", "kosarak", "-o", "a", "--force",
                "--url", f"{url}/truncated.gz")  # fmt: skip
    assert shell.read("a/kosarak.dat") == b"mine\n"
    assert files(shell.directory) == ["a/kosarak.dat"]


@pytest.mark.parametrize(
    "url", ["file:///etc/hostname", "kosarak.dat", "ftp://example.org/x", "http://[", "http://"]
)
def test_only_web_addresses_are_fetched(shell, site, url):
    """Other schemes and broken addresses are refused before anything is opened."""
    shell.fails("fetch", "kosarak", "-o", "a", "--url", url)
    assert files(shell.directory) == []


def test_no_server_is_one_line(shell, site):
    """A refused connection is reported as such."""
    # Bound but not listening, so that nobody else can be given the port meanwhile.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/x"
        assert "check the network" in shell.fails("fetch", "kosarak", "--url", url)


def test_endless_downloads_stop(shell, site, monkeypatch):
    """What is larger than any data set is not read to its end."""
    monkeypatch.setattr(data, "_LARGEST", 10)
    monkeypatch.setattr(data, "_BLOCK", 4)
    assert "more than 10 bytes" in shell.fails("fetch", "kosarak", "-o", "a")


def test_unknown_data_sets_are_refused(shell, site):
    """The error names the ones there are."""
    assert "kosarak" in shell.fails("fetch", "adult")


def test_blob_ids_are_gits_own():
    """The checksum is the one that git hash-object prints."""
    assert data.blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_the_published_file_is_the_expected_one():
    """Address and checksum are those of the FIMI repository."""
    dataset = data.DATASETS["kosarak"]
    assert dataset.url == "http://fimi.uantwerpen.be/data/kosarak.dat.gz"
    assert dataset.blob == "1633c5aa6070d384beab4b3a36e9fb8f173fab84"


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_cache_is_where_the_system_has_it(monkeypatch, platform):
    """Each system has its own place, below the home directory."""
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("sys.platform", platform)
    path = data.cache_directory()
    assert path.name == "deniable"
    assert path.is_relative_to(path.home())
