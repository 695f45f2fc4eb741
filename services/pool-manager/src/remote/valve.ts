// Reading stops while it is shut, and with it what the server can send (design §5 "Back-pressure").

export interface Valve {
  /** Null: open. */
  readonly opened: Promise<void> | null;
  shut(): void;
  open(): void;
}

export function createValve(): Valve {
  let waiting: PromiseWithResolvers<void> | null = null;
  return {
    get opened() {
      return waiting?.promise ?? null;
    },
    shut() {
      waiting ??= Promise.withResolvers<void>();
    },
    open() {
      waiting?.resolve();
      waiting = null;
    },
  };
}
