/** A page in headless Chromium. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { tempDir } from './temp-dir.ts';

/** Options of every browser. */
export const BROWSER_FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--hide-scrollbars',
];

/** Returns the page as HTML, after its scripts. */
export async function domOf(chromium: string, url: string): Promise<string> {
  const args = [...BROWSER_FLAGS, `--user-data-dir=${tempDir()}`, '--dump-dom', url];
  return (await promisify(execFile)(chromium, args, { maxBuffer: 100_000_000 })).stdout;
}

/** Writes the page as PNG. */
export async function screenshot(
  chromium: string,
  url: string,
  { file, width, height }: { readonly file: string; readonly width: number; readonly height: number },
): Promise<void> {
  const args = [
    ...BROWSER_FLAGS,
    `--user-data-dir=${tempDir()}`,
    `--screenshot=${file}`,
    `--window-size=${width},${height}`,
  ];
  await promisify(execFile)(chromium, [...args, url]);
}
