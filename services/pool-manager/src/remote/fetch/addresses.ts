// Which addresses a server may have (auth-security NET-1, NET-3): public ones, or those inside the ranges that the
// operator declared. Read as an address, never as text, so that no spelling gets past it.

import { BlockList, isIP } from 'node:net';

export interface AddressRule {
  allows(address: string): boolean;
}

/** IANA special-purpose registries, and multicast. */
const SPECIAL_V4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];
/** Global unicast is 2000::/3; of it, what tunnels, documents or tests. Everything else (ULA, NAT64, …) is not global. */
const GLOBAL_V6 = ['2000::/3'];
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** This host, the link, everyone at once, and where clouds give credentials out: no declaration opens these. */
const NEVER = [
  ...['0.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4', '::/128', 'fe80::/10', 'ff00::/8'],
  ...['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', 'fd00:ec2::254/128', 'fd20:ce::254/128'],
];

const never = listOf(NEVER);
const special = listOf([...SPECIAL_V4, ...SPECIAL_V6]);
const globalV6 = listOf(GLOBAL_V6);

export function createAddressRule(cidrs: readonly string[]): AddressRule {
  const declared = cidrs.length === 0 ? null : listOf(cidrs);
  const allows = (address: string): boolean => {
    const own = plainAddress(address);
    if (own === null || holds(never, own)) return false;
    const inside = nat64(own);
    if (declared === null) return isGlobal(own);
    // Through a NAT64 the declaration opens the gate, but what lies behind must be public.
    return holds(declared, own) && (inside === null || (!holds(never, inside) && isGlobal(inside)));
  };
  return { allows };
}

function isGlobal(address: string): boolean {
  if (holds(special, address)) return false;
  return isIP(address) === 4 || holds(globalV6, address);
}

function holds(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

/** Canonical; an IPv4 address that is written as an IPv6 one counts as what it is. Null: no address, or one with a zone. */
function plainAddress(address: string): string | null {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return null;
  if (family === 4) return address;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  return mapped === null ? canonical : dotted(mapped[1]!, mapped[2]!);
}

function nat64(address: string): string | null {
  const match = /^64:ff9b::(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})?$/.exec(address);
  return match === null ? null : dotted(match[1] ?? '0', match[2] ?? '0');
}

function dotted(high: string, low: string): string {
  const [h, l] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${h >> 8}.${h & 255}.${l >> 8}.${l & 255}`;
}

function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
