// The form and destination of a command's text, and the browser that shows a page.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { codeOf, UserError } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { replaceFile } from '../disk/files.js';
import { option } from '../settings/command.js';

interface FormatSettings<Format> {
  readonly format?: Format | undefined;
  readonly json: boolean;
  readonly output?: string | undefined;
}

/**
 * The form given by --json, by --format or by the file's extension, else `terminal`.
 * @throws UserError (2) if --json and --format disagree.
 */
export function formatOf<Format extends string>(
  { format, json, output }: FormatSettings<Format>,
  formats: Readonly<Record<Format, { readonly endings: readonly string[] }>>,
): Format | 'json' | 'terminal' {
  if (json && format !== undefined && format !== 'json') {
    throw new UserError(`--json and --format ${format} cannot be combined; leave one out`);
  }
  if (json) return 'json';
  const ending = extname(output ?? '').toLowerCase();
  return format ?? keysOf(formats).find((name) => formats[name].endings.includes(ending)) ?? 'terminal';
}

/** Prints a result: with --json its document, else its text. */
export function print(
  document: object,
  text: () => string,
  { json }: { readonly json: boolean },
  { stdout }: Pick<Io, 'stdout'>,
): void {
  stdout.write(json ? `${JSON.stringify(document)}\n` : text());
}

/** Prints notes for the user on stderr, one line each; none with --quiet. */
export function noting({ quiet }: { readonly quiet: boolean }, { stderr }: Pick<Io, 'stderr'>): (text: string) => void {
  return (text) => {
    if (!quiet) stderr.write(`note: ${printable(text)}\n`);
  };
}

/** Writes a text to stdout, or to the file of --output. @throws UserError (74) */
export async function deliver(
  text: string,
  { output, quiet }: { readonly output?: string | undefined; readonly quiet: boolean },
  io: Io,
): Promise<void> {
  if (output === undefined) {
    io.stdout.write(text);
    return;
  }
  await writeText(output, text, '--output', io);
  if (!quiet) io.stderr.write(`written: ${printable(output)}\n`);
}

/** Writes a text to the file that a flag names. @throws UserError (74) that names the flag. */
export async function writeText(path: string, text: string, flag: string, io: Io): Promise<void> {
  await replaceFile(resolve(io.cwd, path), [text], { name: path, remedy: `name another file with ${flag}` });
}

/** Extensions of data, judgings, settings and models, which a page must not replace. */
const NO_PAGE = /\.(jsonl|json|csv|ya?ml|sqlite3?|db|gguf)$/i;

/** The option `open` of commands that write a page. */
export const OPEN = option.flag('open the page in the browser (BROWSER, or the default one)');

/**
 * Prevents a page, which replaces any file of its name, from replacing data.
 * @param path undefined if no page is written; there is then none to open
 * @throws UserError (2) that names the flag
 */
export function requirePageName(path: string | undefined, flag: string, { open }: { readonly open: boolean }): void {
  if (path === undefined && open) {
    throw new UserError(`--open needs a page; name one with ${flag} FILE.html, or leave --open out`);
  }
  if (path === undefined || !NO_PAGE.test(path)) return;
  throw new UserError(`${flag} ${printable(path)}: a page would replace that file; use a name that ends in .html`);
}

/** The `file:` link of a written page; with --open, the browser shows it. It is percent-encoded, so it is safe to print. */
export async function pageLink(path: string, { open }: { readonly open: boolean }, io: Io): Promise<string> {
  const { href } = pathToFileURL(resolve(io.cwd, path));
  if (open) await openInBrowser(href, io);
  return href;
}

/** The command that opens an address, by platform. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens an address (`file:` or `http:`) in the browser: the command in BROWSER, or the system's default. It outlives this process.
 * Resolves once it has started; if that fails, stderr says so.
 */
export async function openInBrowser(url: string, { env, stderr }: Pick<Io, 'env' | 'stderr'>): Promise<void> {
  const [command = 'xdg-open', ...args] = env.BROWSER ? [env.BROWSER] : (OPENERS[process.platform] ?? []);
  try {
    const child = spawn(command, [...args, url], { detached: true, stdio: 'ignore', env: { ...env } });
    child.unref();
    await once(child, 'spawn');
  } catch (error) {
    stderr.write(`note: cannot start ${printable(command)} (${codeOf(error)}); open ${url} yourself\n`);
  }
}
