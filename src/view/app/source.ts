// Where the app's documents come from: elements of the page, files next to it, or the server behind it.

import { useEffect, useState } from 'preact/hooks';
import type { DocumentName, Documents, Index } from '../documents.js';

export const SOURCE = document.querySelector<HTMLMetaElement>('meta[name=awb-source]')?.content ?? 'inline';
/** How often a server is asked what has changed, in milliseconds. */
const POLL_MS = 3000;

const loaded = new Map<string, Promise<unknown>>();

/** Documents that are kept: a search reads all texts of a run, more than a browser holds. */
const MOST_KEPT = 24;

/** A document, read once while it is in use. Rejects where it is not there, with a sentence for the reader. */
export function load<N extends DocumentName>(name: N): Promise<Documents[N]> {
  const found = loaded.get(name) ?? read(name);
  // The last in the map was asked for last.
  loaded.delete(name);
  loaded.set(name, found);
  for (const oldest of loaded.keys()) if (loaded.size > MOST_KEPT) loaded.delete(oldest);
  // What failed may be there at the next try.
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
  if (text == null) throw new Error('This page does not hold that; awb view shows it.');
  return JSON.parse(text);
}

async function fromServer(name: string): Promise<unknown> {
  const response = await fetch(`api/${name}${location.search}`).catch(() => undefined);
  if (response === undefined) throw new Error('The viewer does not answer. Start awb view again, and reload.');
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** Scripts can be read from a disk, where pages may not fetch. Each hands over its document. */
function fromFile(name: string): Promise<unknown> {
  return new Promise((done, failed) => {
    const script = document.createElement('script');
    const fail = () => failed(new Error('This folder does not hold that; awb view shows it.'));
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
/** By the script that it came from: a document may be loaded twice at once. */
const handedOver = new WeakMap<object, unknown>();
Object.assign(globalThis, {
  awb: (_name: string, value: unknown) => document.currentScript && handedOver.set(document.currentScript, value),
});

/** What is known of a document so far. */
export type Loading<T> = { readonly value?: T; readonly error?: string };

/** A document for a component, which is drawn again once it is there. The previous one stays until then. */
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

/** What there is to see, asked for again and again while a server stands behind it and somebody looks. */
export function useIndex(): Loading<Index> {
  const first = useDocument('index');
  const [later, setLater] = useState<Loading<Index>>({});
  const isLive = first.value?.isLive === true;
  useEffect(() => {
    if (!isLive) return;
    let before = '';
    const ask = async () => {
      try {
        // The server's own document of this name.
        const value = (await fromServer('index')) as Index;
        const now = JSON.stringify(value);
        // What was read before may have changed with it.
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
