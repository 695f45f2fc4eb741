// JSON-RPC and MCP error numbers with their names (protocol.md §1.11, §2.12). Lockkeeper's own numbers are
// positive integers from 10000 (design §8) and live in each service's catalogue, not here.

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** Legacy only: resource not found. Never emitted to a modern client (protocol.md §1.11). */
export const RESOURCE_NOT_FOUND = -32002;
/** 2025-11-25 only: the server wants the user to open a URL first. Never emitted to a modern client. */
export const URL_ELICITATION_REQUIRED = -32042;
export const HEADER_MISMATCH = -32020;
export const MISSING_CLIENT_CAPABILITY = -32021;
export const UNSUPPORTED_REVISION = -32022;
/** A user's refusal of sampling, as the legacy pages show it (protocol.md §1.7). */
export const USER_REJECTED = -1;
