// In-process pub/sub for the memory store: a hint, delivered later in the same process, in order. A listener that
// throws does not keep the others from hearing.

export interface Channels {
  publish(channel: string, message: string): void;
  subscribe(channel: string, listener: (message: string) => void): () => void;
  close(): void;
}

export function createChannels(warn: (words: string) => void): Channels {
  const listeners = new Map<string, Set<(message: string) => void>>();

  function deliver(listener: (message: string) => void, message: string): void {
    try {
      listener(message);
    } catch (error) {
      warn(`a listener of a state channel failed: ${error instanceof Error ? error.message : 'unknown'}`);
    }
  }

  return {
    publish(channel, message) {
      if (!listeners.has(channel)) return;
      queueMicrotask(() => {
        for (const listener of [...(listeners.get(channel) ?? [])]) deliver(listener, message);
      });
    },
    subscribe(channel, listener) {
      // Wrapped, so that one function subscribed twice is two subscriptions with two ends.
      const own = (message: string): void => listener(message);
      const set = listeners.get(channel) ?? new Set();
      set.add(own);
      listeners.set(channel, set);
      return () => {
        set.delete(own);
        if (set.size === 0 && listeners.get(channel) === set) listeners.delete(channel);
      };
    },
    close: () => listeners.clear(),
  };
}
