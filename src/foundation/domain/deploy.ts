/** Deploys of the applications behind destinations, as a hook or a command reported them. Pure. */

export interface Deploy {
  readonly id: number;
  readonly account: string;
  /** URL prefixes or hosts of what was deployed, as `deployedPart` writes them. */
  readonly of: readonly string[];
  readonly version: string;
  /** Page about the deploy. */
  readonly url?: string;
  /** Epoch milliseconds of the deploy. */
  readonly at: number;
  /** True if the deploy failed, or went back to an earlier version. */
  readonly isRollback: boolean;
}

/** Maximum length of a version, and of a part. */
export const MAX_VERSION = 100;
export const MAX_PART = 1_000;
export const MOST_PARTS = 20;

/** Milliseconds after which a deploy arms no policy any more. */
export const DEPLOY_ARMS_MS = 7 * 86_400_000;

/**
 * Returns a host or URL prefix in the form in which URLs are compared: `app.example.com`,
 * `https://app.example.com/api/`. Undefined if it is neither, or has user info, a query or a fragment.
 */
export function deployedPart(text: string): string | undefined {
  const isUrl = /^https?:\/\//i.test(text);
  const url = text.length > MAX_PART || /^\/|\s/.test(text) ? null : URL.parse(isUrl ? text : `https://${text}`);
  if (url === null || url.username !== '' || url.password !== '' || /[?#]/.test(text)) return undefined;
  if (!isUrl && text.includes('://')) return undefined;
  const path = url.pathname === '/' && !text.endsWith('/') ? '' : url.pathname;
  return `${isUrl ? url.origin : url.host}${path}`;
}

/** Returns true if a deploy is about this URL. A part ends at a boundary: `/api` is not about `/apiary`. */
export function concerns({ of }: Pick<Deploy, 'of'>, text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  return of.some((part) => {
    const whole = `${part.includes('://') ? url.origin : url.host}${url.pathname}`;
    if (!whole.startsWith(part)) return false;
    return part.endsWith('/') || whole.length === part.length || whole[part.length] === '/';
  });
}

/** Returns true if a part of the deploy is on this host. */
function isOfHost({ of }: Pick<Deploy, 'of'>, host: string): boolean {
  return of.some((part) => URL.parse(part.includes('://') ? part : `https://${part}`)?.host === host);
}

/**
 * Returns true if a deploy is about failures.
 *
 * @param failures.place label of the workflow, or host of the destination
 * @param urls of the failed runs and messages that are known
 */
export function isAboutFailures(
  deploy: Deploy,
  { place, resolvedAt = Infinity }: { readonly place: string; readonly resolvedAt?: number },
  urls: readonly string[],
): boolean {
  if (deploy.at > resolvedAt) return false;
  if (urls.length > 0) return urls.some((url) => concerns(deploy, url));
  return isOfHost(deploy, place) || ['https', 'http'].some((scheme) => concerns(deploy, `${scheme}://${place}`));
}

/** `v42 was deployed: app.example.com` */
export function deployText({ of, version, isRollback }: Pick<Deploy, 'of' | 'version' | 'isRollback'>): string {
  return `${isRollback ? `Roll-back to ${version}` : `${version} was deployed`}: ${of.join(', ')}`;
}

/** Returns the deploy that decides about URLs: the last one that is about one of them. @param deploys newest first */
export function latestOf<D extends Pick<Deploy, 'of'>>(deploys: readonly D[], ...urls: string[]): D | undefined {
  return deploys.find((deploy) => urls.some((url) => concerns(deploy, url)));
}
