/** Trace as a tree: events with their start since the creation, and their durations. */
import { formatElapsed } from '#foundation/domain/time-text.ts';
import type { LogTrace } from '#observe/tracing/log-trace.ts';
import { attributesOf, type Span } from '#observe/tracing/span.ts';
import { painter, printable } from '../output.ts';

export interface TraceTextOptions {
  readonly account: string;
  readonly messageId: string;
  readonly color: boolean;
}

export function traceText(trace: LogTrace, { account, messageId, color }: TraceTextOptions): string {
  const paint = painter(color);
  const root = trace.spans[0]!;
  const children = trace.spans.filter(
    ({ traceId, parentSpanId }) => traceId === root.traceId && parentSpanId === root.spanId,
  );
  const rows = [
    ['', root.name, '', trace.isOpen ? 'still open' : took(root), outcomeOf(root)],
    ...children.map((span, index) => [
      index === children.length - 1 ? '└─ ' : '├─ ',
      span.name,
      `+${formatElapsed(span.startMs - root.startMs)}`,
      took(span),
      outcomeOf(span),
    ]),
  ].map((row) => row.map(printable));
  const widths = [0, 1, 2, 3].map((at) =>
    Math.max(...rows.map((row) => (at === 1 ? row[0]!.length + row[1]!.length : row[at]!.length))),
  );
  const lines = rows.map(([branch, name, offset, length, outcome], index) => {
    const span = index === 0 ? root : children[index - 1]!;
    const told = `${branch}${name}`.padEnd(widths[1]!);
    const times = `${offset!.padStart(widths[2]!)}  ${length!.padStart(widths[3]!)}`;
    return `${told}  ${times}  ${paint(span.isError ? 'red' : 'green', outcome!)}`.trimEnd();
  });
  return [
    paint('bold', `trace ${root.traceId}`),
    `message ${printable(messageId)} of account ${printable(account)}, created ${new Date(root.startMs).toISOString()}`,
    trace.isSent
      ? 'sent to the trace receiver, if one is configured'
      : 'not sent: not sampled, and neither failed nor slow',
    '',
    ...lines,
    ...linksOf(trace, root).map(([what, traceId]) => paint('dim', `${what}: trace ${traceId}`)),
    '',
  ].join('\n');
}

function linksOf({ spans }: LogTrace, root: Span): [what: string, traceId: string][] {
  const step = spans.find(({ name, traceId }) => name.startsWith('step ') && traceId !== root.traceId);
  return [
    ...root.links.map(({ traceId }): [string, string] => ['producer', traceId]),
    ...(step === undefined ? [] : [['workflow run', step.traceId] satisfies [string, string]]),
  ];
}

function outcomeOf(span: Span): string {
  const of = Object.fromEntries(attributesOf(span));
  const attempts = of['messaging.msgsvc.attempts'];
  const told = [
    of['messaging.msgsvc.outcome'],
    of['http.response.status_code'] ?? of['error.type'],
    attempts === undefined ? undefined : `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
    of['messaging.msgsvc.start_known'] === false ? 'start unknown' : undefined,
    of['messaging.msgsvc.transitions'] === false ? 'the log has one entry for each message' : undefined,
  ];
  return told.filter((text) => text !== undefined).join(', ');
}

function took({ startMs, endMs }: Span): string {
  return formatElapsed(endMs - startMs);
}
