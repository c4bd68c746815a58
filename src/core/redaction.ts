// Removes secrets from text, both unchanged and in the forms that a server may write: escaped, percent-encoded, in base64 or in
// hexadecimal.

import { isObject } from './json.js';
import { escaped } from './printable.js';

/** A text without the secrets. */
export type Redact = (text: string) => string;

/** A shorter secret would occur in ordinary text. */
const SHORTEST_SECRET = 6;
const REDACTED = '[redacted]';

/**
 * Redacts each secret of at least six characters, except the key EMPTY, which means no key. In base64 a secret shares its first and
 * last character with neighbouring bytes: these two stay, and each contains less than a byte of the secret.
 */
export function openRedaction(secrets: readonly string[]): Redact {
  const real = realOnes(secrets);
  // Longest first, so that none is cut by a part of it.
  const forms = [...new Set(real.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  const percent = [...real].sort((a, b) => b.length - a.length).map((secret) => percentPattern(secret));
  return (text) => {
    // Searching for fixed text takes a tenth of the time of a pattern, so only this one form is a pattern.
    let clean = text;
    for (const form of forms) if (clean.includes(form)) clean = clean.replaceAll(form, REDACTED);
    if (clean.includes('%')) for (const pattern of percent) clean = clean.replace(pattern, REDACTED);
    return clean;
  };
}

/**
 * Redacts a text that arrives in pieces: what could be the start of a secret is held back until more of the text, or its end, shows
 * whether it is one.
 */
export function openGrowingRedaction(secrets: readonly string[]): { add(piece: string): string; end(): string } {
  const redact = openRedaction(secrets);
  const real = realOnes(secrets);
  const forms = real.flatMap(formsOf);
  const longest = Math.max(0, ...forms.map(({ length }) => length), ...real.map((secret) => secret.length * 9));
  const couldBegin = (text: string) =>
    forms.some((form) => form.startsWith(text)) || real.some((secret) => couldBeginInUrl(text, secret));
  let held = '';
  return {
    add(piece) {
      const text = redact(held + piece);
      let from = Math.max(0, text.length - longest);
      while (from < text.length && !couldBegin(text.slice(from))) from++;
      held = text.slice(from);
      return text.slice(0, from);
    },
    end() {
      const rest = held;
      held = '';
      return rest;
    },
  };
}

/** Percent-encoding applies to each character separately, so there are many forms. */
function couldBeginInUrl(text: string, secret: string): boolean {
  let rest = text.toLowerCase();
  for (const character of secret.toLowerCase()) {
    if (rest === '') return true;
    const form = [character, percentEncoded(character)].find((one) => rest.startsWith(one) || one.startsWith(rest));
    if (form === undefined) return false;
    rest = rest.slice(form.length);
  }
  return rest === '';
}

function realOnes(secrets: readonly string[]): string[] {
  return [...new Set(secrets)].filter((secret) => secret.length >= SHORTEST_SECRET && secret !== 'EMPTY');
}

/**
 * A JSON value without the secrets, including in its names. A number that contains a secret's digits becomes text, since no number
 * could replace it.
 */
export function redactValue(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value === 'number') return redact(String(value)) === String(value) ? value : REDACTED;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [redact(name), redactValue(inner, redact)]));
}

/** Words that make a following `key` a secret; a cache's key is not one. */
const SECRET_KEY =
  /^(?:api|access|account|admin|auth|client|encryption|license|master|private|provider|secret|service|signing|ssh|subscription)$/;
/** Words that make a following `token` one of a model's vocabulary. Plural `tokens` are counted or listed, unless they grant access. */
const MODEL_TOKEN =
  /^(?:audio|begin|bos|cls|completion|decoder|each|end|eos|first|generation|image|input|last|mask|max|min|new|next|output|pad|per|prefix|prompt|reasoning|sep|special|start|stop|suffix|text|think|thinking|tool|unk|video)$/;
const ACCESS = /^(?:access|api|auth|bearer|refresh|secret|security|session)$/;
const SECRET =
  /(?:secrets?|passwords?|passwd|passphrase|pwd|credentials?|authori[sz]ation|authentication)$|^(?:auth|bearer|cookies?|jwt)$/;

