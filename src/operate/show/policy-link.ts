/** Link to the page of a policy. */
import { policyPath } from '../contract/page-paths.ts';
import { link, type Piece } from '#foundation/markup/cell.ts';

export function policyLink(name: string): Piece {
  return link(policyPath(name), name);
}
