/** Checks of canaries that no schema can make: the service must be able to reach the hooks listener. */
import type { Fault } from './source-text.ts';
import { type Place, pathText, placeAt } from './yaml-place.ts';

export function checkCanaries(root: Place): Fault[] {
  return (placeAt(root, ['accounts'])?.items ?? []).flatMap((account, index) => {
    const canaries = placeAt(account, ['canaries']);
    if (canaries?.items === undefined || canaries.items.length === 0) return [];
    const { start, end } = canaries.key ?? canaries;
    const path = pathText(['accounts', index, 'canaries']);
    return lacks(root, account).map((lack) => ({ start, end, path, ...lack }));
  });
}

/** Returns true if an account has canaries. */
export function hasCanaries(root: Place): boolean {
  return (placeAt(root, ['accounts'])?.items ?? []).some(
    (account) => (placeAt(account, ['canaries'])?.items?.length ?? 0) > 0,
  );
}

function lacks(root: Place, account: Place): Pick<Fault, 'message' | 'help'>[] {
  return [
    ...(placeAt(root, ['hooks', 'listen']) === undefined
      ? [{ message: 'canaries need the hooks listener', help: 'set hooks.listen, such as :10778' }]
      : []),
    ...(placeAt(root, ['hooks', 'publicUrl']) === undefined
      ? [
          {
            message: 'canaries need the address under which the service reaches the hooks listener',
            help: 'set hooks.publicUrl, such as https://hooks.example.com',
          },
        ]
      : []),
    ...(account.entries?.has('url') === false && !account.entries.has('messageApi')
      ? [{ message: 'canaries need the message API', help: 'add messageApi to this account' }]
      : []),
  ];
}
