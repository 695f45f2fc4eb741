// Which addresses may a remote server have (auth-security T-7, NET-1, NET-3)?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressRule } from '../../../src/remote/fetch/addresses.ts';

const PUBLIC = ['1.1.1.1', '93.184.215.14', '172.15.0.1', '172.32.0.1', '100.63.0.1', '100.128.0.1', '11.0.0.1'];
const PUBLIC_V6 = ['2606:4700:4700::1111', '2a00:1450::1', '::ffff:1.1.1.1', '::FFFF:0101:0101'];
const PRIVATE = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1'],
  ...['172.31.255.255', '192.0.0.8', '192.0.2.1', '192.88.99.1', '192.168.1.1', '198.18.0.1', '198.51.100.1'],
  ...['203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255', '100.100.100.200', '168.63.129.16'],
  ...['::', '::1', '::127.0.0.1', '::ffff:127.0.0.1', '::FFFF:7F00:1', '0:0:0:0:0:ffff:10.0.0.1', '::ffff:a9fe:a9fe'],
  ...['64:ff9b::1.1.1.1', '64:ff9b::7f00:1', '64:ff9b:1::1', '100::1', '2001::1', '2001:20::1', '2001:db8::1'],
  ...[
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
  ],
  ...['not an address', '', '1.2.3', '0x7f000001', '2130706433', '127.1', '[::1]'],
];

test('without a declaration only public addresses are reached, however an address is written', () => {
  const rule = createAddressRule([]);
  for (const address of [...PUBLIC, ...PUBLIC_V6]) assert.ok(rule.allows(address), address);
  for (const address of PRIVATE) assert.ok(!rule.allows(address), address);
});

test('with one, only addresses inside it, public or not', () => {
  const rule = createAddressRule(['10.20.0.0/16', 'fd12:3456::/32']);
  for (const address of ['10.20.0.1', '10.20.255.255', '::ffff:10.20.0.1', 'fd12:3456::1'])
    assert.ok(rule.allows(address));
  for (const address of ['10.21.0.1', '1.1.1.1', 'fd12:3457::1', '2606:4700::1', '::1'])
    assert.ok(!rule.allows(address));
});

test('what no server may have stays shut, whatever is declared', () => {
  const rule = createAddressRule([
    '169.254.0.0/16',
    '100.64.0.0/10',
    'fd00::/8',
    'fe80::/10',
    '0.0.0.0/8',
    '224.0.0.0/4',
  ]);
  for (const address of ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254', 'fe80::1', '0.0.0.0', '224.0.0.1']) {
    assert.ok(!rule.allows(address), address);
  }
  assert.ok(rule.allows('100.64.0.1'));
});

test('behind a NAT64 that is declared only public addresses are reached', () => {
  const rule = createAddressRule(['64:ff9b::/96']);
  assert.ok(rule.allows('64:ff9b::1.1.1.1'));
  for (const address of ['64:ff9b::10.0.0.1', '64:ff9b::7f00:1', '64:ff9b::', '64:ff9b::1', '64:ff9b::a9fe:a9fe']) {
    assert.ok(!rule.allows(address), address);
  }
});
