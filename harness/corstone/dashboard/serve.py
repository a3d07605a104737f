"""``corstone dashboard serve``: a page on this host that follows a run, beside the static site where one was built.

Reads only, listens on the loopback address unless told otherwise, and answers only requests that name this host, so
that a page from elsewhere cannot read it through a changed name record.
"""

from __future__ import annotations

import json
import mimetypes
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

from corstone.causes import Cause
from corstone.dashboard.live import LiveRun
from corstone.dashboard.page import ASSETS, page
from corstone.errors import ConfigError

_BODY = (
    '<h1 id="title">Waiting for a run</h1><p id="line" class="soft" role="status"></p>'
    '<progress id="bar" aria-label="Cases done" max="1" value="0"></progress><p id="words" class="chips"></p>'
    '<h2>On the boards</h2><div id="running"></div><h2>Not passed</h2><div id="notable"></div>'
    '<h2>Newest</h2><div id="recent"></div>'
)


class LiveServer:
    """The server, in a thread of its own; a context manager. ``address`` is where the page is."""

    def __init__(self, ledgers: Path, site: Path | None = None, host: str = "127.0.0.1", port: int = 0) -> None:
        live = LiveRun(ledgers)

        class Handler(_Handler):
            run_state = live
            static_site = site
            bound_to = host

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error.strerror}",
                cause=Cause.CONFIGURATION,
                hint="another port with --port, or 0 for any free one",
            ) from error
        self._server.daemon_threads = True
        self.address = f"http://{host}:{self._server.server_address[1]}/"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    def wait(self) -> None:
        """Serve until interrupted."""
        while self._thread.is_alive():
            self._thread.join(timeout=1)


class _Handler(BaseHTTPRequestHandler):
    run_state: LiveRun
    static_site: Path | None
    bound_to: str
    server_version = "corstone"
    timeout = 30

    def do_GET(self) -> None:
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        bound = self.bound_to
        if host not in {"localhost", "127.0.0.1", "[::1]", bound} and bound not in {"0.0.0.0", "::"}:
            self._send(b"this server answers to its own name only\n", "text/plain", HTTPStatus.FORBIDDEN)
            return
        path = unquote(urlsplit(self.path).path)
        if path in {"/", "/index.html"}:
            text = page("Run in progress", _BODY, scripts=("assets/live.js",))
            if self.static_site is None:
                start, end = text.index("<nav"), text.index("</nav>") + len("</nav>")
                text = text[:start] + text[end:]
            else:
                text = text.replace('<a href="', '<a href="site/')
            self._send(text.encode(), "text/html; charset=utf-8")
        elif path == "/state.json":
            self._send(json.dumps(self.run_state.state()).encode(), "application/json")
        elif path.startswith("/assets/"):
            self._file(ASSETS, path.removeprefix("/assets/"))
        elif path.startswith("/site/") and self.static_site is not None:
            self._file(self.static_site, path.removeprefix("/site/") or "index.html")
        else:
            self._send(b"nothing here\n", "text/plain", HTTPStatus.NOT_FOUND)

    def _file(self, root: Path, name: str) -> None:
        path = (root / name).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            self._send(b"nothing here\n", "text/plain", HTTPStatus.NOT_FOUND)
            return
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self._send(path.read_bytes(), kind)

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a poll a second is no news."""
