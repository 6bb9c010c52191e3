"""The clients against a real processor."""

import concurrent.futures
import threading
import unittest
import uuid
from unittest import mock

import harness
import precis
from harness import OUTPUT, RESULT, TOKEN

running = None


def setUpModule():
    global running
    running = harness.Processor(token=TOKEN)


def tearDownModule():
    running.close()


class Methods:
    """What both clients do."""

    def setUp(self):
        self.thread = f"py/{uuid.uuid4()} ü"
        self.client = self.open()

    def session(self, thread=None):
        return self.client.publish(thread or self.thread, *harness.SESSION)

    def test_session(self):
        c = self.client
        stored = self.session()
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

    def test_events_as_a_list(self):
        stored = self.client.publish(self.thread, list(harness.SESSION))
        self.assertEqual(len(stored["event_seqs"]), 3)
        again = self.client.publish(self.thread, harness.SESSION[0], iter(harness.SESSION[1:]))
        counters = self.client.thread(self.thread, min_event_seq=again["event_seq"])
        self.assertEqual((counters["messages"], counters["duplicates"]), (2, 3))
        for wrong in ("thread.message", "", b"", None, [["type", "thread.message"]]):
            with self.assertRaisesRegex(TypeError, "an event is a dict"):
                self.client.publish(self.thread, wrong)

    def test_threads_by_page(self):
        c = self.client
        for n in 1, 2:
            self.session(f"{self.thread}{n}")
        c.publish(f"{self.thread}2", {"type": "thread.message", "message_id": "m4", "role": "user", "content": "Why?"})
        harness.until(lambda: sum(t["messages"] for t in c.threads(prefix=self.thread)["threads"]) == 5)
        first = c.threads(prefix=self.thread, limit=1, sort="size")
        second = c.threads(prefix=self.thread, limit=1, sort="size", after=first["next"])
        self.assertEqual((first["matched"], second["next"]), (2, None))
        self.assertEqual({t["thread_id"] for page in (first, second) for t in page["threads"]}, {f"{self.thread}1", f"{self.thread}2"})
        self.assertEqual(c.threads(prefix=self.thread, search="ü1", agent_id="", policy="default", stale=False)["matched"], 1)
        self.assertEqual(c.threads(prefix=self.thread, stale=True)["threads"], [])
        order = [[t["thread_id"] for t in c.threads(prefix=self.thread, sort="size", ascending=a)["threads"]] for a in (True, False)]
        self.assertEqual(order, [[f"{self.thread}1", f"{self.thread}2"], [f"{self.thread}2", f"{self.thread}1"]])

    def test_gate_is_open_where_no_summary_is_in_progress(self):
        c = self.client
        c.gate(self.thread)
        stored = self.session()
        c.gate(self.thread, min_event_seq=stored["event_seq"])
        self.assertEqual(c.thread(self.thread)["event_seq"], stored["event_seq"])
        with self.assertRaises(precis.BadRequest):
            c.gate(self.thread, min_event_seq=stored["event_seq"] + 1_000_000)
        for wrong in 0, -1, float("nan"):
            with self.assertRaises(ValueError):
                c.gate(self.thread, max_wait=wrong)

    def test_published_twice_counts_once(self):
        self.session()
        stored = self.session()
        counters = self.client.thread(self.thread, min_event_seq=stored["event_seq"])
        self.assertEqual((counters["messages"], counters["tool_results"], counters["duplicates"]), (2, 1, 3))

    def test_later_rejections(self):
        for content in "Hi", "Bye":
            stored = self.client.publish(self.thread, {"type": "thread.message", "message_id": "m1", "role": "user", "content": content})
        self.client.thread(self.thread, min_event_seq=stored["event_seq"])
        rejected = harness.until(lambda: self.client.rejections(self.thread))  # the record in REJECTED follows the commit
        self.assertEqual([r["code"] for r in rejected], ["message_conflict"])
        self.assertEqual(self.client.rejections(self.thread, after=rejected[0]["seq"]), [])

    def test_records_continue(self):
        self.session()
        records = self.client.records(self.thread)
        first = next(records)
        records.close()
        self.assertEqual((first.type, first.data["kind"]), ("summary.created", "tool_result"))
        self.client.publish(self.thread, {"type": "message.edited", "message_id": "m2", "content": "PASS", "edit_id": "e1"})
        rest = self.client.records(self.thread, last_event_id=first.id)
        second = next(rest)
        rest.close()
        self.assertEqual((second.type, second.data["summary_id"]), ("summary.invalidated", first.data["id"]))
        self.assertGreater(second.id, first.id)

    def test_records_from_now_on(self):
        self.session()
        old = self.client.records(self.thread)
        first = next(old)
        old.close()
        records = self.client.records(self.thread, from_now=True)
        got = []
        reader = threading.Thread(target=lambda: got.append(next(records)))
        reader.start()
        edits = 0
        while not got:  # the stream is open at some edit; the records of those before it may be missed
            edits += 1
            stored = self.client.publish(self.thread, {
                "type": "message.edited", "message_id": "m2", "content": f"{OUTPUT}{edits}", "edit_id": f"e{edits}"})
            self.client.thread(self.thread, min_event_seq=stored["event_seq"])
        reader.join()
        records.close()
        self.assertGreater(got[0].id, first.id)

    def test_problems(self):
        stored = self.session()
        cases = [
            (precis.NotFound, 404, lambda: self.client.thread("py-no-such-thread")),
            (precis.NotFound, 404, lambda: self.client.summary("sum_0")),
            (precis.NotFound, 404, lambda: self.client.message(self.thread, "..")),
            (precis.BadRequest, 400, lambda: self.client.context(self.thread, format="morse")),
            (precis.BadRequest, 400, lambda: self.client.threads(sort="height")),
            (precis.BadRequest, 400, lambda: self.client.thread(self.thread, min_event_seq=stored["event_seq"] + 1_000_000)),
            (precis.BadRequest, 400, lambda: next(self.client.records(self.thread, last_event_id=10**9))),
            (precis.TooLarge, 413, lambda: self.client.publish(self.thread, {**RESULT, "message_id": "big", "content": "x" * (17 << 20)})),
        ]
        for number, (kind, status, ask) in enumerate(cases):
            with self.subTest(case=number), self.assertRaises(kind) as caught:
                ask()
            self.assertEqual(caught.exception.status, status)
            self.assertTrue(caught.exception.detail)


