// The JSON-RPC shapes both services touch. A value here has been parsed already; nothing below judges input.

/** A request id: string or integer, never null. `1` and `"1"` are different ids; `0` and `""` are real ones. */
export type RequestId = string | number;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A key under which two ids meet only if they are equal with their JSON type. */
export function idKey(id: RequestId): string {
  return typeof id === 'number' ? `n${id}` : `s${id}`;
}
