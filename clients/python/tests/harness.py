"""A running processor, clients of it, and a model that answers when it is told to."""

import asyncio
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import precis

try:
    import nats
except ImportError:
    nats = None
needs_nats = unittest.skipIf(nats is None, "nats-py is not installed: the client over NATS is not tested")

TOKEN = "a-token-of-the-clients-tests"
OUTPUT = "ok  \tshop/cart\t0.01s\n" * 100 + "--- FAIL: TestTotal (0.00s)\n"
QUESTION = {"type": "thread.message", "message_id": "m1", "role": "user", "content": "Which test fails?"}
RESULT = {"type": "tool.result", "message_id": "m2", "tool_name": "bash", "content": OUTPUT}
ANSWER = {"type": "thread.message", "message_id": "m3", "role": "assistant", "content": "TestTotal."}
SESSION = (QUESTION, RESULT, ANSWER)


class Processor:
    """The program at PROCESSOR_UNDER_TEST, with its data in a directory of its own."""

    def __init__(self, config="", token=None):
        self._dir = pathlib.Path(tempfile.mkdtemp(prefix="precis-"))
        api, nats, probes = free(), free(), free()
        self.url, self.nats, self._ready = f"http://{api}", f"nats://{nats}", f"http://{probes}/readyz"
        tokens = ""
        if token:
            tokens = ", tokens_file: tokens.yaml"
            self._write("tokens.yaml", f'tokens:\n  - {{name: tests, token: "{token}", role: agent}}\n')
        self._write("config.yaml", f'nats: {{listen: "{nats}", sync: 2m}}\ndata_dir: "{self._dir}/data"\n'
                                   f'http: {{listen: "{probes}"}}\napi: {{listen: "{api}"{tokens}}}\n{config}')
        self._running = None
        try:
            self.begin()
        except BaseException:
            self.close()
            raise

    def _write(self, name, text):
        file = self._dir / name
        file.write_text(text)
        file.chmod(0o600)

    def begin(self):
        """Start the program, and return when it is ready."""
        with open(self._dir / "log", "a") as log:
            self._running = subprocess.Popen([os.environ["PROCESSOR_UNDER_TEST"], "run", "--config", "config.yaml"],
                                             cwd=self._dir, stderr=log, env={"HOME": str(self._dir), "KEY": "none"})

        def ready():
            if self._running.poll() is not None:
                raise AssertionError("the program ended:\n" + (self._dir / "log").read_text())
            try:
                with urllib.request.urlopen(self._ready, timeout=5) as answer:
                    return answer.status == 200
            except OSError:
                return False

        until(ready)

    def end(self):
        """End the program in order."""
        if self._running is None or self._running.poll() is not None:
            return
        self._running.terminate()
        if self._running.wait(60) != 0:
            raise AssertionError("the program ended badly:\n" + (self._dir / "log").read_text())

    def close(self):
        try:
            self.end()
        finally:
            shutil.rmtree(self._dir)

    def client(self, **options):
        return precis.Client(self.url, **options)

    def nats_client(self, **options):
        return Blocking(self.nats, **options)


class Blocking:
    """The client over NATS as one that waits, so that the tests of both are the same."""

    def __init__(self, url, **options):
        from precis.nats import NatsClient

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.nc = self.run(nats.connect(url, max_reconnect_attempts=-1, reconnect_time_wait=0.05, error_cb=self._failed))
        self._client = NatsClient(self.nc, **options)

    async def _failed(self, error):
        """Of the connection; what it means for a request is tested there."""

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    def __getattr__(self, name):
        method = getattr(self._client, name)
        if name != "records":
            return lambda *args, **options: self.run(method(*args, **options))

        def records(*args, **options):
            following = method(*args, **options)
            try:
                while True:
                    yield self.run(following.__anext__())
            finally:
                self.run(following.aclose())

        return records

    def close(self):
        self.run(self.nc.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Model:
    """A provider whose answers wait until release is set."""

    def __init__(self):
        self.asked, self.release = threading.Event(), threading.Event()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                model.asked.set()
                model.release.wait(60)
                body = json.dumps({
                    "choices": [{"message": {"role": "assistant", "content": "TestTotal fails."}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 3}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def config(self):
        """The lines that have the processor ask this model for every summary."""
        return ("policies: [{name: default, mode: llm, provider: main}]\n"
                f'providers: {{main: {{kind: openai, base_url: "http://127.0.0.1:{self._server.server_port}/v1", '
                "model: gpt-4.1-mini, api_key_env: KEY}}\n")

    def hold(self):
        self.asked.clear()
        self.release.clear()

    def close(self):
        self.release.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def free():
    """Return an address that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return "127.0.0.1:%d" % server.getsockname()[1]


def until(ask):
    """Ask until the answer is true, at most for half a minute, and return it."""
    pause = threading.Event()
    for _ in range(1500):
        answer = ask()
        if answer:
            return answer
        pause.wait(0.02)
    raise AssertionError("not within half a minute")


async def refused(*_):
    """What a server says of a consumer that its user may not make."""
    raise nats.js.errors.APIError(code=403, description="no")
