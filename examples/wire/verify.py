"""Verifies a log of precis by the recipes of schemas/README.md, with nothing but Python's standard library:

    processor tail --from start --until-caught-up --json | python3 examples/wire/verify.py

It checks every chain, and for each summary whose source messages are in the input the source digest (over their content
digests) and the id. It prints one line per problem, then a summary line, and exits with 1 if there is a problem. Whether a
text by rules or a trigger is right takes "processor replay". The input is held in memory.
"""
import base64
import collections
import hashlib
import json
import sys

INCOMING = ("thread.message", "tool.result", "message.edited", "thread.forked")


def number(value, raw_integers):
    """A number as RFC 8785 has it; integers keep all their digits where raw_integers is set."""
    if isinstance(value, int):
        if raw_integers or abs(value) <= 2**53:
            return str(value)
        value = float(value)
    if value == 0:
        return "0"
    sign, (mantissa, exponent) = "-" if value < 0 else "", f"{abs(value)!r}e0".split("e")[:2]
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent)  # the value is 0.DIGITS times ten to the power of point
    digits = (whole + fraction).rstrip("0")
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0")
    if 0 < point <= 21:
        text = digits.ljust(point, "0")
        return sign + text[:point] + ("." + text[point:] if text[point:] else "")
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    return sign + digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{point - 1:+d}"


def canonical(value, raw_integers=False):
    """The RFC 8785 form, as text."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name], raw_integers) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(element, raw_integers) for element in value) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value, raw_integers)
    return json.dumps(value, ensure_ascii=False)


def sha256(data):
    return hashlib.sha256(data).digest()


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def text(s):
    data = s.encode()
    return varint(len(data)) + data


def raw_json(value):
    return text("" if value is None else canonical(value, raw_integers=True))


def shape(kind, data):
    """The part of a message's content digest that edits leave alone."""
    role = role_of(kind, data)
    calls = calls_of(data) if role != "tool" else []
    out = text("tool.result" if role == "tool" else kind) + text(role) + varint(len(calls))
    for id, name, arguments in calls:
        out += text(id) + text(name) + raw_json(arguments)
    digest = sha256(out + text(data.get("tool_call_id") or ""))
    beside = b""
    if content_of(data) is None:
        for name in ("refusal", "audio"):
            if data.get(name) and isinstance(data[name], (str, list, dict)):
                beside += text(name) + raw_json(data[name])
    return sha256(digest + beside) if beside else digest


def role_of(kind, data):
    """A message's role: Gemini's model is the assistant, and a user's message of nothing but results is a tool's."""
    role = "tool" if kind == "tool.result" else {"model": "assistant"}.get(data["role"], data["role"])
    content = content_of(data)
    if role == "user" and isinstance(content, list) and content and all(is_result(part) for part in content):
        return "tool"
    return role


def is_result(part):
    """Whether a part is the result of a call, in any provider's shape."""
    kind = part.get("type", "")
    if kind == "":
        response = part.get("functionResponse") or part.get("function_response")
        return isinstance(response, dict) and isinstance(response.get("name"), str) and not (part.get("functionCall") or part.get("function_call"))
    member = {"tool_result": "tool_use_id", "tool-result": "toolCallId"}.get(kind, "call_id" if kind.endswith("_call_output") else "")
    return member != "" and isinstance(part.get(member), str)


def content_of(data):
    """A message's content, also under Gemini's name for it."""
    return data["parts"] if "content" not in data and isinstance(data.get("parts"), list) else data.get("content")


def calls_of(data):
    """A message's calls, also with name and arguments in function, or with a text in custom, and the function_call of before tools."""
    calls = []
    for call in data.get("tool_calls") or []:
        function = call if "name" in call else call.get("function") or call["custom"]
        calls.append((call["id"], function["name"], function.get("arguments", function.get("input"))))
    old = data.get("function_call")
    if data.get("role") in ("assistant", "model") and isinstance(old, dict) and isinstance(old.get("name"), str) and old["name"]:
        if isinstance(old.get("arguments"), (str, dict, type(None))):
            calls.append(("fn:" + old["name"], old["name"], old.get("arguments")))
    return calls


