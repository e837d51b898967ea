/** Settings of the store. */
import { z } from 'zod';

export const storageSettings = z.strictObject({
  sqlite: z
    .strictObject({
      path: z
        .string()
        .min(1)
        .default('./data/opsd.db')
        .describe('The one file of the store; its folder is made when missing.'),
    })
    .prefault({})
    .describe('A SQLite file, made when missing.'),
});
