/** Structured logs: pino to stderr, as JSON unless the output is a terminal. Each line is redacted as a whole. */
import { pino, stdTimeFunctions, type Logger } from 'pino';
import { redactData } from '../domain/redact.ts';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly destination: { write(line: string): void };
  /** Called with the level of each line written. */
  readonly onLine?: (level: string) => void;
  /** Returns fields that are added to every line, read at the time of writing. */
  readonly fields?: () => Readonly<Record<string, string>>;
}

export function createLogger(options: LoggerOptions): Logger {
  const { onLine, fields } = options;
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      ...(fields && { mixin: fields }),
      hooks: {
        streamWrite: redactedLine,
        logMethod(args, method, level) {
          onLine?.(pino.levels.labels[level] ?? String(level));
          method.apply(this, args);
        },
      },
    },
    options.destination,
  );
}

/** Returns the line without credentials, regardless of the field, message or error cause that contains them. */
function redactedLine(line: string): string {
  return `${JSON.stringify(redactData(JSON.parse(line)))}\n`;
}