/** Whether a member of a body is named like a key: `api_key`, `X-API-Key`, `accessToken`, but not `max_tokens` or `prompt_cache_key`. */
function isKeyName(name: string): boolean {
  const words =
    name
      .replace(/([a-z\d])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[a-z]+/g) ?? [];
  if (words.at(-1) === 'header') words.pop();
  const last = words.pop() ?? '';
  if (SECRET.test(last)) return true;
  const [, start = '', noun, many] = /^(.*?)(key|token)(s?)$/.exec(last) ?? [];
  const before = start || words.at(-1);
  if (before === undefined) return noun !== undefined && many === '';
  if (noun === 'key') return SECRET_KEY.test(before) || /api$/.test(before);
  return noun === 'token' && (many === '' ? !MODEL_TOKEN.test(before) : ACCESS.test(before));
}

/** Whether a text, JSON or not, contains a word that is named like a key. */
export function namesKey(text: string): boolean {
  return (text.match(/[\w-]+/g) ?? []).some(isKeyName);
}

/** Returns the replacement of a key; undefined removes it. `place` is its path: `metadata.api_key`. */
type HideKey = (text: string, place: string) => string | undefined;

/** A JSON value without the texts named like a key, at any depth, and without containers that become empty. */
export function hideKeys<T>(value: T, hide: HideKey = () => undefined): T {
  const walk = (inner: unknown, place: string, isKey: boolean): unknown => {
    if (typeof inner === 'string') return isKey && inner !== '' ? hide(inner, place) : inner;
    if (Array.isArray(inner)) return inner.map((item) => walk(item, place, isKey)).filter((item) => item !== undefined);
    if (!isObject(inner)) return inner;
    const members = Object.entries(inner).map(([name, one]) => {
      const isNamed = isKeyName(name) || (isKey && name === 'value');
      return [name, walk(one, place === '' ? name : `${place}.${name}`, isNamed)] as const;
    });
    const left = members.filter(([, one]) => one !== undefined);
    return left.length === 0 && members.length > 0 ? undefined : Object.fromEntries(left);
  };
  // The result has the shape of the value except for hidden texts.
  return walk(value, '', false) as T;
}

/** The texts that `hideKeys` hides. */
export function keysIn(value: unknown): string[] {
  const texts: string[] = [];
  hideKeys(value, (text) => void texts.push(text));
  return texts;
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** The fixed texts that a secret may be written as. */
function formsOf(secret: string): string[] {
  const hex = Buffer.from(secret).toString('hex');
  const base64 = [0, 1, 2].map((before) => base64Of(secret, before));
  const base64Url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const json = JSON.stringify(secret).slice(1, -1);
  // PHP escapes slashes in JSON as well.
  const text = [secret, json, json.replaceAll('/', '\\/'), secret.replace(/[&<>"]/g, (sign) => HTML[sign] ?? sign)];
  const plain = [...text, hex, hex.toUpperCase(), ...base64, ...base64Url];
  return [...plain, ...base64.map(encodeURIComponent)];
}

/** How many leading characters of a group of four contain bits of the preceding bytes, by the number of these bytes. */
const SHARED = [0, 2, 3];

/** A text in base64 (RFC 4648, section 4) after `before` other bytes of its group of three: only the characters without foreign bits. */
function base64Of(text: string, before: number): string {
  const group = Buffer.from('\0'.repeat(before) + text);
  return group.toString('base64').slice(SHARED[before], Math.floor((group.length * 8) / 6));
}

/** A character in a URL, percent-encoded byte by byte. */
function percentEncoded(character: string): string {
  return Buffer.from(character).toString('hex').replace(/../g, '%$&');
}

/** A secret in a URL: each byte plain or percent-encoded, in either case. */
function percentPattern(secret: string): RegExp {
  const characters = [...secret].map((character) => {
    const anyCase = percentEncoded(character).replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
    return `(?:${escaped(character)}|${anyCase})`;
  });
  return new RegExp(characters.join(''), 'g');
}
