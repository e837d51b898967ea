/** What the program that starts the daemon adds to the pages: a code that signs in once, and buttons of its own. */
import { describe, expect, test } from 'vitest';
import { SignInCode } from '#operate/http/sign-in-code.ts';
import type { Tour } from '#operate/show/tour.ts';
import { ask, engine, serving, world, type World } from '../http/world.ts';

const CODE = 'a-code-of-32-characters-from-tests';
const entryOf = (code: string) => ({ code: new SignInCode(code), by: 'demo', role: 'operator' as const });
const PAGE = { Accept: 'text/html' };

async function daemon(overrides: Partial<World> = {}) {
  const pressed: string[] = [];
  const paused: string[] = [];
  const tour: Tour = {
    title: 'All of this is <sample> data.',
    readOnly: 'Open the printed address to act.',
    steps: [{ text: 'Break it', path: '/incidents' }],
    buttons: () => [{ id: pressed.at(-1) === 'break' ? 'mend' : 'break', label: 'Do it', isDanger: true }],
    press: (id) => void pressed.push(id),
  };
  const deps = world({
    tour,
    entry: entryOf(CODE),
    engine: engine({ pause: async ({ by }) => void paused.push(by) }),
    ...overrides,
  });
  const { address } = await serving(deps);
  const open = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    ask(address, path, { headers: { ...PAGE, ...headers } });
  const post = (path: string, fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>>) =>
    ask(address, path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...PAGE, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const signIn = async () => {
    const answer = await open(`/sign-in?code=${CODE}`);
    const [cookie = ''] = String(answer.headers['set-cookie']).split(';');
    const csrf = /name="csrf" value="(\w+)"/.exec((await open('/', { Cookie: cookie })).text)![1]!;
    return { answer, cookie, csrf };
  };
  return { address, deps, pressed, paused, open, post, signIn };
}

describe('the code', () => {
  test('signs in one browser once, and leads to the first page without it', async () => {
    const { open, signIn, deps } = await daemon();
    expect((await open('/')).text).toContain('Read-only');
    const { answer, cookie } = await signIn();
    expect(answer.status).toBe(200);
    expect(String(answer.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Strict$/);
    expect(answer.text).toContain('<meta http-equiv="refresh" content="0; url=/" />');
    const page = await open('/', { Cookie: cookie });
    expect(page.text).toMatch(/demo\s*<span class="faint">operator/);
    // The link again, in the same browser.
    expect(await open(`/sign-in?code=${CODE}`, { Cookie: cookie })).toMatchObject({
      status: 303,
      headers: { location: '/' },
    });
    const other = await open(`/sign-in?code=${CODE}`);
    expect([other.status, other.headers['set-cookie']]).toEqual([401, undefined]);
    expect(other.text).toContain('Each start prints a new address.');
    expect([...deps.log, page.text, answer.text].join('\n')).not.toContain(CODE);
  });

  test.each(['', 'x', `${CODE}x`, CODE.toUpperCase(), '<script>'])(
    '%j signs nobody in, and does not use the code',
    async (wrong) => {
      const { open, signIn } = await daemon();
      const refused = await open(`/sign-in?code=${encodeURIComponent(wrong)}`);
      expect([refused.status, refused.headers['set-cookie']]).toEqual([401, undefined]);
      expect(refused.text).not.toContain('<script>');
      expect((await signIn()).cookie).not.toBe('undefined');
    },
  );

  test('is not used by a preview of the link', async () => {
    const { address, signIn } = await daemon();
    const head = await ask(address, `/sign-in?code=${CODE}`, { method: 'HEAD' });
    expect(head.headers['set-cookie']).toBeUndefined();
    expect((await signIn()).answer.status).toBe(200);
  });

  test.each(['10.0.0.1', '::ffff:192.168.0.4', '2001:db8::1', '128.0.0.1', undefined])(
    'is not valid from %s',
    (address) => {
      const code = new SignInCode('c');
      expect(code.use('c', address)).toBe(false);
      expect(code.use('c', '::ffff:127.0.0.1')).toBe(true);
      expect(code.use('c', '127.0.0.1')).toBe(false);
    },
  );

  test('of another start ends its sessions, and without a code nobody signs in', async () => {
    const { open, signIn, deps } = await daemon();
    const { cookie } = await signIn();
    Object.assign(deps, { entry: entryOf('another') });
    expect((await open('/', { Cookie: cookie })).text).toContain('Read-only');
    const plain = await daemon({ entry: undefined, tour: undefined });
    expect((await plain.open(`/sign-in?code=${CODE}`)).status).toBe(401);
    expect((await plain.open('/')).text).not.toContain('class="tour"');
  });

  test('gives an operator no more than that, and others nothing', async () => {
    const { open, post, signIn, paused } = await daemon();
    const { cookie, csrf } = await signIn();
    const pause = { scope: 'engine', reason: 'to see it' };
    expect((await post('/pauses/add', { ...pause, csrf }, { Cookie: cookie })).status).toBe(303);
    expect((await post('/pauses/lift', { ...pause, csrf }, { Cookie: cookie })).status).toBe(403);
    expect((await post('/pauses/add', pause, { Cookie: cookie })).status).toBe(403);
    expect((await post('/pauses/add', { ...pause, csrf }, {})).status).toBe(403);
    expect(
      (await post('/pauses/add', { ...pause, csrf }, { Cookie: cookie, Origin: 'http://evil.example' })).status,
    ).toBe(403);
    expect((await open('/')).text).not.toContain('name="csrf"');
    expect(paused).toEqual(['demo']);
  });
});

describe('the tour', () => {
  test('is on every page, with buttons for operators only', async () => {
    const { open, signIn } = await daemon();
    const { cookie } = await signIn();
    for (const path of ['/', '/incidents', '/messages', '/nothing']) {
      const [reader, operator] = [(await open(path)).text, (await open(path, { Cookie: cookie })).text];
      expect(reader).toContain('Open the printed address to act.');
      expect(reader).not.toContain('/tour/');
      expect(operator).toContain('All of this is &lt;sample&gt; data.');
      expect(operator).toContain('action="/tour/break"');
    }
  });

  test('presses a button, and returns to its page', async () => {
    const { post, signIn, pressed } = await daemon();
    const { cookie, csrf } = await signIn();
    const press = (id: string, more: Readonly<Record<string, string>> = { csrf }, headers = {}) =>
      post(`/tour/${id}`, { next: '/incidents?state=open', ...more }, { Cookie: cookie, ...headers });
    expect(await press('break')).toMatchObject({ status: 303, headers: { location: '/incidents?state=open' } });
    expect(await press('mend', { csrf, next: '//evil.example' })).toMatchObject({
      status: 303,
      headers: { location: '/' },
    });
    expect((await press('mend')).status).toBe(404);
    expect((await press('other')).status).toBe(404);
    expect((await press('break', {})).status).toBe(403);
    expect((await press('break', { csrf }, { Origin: 'http://evil.example' })).status).toBe(403);
    expect((await post('/tour/break', { csrf }, {})).status).toBe(403);
    expect(pressed).toEqual(['break', 'mend']);
  });
});
