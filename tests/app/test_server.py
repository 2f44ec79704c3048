"""The server as a browser and as an attacker meet it: headers, hosts, tokens, paths, the proxy."""

import http.client
import json
import logging
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from shuffleproof.app import navigation
from tests.soak.sessions import ROOT, answers, free_port, server

EVIL = "evil.example"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@pytest.fixture(scope="module")
def direct(tmp_path_factory):
    """(address, process) of a server at the root."""
    with server(tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    """The address of a server for `ltr.example` below `/lab/shuffle`."""
    flags = ("--base-path=lab/shuffle", "--allow-host", "ltr.example")
    with server(tmp_path_factory.mktemp("served_below"), *flags) as (address, _):
        yield address


def asked(address, path="/", headers=(), *, method="GET", body=None):
    """(status, headers, text) of an answer; the path is sent as it stands."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    headers = dict(headers)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    upgraded = answer.status == http.HTTPStatus.SWITCHING_PROTOCOLS
    text = "" if upgraded else answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def shaken(address, path="/_stcore/stream", **headers):
    """The status of a websocket's handshake."""
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Protocol": "streamlit",
    }
    return asked(address, path, upgrade | headers)[0]


def page(address, path="/", **headers):
    return asked(address, path, {"Accept": "text/html"} | headers)


def a_script(text):
    """The address of the page's own script."""
    return "/" + text.partition('src="./')[2].partition('"')[0]


