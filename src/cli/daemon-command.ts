/** Commands that send requests to the daemon, and show the answer as a table, as JSON or as YAML. */
import type { Call, Command, DirectNeeds } from './command.ts';
import type { DaemonCall } from './daemon-exchange.ts';
import { DAEMON_OPTIONS, findDaemon } from './daemon-option.ts';
import { dataText, OUTPUT_OPTION, outputFormat } from './output.ts';
import { showOrWatch, type Shown } from './watch.ts';

export interface CommandAnswer extends Pick<Shown, 'code'> {
  /** Answer as JSON and YAML. */
  readonly data: unknown;
  /** Answer as people read it. */
  readonly text: string | (() => string | Promise<string>);
  /** Remark on the text, for stderr. */
  readonly note?: string;
}

interface DaemonCommand extends Omit<Command, 'options' | 'run'> {
  /**
   * Options in addition to those of the daemon and of the output. With `watch`, `answer` is called repeatedly. A `url` of
   * its own leaves the daemon's address to `OPSD_URL`.
   */
  readonly options?: Command['options'];
  /** Absent if the command requires a running daemon. */
  readonly needs?: DirectNeeds;
  /** @param daemon finds the daemon; a command checks its arguments before */
  readonly answer: (call: Call, daemon: () => Promise<DaemonCall>) => Promise<CommandAnswer>;
}

export function daemonCommand({ options, needs, answer, ...command }: DaemonCommand): Command {
  return {
    ...command,
    options: { ...options, ...DAEMON_OPTIONS, ...options, output: OUTPUT_OPTION },
    run(call) {
      const format = outputFormat(call.values);
      let found: Promise<DaemonCall> | undefined;
      const where = options?.['url'] === undefined ? call : { ...call, values: { ...call.values, url: undefined } };
      const daemon = () => (found ??= findDaemon(where, needs));
      return showOrWatch(call, async () => {
        const { data, text, note, code } = await answer(call, daemon);
        if (format !== 'table') return { text: await dataText(format, data), code };
        return { text: typeof text === 'string' ? text : await text(), note, code };
      });
    },
  };
}
