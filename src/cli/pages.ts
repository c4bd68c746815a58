// awb report: an HTML page about a run, with scores, charts and every sample; awb rate: one on which people rate samples.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { badData, EXIT, interruption, UserError } from '../core/errors.js';
import { counted, shellLine, shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { replaceFile } from '../disk/files.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { OPEN, pageLink, policyHash, requirePageName, writeText } from '../results/output.js';
import { type ReadRun, warningsOn } from '../results/read-run.js';
import { defineCommand, option, programName, toolVersion } from '../settings/command.js';
import type { RatingDocument } from '../view/documents.js';
import { staticPage } from '../view/page.js';
import { drawBlind, drawSamples, gatherSamples } from '../view/rating-drawing.js';
import { readFromFile, withTexts } from '../view/reading.js';
import { reportPage } from '../view/report.js';
import { reportOn } from '../view/report-contents.js';
import { gather, readSpending } from '../view/report-samples.js';
import { factsOf } from '../view/run-document.js';
import { scenarioDocument } from '../view/scenario-document.js';
import { scenarioPage } from '../view/scenario-page.js';
import { collectTexts } from '../view/texts.js';

/** A script that the build makes of src/view/browser; this file stands as deep in src as in dist. */
function built(name: string): Promise<string> {
  return readFile(new URL(`../../dist/view/${name}`, import.meta.url), 'utf8');
}

export const report = defineCommand({
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
    open: OPEN,
    'inline-limit': option.number('megabytes of texts above which histories are left out', { min: 0, default: 64 }),
  },
  async run(settings, io) {
    requirePageName(settings.output, '--output', settings);
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
    const url = await pageLink(output, settings, io);
    const described = ({ name, source }: ReadRun) => ({ name, source });
    const compare = other ? described(other) : null;
    io.stdout.write(
      settings.json
        ? `${JSON.stringify({ schema: 'awb.report/1', output, url, samples, bytes, run: described(run), compare })}\n`
        : `written: ${shownPath(output, io)} (${samples} samples, ${(bytes / 1e6).toFixed(1)} MB)\nopen: ${url}\n`,
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
  const note = `Histories are left out: all texts are more than ${texts.limit} MB (--inline-limit, 250 at most), and this page has no room for them.`;
  const contents = reportOn(run, other, gathered, costs, texts.hasHistories ? [] : [note]);
  const script = await built('browser.js');
  const page = reportPage(contents, texts.json(), { tool: `awb ${toolVersion()}`, script, sha256: policyHash });
  return { samples: contents.samples.length, page };
}

async function pageOfScenarios(run: ReadRun, inlineLimit: number, io: Io) {
  const document = await scenarioDocument(run, '', inlineLimit * 1e6, io.stop);
  const made = { ...document, name: run.name, facts: factsOf(run), warnings: warningsOn(run) };
  return { samples: made.samples.length, page: scenarioPage(made, `awb ${toolVersion()}`, policyHash) };
}

export const rate = defineCommand({
  description:
    'Writes an HTML page on which people rate predictions of a run from 1 to 5 in the five dimensions, by keyboard. What the judge says is hidden until a sample is rated. The page needs no network; it saves the ratings as a file for awb agree.',
  examples: {
    'awb rate out/judged.jsonl -o rate.html': '50 samples of a judged file',
    'awb rate step-200 step-100 --blind --samples 80': 'two runs mixed, without their names',
  },
  options: {
    run: JUDGED_RUN,
    other: option.text('RUN', 'a second run, mixed with the first under --blind', { namesRun: true }),
    blind: option.flag('hide the names of both runs, and show what each of them predicted of every drawn row'),
    samples: option.integer('predictions to rate, spread over domains and trajectories', { min: 1, default: 50 }),
    seed: option.integer('seed of the draw: the same one gives every rater the same samples', { min: 0, default: 1 }),
    db: RUN_OPTIONS.db,
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean rows'),
    output: option.text('FILE', 'the page to write', { short: 'o', default: 'rate.html' }),
    open: OPEN,
  },
  operands: ['run', 'other'],
  async run(settings, io) {
    requirePageName(settings.output, '--output', settings);
    const { blind, seed, dataDir, json } = settings;
    const output = resolve(io.cwd, settings.output);
    if (blind !== (settings.other !== undefined)) {
      throw new UserError(
        '--blind mixes two runs, and nothing else does; give both the flag and a second run, or neither',
      );
    }
    if (settings.run === settings.other) throw new UserError(`both runs are "${settings.run}"; name two that differ`);
    const run = await readFromFile(settings.run, settings, io);
    const other = settings.other === undefined ? undefined : await readFromFile(settings.other, settings, io);
    const drawn = other === undefined ? drawSamples(run.rows, settings) : drawBlind(run.rows, other.rows, settings);
    if (drawn.length === 0 && other === undefined) {
      throw badData(`${run.name} has no row that the judge has rated; run awb judge first`);
    }
    if (drawn.length === 0) {
      throw badData(`no row is rated in both ${run.name} and ${other?.name}; name two runs over the same rows`);
    }
    const gathered = await withTexts(run, other, dataDir, io, (own, others) =>
      gatherSamples(drawn, others === undefined ? [own] : [own, others], io),
    );
    if (gathered === undefined) return interruption(io.stop);
    const { samples, strings, hasHistories, shared } = gathered;
    // Keeps the progress of the same two runs in one place, whichever is named first, without naming them.
    const pair = [run.sha256, other?.sha256 ?? ''].sort().join();
    const blindName = createHash('sha256').update(pair).digest('hex').slice(0, 16);
    const document: RatingDocument = {
      tool: `awb ${toolVersion()}`,
      title: other === undefined ? `Rate ${run.name}` : 'Rate two runs, blind',
      store: `awb rate: ${other === undefined ? run.name : blindName}`,
      run: other === undefined ? run.name : null,
      strings,
      samples,
    };
    const page = await staticPage({ title: document.title, script: 'rate.js' }, [['rating', document]]);
    const { bytes } = await replaceFile(output, page, { remedy: 'name another file with --output' });
    const url = await pageLink(output, settings, io);
    const runs = other === undefined ? [run.source] : [run.source, other.source];
    if (json) {
      const result = { schema: 'awb.rate/1', output, url, samples: samples.length, shared, blind, seed, bytes, runs };
      io.stdout.write(`${JSON.stringify(result)}\n`);
      return EXIT.done;
    }
    const named = runs.flatMap((source) => ['--predictions', shownPath(source, io)]);
    const lines = [
      `written: ${shownPath(output, io)} (${counted(samples.length, 'sample')}, ${(bytes / 1e6).toFixed(1)} MB)`,
      ...(shared === 0
        ? []
        : [`${counted(shared, 'prediction is', 'predictions are')} the same in both runs, and shown once`]),
      ...(hasHistories ? [] : ['histories are left out: one page has no room for them; fewer --samples have']),
      `next: open ${url}, rate, save the file, and give it to`,
      `      ${programName(io)} agree --ratings FILE ${shellLine(named)}`,
    ];
    io.stdout.write(`${lines.join('\n')}\n`);
    return EXIT.done;
  },
});
