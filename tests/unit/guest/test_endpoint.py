from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.guest.endpoint import AZURE, Endpoint, Places, parse_endpoint, places

DESK = "http://127.0.0.1:16925/vm/web-0"


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("169.254.169.254", AZURE),
        ("http://169.254.169.254", AZURE),
        ("HTTP://169.254.169.254:80/", AZURE),
        ("http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01", AZURE),
        (DESK, Endpoint("127.0.0.1", 16925, "/vm/web-0")),
        (f" {DESK}/ ", Endpoint("127.0.0.1", 16925, "/vm/web-0")),
        (f"{DESK}/Metadata/instance", Endpoint("127.0.0.1", 16925, "/vm/web-0")),
        ("localhost:8080", Endpoint("localhost", 8080)),
        ("[::1]:8080", Endpoint("::1", 8080)),
        ("http://[fe80::1%eth0]", Endpoint("fe80::1%eth0")),
    ],
)
def test_an_address_may_be_written_as_people_write_it(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(text) == endpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://",
        "https://169.254.169.254",
        "ftp://x",
        "host:0",
        "host:65536",
        "host:port",
        "::1",
        "a b",
        "user@host",
        "http://host/a b",
        "http://host/\r\nX: y",
        "ho\r\nst",
        "http://hö.st",
        "/vm/web-0",
    ],
)
def test_what_is_no_address_is_refused_with_a_sentence_that_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no address of a metadata service.*\.$") as refused:
        parse_endpoint(text)
    assert repr(text) in str(refused.value)


@given(st.text(max_size=40))
def test_no_text_puts_a_line_of_its_own_into_a_request(text: str) -> None:
    try:
        endpoint = parse_endpoint(text)
    except ValueError:
        return
    assert not set(endpoint.authority + endpoint.prefix) & set("\r\n \t\0")
    assert parse_endpoint(str(endpoint)) == endpoint


def test_a_port_is_told_only_where_it_is_not_the_usual_one() -> None:
    assert (AZURE.authority, str(AZURE)) == ("169.254.169.254", "http://169.254.169.254")
    assert Endpoint("::1", 81).authority == "[::1]:81"


def test_the_documents_order_is_address_environment_azure_network() -> None:
    both = {"FOREWARN_ENDPOINT": "http://10.0.0.2", "SCHEDULEDEVENTSIP": "10.0.0.3"}
    assert places("10.0.0.1", both) == Places((Endpoint("10.0.0.1"),))
    assert places(None, both) == Places((Endpoint("10.0.0.2"),))
    assert places("", {"SCHEDULEDEVENTSIP": "10.0.0.3"}) == Places((Endpoint("10.0.0.3"), AZURE), dhcp=True)
    assert places(None, {}) == Places((AZURE,), dhcp=True)


def test_an_address_that_was_given_is_never_replaced_by_another() -> None:
    """A program that was pointed at a test region must not talk to the real service because the region is down."""
    assert not places(DESK, {}).dhcp
    assert not places(None, {"FOREWARN_ENDPOINT": DESK}).dhcp


def test_what_a_guests_variable_was_once_called_is_understood_with_a_word_about_it() -> None:
    found = places(None, {"FOREWARN_METADATA": DESK})
    assert (found.endpoints, found.dhcp) == ((parse_endpoint(DESK),), False)
    assert found.doubt == f"FOREWARN_METADATA is the server's setting; say FOREWARN_ENDPOINT={DESK} to a guest"
    assert places(None, {"FOREWARN_METADATA": DESK, "FOREWARN_ENDPOINT": "10.0.0.2"}) == Places((Endpoint("10.0.0.2"),))


def test_a_servers_own_setting_is_nothing_to_a_guest() -> None:
    assert places(None, {"FOREWARN_METADATA": "127.0.0.1:16925"}) == Places((AZURE,), dhcp=True)


def test_azures_address_is_tried_once() -> None:
    assert places(None, {"SCHEDULEDEVENTSIP": "169.254.169.254"}) == Places((AZURE,), dhcp=True)


def test_proxies_of_the_environment_are_nothing_to_us() -> None:
    assert places(None, {"http_proxy": "http://10.0.0.9:3128", "HTTP_PROXY": "x"}) == Places((AZURE,), dhcp=True)
