"""The client against a real processor."""

import unittest
import uuid

import harness
import precis
from harness import OUTPUT, TOKEN

running = None


def setUpModule():
    global running
    running = harness.Processor(token=TOKEN)


def tearDownModule():
    running.close()


def client(**options):
    return running.client(**{"token": TOKEN, **options})


def session(thread):
    return client().publish(thread, *harness.SESSION)


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

    def test_threads_by_page(self):
        c = client()
        for n in 1, 2:
            session(f"{self.thread}{n}")
        c.publish(f"{self.thread}2", {"type": "thread.message", "message_id": "m4", "role": "user", "content": "Why?"})
        harness.until(lambda: sum(t["messages"] for t in c.threads(prefix=self.thread)["threads"]) == 5)
        first = c.threads(prefix=self.thread, limit=1, sort="size")
        second = c.threads(prefix=self.thread, limit=1, sort="size", after=first["next"])
        self.assertEqual((first["matched"], second["next"]), (2, None))
        self.assertEqual({t["thread_id"] for page in (first, second) for t in page["threads"]}, {f"{self.thread}1", f"{self.thread}2"})
        self.assertEqual(c.threads(prefix=self.thread, search="\u00fc1", agent_id="", policy="default", stale=False)["matched"], 1)
        self.assertEqual(c.threads(prefix=self.thread, stale=True)["threads"], [])
        order = [[t["thread_id"] for t in c.threads(prefix=self.thread, sort="size", ascending=a)["threads"]] for a in (True, False)]
        self.assertEqual(order, [[f"{self.thread}1", f"{self.thread}2"], [f"{self.thread}2", f"{self.thread}1"]])

    def test_gate_is_open_where_no_summary_is_in_progress(self):
        c = client()
        c.gate(self.thread)
        stored = session(self.thread)
        c.gate(self.thread, min_event_seq=stored["event_seq"])
        self.assertEqual(c.thread(self.thread)["event_seq"], stored["event_seq"])
        with self.assertRaises(precis.BadRequest):
            c.gate(self.thread, min_event_seq=stored["event_seq"] + 1_000_000)
        for wrong in 0, -1, float("nan"):
            with self.assertRaises(ValueError):
                c.gate(self.thread, max_wait=wrong)

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
        rejected = harness.until(lambda: client().rejections(self.thread))  # the record in REJECTED follows the commit
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
            (precis.BadRequest, 400, lambda: client().threads(sort="height")),
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