class HTTP(Methods, unittest.TestCase):
    def open(self, **options):
        return running.client(**{"token": TOKEN, **options})

    def test_refused_events_are_named_and_none_is_stored(self):
        with self.assertRaises(precis.EventsRejected) as caught:
            self.client.publish(
                self.thread,
                {"type": "thread.message", "message_id": "m1", "role": "user", "content": "Hi"},
                {"type": "thread.message", "message_id": "m2", "role": "nobody", "content": "Hi"},
            )
        self.assertEqual([(r["index"], r["code"], r["field"]) for r in caught.exception.rejections], [(1, "schema", "role")])
        self.assertIn("event 1: schema role", str(caught.exception))
        with self.assertRaisesRegex(precis.EventsRejected, "event 0: too_large: body of"):
            self.client.publish(self.thread, {"type": "thread.message", "message_id": "m1", "role": "user", "content": "x" * (1 << 20)})
        with self.assertRaises(precis.NotFound):
            self.client.thread(self.thread)

    def test_tokens(self):
        for token in None, "not the token, for sure":
            with self.assertRaises(precis.Unauthorized) as caught:
                self.open(token=token).thread(self.thread)
            self.assertEqual(caught.exception.status, 401)

    def test_address(self):
        for url in "127.0.0.1:8088", "ftp://localhost", "http://", "http://a/?b":
            with self.subTest(url=url), self.assertRaises(ValueError):
                precis.Client(url)


