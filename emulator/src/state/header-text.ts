/** Header values are bytes, which Node represents by one character each. Their text is UTF-8, where it is valid. */
import { isUtf8 } from 'node:buffer';

/** Returns the text of a value from a request or a response. */
export function headerText(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : value;
}

/** Returns the value that is sent for a text. */
export function headerValue(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Returns a copy with the texts of all values. */
export function headerTexts<T extends Readonly<Record<string, string | readonly string[] | undefined>>>(headers: T): T {
  const texts = Object.entries(headers).map(([name, value]) => [
    name,
    typeof value === 'string' ? headerText(value) : value?.map(headerText),
  ]);
  return Object.fromEntries(texts) as T;
}
