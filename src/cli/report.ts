// awb report: a judged run -> an HTML page with its scores, its charts and every sample; against another run, where one is named.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { EXIT, interruption, UserError } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { policyHash, requirePageName, writeText } from '../results/output.js';
import type { ReadRun } from '../results/read-run.js';
import { defineCommand, option, toolVersion } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import { readFromFile, withTexts } from '../view/reading.js';
import { reportPage } from '../view/report.js';
import { reportOn } from '../view/report-contents.js';
import { gather, readSpending } from '../view/report-samples.js';
import { scenarioPage } from '../view/scenario-page.js';
import { scenarioReport } from '../view/scenarios.js';
import { collectTexts } from '../view/texts.js';

/** What the build makes of src/view/browser; this file stands as deep in src as in dist. */
const SCRIPT = new URL('../../dist/view/browser.js', import.meta.url);

export const command = defineCommand({
  description:
    'Writes an HTML page about a judged run: scores and charts, and every sample with its prediction beside the ground truth; of a run on scenarios, beside the same row without the instruction. It needs no network and no server: open the file.',
  examples: {
    'awb report --run out/judged.jsonl -o report.html': 'a judged file',
    'awb report --run step-200 --compare step-100 -o report.html': 'a checkpoint against another',
  },
  options: {
    run: JUDGED_RUN,
    compare: option.text('RUN', 'another run, to show what changed against it', { namesRun: true }),
    db: RUN_OPTIONS.db,
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean rows'),
    output: option.text('FILE', 'the page to write', { short: 'o', default: 'report.html' }),
    'inline-limit': option.number('megabytes of texts above which histories are left out', { min: 0, default: 64 }),
  },
  async run(settings, io) {
    requirePageName(settings.output, '--output');
    const run = await readFromFile(settings.run, settings, io);
    const { compare: otherName, dataDir, inlineLimit } = settings;
    const isScenarios = run.made.mode === 'scenarios';
    if (isScenarios && otherName !== undefined) {
      throw new UserError('--compare is for judged runs; awb leaderboard holds runs on scenarios against each other');
    }
    const other = otherName === undefined ? undefined : await readFromFile(otherName, settings, io, run);
    const made = isScenarios
      ? await pageOfScenarios(run, inlineLimit, io)
      : await pageOfRun(run, other, { dataDir, inlineLimit }, io);
    if (made === undefined) return interruption(io.stop);
    const { samples, page } = made;
    await writeText(settings.output, page, '--output', io);
    const [output, bytes] = [resolve(io.cwd, settings.output), Buffer.byteLength(page)];
    const described = ({ name, source }: ReadRun) => ({ name, source });
    const compare = other ? described(other) : null;
    io.stdout.write(
      settings.json
        ? `${JSON.stringify({ schema: 'awb.report/1', output, samples, bytes, run: described(run), compare })}\n`
        : `written: ${shownPath(output, io)} (${samples} samples, ${(bytes / 1e6).toFixed(1)} MB)\n`,
    );
    return EXIT.done;
  },
});

async function pageOfRun(
  run: ReadRun,
  other: ReadRun | undefined,
  { dataDir, inlineLimit }: { readonly dataDir: string | undefined; readonly inlineLimit: number },
  io: Io,
) {
  const texts = collectTexts(inlineLimit * 1e6);
  const { costs, linesOf } = await readSpending(run, io);
  const gathered = await withTexts(run, other, dataDir, io, (own, others) => gather(own, others, texts, io, linesOf));
  if (gathered === undefined) return undefined;
  const notes = texts.hasHistories
    ? []
    : [
        `Histories are left out: all texts are more than ${inlineLimit} MB (--inline-limit), and this page has no room for them.`,
      ];
  const contents = reportOn(run, other, gathered, costs, notes);
  const script = await readFile(SCRIPT, 'utf8');
  const page = reportPage(contents, texts.json(), { tool: `awb ${toolVersion()}`, script, sha256: policyHash });
  return { samples: contents.samples.length, page };
}

async function pageOfScenarios(run: ReadRun, inlineLimit: number, io: Io) {
  const made = await scenarioReport(run, inlineLimit * 1e6, io.stop);
  return { samples: made.samples.length, page: scenarioPage(made, `awb ${toolVersion()}`, policyHash) };
}
