// The app in a real Chromium: pages opened from files or a server, their errors, their requests, and their accessibility.

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import type { DocumentName, Index } from '../../src/view/documents.js';
import { staticPage } from '../../src/view/page.js';
import { folderOf } from './folder.js';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Why tests that need a browser are skipped; undefined if there is one. */
export const noBrowser = existsSync(CHROMIUM) ? undefined : `there is no ${CHROMIUM} (apt-get install chromium)`;

/** The other contents of a page with a single document: nothing. */
export const INDEX: Index = {
  tool: 'awb 0',
  isLive: false,
  scoresOnly: true,
  runs: [],
  episodes: [],
  work: [],
  unread: [],
};

/** The text of a page, on one line. */
export async function textOf(page: Page): Promise<string> {
  return (await page.innerText('main')).replace(/\s+/g, ' ');
}

export interface Opened {
  readonly page: Page;
  /** Requested addresses, including the page itself. */
  readonly requests: string[];
  /** Errors and warnings on the console, exceptions, and what the content security policy blocked. */
  readonly complaints: string[];
}

/** A browser for the tests of a file, which call the returned functions. */
export function useBrowser() {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  });
  afterAll(() => browser?.close());

  async function open(url: string, { width = 1280, height = 900, dark = false } = {}): Promise<Opened> {
    const page = await (browser as Browser).newPage({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
    });
    const [requests, complaints]: [string[], string[]] = [[], []];
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => /error|warning/.test(message.type()) && complaints.push(message.text()));
    await page.goto(url);
    return { page, requests, complaints };
  }

  /** Opens documents as a static page. */
  async function openDocuments(
    documents: Readonly<Partial<Record<DocumentName, unknown>>>,
    start: string,
    look?: Parameters<typeof open>[1],
  ): Promise<Opened> {
    // The names are those of the documents.
    const entries = Object.entries(documents) as [DocumentName, unknown][];
    const path = join(await folderOf({}), 'page.html');
    await writeFile(path, await staticPage({ title: 'A page', start }, entries));
    return open(pathToFileURL(path).href, look);
  }

  return { open, openDocuments };
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Fails if axe-core finds a serious problem on the current page. */
export async function expectAccessible(page: Page): Promise<void> {
  // Through the debugging protocol, so the page's policy does not block it.
  await page.evaluate(await readFile(AXE, 'utf8'));
  const found = await page.evaluate(async () => {
    // axe-core sets it.
    const { violations } = await (
      globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } }
    ).axe.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, help, nodes }) =>
          `${id}: ${help} (${nodes
            .slice(0, 3)
            .map(({ html }) => html.slice(0, 160))
            .join(' | ')})`,
      );
  });
  expect(found).toEqual([]);
}

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}