def content_digest(of_shape, content):
    if content is None:
        return sha256(of_shape + b"\0")
    if isinstance(content, str):
        return sha256(of_shape + b"\1" + text(content))
    return sha256(of_shape + b"\2" + raw_json(content))


def token(thread):
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
    return "".join(chr(b) if b in plain else f"={b:02X}" for b in thread.encode())


def event_key(subject, data):
    return subject, canonical({k: v for k, v in data.items() if k not in ("type", "thread_id")}, raw_integers=True)


class Messages:
    """The messages of all threads, and the content digests of their revisions."""

    def __init__(self):
        self.revisions = {}  # (thread, message id): [(place in the input, revision, content digest)]
        self.shapes = {}
        self.order = collections.defaultdict(list)  # of a thread's messages
        self.held = collections.defaultdict(list)  # edits that came before their message
        self.edits = collections.defaultdict(set)  # keys of edits
        self.unclear = set()  # messages with edits that may be duplicates or not, and threads with unknown rejections

    def fork(self, place, thread, parent, last):
        """Begins a thread with another one's messages, each in its last revision, unless it has begun."""
        if self.order[thread] or (last is not None and last not in self.order[parent]):
            return
        ids = self.order[parent]
        for id in ids if last is None else ids[: ids.index(last) + 1]:
            self.order[thread].append(id)
            self.shapes[thread, id] = self.shapes[parent, id]
            self.revisions[thread, id] = [(place, *self.revisions[parent, id][-1][1:])]
            if (parent, id) in self.unclear or parent in self.unclear:
                self.unclear.add((thread, id))

    def add(self, place, kind, data):
        if kind == "thread.forked":
            return self.fork(place, data["thread_id"], data["parent_thread_id"], data.get("at_message_id"))
        at = data["thread_id"], data["message_id"]
        if kind == "message.edited":
            key = data.get("edit_id")
            if not key:
                key = canonical([data.get("content"), data.get("deleted"), data.get("created_at")])
            if key in self.edits[at]:
                if not data.get("edit_id"):
                    self.unclear.add(at)  # the CloudEvents id decides, which the input does not have
                return
            self.edits[at].add(key)
            self.held[at].append(data)
        elif at not in self.shapes:
            self.order[at[0]].append(at[1])
            self.shapes[at] = shape(kind, data)
            self.revisions[at] = [(place, 0, content_digest(self.shapes[at], content_of(data)))]
        if at in self.shapes:
            for edit in self.held.pop(at, []):
                last = self.revisions[at][-1]
                digest = None if edit.get("deleted") else content_digest(self.shapes[at], edit.get("content"))
                if digest != last[2]:
                    self.revisions[at].append((place, last[1] + 1, digest))

    def states(self, thread, ids):
        """The rows [id, revision, content digest] of messages, at each moment since all of them were there."""
        changes = sorted((change, i) for i, name in enumerate(ids) for change in self.revisions[thread, name])
        rows = {}
        for n, ((place, revision, digest), i) in enumerate(changes):
            rows[i] = [ids[i], revision, digest.hex() if digest else None]
            if len(rows) == len(ids) and (n + 1 == len(changes) or changes[n + 1][0][0] != place):
                if all(row[2] for row in rows.values()):
                    yield [rows[k] for k in range(len(ids))]


