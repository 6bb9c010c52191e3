"""The client against a server that misbehaves."""

import contextlib
import http.server
import json
import threading
import unittest

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


if __name__ == "__main__":
    unittest.main()
