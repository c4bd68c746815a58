// How far judges agree, in a browser: a judge with people, and the judges of a panel.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { agreementOfPanel } from '../../../src/report/agreement.js';
import { readManifest } from '../../../src/run/manifest.js';
import { panelDocument, shownAgreement } from '../../../src/view/result-documents.js';
import { expectAccessible, INDEX, noBrowser, textOf, useBrowser } from '../../support/app.js';
import { awb, temporaryFolder } from '../../support/cli.js';
import { around, judgedRun } from '../../support/judged-runs.js';
import { judgedFile, ratingLine } from '../../support/people.js';

/** A panel of two judges, of which the second failed on some rows: what it printed, and what its manifest says. */
async function panel(...options: string[]) {
  const dir = await temporaryFolder();
  const identity = (judge: string) => ({ identity: { judge } });
  /** Both judged the same predictions. */
  const begin = async (folder: string) => {
    const file = join(dir, folder, 'judged.manifest.json');
    const manifest = JSON.parse(await readFile(file, 'utf8'));
    manifest.predictions.startedAt = '2026-01-01T00:00:00.000Z';
    await writeFile(file, JSON.stringify({ ...manifest, endpoints: [], servedModels: [], tokens: {} }));
  };
  await judgedRun(join(dir, 'a'), { rating: around(3), refuses: (_, row) => row === 7, ...identity('a') });
  await judgedRun(join(dir, 'b'), {
    rating: (domain, row) => (row % 6 === 0 ? undefined : around(3.2, 1)(domain, row)),
    refuses: (_, row) => row === 7,
    ...identity('b<script>\u202e'),
  });
  await begin('a');
  await begin('b');
  const { stdout, stderr } = await awb(['panel', 'a', 'b', '-o', 'panel.jsonl', '--json', ...options], { cwd: dir });
  const manifest = await readManifest(join(dir, 'panel.manifest.json'));
  if (manifest === undefined) throw new Error(stderr);
  return { printed: JSON.parse(stdout), found: panelDocument(manifest) };
}

test.each([[[]], [['--quorum', '1', '--combine', 'median']]])(
  'a panel is read from its manifest as it was printed: %j',
  async (options) => {
    const { printed, found } = await panel(...options);
    expect(printed).toMatchObject({ predictions: 140, model_caused: 7 });
    expect(found).toEqual(shownAgreement('Panel of judges', agreementOfPanel(printed)));
  },
);

describe.skipIf(noBrowser)('the page', () => {
  const { open, openDocuments } = useBrowser();

  test('of a panel has its judges, what each gave, and how far they agree', async () => {
    const { found } = await panel();
    const { page, complaints, requests } = await openDocuments({ index: INDEX, 'panel/x': found }, '/panel/x');
    await page.waitForSelector('table');
    const text = await textOf(page);
    expect(text).toContain('panel of 2 judges, mean of their ratings; each row needs all of them');
    expect(text).toMatch(/rated: \d+ of 140 predictions; 7 failed by the world model itself/);
    expect(await page.locator('h2').allInnerTexts()).toEqual(['Judge', 'Agreement']);
    expect(text).toContain('b<script>');
    expect(text).not.toContain('\u202e');
    expect(text).toContain("Krippendorff's alpha between the judges");
    expect(complaints).toEqual([]);
    expect(requests).toHaveLength(1);
    await expectAccessible(page);
  });

  test('that awb agree --html writes compares a judge with people', async () => {
    const dir = await temporaryFolder();
    const rows = Array.from({ length: 12 }, (_, at) => ({ name: `k${at}`, domain: 'mcp', rating: 1 + (at % 5) }));
    const predictions = await judgedFile(join(dir, 'run'), rows);
    const lines = rows.map((row, at) => ratingLine(row, 'Ann', Math.max(1, row.rating - (at % 3 === 0 ? 1 : 0))));
    await writeFile(join(dir, 'ann.jsonl'), lines.join(''));
    const args = ['agree', '--ratings', 'ann.jsonl', '--predictions', predictions, '--html', 'agree.html'];
    const { stderr } = await awb(args, { cwd: dir });
    expect(stderr).toMatch(/^page: file:.*agree\.html\n$/);
    const { page } = await open(pathToFileURL(join(dir, 'agree.html')).href);
    await page.waitForSelector('table');
    const text = await textOf(page);
    expect(text).toContain('1 person rated 12 predictions of 12 trajectories. By rater: Ann 12.');
    expect(text).toMatch(/Factuality -?\d\.\d\d -?\d\.\d\d to/);
    expect(text).toContain('under People: no two people rated the same predictions');
    await expectAccessible(page);
  });
});
