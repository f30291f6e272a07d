"""The daemon's small parts, each by itself."""

from __future__ import annotations

import io
import json
import os
import socket

import pytest

from assent.config.settings import ServerSettings
from assent.model import AssentError, encode
from assent.platform.daemon_address import SOCKET_NAME
from assent.server.auth.rate_limits import MOST_BUCKETS, Rates
from assent.server.http.listen import listen_tcp, listen_unix, peer_uid, remove_unix
from assent.server.http.messages import Request, read_int, read_seconds
from assent.server.metrics import Histogram, Metrics
from assent.server.operator_log import Journal
from assent.wire.refusal import Refusal


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_two_seconds_worth_may_come_at_once_then_only_the_rate():
    clock = Clock()
    rates = Rates(5, clock=clock)
    for _ in range(10):
        rates.take("a")
    with pytest.raises(Refusal) as caught:
        rates.take("a")
    assert caught.value.status == 429
    rates.take("b")
    clock.now = 0.2
    rates.take("a")
    with pytest.raises(Refusal):
        rates.take("a")


def test_no_rate_is_no_limit_and_no_memory():
    rates = Rates(0)
    for number in range(100):
        rates.take(str(number))
    assert not rates._buckets


def test_the_buckets_are_bounded():
    rates = Rates(1)
    for number in range(MOST_BUCKETS + 10):
        rates.take(str(number))
    assert len(rates._buckets) == MOST_BUCKETS


def test_a_line_of_the_journal_is_one_line_whatever_is_in_it():
    stream = io.StringIO()
    for form in ("json", "text"):
        Journal(form, stream=stream).note("info", "x", path="a\nb\x1b[31m\u202eü\u2028", n=3)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert all(line.isascii() for line in lines)
    assert all("\x1b" not in line for line in lines)
    assert json.loads(lines[0])["n"] == 3


def test_a_fault_is_written_down_without_the_values_at_hand():
    stream = io.StringIO()

    def fail(secret):
        raise ValueError(secret)

    try:
        fail("hunter2")
    except ValueError as error:
        Journal(stream=stream).fault("x", error)
    assert "hunter2" not in stream.getvalue()
    assert "ValueError" in stream.getvalue()


def test_the_journal_keeps_to_its_level_and_survives_a_closed_stream():
    stream = io.StringIO()
    journal = Journal("json", "warning", stream=stream)
    journal.note("info", "x")
    assert not stream.getvalue()
    stream.close()
    journal.note("error", "x")


def test_a_histogram_counts_up_to_each_bound():
    histogram = Histogram((1.0, 5.0))
    for value in (0.5, 1.0, 3.0, 9.0):
        histogram.add(value)
    assert list(histogram.samples("t")) == [
        ('t_bucket{le="1"}', 2),
        ('t_bucket{le="5"}', 3),
        ('t_bucket{le="+Inf"}', 4),
        ("t_sum", 13.5),
        ("t_count", 4),
    ]


def test_metrics_are_text_that_prometheus_reads():
    metrics = Metrics()
    metrics.count_refusal(401)
    metrics.count_answer("approved", "ann", 2.0)
    text = metrics.render({"assent_pending": ("Waiting.", 3)})
    for line in text.splitlines():
        assert line.startswith("# ") or len(line.rsplit(" ", 1)) == 2
    assert 'assent_requests_refused_total{status="401"} 1' in text
    assert 'assent_questions_total{state="approved"} 1' in text
    assert "assent_pending 3" in text
    assert "# TYPE assent_answer_seconds histogram" in text


def request(query: bytes) -> Request:
    return Request({"type": "http", "query_string": query})


@pytest.mark.parametrize("query", [b"a=1&a=2", b"\xff", b"a=%ff", b"&".join(b"a%d=1" % n for n in range(40))])
def test_a_query_that_is_none_is_refused(query):
    with pytest.raises(Refusal) as caught:
        _ = request(query).query
    assert caught.value.status == 400


def test_a_query_is_read():
    assert request(b"a=1&b=x%20y&c=").query == {"a": "1", "b": "x y", "c": ""}


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "0", "101", "٣", "9" * 30])
def test_a_number_that_is_none_is_refused(text):
    with pytest.raises(Refusal):
        read_int({"limit": text}, "limit", 10, low=1, high=100)


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("1.5", 1.5), ("99999", 60), ("00", 0)])
def test_seconds_are_read_and_bounded(text, seconds):
    assert read_seconds({"wait": text}, "wait", high=60) == seconds
    assert read_seconds({}, "wait", high=60) == 0


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "nan", "inf", ".", "1.2.3", "9" * 30])
def test_seconds_that_are_none_are_refused(text):
    with pytest.raises(Refusal):
        read_seconds({"wait": text}, "wait", high=60)


def test_names_that_are_no_text_come_out_escaped():
    assert json.loads(encode({"x": "a\udcff"})) == {"x": "a\\udcff"}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "192.168.1.1"])
def test_an_address_that_others_reach_must_be_asked_for(host):
    with pytest.raises(AssentError, match="expose"):
        listen_tcp(ServerSettings(host=host, port=0))


@pytest.mark.parametrize("host", ["example.com", "x y", "127.0.0.1:80"])
def test_a_host_is_an_address(host):
    with pytest.raises(AssentError, match="--host"):
        listen_tcp(ServerSettings(host=host, port=0))


def test_a_port_in_use_is_said():
    with listen_tcp(ServerSettings(port=0)) as first:
        first.listen()
        with pytest.raises(AssentError, match="cannot listen"):
            listen_tcp(ServerSettings(port=first.getsockname()[1]))


@pytest.mark.parametrize("deep", [False, True])
def test_the_unix_socket_is_for_its_owner_alone_and_knows_its_peer(tmp_path, deep):
    home = tmp_path / ("d" * 90 if deep else "d") / "home"
    home.mkdir(parents=True)
    with listen_unix(str(home)) as listener:
        listener.listen()
        path = home / SOCKET_NAME
        assert path.stat().st_mode & 0o777 == 0o600
        descriptor = os.open(home, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"/proc/self/fd/{descriptor}/{SOCKET_NAME}")
            connection, _ = listener.accept()
            with connection:
                assert peer_uid(connection) == os.geteuid()
        os.close(descriptor)
        with pytest.raises(AssentError, match="another daemon"):
            listen_unix(str(home))
    listen_unix(str(home)).close()  # its daemon is gone
    remove_unix(str(home))
    assert not path.exists()


def test_what_is_no_socket_is_left_alone(tmp_path):
    file = tmp_path / SOCKET_NAME
    file.write_text("mine")
    with pytest.raises(AssentError, match="not a socket"):
        listen_unix(str(tmp_path))
    assert file.read_text() == "mine"


def test_a_peer_that_the_kernel_does_not_name_is_nobody():
    left, right = socket.socketpair()
    left.close()
    with right:
        assert peer_uid(left) == -1
