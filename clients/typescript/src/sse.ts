/** An event of a stream: its type, the id in force, its data. */
export interface ServerSentEvent {
  event: string;
  id: string;
  data: string;
}

/** Yields the server-sent events of a body, as the HTML standard defines them. A last one without its empty line is incomplete, and dropped. */
export async function* parse(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  let [event, id, data] = ["", "", [] as string[]];
  for await (const line of lines(body)) {
    if (line === "") {
      if (data.length > 0) yield { event: event || "message", id, data: data.join("\n") };
      [event, data] = ["", []];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else if (field === "id" && !value.includes("\0")) id = value;
  }
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) yield part.endsWith("\r") ? part.slice(0, -1) : part;
  }
}