@harness.needs_nats
class NATS(Methods, unittest.TestCase):
    def open(self, **options):
        c = running.nats_client(**options)
        self.addCleanup(c.close)
        return c

    def test_an_id_is_one_token(self):
        for id in "a.b", "..", "*", ">", "ü", " ", "x" * 256:
            stored = self.client.publish(id, {**harness.QUESTION, "thread_id": id})
            self.assertEqual(self.client.thread(id, min_event_seq=stored["event_seq"])["event_seq"], stored["event_seq"])
        for id in "", "ü" * 129, "\ud800":
            with self.assertRaises(ValueError):
                self.client.thread(id)

    def test_unknown_type_is_refused_before_anything_is_sent(self):
        for event in {**RESULT, "type": "thread.mesage"}, {"message_id": "m1"}:
            with self.assertRaisesRegex(ValueError, "type must be one of"):
                self.client.publish(self.thread, harness.QUESTION, event)
        with self.assertRaises(precis.NotFound):
            self.client.thread(self.thread)

    def test_rejections_are_those_of_http(self):
        self.client.publish(self.thread, *({**harness.QUESTION, "content": str(n)} for n in range(4)))
        over_http = running.client(token=TOKEN)
        http = harness.until(lambda: len(r := over_http.rejections(self.thread)) == 3 and r)
        nats = self.client.rejections(self.thread)
        for one, other in zip(http, nats):
            # nats-py reads times as numbers of microseconds.
            self.assertEqual(one["rejected_at"][:22], other.pop("rejected_at")[:22])
            one.pop("rejected_at")
        self.assertEqual(http, nats)
        self.assertEqual([r["seq"] for r in self.client.rejections(self.thread, after=http[1]["seq"])], [http[2]["seq"]])

    def consumers(self):
        """The names of the consumers over NATS that read this test's records."""
        from precis.nats import token

        consumers = self.client.run(self.client.nc.jetstream().consumers_info("SUMMARIES"))
        return [c.name for c in consumers if c.name.startswith("py_") and c.config.filter_subject == f"*.*.{token(self.thread)}"]

    @mock.patch("precis.nats._WAIT", 0.2)
    def test_a_consumer_that_is_lost_is_made_again(self):
        self.session()
        records = self.client.records(self.thread)
        first = next(records)
        js = self.client.nc.jetstream()
        edit = {"type": "message.edited", "message_id": "m2", "content": "PASS", "edit_id": "e1"}

        # The server forgets it, as one that was restarted does, and one that has read nothing yet.
        later = self.open().records(self.thread, from_now=True)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(next, later)
            harness.until(lambda: len(self.consumers()) == 2)
            for name in self.consumers():
                self.client.run(js.delete_consumer("SUMMARIES", name))
            self.client.publish(self.thread, edit)
            second = next(records)
            self.assertEqual((second.type, second.data["summary_id"]), ("summary.invalidated", first.data["id"]))
            self.assertEqual(waiting.result(30), second)
        later.close()

        # Records go elsewhere, as to a connection that breaks: they come again, whether another one follows or not.
        got = [first, second]
        http = running.client(token=TOKEN).records(self.thread)
        published = [next(http), next(http)]
        for count, follows in (10, 0), (1, 1):
            other = self.client.run(js.pull_subscribe_bind(consumer=self.consumers()[0], stream="SUMMARIES"))
            self.client.publish(self.thread, {**edit, "content": f"{OUTPUT}{count}", "edit_id": f"more{count}"})
            taken = self.client.run(other.fetch(count, timeout=10))
            while published[-1].id < taken[-1].metadata.sequence.stream + follows:
                published.append(next(http))
            while len(got) < len(published):
                got.append(next(records))
        http.close()
        self.assertEqual(got, published)
        records.close()
        self.assertEqual(self.consumers(), [])

    def test_a_closed_connection(self):
        records = self.client.records(self.thread)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = pool.submit(next, records)
            harness.until(self.consumers)
            self.client.run(self.client.nc.close())
            with self.assertRaises(precis.Unreachable):
                waiting.result(30)
        for ask in lambda: self.client.thread("t"), lambda: self.client.gate("t"), lambda: self.client.publish("t", RESULT), lambda: self.client.rejections("t"):
            with self.assertRaises(precis.Unreachable):
                ask()


class Restart(unittest.TestCase):
    def test_is_waited_for(self):
        own = harness.Processor()
        self.addCleanup(own.close)
        clients = [own.client(retries=20)]
        if harness.nats:
            clients.append(own.nats_client(retries=20, timeout=1.0))
            self.addCleanup(clients[1].close)
        streams = [c.records("t") for c in clients]
        clients[0].publish("t", harness.QUESTION, RESULT)
        self.assertEqual(len({next(s).id for s in streams}), 1)
        own.end()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            publishing = [pool.submit(c.publish, "t", {**RESULT, "message_id": f"r{n}"}) for n, c in enumerate(clients)]
            own.begin()
            for p in publishing:
                p.result(60)
        rest = [[next(s) for _ in clients] for s in streams]
        for list in rest:
            self.assertEqual(list, rest[0])
            self.assertEqual({r.data["source_message_ids"][0] for r in list}, {f"r{n}" for n in range(len(clients))})
        for s in streams:
            s.close()


if __name__ == "__main__":
    unittest.main()
