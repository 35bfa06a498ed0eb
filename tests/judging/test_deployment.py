"""The judging server where a team uses it: behind a proxy, by other names, with requests that are not a browser's."""

import socket

import pytest

from tests.judging.serving import Client, serving

PUBLIC = "https://judge.example.org/team"


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
        (b"GET /image/x/" + b"9" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /image/\xff/0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET / HTTP/1.1\r\n\r\n", 403),
        (b"POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 411),
    ],
)
def test_requests_of_no_browser_are_refused(request_, status, server):
    assert sent(server, request_) == status


def test_names_of_this_machine(server):
    assert Client(server).post("next", headers={"Host": f"{socket.gethostname().partition('.')[0]}.local:80"})[0] == 200
    assert Client(server).post("next", headers={"Host": "LOCALHOST.:80", "Origin": "http://localhost.:80"})[0] == 200
    assert Client(server).post("next", headers={"Host": "evil.local"})[0] == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "judge.example.org", "Origin": "https://judge.example.org"}, 200),
        ({"Host": "127.0.0.1:8080", "Origin": "https://judge.example.org"}, 200),  # a proxy that sends its own
        ({"Host": "localhost:8080", "Origin": "http://localhost:8080"}, 200),  # the owner, on this machine
        ({"Host": "judge.example.org", "Origin": "http://judge.example.org"}, 403),
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
