// What the address says: the page, and how it is set. All that a reader sets stands in the address, so that a link shows the same.

import { useEffect, useState } from 'preact/hooks';
import type { Index } from '../documents.js';

/** `#/run/REF/samples?domain=mcp` has the path `['run', REF, 'samples']`. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** What a page is given: what there is to see, and what the address says. */
export interface PageProps {
  readonly index: Index;
  readonly route: Route;
}

type Query = Readonly<Record<string, string | undefined>>;

/** The page that a static file opens with. */
export const START = document.querySelector<HTMLMetaElement>('meta[name=awb-start]')?.content ?? '/runs';

function routeOf(hash: string): Route {
  const [path = '', query = ''] = (hash.startsWith('#/') ? hash.slice(1) : START).split('?');
  return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

/** The address of a page. What is undefined or empty is left out. */
export function href(path: readonly string[], query: Query = {}): string {
  const set = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) set.set(name, value);
  return `#/${path.map(encodeURIComponent).join('/')}${set.size > 0 ? `?${set}` : ''}`;
}

/** The same page with other settings. A reader goes back over what was pushed, and not over what was replaced. */
export function set(route: Route, changes: Query, how: 'push' | 'replace' = 'replace'): void {
  const query = { ...Object.fromEntries(route.query), ...changes };
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', href(route.path, query));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const follow = () => setRoute(routeOf(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}
