// awb report: a judged run -> an HTML page with its scores, its charts and every sample; against another run, where one is named.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, interruption, UserError } from '../core/errors.js';
import type { Io } from '../core/types.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { policyHash, requirePageName, writeText } from '../results/output.js';
import type { ReadRun } from '../results/read-run.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { shownPath } from '../settings/shown-path.js';
import { pagesAt, type Written } from '../view/files.js';
import { readFromFile, withTexts } from '../view/reading.js';
import { describe } from '../view/report-contents.js';
import { gather } from '../view/report-samples.js';
import { readSpending } from '../view/report-spending.js';
import { scenarioPage } from '../view/scenarios/page.js';
import { scenarioReport } from '../view/scenarios.js';

const OPTIONS = {
  run: JUDGED_RUN,
  compare: { kind: 'text', namesRun: true, value: 'RUN', help: 'another run, to show what changed against it' },
  db: RUN_OPTIONS.db,
  'data-dir': { kind: 'text', value: 'DIR', help: 'folder of *_test.jsonl files, for lean rows' },
  output: { kind: 'text', value: 'FILE', short: 'o', default: 'report.html', help: 'the page to write' },
  'inline-limit': {
    kind: 'number',
    min: 0,
    default: 64,
    help: 'megabytes of texts up to which they are part of the page; more become pages beside it',
  },
} as const satisfies OptionTable;

type ReportSettings = Settings<typeof OPTIONS>;

export const command = defineCommand({
  description:
    'Writes an HTML page about a judged run: scores and charts, and every sample with its prediction beside the ground truth; of a run on scenarios, beside the same row without the instruction. It needs no network and no server: open the file.',
  examples: [
    { line: 'awb report --run out/judged.jsonl -o report.html', does: 'a judged file' },
    {
      line: 'awb report --run step-200 --compare step-100 -o report.html',
      does: 'a checkpoint against another',
    },
  ],
  options: OPTIONS,
  run: report,
});

/**
 * Writes the report.
 * @returns 0, or the code of an interruption.
 * @throws UserError: 2 for an unknown run or a page named like data, 66 and 65 for the input, 74 where the page cannot be written.
 */
async function report(settings: ReportSettings, io: Io): Promise<ExitCode> {
  requirePageName(settings.output, '--output');
  const output = resolve(io.cwd, settings.output);
  const run = await readFromFile(settings.run, settings, io);
  if (run.made.mode === 'scenarios') return reportScenarios(run, output, settings, io);
  const other = settings.compare === undefined ? undefined : await readFromFile(settings.compare, settings, io, run);
  const pages = pagesAt(output, settings.inlineLimit * 1_000_000);
  try {
    const { spending, linesOf } = await readSpending(run, io);
    const gathered = await withTexts(run, other, settings.dataDir, io, (own, others) =>
      gather(own, others, pages, io, linesOf),
    );
    if (gathered === undefined) return interruption(io.stop);
    const written = await pages.write(describe(run, other, gathered, spending));
    io.stdout.write(
      settings.json ? `${JSON.stringify(documentOf(run, other, output, written))}\n` : page(output, written, io),
    );
    return EXIT.done;
  } finally {
    await pages.discard();
  }
}

async function reportScenarios(run: ReadRun, output: string, settings: ReportSettings, io: Io): Promise<ExitCode> {
  if (settings.compare !== undefined) {
    throw new UserError(
      '--compare shows what judged runs rate differently; awb leaderboard holds runs on scenarios against each other',
    );
  }
  const made = await scenarioReport(run, settings.inlineLimit * 1_000_000, io.stop);
  const text = scenarioPage(made, policyHash);
  await writeText(settings.output, text, '--output', io);
  const written = { samples: made.samples.length, bytes: Buffer.byteLength(text) };
  io.stdout.write(
    settings.json ? `${JSON.stringify(documentOf(run, undefined, output, written))}\n` : page(output, written, io),
  );
  return EXIT.done;
}

function page(output: string, { samples, bytes, texts }: Written, io: Io): string {
  const shown = (path: string) => shownPath(path, io);
  const lines = [`written: ${shown(output)} (${samples} samples, ${(bytes / 1e6).toFixed(1)} MB)`];
  if (texts !== undefined)
    lines.push(`texts: ${texts.pages} pages in ${shown(texts.folder)}, which the page links to: keep both together`);
  return `${lines.join('\n')}\n`;
}

function documentOf(run: ReadRun, other: ReadRun | undefined, output: string, { samples, bytes, texts }: Written) {
  const described = (each: ReadRun) => ({ name: each.name, source: each.source });
  return {
    schema: 'awb.report/1',
    output,
    texts: texts?.folder ?? null,
    pages: texts?.pages ?? 0,
    samples,
    bytes,
    run: described(run),
    compare: other === undefined ? null : described(other),
  };
}
