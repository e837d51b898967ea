/** Logs events. */
import type { Logger } from '../platform/logger.ts';
import type { EventBus } from './events.ts';
import { Lasting } from './lasting.ts';
import { LOG_LINES, type LineOf } from './log-lines.ts';

export function logEvents(events: EventBus, logger: Logger): Disposable {
  const lasting = new Lasting();
  return events.subscribe((event) => {
    const lineOf = LOG_LINES[event.type] as LineOf<typeof event.type>;
    const line = lineOf === 'none' ? undefined : lineOf(event, lasting);
    if (line === undefined) return;
    const [level, message, fields] = line;
    logger[level](fields, message);
  });
}
