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

    @mock.patch("precis.gate.AGAIN", 60.0)  # it opens by a record, or not in time
    def test_http(self):
        c = running.client()
        stored = c.publish("gate-http", *harness.SESSION)
        self.assertTrue(model.asked.wait(30))
        with self.assertRaises(precis.GateTimeout):
            c.gate("gate-http", min_event_seq=stored["event_seq"], max_wait=0.3)
        passed = threading.Event()
        gate = threading.Thread(target=lambda: (c.gate("gate-http", min_event_seq=stored["event_seq"]), passed.set()))
        gate.start()
        self.assertEqual(c.thread("gate-http")["summaries_started"], 1)
        self.assertFalse(passed.wait(0.3))
        model.release.set()
        gate.join(30)
        self.assertTrue(passed.is_set())
        self.assertIn("TestTotal fails.", str(c.context("gate-http")["messages"]))


if __name__ == "__main__":
    unittest.main()
