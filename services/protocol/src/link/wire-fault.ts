// What ends a connection of the link: a peer that does not speak it. Never crosses the wire (style habit 8); the
// owner of the socket logs the code and closes both lanes.

export type WireFaultCode =
  | 'bad-frame'
  | 'bad-head'
  | 'unknown-kind'
  | 'message-too-long'
  | 'too-many-partial'
  | 'hold-overflow'
  | 'bad-handshake';

export class WireFault extends Error {
  readonly code: WireFaultCode;
  constructor(code: WireFaultCode, detail: string) {
    super(`${code}: ${detail}`);
    this.code = code;
  }
}
