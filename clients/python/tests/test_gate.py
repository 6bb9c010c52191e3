"""The gates, where a model makes the summaries."""

import threading
import unittest
from unittest import mock

import harness
import precis

running = model = None


def setUpModule():
    global running, model
    model = harness.Model()
    running = harness.Processor(config=model.config())


def tearDownModule():
    running.close()
    model.close()


class Gates(unittest.TestCase):
    def setUp(self):
        model.hold()

    def holds(self, c, thread):
        stored = c.publish(thread, *harness.SESSION)
        self.assertTrue(model.asked.wait(30))
        with self.assertRaises(precis.GateTimeout):
            c.gate(thread, min_event_seq=stored["event_seq"], max_wait=0.3)
        passed = threading.Event()
        gate = threading.Thread(target=lambda: (c.gate(thread, min_event_seq=stored["event_seq"]), passed.set()))
        gate.start()
        self.assertEqual(c.thread(thread)["summaries_started"], 1)
        self.assertFalse(passed.wait(0.3))
        model.release.set()
        gate.join(30)
        self.assertTrue(passed.is_set())
        self.assertIn("TestTotal fails.", str(c.context(thread)["messages"]))

    # Each opens by a record, or not in time.

    @mock.patch("precis.gate.AGAIN", 60.0)
    def test_http(self):
        self.holds(running.client(), "gate-http")

    @harness.needs_nats
    def test_nats(self):
        c = running.nats_client()
        self.addCleanup(c.close)
        with mock.patch("precis.nats.AGAIN", 60.0):
            self.holds(c, "gate-nats")

    @harness.needs_nats
    def test_nats_without_records(self):
        c = running.nats_client()
        self.addCleanup(c.close)
        with mock.patch("precis.nats.AGAIN", 0.05), mock.patch("precis.nats._Reader.open", side_effect=harness.refused):
            self.holds(c, "gate-nats-alone")


if __name__ == "__main__":
    unittest.main()
