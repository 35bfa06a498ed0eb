"""The judging server where a team uses it: behind a proxy, by other names, with requests that are not a browser's."""

import json
import shutil
import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection

import pytest
from click.testing import CliRunner

import rankdev as rd
from rankdev.cli import cli
from rankdev.judging.addresses import origin_of
from rankdev.judging.items import LONGEST_POLICY, read_items
from rankdev.judging.server import JudgeServer
from tests.judging.serving import Client, serving, written

PUBLIC = "https://judge.example.org/team"


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as made:
        yield made


def sent(server, request):
    """Send bytes as they are; return the status of the reply."""
    with socket.create_connection(server.server_address[:2], timeout=10) as connection:
        connection.sendall(request)
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET image HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /image/x/" + b"9" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /image/\xff/0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET / HTTP/1.1\r\n\r\n", 403),
        (b"POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 411),
    ],
)
def test_requests_of_no_browser_are_refused(request_, status, server):
    assert sent(server, request_) == status


@pytest.mark.parametrize("name", ["judge", "request", "comment", "query", "first"])
def test_half_a_surrogate_pair_is_no_text(name, server):
    about = {"judge": "ann", "request": "r", "query": "q1", "first": "d1", "second": "d2", "comment": ""}
    body = json.dumps({**about, "outcome": "first", name: "\ud800"})
    assert Client(server).post("answer", body=body)[0] == 400


def test_a_class_opens_the_link_at_once(server):
    with JudgeServer(server.session, "127.0.0.1", 0, server.tokens) as busy:  # it takes none of them yet
        for connection in [socket.create_connection(busy.server_address[:2], timeout=2) for _ in range(64)]:
            connection.close()
    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(lambda number: Client(server, f"judge {number}").post("next")[0], range(64)))
    assert found == [200] * 64


def test_names_of_this_machine(server):
    assert Client(server).post("next", headers={"Host": f"{socket.gethostname().partition('.')[0]}.local:80"})[0] == 200
    assert Client(server).post("next", headers={"Host": "LOCALHOST.:80", "Origin": "http://localhost.:80"})[0] == 200
    assert Client(server).post("next", headers={"Host": "evil.local"})[0] == 403


def test_the_newer_internet(tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no ::1 here")
    with serving(tmp_path, host="::1") as server:
        link = server.link("t")
        assert link == f"http://[::1]:{server.server_address[1]}/#t"
        assert not server.readable
        host = link.partition("//")[2].partition("/")[0]
        assert Client(server).post("next", headers={"Host": host, "Origin": f"http://{host}"})[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "judge.example.org", "Origin": "https://judge.example.org"}, 200),
        ({"Host": "judge.example.org:443", "Origin": "https://judge.example.org"}, 200),
        ({"Host": "127.0.0.1:8080", "Origin": "https://judge.example.org"}, 200),  # a proxy that sends its own
        ({"Host": "localhost:8080", "Origin": "http://localhost:8080"}, 200),  # the owner, on this machine
        ({"Host": "judge.example.org", "Origin": "http://judge.example.org"}, 403),
        ({"Host": "judge.example.org", "Origin": "https://judge.example.org:8443"}, 403),
        ({"Host": "judge.example.org", "Origin": "https://evil.example"}, 403),
        ({"Host": "example.org"}, 403),
        ({"Host": "127.0.0.1", "Origin": "https://evil.example"}, 403),
    ],
)
def test_a_proxy_is_known_by_its_public_address(headers, status, tmp_path):
    with serving(tmp_path, public_url=PUBLIC) as server:
        assert server.link("t") == "https://judge.example.org/team/#t"
        assert Client(server).post("next", headers=headers)[0] == status


@pytest.mark.parametrize(
    ("host", "public", "readable"),
    [
        ("127.0.0.1", None, False),
        ("0.0.0.0", None, True),
        ("0.0.0.0", "https://judge.example.org", False),
        ("0.0.0.0", "http://judge.example.org", True),
    ],
)
def test_links_without_encryption_are_noticed(host, public, readable, tmp_path):
    with serving(tmp_path, host=host, public_url=public) as server:
        assert server.readable is readable


