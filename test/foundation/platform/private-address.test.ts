/** Addresses that prove nothing about the network outside. */
import { expect, test } from 'vitest';
import { isPrivateAddress, leadsToPrivate } from '#foundation/platform/private-address.ts';

test.each(['127.0.0.1', '10.1.2.3', '172.31.0.1', '192.168.1.1', '169.254.169.254', '::1', 'fd00::1', 'fe80::1'])(
  '%s is private',
  (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  },
);

test.each(['203.0.113.7', '172.32.0.1', '2001:db8::1', 'hooks.example.com', ''])('%s is not', (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});

test('a URL leads to the addresses of its host; without one it proves nothing', async () => {
  expect(await leadsToPrivate('http://127.0.0.1:1/x')).toBe(true);
  expect(await leadsToPrivate('http://[::1]/x')).toBe(true);
  expect(await leadsToPrivate('https://203.0.113.7/x')).toBe(false);
  expect(await leadsToPrivate('nowhere')).toBe(true);
});
