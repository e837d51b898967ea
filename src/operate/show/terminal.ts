/** Text for terminals and files: control characters and credentials never reach them. */
import { redact } from '#foundation/domain/redact.ts';

/** Returns the text without credentials, on one line, and without control characters for a terminal. */
export function printable(text: string): string {
  return redact(text).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0)!;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

export interface TextStyle {
  readonly color: boolean;
  /** Columns of the terminal; absent if nothing has to be truncated. */
  readonly width?: number;
}

const STYLES = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33', cyan: '36' } as const;
export type Style = keyof typeof STYLES;

export function painter(color: boolean): (style: Style, text: string) => string {
  return (style, text) => (color && text !== '' ? `\u001B[${STYLES[style]}m${text}\u001B[0m` : text);
}
