/** Values that the daemon's alerts take from other files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { THRESHOLDS } from '../../deploy/prometheus/thresholds.ts';

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly resources: { readonly limits: { memory: string } } }[];
      };
    };
  };
}

test('memory is high before the shipped Deployment is killed for it', () => {
  const file = join(import.meta.dirname, '../../deploy/kubernetes/base/deployment.yaml');
  const [container] = (parse(readFileSync(file, 'utf8')) as Deployment).spec.template.spec.containers;
  const [, mebibytes] = /^(\d+)Mi$/.exec(container!.resources.limits.memory)!;
  expect(THRESHOLDS.daemon.residentBytes / (Number(mebibytes) * 2 ** 20)).toBeCloseTo(0.8, 3);
});
