// Reserved `_meta` names (protocol.md legend, §1.4, §1.5).

export const META_PREFIX = 'io.modelcontextprotocol/';
export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';
export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
export const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
export const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
export const RELATED_TASK = 'io.modelcontextprotocol/related-task';
export const PROGRESS_TOKEN = 'progressToken';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
export const UI_EXTENSION = 'io.modelcontextprotocol/ui';

/** RFC 5424 levels in rising order (26/log). */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return typeof value === 'string' && (LOG_LEVELS as readonly string[]).includes(value);
}

/** True when a message of `level` passes a filter set at `wanted`. */
export function passesLevel(level: LogLevel, wanted: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(wanted);
}
