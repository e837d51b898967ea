/**
 * Every operation with malformed input: the emulator rejects it in JSON and stays up. The long form is in test/soak.
 */
import { expect, test } from 'vitest';
import type { Credentials } from '../../test/support/emulator-fuzz/draft.ts';
import { fuzzCase, goodCase } from '../../test/support/emulator-fuzz/fuzz-case.ts';
import { OPERATION_NAMES } from '../../test/support/emulator-fuzz/operations.ts';
import { sendRaw } from '../../test/support/emulator-fuzz/raw-client.ts';
import { MAX_BODY_BYTES } from '../../test/support/emulator-fuzz/spoil-body.ts';
import { verdict } from '../../test/support/emulator-fuzz/verdict.ts';
import { ACCOUNT, TOKEN, world } from './world.ts';

/** Rotations end the tokens of the managed account, so it is not the token's account. */
const CREDENTIALS: Credentials = { token: TOKEN, management: 'ops@example.com:pass:word', accountId: 'managed' };
const CASES_PER_OPERATION = 40;

test.each(OPERATION_NAMES.map((name, index) => [name, index] as const))('%s', async (name, offset) => {
  const accounts = [
    { id: ACCOUNT, token: TOKEN },
    { id: CREDENTIALS.accountId, token: 'token-2' },
  ];
  const { emulator } = await world({ accounts, control: true, maxBodyBytes: MAX_BODY_BYTES });
  const found: string[] = [];
  for (let index = 0; index < CASES_PER_OPERATION; index++) {
    const made = fuzzCase(offset + index * OPERATION_NAMES.length, CREDENTIALS);
    expect(made.operation).toBe(name);
    const wrong = await sendRaw(emulator.url, made).then((answers) => verdict(made, answers), String);
    if (wrong !== undefined) found.push(`seed ${made.seed} (${made.changes.join('; ')}): ${wrong}`);
  }
  expect(found).toEqual([]);
  // Operations on an existing resource (a key, an index) may return 404. All others succeed.
  const [answer] = await sendRaw(emulator.url, goodCase(name, CREDENTIALS));
  expect([200, 404]).toContain(answer!.status);
});
