/** Page of the clock, with forms that move it. */
import { formatSpan } from '#foundation/domain/time-text.ts';
import { facts, notice, timePiece, type Cell } from '#foundation/markup/cell.ts';
import { html } from '#foundation/markup/html.ts';
import { parseServiceDuration } from '../http/durations.ts';
import type { ApiResponse } from '../http/route.ts';
import { ApiError } from '../state/api-error.ts';
import { pathTo, redirect, type ShownPage, type PageRequest } from './frame.ts';
import { PAGES_PATH } from './page-names.ts';

const PATH = `${PAGES_PATH}/clock`;

export function clockPage(request: PageRequest): ShownPage {
  const { control } = request.deps;
  const { mode, timers, nextInMs } = control?.clock() ?? {};
  return {
    title: 'Clock',
    path: PATH,
    main: [
      facts({
        Time: timePiece(request.now),
        Mode: mode ?? 'real',
        Timers: timers,
        'Next timer': nextInMs !== undefined && `in ${formatSpan(nextInMs)}`,
      }),
      mode === undefined
        ? notice('info', html`This time cannot be moved. Start the emulator with <code>--control</code>.`)
        : forms(request, nextInMs),
    ],
  };
}

function forms(request: PageRequest, nextInMs: number | undefined): Cell {
  const move = (value: string, label: string): Cell =>
    html`<button name="advance" value="${value}" class="quiet">${label}</button>`;
  return html`<p>A move makes all deliveries that become due, and waits for their responses.</p>
    <div class="acts">
      <form method="post" action="${pathTo(request, PATH)}" class="act" aria-label="Move the clock">
        <label>Move forward by <input name="by" value="1m" size="8" autocomplete="off" /></label>
        <button name="advance" value="">Move</button>
        ${nextInMs !== undefined && move('next', 'To the next timer')}
        ${['10s', '1m', '1h', '1d'].map((text) => move(text, `+ ${text}`))}
      </form>
    </div>`;
}

export async function moveClock(request: PageRequest): Promise<ApiResponse> {
  const { deps, form } = request;
  const { control } = deps;
  if (control === undefined) throw new ApiError(409, 'This time cannot be moved.');
  const text = form.get('advance') || (form.get('by') ?? '');
  const ms = text === 'next' ? (control.clock().nextInMs ?? 0) : parseServiceDuration(text);
  if (ms === undefined)
    throw new ApiError(400, `${text.slice(0, 100)} is not a duration: use a form such as 30s or 1d12h.`);
  await control.advance({ ms });
  return redirect(pathTo(request, PATH));
}
