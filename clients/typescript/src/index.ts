/** Client of precis: publish what an agent does, ask for its compacted prompt. */
export { Client, type ClientOptions } from "./client.js";
export {
  BadRequest, EventsRejected, GateTimeout, NotFound, PrecisError, Problem, StaleSummary, TooLarge, Unauthorized, Unavailable, Unreachable,
} from "./errors.js";
export type { GateOptions } from "./gate.js";
export { type AgentEvent, type CallOptions, Precis, type RecordsOptions, type ThreadRecord } from "./precis.js";
export type * as types from "./types.js";