@pytest.mark.parametrize("path", ["/", "/curves", "/healthz", "script", "/no/such"])
def test_every_answer_allows_this_origin_alone(direct, path):
    address, _ = direct
    path = a_script(page(address)[2]) if path == "script" else path
    _, headers, _ = page(address, path)
    policy = headers["Content-Security-Policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["default-src"] == ["'self'"]
    assert rules["frame-ancestors"] == rules["object-src"] == ["'none'"]
    assert "*" not in policy
    assert "http" not in policy
    assert "'unsafe-eval'" not in rules["script-src"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_scripts_come_as_scripts(direct):
    address, _ = direct
    status, headers, text = asked(address, a_script(page(address)[2]))
    assert status == 200
    assert "javascript" in headers["Content-Type"]
    assert len(text) > 1000


def test_health_and_readiness(direct):
    address, _ = direct
    status, _, text = asked(address, "/healthz")
    assert (status, json.loads(text)) == (200, {"status": "ok"})
    status, _, text = asked(address, "/readyz")
    assert status == 200
    assert json.loads(text)["status"] == "ready"


@pytest.mark.parametrize("path", ["/", "/curves", "/library"])
def test_every_page_knows_where_the_server_is(direct, path):
    status, headers, text = page(direct[0], path)
    assert status == 200
    assert "<head><script>window.__streamlit={BACKEND_BASE_URL:location.origin+" in text
    assert int(headers["Content-Length"]) == len(text.encode())
    assert headers["ETag"] is None, "a validator of Streamlit's file, not of this page"


@pytest.mark.parametrize("old", sorted(navigation.MOVED.keys() - navigation.EVERY))
def test_old_addresses_lead_to_the_page_and_tab_of_today_with_their_parameters(direct, old):
    path, tab = navigation.address_of(old)
    for query in ("", "data=sample&show=a%20b&show=c"):
        status, headers, _ = page(direct[0], f"/{old}?{query}")
        assert status == 307
        target = urlsplit(headers["Location"])
        assert target.path == f"./{path}"
        wanted = [*tab.items(), *parse_qsl(query)]
        assert parse_qsl(target.query) == wanted
        assert path in navigation.EVERY


def test_a_websocket_of_our_own_page_is_taken_and_a_foreign_one_is_not(direct):
    address, _ = direct
    assert shaken(address, Origin=address) == 101
    for origin in (f"http://{EVIL}", "null", f"http://127.0.0.1.{EVIL}"):
        assert shaken(address, Origin=origin) == 403


@pytest.mark.parametrize("host", [EVIL, f"127.0.0.1.{EVIL}", f"{EVIL}:8501", "ltr.example", "a@b"])
def test_foreign_hosts_are_refused_everywhere(direct, host):
    address, _ = direct
    for path in ("/", "/healthz", "/_stcore/health", a_script(page(address)[2])):
        assert asked(address, path, {"Host": host})[0] == 400
    assert shaken(address, Host=host, Origin=f"http://{host}") in {400, 403}


def test_an_upload_needs_the_token_of_the_page(direct):
    address, _ = direct
    path = "/_stcore/upload_file/some-session/some-file"
    token = "2|00000000|00000000|1"  # noqa: S105 (made up: that is the point)
    for headers in ({}, {"X-Xsrftoken": token}, {"Cookie": f"_streamlit_xsrf={token}"}):
        for method in ("PUT", "DELETE"):
            status, _, text = asked(address, path, headers, method=method, body=b"1 qid:1 1:1")
            assert status == 403, (method, headers)
            assert "XSRF" in text
    cookie = asked(address, "/_stcore/health")[1]["Set-Cookie"].partition(";")[0]
    headers = {"Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2].strip('"')}
    status, _, text = asked(address, path, headers, method="PUT", body=b"1 qid:1 1:1")
    assert status == 400, "with the token only the session is wrong"
    assert "session" in text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../../../../../../../etc/passwd",
        "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/static/%252e%252e%252f%252e%252e%252fetc/passwd",
        "/static//etc/passwd",
        "/../app/server.py",
        "/media/../../../../etc/passwd",
        "/component/x/../../../../../etc/passwd",
        "/app/static/../server.py",
        "/.streamlit/config.toml",
    ],
)
def test_no_path_leads_out_of_the_served_files(direct, path):
    status, _, text = asked(direct[0], path)
    assert status in {400, 403, 404} or text.lstrip().startswith(("<!--", "<!doctype"))
    assert "root:" not in text
    assert "import " not in text.partition("<script")[0]
    assert "enableXsrfProtection" not in text


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads Linux's /proc")
def test_the_server_has_neither_torch_nor_lightgbm(direct):
    _, process = direct
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    assert "pyarrow" in maps, "the process that we look at is the server"
    assert "libtorch" not in maps
    assert "lib_lightgbm" not in maps


def test_another_address_needs_its_hosts_named():
    command = [sys.executable, "-m", "shuffleproof.app.server", "--host", "0.0.0.0"]  # noqa: S104 (is refused)
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "opens the dashboard to other machines: name the hosts" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_below_a_base_path(below):
    assert asked(below, "/lab/shuffle/healthz")[0] == 200
    assert asked(below, "/lab/shuffle/readyz")[0] == 200
    assert page(below, "/lab/shuffle/overview")[1]["Location"] == "./"
    status, _, text = page(below, "/lab/shuffle/curves")
    assert status == 200
    assert 'BACKEND_BASE_URL:location.origin+"/lab/shuffle"' in text
    assert asked(below, "/lab/shuffle" + a_script(page(below, "/lab/shuffle/")[2]))[0] == 200
    assert shaken(below, "/lab/shuffle/_stcore/stream", Origin=below) == 101
    assert asked(below, "/_stcore/health")[0] == 404


def test_an_allowed_host_is_answered_and_no_other(below):
    path = "/lab/shuffle/healthz"
    assert asked(below, path, {"Host": "ltr.example"})[0] == 200
    assert asked(below, path, {"Host": EVIL})[0] == 400
    stream, host = "/lab/shuffle/_stcore/stream", "ltr.example"
    assert shaken(below, stream, Host=host, Origin=f"https://{host}") == 101
    assert shaken(below, stream, Host=host, Origin=f"https://{EVIL}") == 403


def readme_config():
    """The nginx server block of the documentation."""
    return (ROOT / "docs/serving.md").read_text().partition("```nginx\n")[2].partition("```")[0]


@pytest.fixture
def proxy(below, tmp_path):
    """The address of nginx with the documented configuration, in front of `below`."""
    port = free_port()
    block = readme_config().replace("listen 80;", f"listen 127.0.0.1:{port};")
    block = block.replace("http://127.0.0.1:8501", below)
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off; client_body_temp_path {tmp_path}/body;\n"
        f"proxy_temp_path {tmp_path}/proxy; fastcgi_temp_path {tmp_path}/fastcgi;\n"
        f"uwsgi_temp_path {tmp_path}/uwsgi; scgi_temp_path {tmp_path}/scgi;\n{block} }}\n"
    )
    command = [NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    with subprocess.Popen([*command, "-e", f"{tmp_path}/error.log"]) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(200):
                if answers(f"{address}/lab/shuffle/healthz"):
                    break
                time.sleep(0.05)  # nginx takes a moment to listen
            yield address
        finally:
            process.terminate()
            process.wait(20)


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_behind_nginx_as_the_readme_says(proxy):
    host = {"Host": "ltr.example"}
    status, headers, text = page(proxy, "/lab/shuffle/curves", **host)
    assert status == 200
    assert headers["Content-Security-Policy"]
    assert 'BACKEND_BASE_URL:location.origin+"/lab/shuffle"' in text
    stream = "/lab/shuffle/_stcore/stream"
    assert shaken(proxy, stream, **host, Origin="http://ltr.example") == 101
    assert shaken(proxy, stream, **host, Origin=f"http://{EVIL}") == 403
    assert asked(proxy, "/lab/shuffle/healthz", {"Host": EVIL})[0] == 400


def test_the_log_line_has_the_id_that_the_page_shows():
    from shuffleproof.app.server import JsonLines

    record = logging.LogRecord("shuffleproof", logging.ERROR, "", 0, "failed: %s", ("x",), None)
    record.error_id = "ab12"
    line = json.loads(JsonLines().format(record))
    assert {"level": "error", "message": "failed: x", "id": "ab12"}.items() <= line.items()
    assert line["time"].endswith("+00:00")


def doorstep():
    import streamlit as st

    from shuffleproof.app import login

    login.require_login()
    st.title("Inside")


@pytest.mark.parametrize(
    ("secrets", "user", "title"),
    [
        ({}, {}, "Inside"),
        ({"auth": {"client_id": "x"}}, {"is_logged_in": False}, "Shuffleproof"),
        ({"auth": {"client_id": "x"}}, {"is_logged_in": True}, "Inside"),
    ],
)
def test_where_logins_are_configured_nothing_is_shown_before_one(secrets, user, title):
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_function(doorstep)
    app.secrets, app.user = secrets, user
    app.run()
    assert not app.exception
    assert [one.value for one in app.title] == [title]
    assert [one.label for one in app.button] == (
        [] if not secrets else ["Log out" if user["is_logged_in"] else "Log in"]
    )


def test_unreadable_secrets_show_nothing(tmp_path, monkeypatch):
    import streamlit as st
    from streamlit import config
    from streamlit.runtime.secrets import Secrets
    from streamlit.testing.v1 import AppTest

    (tmp_path / "secrets.toml").write_text("[auth\n")
    monkeypatch.setattr(st, "secrets", Secrets())
    usual = config.get_option("secrets.files")
    config.set_option("secrets.files", [str(tmp_path / "secrets.toml")])
    try:
        app = AppTest.from_function(doorstep).run()
    finally:
        config.set_option("secrets.files", usual)
    assert app.exception
    assert not app.title


def test_ctrl_c_ends_it_with_130_and_no_traceback(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "shuffleproof", "app", "--port", str(port)]
    with subprocess.Popen(
        [*command, "--store", str(tmp_path)], stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(600):
            if answers(f"http://127.0.0.1:{port}/healthz"):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert "Traceback" not in said
