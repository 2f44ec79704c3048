"""The web server: Streamlit behind a content security policy, with health and readiness routes.

`python -m app.server --host 127.0.0.1 --port 8501`; the command line's `app` starts it.
"""

import argparse
import gc
import json
import logging
import os
import re
import secrets
import sys
import tomllib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import streamlit as st
import streamlit.logger
import uvicorn.config
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import Runtime, exists, get_instance

from shuffleproof.app.door import Door
from shuffleproof.app.navigation import EVERY, MOVED, PAGES, address_of
from shuffleproof.app.page_style import LOOKS
from shuffleproof.app.spool import Spool
from shuffleproof.core.errors import JobError
from shuffleproof.core.jobs import jobs_of, start_waiting
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.words import counted

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ALLOWED = (
    "default-src 'self'",
    # Streamlit's page has one inline script, and loads the script of the cards as a blob.
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
    "style-src 'self' 'unsafe-inline'",  # Streamlit's components have inline styles
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)
HISTORY = Path(__file__).parent / "assets" / "history.js"
OWN_HOST = re.compile(r"[a-z0-9.-]+(:[0-9]{1,5})?", re.IGNORECASE)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
OF_THE_FILE = frozenset(
    {b"content-length", b"etag", b"last-modified"}
)  # wrong after the page is changed
SWITCH_SECONDS = 0.0005
"""Thread switch interval in seconds: pages are sent while their script runs."""

MESSAGE, STATE = 32, 5
"""Most megabytes of a websocket's message, and of the widgets' state from a browser."""

log = logging.getLogger("shuffleproof")
OF_NO_PAGE = "streamlit.runtime.scriptrunner_utils.script_run_context"
"""Logger of Streamlit's warnings about caches used outside of a page, as at start-up."""


