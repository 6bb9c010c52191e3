"""The client against a server that misbehaves."""

import contextlib
import http.server
import importlib
import json
import sys
import threading
import unittest
from unittest import mock

import precis

RECORD = b'id: %d\nevent: summary.created\ndata: {"n":%d}\n\n'


@contextlib.contextmanager
def server(*answers):
    """Serve one answer after the other, the last one for good, and yield a URL and the requests seen."""
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            length = int(self.headers.get("Content-Length") or 0)
            seen.append((self.command, self.path, dict(self.headers), self.rfile.read(length)))
            answers[min(len(seen), len(answers)) - 1](self)

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", seen
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def reply(status, body, kind="application/json", headers=(), length=None):
    def send(request):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(length or len(data)))
        for name, value in headers:
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    return send


def hang_up(request):
    request.close_connection = True


def stream(*chunks):
    def send(request):
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.end_headers()
        for chunk in chunks:
            request.wfile.write(chunk)

    return send


NOT_READY = reply(503, {"type": "t", "title": "Not ready", "status": 503, "detail": "retry"}, "application/problem+json", [("Retry-After", "0")])


class Failures(unittest.TestCase):
    def test_repeats_what_may_pass(self):
        half = reply(200, b'{"event_seqs":[1],', length=60)
        with server(NOT_READY, hang_up, half, reply(200, {"event_seqs": [1], "event_seq": 1})) as (url, seen):
            self.assertEqual(precis.Client(url).publish("t", {"type": "thread.message", "message_id": "m1"})["event_seq"], 1)
        self.assertEqual(len(seen), 4)
        self.assertEqual(len({body for _, _, _, body in seen}), 1)

    def test_gives_up(self):
        with server(NOT_READY) as (url, seen):
            with self.assertRaises(precis.Unavailable) as caught:
                precis.Client(url, retries=1).thread("t")
        self.assertEqual((len(seen), caught.exception.retry_after), (2, 0.0))

    def test_repeats_no_refusal(self):
        with server(reply(400, b"<html>from a proxy", "text/html")) as (url, seen):
            with self.assertRaises(precis.BadRequest) as caught:
                precis.Client(url).thread("t")
        self.assertEqual((len(seen), caught.exception.detail), (1, "<html>from a proxy"))

    def test_waits_as_long_as_said(self):
        release = threading.Event()
        with server(lambda _: release.wait(30)) as (url, _):
            with self.assertRaises(precis.Unreachable):
                precis.Client(url, timeout=0.05, retries=0).thread("t")
            release.set()

    def test_says_what_to_start(self):
        with self.assertRaisesRegex(precis.Unreachable, 'refused.* \\(is "processor run" started\\? Its API listens on http://127.0.0.1:8088 by default\\)$'):
            precis.Client("http://127.0.0.1:1", retries=0).thread("t")

    def test_paths_and_token(self):
        with server(reply(200, {})) as (url, seen):
            c = precis.Client(url + "/under/", token="secret")
            c.thread("a/b ü?")
            c.message("..", ".", lines=(1, 2))
        self.assertEqual([path for _, path, _, _ in seen], [
            "/under/v1/threads/a%2Fb%20%C3%BC%3F", "/under/v1/threads/%2E%2E/messages/%2E?lines=1-2"])
        self.assertEqual({headers["Authorization"] for _, _, headers, _ in seen}, {"Bearer secret"})

    def test_stream_that_breaks_is_continued(self):
        first = stream(b": open\n\n", RECORD % (7, 7), b"id: 8\nevent: summary.created\ndata: {")  # broken within a record
        second = stream(RECORD % (8, 8) + b": alive\n\n", RECORD % (11, 11))
        with server(first, NOT_READY, second) as (url, seen):
            records = precis.Client(url).records("t", from_now=True)
            got = [next(records) for _ in range(3)]
            records.close()
        self.assertEqual([(r.id, r.data["n"]) for r in got], [(7, 7), (8, 8), (11, 11)])
        self.assertEqual([headers.get("Last-Event-ID") for _, _, headers, _ in seen], [None, "7", "7"])

    def test_stream_once(self):
        with server(stream(RECORD % (7, 7))) as (url, seen):
            self.assertEqual([r.id for r in precis.Client(url).records("t", reconnect=False)], [7])
        self.assertEqual(len(seen), 1)


def routes(counters, records):
    """Answer requests for a thread's counters one after the other, the last for good, and those for its records."""
    asked = []

    def send(request):
        if request.path.endswith("/records?from=now"):
            records(request)
            return
        asked.append(request.path)
        counters[min(len(asked), len(counters)) - 1](request)

    return send


BUSY, IDLE = reply(200, {"summaries_started": 1}), reply(200, {"summaries_started": 0})


class Gates(unittest.TestCase):
    def test_without_a_stream_time_is_the_hint(self):
        for records in (reply(429, {}), hang_up, stream(), reply(200, b"")):
            with mock.patch("precis.gate.AGAIN", 0.01), server(routes([NOT_READY, hang_up, BUSY, BUSY, BUSY, IDLE], records)) as (url, seen):
                precis.Client(url).gate("t", min_event_seq=7)
            self.assertEqual(len([path for _, path, _, _ in seen if path == "/v1/threads/t?min_event_seq=7"]), 6)

    @mock.patch("precis.gate.AGAIN", 60.0)
    def test_each_record_is_a_hint(self):
        again = threading.Event()

        def records(request):
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for n in range(40):  # one of them is sent when the gate waits
                request.wfile.write(RECORD % (n, n))
                if again.wait(0.05):
                    break

        def last(request):
            again.set()
            IDLE(request)

        with server(routes([BUSY] * 5 + [last], records)) as (url, _):
            precis.Client(url).gate("t")
        self.assertTrue(again.is_set())

    @mock.patch("precis.gate.AGAIN", 60.0)
    def test_a_record_is_one_hint_and_so_is_an_end(self):
        for ends in (True, False):
            opened, release = threading.Event(), threading.Event()

            def records(request):
                request.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                opened.wait(30)
                request.wfile.write(RECORD % (7, 7))
                if not ends:
                    release.wait(30)

            def second(request):
                opened.set()
                BUSY(request)

            with self.subTest(ends=ends), server(routes([BUSY, second, BUSY], records)) as (url, seen):
                with self.assertRaises(precis.GateTimeout):
                    precis.Client(url).gate("t", max_wait=0.3)
                release.set()
            self.assertIn(len(seen), (4, 5))  # before the stream, it, behind it, after the record, perhaps after the end

    def test_its_time_is_up(self):
        release = threading.Event()
        with server(lambda _: release.wait(30)) as (url, _):
            with self.assertRaises(precis.GateTimeout) as caught:
                precis.Client(url).gate("t", max_wait=0.2)
            release.set()
        self.assertIsInstance(caught.exception.__cause__, precis.Unreachable)

    def test_a_refusal_ends_it(self):
        with server(reply(403, {"title": "Forbidden"})) as (url, seen):
            with self.assertRaises(precis.Unauthorized):
                precis.Client(url).gate("t")
        self.assertEqual(len(seen), 1)


class WithoutNatsPy(unittest.TestCase):
    def test_the_module_says_what_to_install(self):
        with mock.patch.dict(sys.modules, {"nats": None, "nats.errors": None}):
            sys.modules.pop("precis.nats", None)
            with self.assertRaisesRegex(ImportError, "needs nats-py: pip install"):
                importlib.import_module("precis.nats")


if __name__ == "__main__":
    unittest.main()