@pytest.mark.parametrize(
    "address",
    ["judge.example.org", "ftp://a.example", "https://", "https://a;b", "https://a.example/?x=1", "https://[x"],
)
def test_a_wrong_public_address_is_named(address, tmp_path):
    items = written(tmp_path / "items.jsonl")
    found = CliRunner().invoke(cli, ["judge", str(items), "--db", str(tmp_path / "j.sqlite"), "--public-url", address])
    assert "--public-url" in str(found.exception)
    assert "expected an address such as" in str(found.exception)
    assert not (tmp_path / "j.sqlite").exists()


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://Bücher.example:443/a.png", "https://xn--bcher-kva.example"),
        ("http://user:pw@p.example:8080/x", "http://p.example:8080"),
        ("http://[2001:DB8::1]/x", "http://[2001:db8::1]"),
        ("https://p.example; script-src *", None),
        ("https://p.example,evil.example/x", None),
        ("https://'unsafe-inline'/x", None),
        ("https://*/x", None),
        ("https://[fe80::1%;x]/", None),
        ("https://p.example:port/", None),
        ("https://[x/", None),
        ("https:///x", None),
    ],
)
def test_only_the_server_of_a_picture_gets_into_the_policy(address, origin, tmp_path):
    rows = [{"query": "q", "item": "d1", "image": address}, {"query": "q", "item": "d2"}]
    path = written(tmp_path / "items.jsonl", rows)
    if origin is None:
        with pytest.raises(rd.DataError, match=r"items\.jsonl:1: the image is"):
            read_items(path)
        return
    assert origin_of(address) == origin
    with serving(tmp_path, rows) as server:
        client = Client(server)
        client.connection.request("GET", "/")
        policy = client.connection.getresponse().headers["Content-Security-Policy"]
        assert f"img-src 'self' data: {origin}; base-uri 'none'" in policy


def test_a_policy_has_a_bound(tmp_path):
    rows = [{"query": "q", "item": f"d{k}", "image": f"https://host{k}.example/x"} for k in range(1000)]
    items = read_items(written(tmp_path / "items.jsonl", rows))
    assert items.remote() == ["https:"]
    few = read_items(written(tmp_path / "items.jsonl", rows[:20]))
    assert len(few.remote()) == 20
    assert sum(map(len, few.remote())) <= LONGEST_POLICY


def test_a_link_that_is_none_is_named(tmp_path):
    rows = [{"query": "q", "item": "d1", "url": "//x"}, {"query": "q", "item": "d2"}]
    with pytest.raises(rd.DataError, match=":1: the url is"):
        read_items(written(tmp_path / "items.jsonl", rows))


NGINX = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location /team/ {{ proxy_pass http://127.0.0.1:{behind}/; {extra} }}
  }}
}}
"""


@pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="needs nginx and openssl")
@pytest.mark.parametrize("extra", ["", "proxy_set_header Host $host;"])
def test_nginx_in_front_provides_encryption(extra, tmp_path):
    key = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    paths = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*key, *paths, "-subj", "/CN=localhost"], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "a.png").write_bytes(b"\x89PNG picture")
    rows = [{"query": "q", "item": f"d{k}", "image": "a.png"} for k in range(3)]
    with serving(tmp_path, rows, public_url="https://judge.example.org/team/") as server:
        values = {"folder": tmp_path, "port": port, "behind": server.server_address[1], "extra": extra}
        (tmp_path / "nginx.conf").write_text(NGINX.format(**values))
        command = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-g", "daemon off;"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as proxy:
            try:
                _judge_through(port, server)
            finally:
                proxy.terminate()
    assert server.tokens.owner not in (tmp_path / "access.log").read_text()


def _judge_through(port, server):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)

    def call(method, path, body=None, **headers):
        connection = HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context(), timeout=20)
        connection.request(method, f"/team/{path}", body, {"Host": "judge.example.org", **headers})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, content

    def post(path, origin="https://judge.example.org", **asked):
        body = json.dumps({"judge": "ann", **asked})
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {server.tokens.owner}", "Origin": origin}
        status, content = call("POST", f"api/{path}", body, **sent)
        return status, json.loads(content)

    assert call("GET", "")[0] == call("GET", "judge.js")[0] == 200
    assert post("next", origin="https://evil.example")[0] == 403
    _, reply = post("next")
    sides = reply["question"]["sides"]
    assert call("GET", f"image/{reply['images']}/{sides[0]['picture']}") == (200, b"\x89PNG picture")
    about = {"query": "q", "first": sides[0]["item"], "second": sides[1]["item"], "comment": "", "outcome": "tie"}
    assert post("answer", request="r", **about)[1]["saved"]
    assert len(server.session.store.answers()) == 1