class SecurityHeaders:
    """ASGI filter that adds security headers; pages cannot load from or send to other hosts."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to the answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                host = Headers(scope=scope).get("host", "")
                policy = (b"content-security-policy", "; ".join(policy_for(host)).encode())
                message["headers"] = [*message.get("headers", ()), *HEADERS, policy]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def policy_for(host: str) -> list[str]:
    """Content security policy of a page of this host: it may only connect to its own server.

    Older browsers do not count websockets as 'self', so they are listed.
    """
    named = f" ws://{host} wss://{host}" if OWN_HOST.fullmatch(host) else ""
    return [*ALLOWED, f"connect-src 'self'{named}"]


class KnownBase:
    """ASGI filter that adds the server's root, the script for Back, and the CSS to the page.

    Without the root, Streamlit's page first requests paths below its own address. Below the root
    that is a failed request, and an error in the browser's console.
    """

    def __init__(self, app: ASGIApp, base_path: str) -> None:
        """Wrap an application served below a path ("" for the root)."""
        self.app = app
        below = json.dumps("/" + base_path.strip("/") if base_path else "")
        self.head = (
            f"<script>window.__streamlit={{BACKEND_BASE_URL:location.origin+{below}}}</script>"
            f"<script>{HISTORY.read_text(encoding='utf-8')}</script>" + LOOKS
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass requests on; add scripts and styles at the start of a page's <head>."""
        wanted = dict(scope.get("headers", ())).get(b"accept", b"")
        if scope["type"] != "http" or b"text/html" not in wanted:
            await self.app(scope, receive, send)
            return
        # Without compression the answer is HTML text, into which the head can be inserted.
        plain = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        start: Message = {}
        body = bytearray()

        async def gathered(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                page = bytes(body).replace(b"<head>", b"<head>" + self.head.encode(), 1)
                kept = [pair for pair in start["headers"] if pair[0].lower() not in OF_THE_FILE]
                length = (b"content-length", str(len(page)).encode())
                await send({**start, "headers": [*kept, length]})
                await send({"type": "http.response.body", "body": page})

        await self.app({**scope, "headers": plain}, receive, gathered)


class JsonLines(logging.Formatter):
    """Log format with one JSON object per line: time, level, message, id of the error."""

    def format(self, record: logging.LogRecord) -> str:
        """Line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if hasattr(record, "error_id"):
            line["id"] = record.error_id
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


async def health(_request: Request) -> JSONResponse:
    """Liveness: the process answers."""
    return JSONResponse({"status": "ok"})


async def ready(_request: Request) -> JSONResponse:
    """Readiness: the store can be read."""
    from shuffleproof.app import services  # noqa: PLC0415 (only when asked, after the server is up)

    try:
        stored = sum(1 for _ in services.store().artefacts())
    except Exception:
        error_id = secrets.token_hex(4)
        log.exception("not ready", extra={"error_id": error_id})
        return JSONResponse({"status": "the store cannot be read", "id": error_id}, 503)
    return JSONResponse({"status": "ready", "artefacts": stored})


async def redirect(request: Request) -> RedirectResponse:
    """Redirect from a tab's name, or an old path, to its page, with the query parameters."""
    page, tab = address_of(request.url.path.rpartition("/")[2])
    query = "&".join(filter(None, (urlencode(tab), request.url.query)))
    return RedirectResponse(f"./{page}?{query}" if query else f"./{page}")


def on_script_error(error: Exception) -> bool:
    """Show a message with a log id, never a traceback, and log the traceback."""
    error_id = secrets.token_hex(4)
    log.error("page failed: %s", error, exc_info=error, extra={"error_id": error_id})
    st.error(
        f"Something went wrong on this page. Your choices are saved; the log has the details "
        f"under id {error_id}."
    )
    return True


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
    """Start the scoring process and a worker for unfinished jobs; freeze start-up objects (gc)."""
    from shuffleproof.app import scoring, services  # noqa: PLC0415 (after the server's configuration is set)

    scoring.start()
    store = services.store()
    if jobs_of(store).list("waiting", "running"):  # left by a power cut, or by the last server
        start_waiting(store)
    for page in PAGES.values():
        page.view  # noqa: B018 (imported now; otherwise the first visitor would wait)
    gc.collect()
    gc.freeze()  # Streamlit collects after every run: it then skips all objects of start-up
    yield {}
    scoring.resident().close()


class Dashboard(st.App):
    """Streamlit's application with uploaded files on disk instead of in memory."""

    def _create_runtime(self) -> Runtime:
        runtime: Any = super()._create_runtime()
        folder = default_store().root / "uploads" / f"new.spool.{os.getpid()}"
        spool = Spool(runtime.uploaded_file_mgr.endpoint, folder)
        runtime._uploaded_file_mgr = runtime._session_mgr._uploaded_file_mgr = spool  # noqa: SLF001
        return cast("Runtime", runtime)


def spool() -> Spool | None:
    """Spool of uploaded files, once the server is up."""
    files = get_instance().uploaded_file_mgr if exists() else None
    return files if isinstance(files, Spool) else None


def all_lines_as_json() -> None:
    """Write all log lines as JSON objects, including those of Streamlit and the web server."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())

    def formatted(logger: logging.Logger) -> None:
        logger.handlers, logger.propagate = [], True

    logging.root.handlers = [handler]
    log.setLevel(logging.INFO)
    logging.getLogger(OF_NO_PAGE).addFilter(lambda line: "missing ScriptRunContext" not in line.msg)
    streamlit.logger.setup_formatter = formatted
    streamlit.logger.update_formatter()
    uvicorn.config.LOGGING_CONFIG["formatters"]["default"] = {"()": lambda **_: JsonLines()}
    uvicorn.config.LOGGING_CONFIG["loggers"]["uvicorn.error"]["level"] = "WARNING"


def application(base_path: str = "", allow_host: Sequence[str] = ()) -> st.App:
    """ASGI application, served at the root or below a proxy's path.

    Streamlit checks the host of websockets only. Here the host of every request is checked, so
    that a foreign name that points to this address (DNS rebinding) cannot read anything.
    """
    below = base_path.strip("/")
    roots = ["", f"/{below}"] if below else [""]
    answers = {"healthz": health, "readyz": ready} | dict.fromkeys(MOVED.keys() - EVERY, redirect)
    hosts = ["[::1]", *_hosts(allow_host)]
    return Dashboard(
        Path(__file__).with_name("main.py"),
        lifespan=lifespan,
        routes=[
            Route(f"{root}/{path}", answer) for root in roots for path, answer in answers.items()
        ],
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
            Middleware(KnownBase, base_path=base_path),
            Middleware(Door, base_path=base_path, spool=spool),
        ],
        on_script_error=on_script_error,
    )


def _hosts(allow_host: Sequence[str]) -> list[str]:
    return [*sorted(LOOPBACK), *(host.lower() for host in allow_host)]


def settings(folder: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    """Streamlit's options of `config.toml` in an installed package, which Streamlit does not find.

    A package cannot contain a folder `.streamlit`: its file is in `streamlit`.

    Args:
        folder: parent folder of `app`.
    """
    installed = folder / "streamlit" / "config.toml"
    if not installed.is_file():
        return {}
    sections = tomllib.loads(installed.read_text(encoding="utf-8"))
    return {
        f"{section}.{name}": value
        for section, values in sections.items()
        for name, value in values.items()
    }


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """Streamlit's options for these flags."""
    options: dict[str, Any] = settings() | {
        "server.address": arguments.host,
        "server.port": arguments.port,
        "server.headless": True,
        "server.allowedHosts": _hosts(arguments.allow_host),
        "server.maxMessageSize": MESSAGE,
        "server.maxWidgetStateSize": STATE,
        "logger.enableRich": False,
        "client.allowedOrigins": [],  # of pages that could speak to ours: Streamlit's own hosts
    }
    if arguments.base_path:
        options["server.baseUrlPath"] = arguments.base_path
    return options


def main(given: Sequence[str]) -> None:
    """Start the server and run until it ends."""
    parser = argparse.ArgumentParser(prog="python -m shuffleproof.app.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--allow-host", nargs="+", default=[], help="host names it answers to")
    parser.add_argument("--base-path", default="", help="path below which a proxy serves it")
    arguments = parser.parse_args(given)
    if arguments.host not in LOOPBACK and not arguments.allow_host:
        parser.error(
            f"--host {arguments.host} opens the dashboard to other machines: "
            "name the hosts it may answer to with --allow-host"
        )
    all_lines_as_json()
    sys.setswitchinterval(SWITCH_SECONDS)
    application(arguments.base_path, arguments.allow_host).run(config=configuration(arguments))


def _going_on() -> str:
    """Message about jobs that outlive the server; empty if there are none."""
    with suppress(JobError):  # the tab Jobs shows the error
        running = len(jobs_of(default_store()).list("running"))
        if running:
            go = "goes" if running == 1 else "go"
            return f"{counted(running, 'job')} {go} on; the next dashboard shows or cancels that\n"
    return ""


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:  # raised once more when the server has ended
        sys.stderr.write(_going_on())
        sys.exit(130)
