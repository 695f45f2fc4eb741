// Finds the end of HTTP/1.1 responses in a stream of chunks without keeping bodies: by content-length or by chunks.

const HEAD_END = Buffer.from('\r\n\r\n');

/** Called once a response with its status, body bytes and the start of what it said. */
export type OnEnd = (status: number, bodyBytes: number, beginning: string) => void;

interface Reading {
  status: number;
  bodyBytes: number;
  beginning: string;
  /** Bytes of the current run of data still to come; -1: a chunk-size line comes next. */
  left: number;
  chunked: boolean;
}

function startOf(head: string): Reading {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const chunked = length === undefined;
  return {
    status: Number(head.slice(9, 12)),
    bodyBytes: 0,
    beginning: '',
    left: chunked ? -1 : Number(length),
    chunked,
  };
}

export function createResponseEnd(onEnd: OnEnd): (chunk: Buffer) => void {
  let reading: Reading | null = null;
  let held: Buffer = Buffer.alloc(0);

  /** Takes what it can; false when it needs more bytes. */
  const step = (): boolean => {
    if (!reading) {
      const end = held.indexOf(HEAD_END);
      if (end < 0) return false;
      reading = startOf(held.toString('latin1', 0, end));
      held = held.subarray(end + 4);
    }
    if (reading.left > 0) {
      const taken = Math.min(reading.left, held.length);
      if (reading.beginning.length < 200) reading.beginning += held.toString('latin1', 0, Math.min(taken, 200));
      reading.left -= taken;
      reading.bodyBytes += taken;
      held = held.subarray(taken);
      if (reading.left > 0) return false;
      if (reading.chunked) {
        // The CRLF after a chunk belongs to it but is no body.
        reading.bodyBytes -= 2;
        reading.left = -1;
      }
    }
    if (reading.left === -1) {
      const end = held.indexOf('\r\n');
      if (end < 0) return false;
      const size = Number.parseInt(held.toString('latin1', 0, end), 16);
      if (size > 0) {
        held = held.subarray(end + 2);
        reading.left = size + 2;
        return true;
      }
      if (held.length < end + 4) return false;
      held = held.subarray(end + 4);
    }
    const { status, bodyBytes, beginning } = reading;
    reading = null;
    onEnd(status, bodyBytes, beginning);
    return held.length > 0;
  };

  return (chunk) => {
    held = held.length > 0 ? Buffer.concat([held, chunk]) : chunk;
    while (step());
  };
}
