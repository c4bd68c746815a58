// The address: the page and its settings. All settings are in the address, so that a link shows the same view.

import { useEffect, useState } from 'preact/hooks';
import type { Index } from '../documents.js';

/** `#/run/REF/samples?domain=mcp` has the path `['run', REF, 'samples']`. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Inputs of a page: the viewer's contents, and the address. */
export interface PageProps {
  readonly index: Index;
  readonly route: Route;
}

type Query = Readonly<Record<string, string | undefined>>;

/** The first page of a static file. */
export const START = document.querySelector<HTMLMetaElement>('meta[name=awb-start]')?.content ?? '/runs';

function routeOf(hash: string): Route {
  const [path = '', query = ''] = (hash.startsWith('#/') ? hash.slice(1) : START).split('?');
  return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

/** The address of a page. Undefined and empty settings are left out. */
export function href(path: readonly string[], query: Query = {}): string {
  const set = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) set.set(name, value);
  return `#/${path.map(encodeURIComponent).join('/')}${set.size > 0 ? `?${set}` : ''}`;
}

/** The same page with other settings. The Back button returns over pushed settings, not over replaced ones. */
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
