// Two hundred people of two tenants, each with two client programs, and a word of their own that is in everything they
// send: nobody else may ever be sent it.

import type { Issuer } from '../harness/issuer.ts';

export interface Person {
  readonly name: string;
  readonly tenant: string;
  readonly token: string;
}

export const AUDIENCE = 'https://soak.example';
export const PEOPLE = 200;
const CLIENTS = 2;
const TOKEN_SECONDS = 48 * 3_600;

/** `secret-of-u042-` and anything. */
export const SECRET = /secret-of-(u\d{3})-/g;

export function createPeople(issuer: Issuer): Person[] {
  return Array.from({ length: PEOPLE * CLIENTS }, (_none, index) => {
    const number = index % PEOPLE;
    const name = `u${String(number).padStart(3, '0')}`;
    const tenant = number % 10 < 7 ? 'acme' : 'blue';
    const client = `client-${Math.floor(index / PEOPLE)}`;
    const wish = { sub: name, tenant, client, groups: ['dev'], audience: AUDIENCE, ttlSeconds: TOKEN_SECONDS };
    return { name, tenant, token: issuer.token(wish) };
  });
}
