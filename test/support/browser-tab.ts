/** A tab of headless Chromium that tests can steer: its size, colors, script, cookies and clicks. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, onTestFinished } from 'vitest';

const FLAGS = [
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

export interface TabView {
  readonly width: number;
  readonly height?: number;
  readonly colors?: 'light' | 'dark';
  /** Default: true. */
  readonly script?: boolean;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** Ends the browser of the file. */
let close = async (): Promise<void> => undefined;
afterAll(() => close());

/** Starts Chromium. Returns its address for steering it. */
async function launch(chromium: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'opsd-chromium-'));
  const args = [...FLAGS, `--user-data-dir=${folder}`, '--remote-debugging-port=0'];
  // It leaves a folder of its socket in the folder of temporary files.
  const env = { ...process.env, TMPDIR: folder };
  const child = spawn(chromium, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  close = async () => {
    const ended = once(child, 'exit');
    if (child.kill('SIGTERM')) await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for await (const line of createInterface({ input: child.stderr })) {
    const address = /DevTools listening on (ws:\S+)/.exec(line)?.[1];
    if (address === undefined) continue;
    child.stderr.resume();
    return address;
  }
  throw new Error('Chromium ended before it listened');
}

let browser: Promise<string> | undefined;

/**
 * Opens a tab that ends with the test, without cookies of others. All tabs of a file are of one browser. A tab is drawn
 * only for pictures: that takes a third of the browser's time.
 */
export async function openTab(chromium: string, { isDrawn = false } = {}): Promise<Tab> {
  const socket = new WebSocket(await (browser ??= launch(chromium)));
  onTestFinished(() => socket.close());
  await once(socket, 'open');
  const tab = new Tab(socket);
  await tab.attach(!isDrawn);
  return tab;
}

export class Tab {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (message: Message) => void>();
  readonly #events = new Map<string, () => void>();
  /** Texts of errors in the console, such as violations of the content security policy. */
  readonly errors: string[] = [];
  #session: string | undefined;
  #last = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Message));
  }

  async attach(hidden: boolean): Promise<void> {
    const { browserContextId } = await this.send('Target.createBrowserContext', { disposeOnDetach: true });
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId, hidden });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    this.#session = sessionId as string;
    await this.send('Page.enable');
    await this.send('Log.enable');
    await this.send('Runtime.enable');
  }

  async view({ width, height = 900, colors = 'light', script = true }: TabView): Promise<void> {
    const screen = { width, height, deviceScaleFactor: 1, mobile: false };
    await this.send('Emulation.setDeviceMetricsOverride', screen);
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: colors }] });
    await this.send('Emulation.setScriptExecutionDisabled', { value: !script });
  }

  /** Runs an act that loads a page, and waits until the page is loaded. */
  async loading(act: () => Promise<unknown>): Promise<void> {
    const loaded = new Promise<void>((resolve) => this.#events.set('Page.loadEventFired', resolve));
    await act();
    await loaded;
  }

  async open(url: string): Promise<void> {
    await this.loading(() => this.send('Page.navigate', { url }));
  }

  /** Opens an address, and returns the page as HTML, after its scripts. */
  async html(url: string): Promise<string> {
    await this.open(url);
    return this.eval('document.documentElement.outerHTML');
  }

  /** Evaluates an expression in the page, also if its own scripts are disabled. */
  async eval<T>(expression: string): Promise<T> {
    const given = { expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: true };
    const { result, exceptionDetails } = (await this.send('Runtime.evaluate', given)) as {
      result: { value: T };
      exceptionDetails?: { exception?: { description?: string } };
    };
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? 'failed');
    return result.value;
  }

  async type(selector: string, text: string): Promise<void> {
    await this.eval(`document.querySelector(${JSON.stringify(selector)}).focus()`);
    await this.send('Input.insertText', { text });
  }

  /** Clicks an element as a mouse does, and waits for the next page. */
  async press(selector: string): Promise<void> {
    await this.loading(() => this.eval(`document.querySelector(${JSON.stringify(selector)}).click()`));
  }

  /** Writes the page as PNG, from its top. */
  async picture(file: string, maxHeight = 8_000): Promise<void> {
    const [width, height] = await this.eval<[number, number]>('[innerWidth, document.documentElement.scrollHeight]');
    const clip = { x: 0, y: 0, width, height: Math.min(height, maxHeight), scale: 1 };
    const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip });
    writeFileSync(file, Buffer.from(data as string, 'base64'));
  }

  async send(method: string, params: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#last;
    const answer = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    const sessionId = this.#session;
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }));
    const { result, error } = await answer;
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result!;
  }

  #take(message: Message): void {
    if (message.id !== undefined) {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
    } else if (message.method !== undefined) {
      if (message.method === 'Log.entryAdded') this.#note(message);
      this.#events.get(message.method)?.();
    }
  }

  #note(message: object): void {
    const { entry } = (message as { params: { entry: { level: string; text: string } } }).params;
    if (entry.level === 'error') this.errors.push(entry.text);
  }
}
