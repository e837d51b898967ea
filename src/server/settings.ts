/** Settings of the daemon's own HTTP server. */
import { z } from 'zod';
import { listenSetting } from '../platform/settings.ts';

export const serverSettings = z.strictObject({
  listen: listenSetting().prefault('127.0.0.1:10777').describe('Address of metrics, health and pages.'),
});
