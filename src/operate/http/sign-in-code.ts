/** Code in an address that signs in one browser once. The program that starts the daemon prints it. */
import { createHash } from 'node:crypto';
import { isSame } from './bearer.ts';

export class SignInCode {
  readonly hash: string;
  #isUsed = false;

  /** @param code long and random: wrong codes are not counted */
  constructor(code: string) {
    this.hash = hashOf(code);
  }

  /**
   * Uses the code.
   *
   * @param address network address of the client, which must be this machine
   * @returns false if the code is wrong or used
   */
  use(given: string, address: string | undefined): boolean {
    const isHere = /^(?:(?:::ffff:)?127\.|::1$)/.test(address ?? '');
    if (this.#isUsed || !isHere || !isSame(hashOf(given), this.hash)) return false;
    this.#isUsed = true;
    return true;
  }
}

function hashOf(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}
