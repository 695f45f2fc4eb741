// Addresses, public name, and the pairs of limits and keys that must fit.

import { type Check, itemAt, itemsAt, numberAt, textAt } from '../draft.ts';
import { isLoopback } from './auth.ts';
import { unique } from './names.ts';

export const checkListen: Check = (draft, report) => {
  const { root } = draft;
  const listen = itemAt(root, 'listen');
  const link = itemAt(root, 'link');
  const host = listen === undefined ? undefined : textAt(listen, 'host');
  if (listen !== undefined && samePort(numberAt(listen, 'port'), numberAt(listen, 'adminPort'))) {
    report(['listen', 'adminPort'], 'listen.port and listen.adminPort are the same: choose another for one of them');
  }
  if (link !== undefined && samePort(numberAt(link, 'port'), numberAt(link, 'adminPort'))) {
    report(['link', 'adminPort'], 'link.port and link.adminPort are the same: choose another for one of them');
  }
  if (link?.value.socketDir !== undefined && link.value.advertise !== undefined) {
    const words = 'link.socketDir is for services of one host, link.advertise for those of several: leave one out';
    report(['link', 'socketDir'], words);
  }
  if (host !== undefined && !isLoopback(host) && root.value.publicBaseUrl === undefined) {
    const words =
      'a gateway beyond loopback needs publicBaseUrl, the URL that clients use and tokens are made out to: add it';
    report(['listen', 'host'], words);
  }
};

function samePort(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && a !== 0 && a === b;
}

export const checkLimits: Check = ({ root }, report) => {
  const limits = itemAt(root, 'limits');
  if (limits === undefined) return;
  const [idle, most] = [numberAt(limits, 'sessionIdleMs'), numberAt(limits, 'sessionMaxMs')];
  if (idle !== undefined && most !== undefined && idle > most) {
    report(
      ['limits', 'sessionIdleMs'],
      'limits.sessionIdleMs is more than limits.sessionMaxMs: lower it, or raise that',
    );
  }
};

export const checkSeal: Check = (draft, report) => {
  const seal = itemAt(draft.root, 'seal');
  if (seal === undefined) return;
  const keys = itemsAt(seal, 'keys');
  unique(draft, keys, 'kid', () => '', 'seal keys', report);
  const sealWith = textAt(seal, 'sealWith');
  if (sealWith !== undefined && !keys.some((key) => textAt(key, 'kid') === sealWith)) {
    report(['seal', 'sealWith'], 'no key under seal.keys has this kid: add it, or name one that is there');
  }
};
