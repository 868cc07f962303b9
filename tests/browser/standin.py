"""Two small servers: a stand-in for the collector that can misbehave, and a site that asks."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Request:
    """What came, as it came."""

    def __init__(self, handler, body):
        self.method, self.path = handler.command, handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.body = body


class Server:
    """A server on a free port of this machine; ``reply`` makes (status, headers, body) or None."""

    def __init__(self, reply):
        self.requests = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                length = int(self.headers.get("Content-Length", 0))
                request = Request(self, self.rfile.read(length))
                server.requests.append(request)
                found = reply(request)
                if found is None:  # the request arrived, the reply is lost
                    self.close_connection = True
                    return
                status, headers, body = found
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_OPTIONS = serve  # noqa: N815 - the names that the class looks for

            def log_message(self, *_):
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self):
        """Serve until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


class Collector(Server):
    """Gives out one question and takes reports; ``faults`` befall the first of them."""

    def __init__(self, question):
        super().__init__(self._reply)
        self.question, self.faults = question, []

    def _reply(self, request):
        headers = {
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Expose-Headers": "Retry-After",
        }
        path = f"/v1/questions/{self.question.digest}"
        if request.method == "GET" and request.path == path:
            cached = {**headers, "Cache-Control": "public, max-age=31536000, immutable"}
            return 200, cached, self.question.to_json().encode()
        if request.method == "POST" and urlsplit(request.path).path == f"{path}/reports":
            fault = self.faults.pop(0) if self.faults else 204
            return None if fault == "lost" else (fault, {**headers, "Retry-After": "1"}, b"")
        return 404, headers, b""

    @property
    def submissions(self):
        """The submissions that came, repeats included."""
        return [request for request in self.requests if request.method == "POST"]

    @property
    def counted(self):
        """What a collector would count: submissions by id and day, each once."""
        return {(request.path, request.body[:16]): request.body for request in self.submissions}


class Site(Server):
    """Serves given files; pages have a policy that allows this site and the collector alone."""

    def __init__(self, files, collector):
        super().__init__(self._reply)
        self.files = files
        own = "script-src 'self'; img-src 'self'; connect-src 'self'"
        self.policy = f"default-src 'none'; {own} {collector.url}"

    def _reply(self, request):
        path = urlsplit(request.path).path
        kind = {"js": "text/javascript", "json": "application/json"}.get(path.rpartition(".")[2])
        if path not in self.files:
            return 404, {}, b""
        headers = {
            "Content-Type": f"{kind or 'text/html'}; charset=utf-8",
            "Content-Security-Policy": self.policy,
            "Set-Cookie": "who=me; Path=/",
            "Access-Control-Allow-Origin": "*",
        }
        return 200, headers, self.files[path]
