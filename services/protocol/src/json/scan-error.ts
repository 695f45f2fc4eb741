// What a scanned text is refused for, and where.

export class ScanError extends Error {
  readonly fault: 'syntax' | 'duplicate-key' | 'forbidden-key' | 'too-deep';
  readonly offset: number;
  constructor(fault: ScanError['fault'], offset: number) {
    super(`${fault} at byte ${offset}`);
    this.fault = fault;
    this.offset = offset;
  }
}
