// Loads the app's documents: from elements of the page, files next to it, or its server.

import { useEffect, useState } from 'preact/hooks';
import type { DocumentName, Documents, Index } from '../documents.js';

export const SOURCE = document.querySelector<HTMLMetaElement>('meta[name=awb-source]')?.content ?? 'inline';
/** Interval at which a server is asked for changes, in milliseconds. */
const POLL_MS = 3000;

const loaded = new Map<string, Promise<unknown>>();

/** Most documents in the cache: a search reads all texts of a run, which may exceed a browser's memory. */
const MOST_KEPT = 24;

/** A document, read once while in use. Rejects with a sentence for the reader if it is missing. */
export function load<N extends DocumentName>(name: N): Promise<Documents[N]> {
  const found = loaded.get(name) ?? read(name);
  // The map is ordered by last use.
  loaded.delete(name);
  loaded.set(name, found);
  for (const oldest of loaded.keys()) if (loaded.size > MOST_KEPT) loaded.delete(oldest);
  // The next try may succeed.
  found.catch(() => loaded.delete(name));
  // The program wrote it under this name.
  return found as Promise<Documents[N]>;
}

function read(name: DocumentName): Promise<unknown> {
  if (SOURCE === 'server') return fromServer(name);
  return SOURCE === 'files' ? fromFile(name) : fromPage(name);
}

async function fromPage(name: string): Promise<unknown> {
  const text = document.getElementById(name)?.textContent;
  if (text == null) throw new Error('This page does not contain that; awb view shows it.');
  return JSON.parse(text);
}

async function fromServer(name: string): Promise<unknown> {
  const response = await fetch(`api/${name}${location.search}`).catch(() => undefined);
  if (response === undefined) throw new Error('The viewer does not answer. Start awb view again and reload.');
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** From disk, pages may not fetch but can load scripts. Each script hands over its document. */
function fromFile(name: string): Promise<unknown> {
  return new Promise((done, failed) => {
    const script = document.createElement('script');
    const fail = () => failed(new Error('This folder does not contain that; awb view shows it.'));
    script.src = `data/${name.replaceAll('/', '-')}.js`;
    script.onerror = fail;
    script.onload = () => {
      script.remove();
      if (handedOver.has(script)) done(handedOver.get(script));
      else fail();
    };
    document.head.append(script);
  });
}
/** By script, since a document may be loaded twice at once. */
const handedOver = new WeakMap<object, unknown>();
Object.assign(globalThis, {
  awb: (_name: string, value: unknown) => document.currentScript && handedOver.set(document.currentScript, value),
});

/** The loading state of a document. */
export type Loading<T> = { readonly value?: T; readonly error?: string };

/** A document for a component, which is redrawn once it is loaded. The previous one stays until then. */
export function useDocument<N extends DocumentName>(name: N): Loading<Documents[N]> {
  const [state, setState] = useState<Loading<Documents[N]> & { readonly name?: string }>({});
  useEffect(() => {
    let isWanted = true;
    const tell = (next: Loading<Documents[N]>) => isWanted && setState({ ...next, name });
    load(name).then(
      (value) => tell({ value }),
      (error: unknown) => tell({ error: messageOf(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [name]);
  return state.name === name ? state : {};
}

/** The viewer's contents, polled while there is a server and the page is visible. */
export function useIndex(): Loading<Index> {
  const first = useDocument('index');
  const [later, setLater] = useState<Loading<Index>>({});
  const isLive = first.value?.isLive === true;
  useEffect(() => {
    if (!isLive) return;
    let before = '';
    const ask = async () => {
      try {
        // The server's document of this name has this type.
        const value = (await fromServer('index')) as Index;
        const now = JSON.stringify(value);
        // Documents read before may also have changed.
        if (now !== before) loaded.clear();
        before = now;
        setLater({ value });
      } catch (error) {
        setLater((known) => ({ ...known, error: messageOf(error) }));
      }
    };
    const timer = setInterval(() => document.hidden || ask(), POLL_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  return { ...first, ...later };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
