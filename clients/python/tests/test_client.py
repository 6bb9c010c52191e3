"""The client against a real processor. clients_test.go starts it and sets PRECIS_URL and PRECIS_TOKEN."""

import os
import threading
import unittest
import uuid

import precis

OUTPUT = "ok  \tshop/cart\t0.01s\n" * 100 + "--- FAIL: TestTotal (0.00s)\n"


def client(**options):
    return precis.Client(os.environ["PRECIS_URL"], **{"token": os.environ["PRECIS_TOKEN"], **options})


def session(thread):
    """Publish a question, a long output and an answer."""
    return client().publish(
        thread,
        {"type": "thread.message", "message_id": "m1", "role": "user", "content": "Which test fails?"},
        {"type": "tool.result", "message_id": "m2", "tool_name": "bash", "content": OUTPUT},
        {"type": "thread.message", "message_id": "m3", "role": "assistant", "content": "TestTotal."},
    )


class Methods(unittest.TestCase):
    def setUp(self):
        self.thread = f"py/{uuid.uuid4()} ü"

    def test_session(self):
        c = client()
        stored = session(self.thread)
        self.assertEqual(len(stored["event_seqs"]), 3)
        self.assertEqual(stored["event_seq"], max(stored["event_seqs"]))

        prompt = c.context(self.thread, format="openai", max_tokens=8000, min_event_seq=stored["event_seq"], explain=True)
        self.assertLess(prompt["token_count"], 400)
        self.assertEqual([m["role"] for m in prompt["messages"]][0], "user")
        self.assertEqual(len(prompt["summary_ids"]), 1)
        self.assertIsNotNone(prompt["explain"])

        summary = c.summary(prompt["summary_ids"][0])
        self.assertEqual((summary["status"], summary["source_message_ids"]), ("active", ["m2"]))

        self.assertEqual(c.message(self.thread, "m2", lines=(101, 101))["content"], "--- FAIL: TestTotal (0.00s)\n")
        self.assertEqual(c.message(self.thread, "m2", revision=0)["content"], OUTPUT)

        counters = c.thread(self.thread, min_event_seq=stored["event_seq"])
        self.assertEqual((counters["messages"], counters["tool_results"]), (2, 1))
        self.assertLess(counters["tokens_live"], counters["tokens_total"])

        self.assertEqual(c.summarize(self.thread, kind="history")["kind"], "history")

    def test_published_twice_counts_once(self):
        session(self.thread)
        stored = session(self.thread)
        counters = client().thread(self.thread, min_event_seq=stored["event_seq"])
        self.assertEqual((counters["messages"], counters["tool_results"], counters["duplicates"]), (2, 1, 3))

    def test_refused_events_are_named_and_none_is_stored(self):
        with self.assertRaises(precis.EventsRejected) as caught:
            client().publish(
                self.thread,
                {"type": "thread.message", "message_id": "m1", "role": "user", "content": "Hi"},
                {"type": "thread.message", "message_id": "m2", "role": "nobody", "content": "Hi"},
            )
        self.assertEqual([(r["index"], r["code"], r["field"]) for r in caught.exception.rejections], [(1, "schema", "role")])
        self.assertIn("event 1: schema role", str(caught.exception))
        with self.assertRaises(precis.NotFound):
            client().thread(self.thread)

    def test_later_rejections(self):
        for content in "Hi", "Bye":
            stored = client().publish(self.thread, {"type": "thread.message", "message_id": "m1", "role": "user", "content": content})
        client().thread(self.thread, min_event_seq=stored["event_seq"])
        # The record in REJECTED follows the commit.
        rejected = []
        deadline = threading.Event()
        for _ in range(500):
            rejected = client().rejections(self.thread)
            if rejected:
                break
            deadline.wait(0.02)
        self.assertEqual([r["code"] for r in rejected], ["message_conflict"])
        self.assertEqual(client().rejections(self.thread, after=rejected[0]["seq"]), [])

    def test_records_continue(self):
        session(self.thread)
        records = client().records(self.thread)
        first = next(records)
        records.close()
        self.assertEqual((first.type, first.data["kind"]), ("summary.created", "tool_result"))
        client().publish(self.thread, {"type": "message.edited", "message_id": "m2", "content": "PASS", "edit_id": "e1"})
        rest = client().records(self.thread, last_event_id=first.id)
        second = next(rest)
        rest.close()
        self.assertEqual((second.type, second.data["summary_id"]), ("summary.invalidated", first.data["id"]))
        self.assertGreater(second.id, first.id)


class Problems(unittest.TestCase):
    def test_classes(self):
        stored = session("py-problems")
        cases = [
            (precis.Unauthorized, 401, lambda: client(token="not the token, for sure").thread("py-problems")),
            (precis.Unauthorized, 401, lambda: client(token=None).thread("py-problems")),
            (precis.NotFound, 404, lambda: client().thread("py-no-such-thread")),
            (precis.NotFound, 404, lambda: client().summary("sum_0")),
            (precis.NotFound, 404, lambda: client().message("py-problems", "..")),
            (precis.BadRequest, 400, lambda: client().context("py-problems", format="morse")),
            (precis.BadRequest, 400, lambda: client().thread("py-problems", min_event_seq=stored["event_seq"] + 1_000_000)),
            (precis.BadRequest, 400, lambda: next(client().records("py-problems", last_event_id=10**9))),
            (precis.TooLarge, 413, lambda: client().publish("py-problems", {"type": "tool.result", "message_id": "big", "content": "x" * (17 << 20)})),
        ]
        for number, (kind, status, ask) in enumerate(cases):
            with self.subTest(case=number), self.assertRaises(kind) as caught:
                ask()
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.detail)

    def test_address(self):
        for url in "127.0.0.1:8088", "ftp://localhost", "http://", "http://a/?b":
            with self.subTest(url=url), self.assertRaises(ValueError):
                precis.Client(url)


if __name__ == "__main__":
    unittest.main()