class Verifier:
    def __init__(self):
        self.problems = 0
        self.ends = {}  # chain: (chain_seq, chain)
        self.records = 0
        self.events = []  # (line, type, data)
        self.summaries = []
        self.started = {}
        self.rejected = []
        self.verified = self.unverified = 0

    def problem(self, line, data, what):
        self.problems += 1
        of = data.get("thread_id")
        where = f"thread {of!r}" if of is not None else f"partition {data.get('partition')}"
        print(f"line {line}: {data.get('type')} of {where}: {what}")

    def read(self, lines):
        for n, line in enumerate(lines, 1):
            data = {}
            try:
                data = json.loads(line)
                self.take(n, data)
            except (ValueError, KeyError, TypeError, AttributeError) as e:
                self.problem(n, data if isinstance(data, dict) else {}, f"can't be read: {e!r}")

    def take(self, n, data):
        kind = data["type"]
        if kind in INCOMING:
            self.events.append((n, kind, data))
        elif kind == "event.rejected":
            self.rejected.append(data)
        else:
            self.chain(n, data)
            if kind == "summary.started":
                self.started[data["summary_id"]] = data
            elif kind == "summary.created":
                self.summaries.append((n, data))

    def chain(self, n, data):
        of = data["thread_id"] if data["thread_id"] is not None else data["partition"]
        seq, end = self.ends.get(of, (0, ""))
        rest = {k: v for k, v in data.items() if k not in ("type", "chain")}
        self.records += 1
        if data["chain_seq"] <= seq:
            return self.problem(n, data, f"chain_seq {data['chain_seq']} where {seq + 1} comes next: not part of the chain")
        if data["chain_seq"] > seq + 1:
            self.problem(n, data, f"chain_seq {data['chain_seq']} where {seq + 1} comes next: records are missing")
        elif data["chain"] != sha256((end + canonical(rest)).encode()).hex():
            self.problem(n, data, f"record {data['chain_seq']} ({data.get('id') or data.get('summary_id')}) does not follow on "
                                  "the record before: it was altered, or the one before it was")
        self.ends[of] = data["chain_seq"], data["chain"]

    def messages(self):
        """The messages that were accepted: an event that was rejected, byte for byte, is none."""
        out, rejected = Messages(), collections.Counter()
        for data in self.rejected:
            try:
                body = json.loads(base64.b64decode(data["body_base64"] or ""))
                body = body["data"] if "specversion" in body else body
                rejected[event_key(data["subject"], body)] += 1
            except (ValueError, KeyError, TypeError, AttributeError):
                if data["body_base64"] is None:
                    out.unclear.add(data.get("thread_id"))
        for n, kind, data in self.events:
            try:
                key = event_key(f"{kind}.{token(data['thread_id'])}", data)
                if rejected[key] > 0:
                    rejected[key] -= 1
                else:
                    out.add(n, kind, data)
            except (ValueError, KeyError, TypeError, AttributeError):
                out.unclear.add(data.get("thread_id"))
        return out

    def summary(self, n, data, messages):
        thread, ids = data["thread_id"], data["source_message_ids"]
        above = [[id, 0, "0" * 64] for id in data["source_summary_ids"]]
        digests = lambda rows: "sha256:" + sha256(canonical(rows + above).encode()).hex()
        job = self.started.get(data["id"], data)
        methods = [(job["prompt_version"], job["model"])] if job is not data or data["method"] != "rules" else [(data["rules_version"], "")]
        identity = [thread, data["kind"], data["slot"], data["version"], data["source_digest"], data["policy_fingerprint"]]
        if not any("sum_" + sha256(canonical(identity + list(m)).encode())[:16].hex() == data["id"] for m in methods):
            self.problem(n, data, f"{data['id']} is not the id of what the record says")
        if thread in messages.unclear or any((thread, id) not in messages.revisions or (thread, id) in messages.unclear for id in ids):
            self.unverified += 1
        elif all(digests(rows) != data["source_digest"] for rows in (messages.states(thread, ids) if ids else [[]])):
            self.problem(n, data, f"{data['id']} has a source_digest that its sources never had")
        else:
            self.verified += 1

    def run(self, lines):
        self.read(lines)
        messages = self.messages()
        for n, data in self.summaries:
            try:
                self.summary(n, data, messages)
            except (ValueError, KeyError, TypeError, AttributeError) as e:
                self.problem(n, data, f"can't be read: {e!r}")
        print(f"{self.records} records in {len(self.ends)} chains; {self.verified} of {len(self.summaries)} summaries match their sources, "
              f"{self.unverified} not checked for missing or ambiguous sources; problems: {self.problems}")
        return 1 if self.problems else 0


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8", newline="\n")
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(Verifier().run(sys.stdin))
