/**
 * The OpenAPI 3.1 document of the whole interface (`openapi.yaml`), in the spelling of an installation. It is valid for
 * every setting of the switches: where real installations differ, it allows each form.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Spelling {
  /** `Svc`, or the prefix of the installation. */
  readonly headerPrefix: string;
  /** `msgsvc`, or the brand of the installation. */
  readonly product: string;
}

/** @returns JSON */
export function openApiDocument({ headerPrefix, product }: Spelling): object {
  const text = readFileSync(new URL('../../openapi.yaml', import.meta.url), 'utf8');
  // Functions: a name may contain `$&`.
  return parse(text.replaceAll('Svc', () => headerPrefix).replaceAll('msgsvc', () => product));
}
