"""What the address of a PostgreSQL server says, what is wrong with it, and that no password in it is ever shown."""

from __future__ import annotations

import traceback

import pytest

from forewarn.plane.ports import JournalFault
from forewarn.stores.postgres.address import ConnectionString
from forewarn.stores.postgres.connections import connect
from forewarn.stores.postgres.journal import PostgresJournal, describe
from tests.contract.shared_regions import InPostgres
from tests.postgres import PASSWORD, Server


def test_what_the_address_says_wins_but_a_commit_is_always_on_disk(region: InPostgres) -> None:
    options = f"-csearch_path={region.schema} --statement-timeout=7s -c lock_timeout=8s -csynchronous_commit=off"
    address = ConnectionString(region.server.url(options=options, connect_timeout="3", application_name="mine"))
    with connect(address) as connection:
        shown = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in SETTINGS]
    assert dict(zip(SETTINGS, shown, strict=True)) == {name: (value,) for name, value in SETTINGS.items()}
    assert address.parameters["connect_timeout"] == "3"


SETTINGS = {
    "statement_timeout": "7s",
    "lock_timeout": "8s",
    "idle_in_transaction_session_timeout": "30s",
    "synchronous_commit": "on",
    "application_name": "mine",
    "client_connection_check_interval": "2s",
    "tcp_keepalives_idle": "5",
}


def test_a_stricter_synchronous_commit_of_the_address_is_left_as_it_is(region: InPostgres) -> None:
    url = region.server.url(options=f"-csearch_path={region.schema} -csynchronous_commit=remote_apply")
    with connect(ConnectionString(url)) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)


WRONG = {
    "another password": ("{user}:s3cret%2Fof%20us%25@{host}/postgres", "does not let us in. Check user and password"),
    "another user": ("nobody:s3cret%2Fof%20us%25@{host}/postgres", "does not let us in. Check user and password"),
    "another database": ("{user}:{password}@{host}/missing", "the server has no database of that name"),
    "another port": ("u:s3cret%2Fof%20us%25@127.0.0.1:1/postgres", "cannot be reached. Check that the server runs"),
    "two hosts that are not there": ("u:s3cret%2Fof%20us%25@127.0.0.1:1,127.0.0.1:2/db", "cannot be reached."),
    "another host": ("u:s3cret%2Fof%20us%25@no-such-host.invalid/db", "cannot be found. Check the host's name"),
    "encryption": ("{user}:{password}@{host}/postgres?sslmode=require", "cannot be reached with the encryption"),
    "a bare percent sign": ("u:s3cret/of us%@{host}/db", "is not a PostgreSQL connection string"),
    "a bad escape": ("u:s3cret%zz@{host}/db", "in the password, every character that is not a letter or a digit"),
    "a space": ("u:s3cret of@{host}/db", "is not a PostgreSQL connection string"),
    "an unknown parameter": ("u:s3cret@{host}/db?s3cret=1", "is not a PostgreSQL connection string"),
}


@pytest.mark.parametrize(("url", "said"), WRONG.values(), ids=WRONG)
def test_an_address_that_does_not_work_is_told_without_its_password(postgres: Server, url: str, said: str) -> None:
    good = postgres.url()
    filled = url.format(user="postgres", password=good.split(":")[2].split("@")[0], host=f"127.0.0.1:{postgres.port}")
    with pytest.raises(JournalFault) as refused:
        PostgresJournal(f"postgresql://{filled}")
    whole = "".join(traceback.format_exception(refused.value))
    assert said in str(refused.value)
    assert not any(secret in whole for secret in ("s3cret", PASSWORD, good.split(":")[2].split("@")[0]))


@pytest.mark.parametrize(
    ("conninfo", "shown"),
    [
        ("postgresql://ann:pw@db.example:5433/shop", "postgresql://ann@db.example:5433/shop"),
        ("postgresql://ann:pw@a:1,b:2/shop?sslmode=require", "postgresql://ann@a:1,b:2/shop"),
        ("host=a,b port=5433 password=pw dbname=shop", "postgresql://a:5433,b:5433/shop"),
        ("host=/run/postgresql dbname=shop password=pw", "postgresql:///run/postgresql/shop"),
        ("postgresql://ann:pw@a/shop?options=-csearch_path%3Deast", "postgresql://ann@a/shop (schema east)"),
        ("postgresql:///shop?password=pw&sslpassword=pw", "postgresql:///shop"),
    ],
)
def test_an_address_is_shown_without_its_password(conninfo: str, shown: str) -> None:
    assert describe(conninfo) == shown


def test_an_error_message_that_quotes_the_password_is_shown_without_it() -> None:
    address = ConnectionString("postgresql://ann:p%2Fw%20d@db/shop?sslpassword=other")
    assert address.without_secrets('said "p/w d", p%2Fw%20d and other') == 'said "***", *** and ***'
