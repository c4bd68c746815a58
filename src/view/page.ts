// A page of the app in one file, including its documents; and the HTML frame that all forms of the app share.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { oneLine } from '../core/printable.js';
import type { DocumentName } from './documents.js';

/** Where the app finds its documents (`app/source.ts`), and its first page. */
interface Frame {
  readonly title: string;
  readonly source: 'inline' | 'files' | 'server';
  readonly start?: string | undefined;
  readonly policy: string;
}

/** A file of the built app, or of the rating page. This module has the same depth in src and in dist. */
export function builtFile(name: 'app.js' | 'app.css' | 'rate.js' | 'rate.css'): Promise<string> {
  return readFile(new URL(`../../dist/view/${name}`, import.meta.url), 'utf8');
}

/** No page of awb makes requests elsewhere, is framed, or sends a form. */
export const SAFE_POLICY = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'";

/** The page around the app. @param head its styles; @param body what follows its root: documents and scripts */
export function frame({ title, source, start, policy }: Frame, head: string, body: readonly string[]): string[] {
  const metas = [
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">',
    `<meta name="awb-source" content="${source}">`,
    start === undefined ? '' : `<meta name="awb-start" content="${escaped(start)}">`,
    `<link rel="icon" href="data:,"><title>${escaped(oneLine(title, 200))}</title>`,
  ];
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">${metas.join('')}${head}</head><body>`,
    '<a class="skip" href="#main">Skip to the content</a><div id="app"></div>',
    '<noscript><p>This page needs JavaScript; it contains all its scripts.</p></noscript>',
    ...body,
    '</body></html>\n',
  ];
}

/**
 * A page in one file, as pieces to write one after another. Its policy allows its own style and script by hash, and no requests.
 * @param documents by name; model texts in them may be hostile
 */
export async function staticPage(
  page: { readonly title: string; readonly start?: string; readonly script?: 'app.js' | 'rate.js' },
  documents: Iterable<readonly [DocumentName | 'rating', unknown]>,
): Promise<string[]> {
  const { title, start, script = 'app.js' } = page;
  const styles = script === 'app.js' ? 'app.css' : 'rate.css';
  const [code, look] = await Promise.all([builtFile(script), builtFile(styles)]);
  const policy = `${SAFE_POLICY}; script-src 'sha256-${sha256(code)}'; style-src 'sha256-${sha256(look)}'`;
  const elements = Array.from(
    documents,
    ([name, value]) => `<script type="application/json" id="${name}">${scriptJson(value)}</script>`,
  );
  return frame({ title, source: 'inline', start, policy }, `<style>${look}</style>`, [
    ...elements,
    `<script>${code}</script>`,
  ]);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** JSON without `<`, so that nothing in it can end its script element. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&${ENTITIES[character]};`);
}
