"""What the tests stand on: databases of their own, the peer's client, a closed network."""

import socket
from types import ModuleType

import psycopg
import pytest

from tests import postgres as pg


def test_a_test_cannot_reach_another_machine():
    with socket.socket() as outgoing, pytest.raises(ConnectionRefusedError, match="only reach this machine"):
        outgoing.connect(("192.0.2.1", 80))


def test_a_test_cannot_resolve_a_name_of_another_machine():
    with pytest.raises(ConnectionRefusedError, match="only reach this machine"):
        socket.getaddrinfo("example.org", 80)


def test_a_test_can_reach_this_machine():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        here = listening.getsockname()

        with socket.create_connection(here) as outgoing:
            assert outgoing.getpeername() == here


def test_the_postgres_of_the_tests_has_pgvector(postgres_database: str):
    with psycopg.connect(postgres_database) as connection:
        connection.execute("CREATE EXTENSION vector")

        (distance,) = connection.execute("SELECT '[1,2]'::vector <-> '[1,4]'::vector").fetchone() or (None,)

    assert distance == 2


def test_a_copy_of_a_database_has_its_rows_and_goes_its_own_way(postgres: pg.Server):
    template = postgres.create()
    _run(template, "CREATE TABLE words AS SELECT 'first' AS word")

    one, other = postgres.create(template), postgres.create(template)
    _run(one, "DELETE FROM words")

    assert _words(one) == []
    assert _words(other) == [("first",)]


def test_the_peers_client_is_at_hand(reflexio: ModuleType):
    client = reflexio.ReflexioClient(url_endpoint="http://127.0.0.1:9", api_key="none")

    assert callable(client.publish_interaction)


def _run(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement.encode())


def _words(url: str) -> list[tuple[str]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT word FROM words").fetchall()
