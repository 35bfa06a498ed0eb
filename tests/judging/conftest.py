"""A server with two queries, and its owner."""

import pytest

from tests.judging.serving import Client, serving


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as made:
        yield made


@pytest.fixture
def owner(server):
    return Client(server, "eve", server.tokens.owner)
