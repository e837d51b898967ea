/** Name under which a command of these tests is recorded over the daemon's socket. */
import { unixUser } from '#cli/daemon-exchange.ts';

export const LOCAL_USER = `local (${unixUser()})`;
