// awb rate: samples of a judged run -> a page on which people rate them, by keyboard and without seeing what the judge says.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { EXIT, type ExitCode, interruption, UserError } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { PERSON_RATING_SCHEMA } from '../core/person-rating.js';
import { shellLine } from '../core/shell.js';
import type { Io } from '../core/types.js';
import { replaceFile } from '../disk/files.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { policyHash, requirePageName } from '../results/output.js';
import type { ReadRun } from '../results/read-run.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { programName } from '../settings/program-name.js';
import { shownPath } from '../settings/shown-path.js';
import { toolVersion } from '../settings/version.js';
import type { RatingPageData } from '../view/data.js';
import { drawBlind, drawSamples, gatherSamples } from '../view/rating-drawing.js';
import { RATING_QUESTIONS, ratingPage } from '../view/rating-page.js';
import { readFromFile, withTexts } from '../view/reading.js';

const OPTIONS = {
  run: JUDGED_RUN,
  other: { kind: 'text', namesRun: true, value: 'RUN', help: 'a second run, mixed with the first under --blind' },
  blind: {
    kind: 'boolean',
    help: 'hide the names of both runs, and show what each of them predicted of every drawn row',
  },
  samples: { kind: 'integer', min: 1, default: 50, help: 'predictions to rate, spread over domains and trajectories' },
  seed: {
    kind: 'integer',
    min: 0,
    default: 1,
    help: 'seed of the draw: the same one gives every rater the same samples',
  },
  db: RUN_OPTIONS.db,
  'data-dir': { kind: 'text', value: 'DIR', help: 'folder of *_test.jsonl files, for lean rows' },
  output: { kind: 'text', value: 'FILE', short: 'o', default: 'rate.html', help: 'the page to write' },
} as const satisfies OptionTable;

type RateSettings = Settings<typeof OPTIONS>;

/** What the build makes of src/view/browser/rating.ts; this file stands as deep in src as in dist. */
const SCRIPT = new URL('../../dist/view/rating-script.js', import.meta.url);

export const command = defineCommand({
  description:
    'Writes an HTML page on which people rate predictions of a run from 1 to 5 in the five dimensions, by keyboard. What the judge says is hidden until a sample is rated. The page needs no network; it saves the ratings as a file for awb agree.',
  examples: [
    { line: 'awb rate out/judged.jsonl -o rate.html', does: '50 samples of a judged file' },
    { line: 'awb rate step-200 step-100 --blind --samples 80', does: 'two runs mixed, without their names' },
  ],
  options: OPTIONS,
  operands: ['run', 'other'],
  run: rate,
});

/**
 * Writes the page.
 * @returns 0, or the code of an interruption.
 * @throws UserError: 2 for an unknown run or a page named like data, 66 and 65 for the input, 74 where the page cannot be written.
 */
async function rate(settings: RateSettings, io: Io): Promise<ExitCode> {
  requirePageName(settings.output, '--output');
  const output = resolve(io.cwd, settings.output);
  requirePair(settings);
  const run = await readFromFile(settings.run, settings, io);
  const other = settings.other === undefined ? undefined : await readFromFile(settings.other, settings, io);
  const drawn = other === undefined ? drawSamples(run.rows, settings) : drawBlind(run.rows, other.rows, settings);
  if (drawn.length === 0) throw nothingToRate(run, other);
  const gathered = await withTexts(run, other, settings.dataDir, io, (own, others) =>
    gatherSamples(drawn, others === undefined ? [own] : [own, others], io),
  );
  if (gathered === undefined) return interruption(io.stop);
  const { samples, texts, shared } = gathered;
  const data: RatingPageData = {
    store: `awb rate: ${other === undefined ? run.name : blindName(run, other)}`,
    schema: PERSON_RATING_SCHEMA,
    run: other === undefined ? run.name : null,
    dimensions: RATING_QUESTIONS,
    samples,
  };
  const heading = other === undefined ? `Rate ${run.name}` : 'Rate two runs, blind';
  const script = await readFile(SCRIPT, 'utf8');
  const page = ratingPage(heading, data, texts, { tool: `awb ${toolVersion()}`, script, sha256: policyHash });
  const { bytes } = await replaceFile(output, [page], { remedy: 'mend that, or name another file with --output' });
  const sources = other === undefined ? [run.source] : [run.source, other.source];
  io.stdout.write(
    settings.json
      ? `${JSON.stringify({ schema: 'awb.rate/1', output, samples: samples.length, shared, blind: settings.blind, seed: settings.seed, bytes, runs: sources })}\n`
      : written(output, { samples: samples.length, shared, bytes, sources }, io),
  );
  return EXIT.done;
}

/** @throws UserError (2) where it cannot be told whether two runs are to be mixed. */
function requirePair({ run, other, blind }: RateSettings): void {
  if (blind && other === undefined) throw new UserError('--blind mixes two runs; name the second one behind the first');
  if (!blind && other !== undefined) {
    throw new UserError('two runs are mixed under --blind alone; add it, or name one run');
  }
  if (run === other) throw new UserError(`both runs are "${run}"; name two that differ`);
}

function nothingToRate(run: ReadRun, other: ReadRun | undefined): UserError {
  const reason =
    other === undefined
      ? `${run.name} has no row that the judge has rated, so there is nothing to hold people against; run awb judge first`
      : `no row is rated in both ${run.name} and ${other.name}; name two runs over the same rows`;
  return new UserError(reason, EXIT.badData);
}

/** Keeps the progress of the same two runs in one place, whichever is named first, without naming them. */
function blindName(run: ReadRun, other: ReadRun): string {
  return createHash('sha256').update([run.sha256, other.sha256].sort().join()).digest('hex').slice(0, 16);
}

interface WrittenPage {
  readonly samples: number;
  readonly shared: number;
  readonly bytes: number;
  readonly sources: readonly string[];
}

function written(output: string, { samples, shared, bytes, sources }: WrittenPage, io: Io): string {
  const named = sources.flatMap((source) => ['--predictions', shownPath(source, io)]);
  return [
    `written: ${shownPath(output, io)} (${counted(samples, 'sample')}, ${(bytes / 1e6).toFixed(1)} MB)`,
    ...(shared === 0
      ? []
      : [`${counted(shared, 'prediction is', 'predictions are')} the same in both runs, and shown once`]),
    'next: open it in a browser, rate, save the file, and give it to',
    `      ${programName(io)} agree --ratings FILE ${shellLine(named)}`,
    '',
  ].join('\n');
}
