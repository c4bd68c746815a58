// A bundle in a browser, from a slow web server.

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { writeBundle } from '../../../src/view/bundle.js';
import type { DocumentName } from '../../../src/view/documents.js';
import { noBrowser, useBrowser } from '../../support/app.js';
import { sampleDocuments } from '../../support/app-samples.js';
import { temporaryFolder } from '../../support/cli.js';
import { ioIn } from '../../support/io.js';

/** Serves a folder. What `isHeld` names is answered once it is released. */
async function serveFolder(dir: string, isHeld: (path: string) => boolean) {
  let release = () => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', html: 'text/html' };
  const server = createServer(async ({ url = '' }, response) => {
    if (isHeld(url)) await released;
    const body = await readFile(join(dir, url)).catch(() => undefined);
    response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': types[url.split('.').at(-1) ?? ''] ?? '' });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  // It listens at a port.
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/index.html`, release };
}

describe.skipIf(noBrowser)('a bundle', () => {
  const { open } = useBrowser();

  test('shows a sample whose texts are requested again before they arrive', async () => {
    // More trajectories than the app keeps, so that a search comes upon a document that it let go.
    const { index, ...documents } = sampleDocuments(200, 40);
    async function* all() {
      // The names are those of the documents.
      yield* Object.entries({ ...documents, index }) as [DocumentName, unknown][];
    }
    const dir = await temporaryFolder();
    await writeBundle(dir, all(), ioIn(dir));
    const { url, release } = await serveFolder(dir, (path) => path === '/data/texts-run-39.js');
    // Turn by turn, the trajectory of the sample comes last.
    const { page, complaints } = await open(`${url}#/run/run/samples?sort=turn&sample=key199%230&text=log&texts=1`);
    await page.locator('head script[src="data/texts-run-39.js"]').nth(1).waitFor({ state: 'attached' });
    release();
    await page.locator('.difference').waitFor();
    await page.getByText('searched 40 of 40 trajectories').waitFor();
    expect(complaints).toEqual([]);
  });
});
