"""Serves the report page on this machine only, and renews it while a sweep writes to its store."""

import hashlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from randpos.errors import UserError
from randpos.results.page.sections import Picture
from randpos.results.page.write import make_page
from randpos.store.tables import StoreTables, read_store

HOST = "127.0.0.1"
Figures = Callable[[StoreTables], Mapping[str, Picture]]


def fingerprint(store: Path) -> str:
    """Returns a digest of all files of the store that the page depends on."""
    digest = hashlib.sha256()
    for line in sorted(_files(store)):
        digest.update(line)
    return digest.hexdigest()[:16]


def _files(folder: Path) -> Iterator[bytes]:
    try:
        entries = list(os.scandir(folder))
    except OSError:  # removed meanwhile
        return
    for entry in entries:
        # The page does not show checkpoints and temporary files, which change all the time.
        if entry.name.startswith(".") or entry.name == "checkpoints":
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        if not entry.name.endswith((".json", ".parquet")):
            continue
        try:
            known = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        yield f"{entry.path}\0{known.st_size}\0{known.st_mtime_ns}\n".encode(errors="replace")


class Site:
    """The page of a store, renewed when the store has changed.

    Args:
        store: The folder.
        figures: Makes the pictures of the page.
        pause: Least seconds between two checks of the store; a page that takes long to make is
            made less often, so that most of the machine is left to the sweep.
    """

    def __init__(self, store: Path, figures: Figures | None = None, pause: float = 2.0) -> None:
        self.store, self.figures, self.pause = store, figures, pause
        self._lock = threading.Lock()
        self._version, self._page, self._next = "", b"", 0.0
        self._make()

    def current(self) -> tuple[str, bytes]:
        """Returns the version and the page, renewed if the store has changed."""
        with self._lock:
            if time.monotonic() >= self._next:
                try:
                    self._make()
                except UserError as error:  # the last page is better than none
                    warnings.warn(str(error), stacklevel=2)
                    self._next = time.monotonic() + self.pause
            return self._version, self._page

    def _make(self) -> None:
        start = time.monotonic()
        version = fingerprint(self.store)
        if version != self._version:
            records = read_store(self.store)
            figures = self.figures(records) if self.figures else None
            self._page = make_page(records, figures, version).encode()
            self._version = version
        took = time.monotonic() - start
        self._next = time.monotonic() + self.pause * max(1.0, 2.5 * took)


class Server(ThreadingHTTPServer):
    """A server that ignores connections that the browser closes."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Warns in one line, unless the connection was reset."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            warnings.warn(f"a page could not be sent: {error!r}", stacklevel=2)


def make_server(site: Site, port: int) -> ThreadingHTTPServer:
    """Returns a server of the page, bound to the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def do_GET(self) -> None:
            # A web site could reach this server through a host name of its own (DNS rebinding).
            known = [f"{host}:{server.server_port}" for host in (HOST, "localhost")]
            if self.headers.get_all("Host", []) not in ([name] for name in known):
                self._answer(403, b"This server answers to its own address only.\n")
            elif self.path == "/":
                self._answer(200, site.current()[1], "text/html; charset=utf-8")
            elif self.path == "/version":
                self._answer(200, site.current()[0].encode())
            else:
                self._answer(404, b"There is only one page here: /\n")

        do_HEAD = do_GET  # noqa: N815 - the same answer without its body

        def _answer(self, code: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(code)
            for name, value in {
                "Content-Type": kind,
                "Content-Length": str(len(body)),
                "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
                "X-Frame-Options": "DENY",
                "Referrer-Policy": "no-referrer",
                "Cross-Origin-Resource-Policy": "same-origin",
            }.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def send_error(
            self, code: int, message: str | None = None, explain: str | None = None
        ) -> None:
            # The library's own error page repeats the request.
            self.close_connection = True
            self._answer(code, b"This server only knows GET and HEAD.\n")

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing: the terminal belongs to the command line."""

    try:
        server = Server((HOST, port), Handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"port {port} cannot be used: {reason}; pass another one.") from error
    return server


def serve(
    store: Path,
    port: int = 8000,
    figures: Figures | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Shows the page of a store until interrupted.

    Args:
        store: The folder.
        port: Where on 127.0.0.1; 0 takes any that is free.
        figures: Makes the pictures of the page.
        ready: Gets the address when the page can be opened.
    """
    with make_server(Site(store, figures), port) as server:
        ready(f"http://{HOST}:{server.server_port}/")
        server.serve_forever()
