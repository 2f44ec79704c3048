"""An endpoint on this machine for tests of judges and rerankers."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def served(answer, path="/judge", *, headers=None):
    """Address of an endpoint; `answer` gives a status and a body, or a preference.

    Args:
        answer: function of the request's JSON.
        path: of the address.
        headers: list that gets the headers of every request.
    """

    class Door(BaseHTTPRequestHandler):
        def do_POST(self):
            shown = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if headers is not None:
                headers.append(dict(self.headers))
            given = answer(shown)
            status, body = given if isinstance(given, tuple) else (200, {"preference": given})
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
