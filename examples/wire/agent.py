"""An agent that talks to precis with nothing but NATS: pip install nats-py.

It publishes a user's message and a large tool output, holds its user's input while a summary is being
made, and goes on with the summary in the output's place. Start "processor run" first.
"""
import asyncio
import json
import uuid

import nats

THREAD = "wire-example"


def token(thread: str) -> str:
    """The thread id as one subject token: letters, digits, _ and - stand, every other byte is =HH."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
    return "".join(chr(b) if b in plain else f"={b:02X}" for b in thread.encode())


async def main() -> None:
    nc = await nats.connect("nats://127.0.0.1:4222")
    js = nc.jetstream()

    # Listen before publishing, or a summary could be over before anybody waits for it.
    summaries = await js.subscribe(f"summary.*.{token(THREAD)}", ordered_consumer=True)

    async def publish(kind: str, data: dict) -> int:
        # The ack says that the event is stored. Without one, publish it again: precis drops duplicates by
        # message_id and content, however late they come.
        ack = await js.publish(f"{kind}.{token(THREAD)}", json.dumps(data).encode())
        return ack.seq

    await publish("thread.message", {"message_id": str(uuid.uuid4()), "role": "user", "content": "Which test fails?"})
    output = "\n".join(f"ok   package/{i:03}  0.0{i % 10}s" for i in range(200)) + "\nFAIL package/200: want 1, got 2\n"
    result = str(uuid.uuid4())
    await publish("tool.result", {
        "message_id": result, "tool_call_id": "call_1", "tool_name": "bash",
        "arguments": {"command": "go test ./..."}, "content": output, "exit_code": 1,
    })

    # A model's summary is announced by summary.started and ended by summary.created or summary.failed; one
    # by rules is simply there. An agent that wants to go on at once keeps the output instead of waiting.
    prompt = output
    try:
        while True:
            message = await summaries.next_msg(timeout=10)
            summary = json.loads(message.data)
            if message.subject.startswith("summary.created") and summary["source_message_ids"] == [result]:
                prompt = summary["content"]
                break
            if message.subject.startswith("summary.failed"):
                break
    except nats.errors.TimeoutError:
        pass
    print(f"{len(output)} characters came in, {len(prompt)} go into the prompt:\n\n{prompt}")

    reply = await nc.request(f"precis.thread.get.{token(THREAD)}", b"{}", timeout=5)
    if reply.headers and "Nats-Service-Error-Code" in reply.headers:
        raise SystemExit(reply.headers["Nats-Service-Error"])
    print(json.loads(reply.data))
    await nc.close()


asyncio.run(main())
