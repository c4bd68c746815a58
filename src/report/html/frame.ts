// What the HTML pages share: their look, text as markup, and a head under which a page can ask for nothing.

import { oneLine, printable } from '../../core/printable.js';
import { STYLE } from './style.js';

/** SHA-256 of a text's UTF-8 bytes in base64. */
export type Sha256 = (text: string) => string;

/** Text as markup: nothing in it can end an element or an attribute, steer the page, or hide. */
export function escapeHtml(text: string): string {
  return escaped(oneLine(text, 4000));
}

/** The same of a text of several lines, which stays as long as it is. */
export function escapeText(text: string): string {
  return escaped(printable(text, { multiline: true }));
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/**
 * The start of a page up to its body's first element. A policy allows the page's own style, and its script where it has one, by
 * their hashes, and no request.
 * @param own what it runs, and what it looks like beyond the other pages
 */
export function pageHead(
  title: string,
  sha256: Sha256,
  { script, style = '' }: { readonly script?: string; readonly style?: string } = {},
): string {
  const look = STYLE + style;
  const policy = [
    "default-src 'none'",
    ...(script === undefined ? [] : [`script-src 'sha256-${sha256(script)}'`]),
    `style-src 'sha256-${sha256(look)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">',
    `<link rel="icon" href="data:,"><title>${escapeHtml(title)}</title><style>${look}</style></head><body>`,
    '<a class="skip" href="#main">Skip to the content</a>',
  ].join('');
}

/** A part of a page under its heading, with a note on how to read it. All three are markup. */
export function block(title: string, note: string, body: string): string {
  return `<section class="block"><h2>${title}</h2><p class="note">${note}</p>${body}</section>`;
}

/** JSON without `<`: nothing in it can end the script element that it stands in. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}
