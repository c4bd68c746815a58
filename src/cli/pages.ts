// awb report: an HTML page about a run, with scores, charts and every sample, or its methods; awb rate: a page on which people rate samples.

import { createHash } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import { badData, closing, EXIT, interruption, UserError } from '../core/errors.js';
import { counted, shellLine, shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { replaceFile } from '../disk/files.js';
import { latexText, markdownText } from '../report/markup.js';
import { methodsDocument, methodsText } from '../report/methods.js';
import { readSpent } from '../results/costs.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { readRun, readWithOther } from '../results/find.js';
import { deliver, OPEN, pageLink, print, requirePageName } from '../results/output.js';
import type { ReadRun } from '../results/read-run.js';
import { defineCommand, option, programName, toolVersion } from '../settings/command.js';
import { compareDocument } from '../view/compare-document.js';
import type { DocumentName, ListedRun, RatingDocument, TrajectoryTexts } from '../view/documents.js';
import { listedRun, refOf } from '../view/listed-run.js';
import { openRun } from '../view/opened-run.js';
import { staticPage } from '../view/page.js';
import { drawBlind, drawSamples, gatherSamples } from '../view/rating-drawing.js';
import { staticIndex } from '../view/result-documents.js';
import { openTexts, withoutHistories } from '../view/sample-texts.js';

export const report = defineCommand({
  description:
    'Writes an HTML page about a judged run: scores, charts, and every sample with its prediction next to the ground truth (for a run on scenarios, next to the same row without the instruction). The file needs no network and no server.',
  examples: {
    'awb report --run out/judged.jsonl -o report.html': 'a judged file',
    'awb report --run step-200 --compare step-100 -o report.html': 'two checkpoints compared',
  },
  options: {
    run: JUDGED_RUN,
    compare: option.text('RUN', 'another run to compare with'),
    db: RUN_OPTIONS.db,
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean rows'),
    methods: option.flag("write a paragraph for a paper's methods section instead, in LaTeX if FILE ends in .tex"),
    output: option.text('FILE', 'file to write (default: report.html; --methods: stdout)', { short: 'o' }),
    open: OPEN,
    'inline-limit': option.number('leave histories out if all texts exceed this many MB', { min: 0, default: 60 }),
  },
  async run(given, io) {
    const settings = { ...given, output: given.output ?? 'report.html' };
    if (!settings.methods) requirePageName(settings.output, '--output', settings);
    const { run, other } = await readWithOther(settings, io);
    const isText = /\.(md|tex|txt|json)$/i.test(given.output ?? '.md');
    if (settings.methods && (other || settings.open || !isText)) {
      throw new UserError(
        '--methods writes text about one run; leave out --compare and --open, and name a .md or .tex file',
      );
    }
    if (settings.methods) {
      const facts = methodsDocument(run, toolVersion());
      const escaped = settings.output.endsWith('.tex') ? latexText : markdownText;
      await deliver(`${settings.json ? JSON.stringify(facts) : escaped(methodsText(facts))}\n`, given, io);
      return EXIT.done;
    }
    if (other !== undefined && run.made.mode === 'scenarios') {
      throw new UserError('--compare is for judged runs; awb leaderboard compares scenario runs');
    }
    const { documents, samples, isCut } = await reportDocuments(
      shareable(run),
      other && shareable(other),
      settings,
      io,
    );
    if (io.stop.aborted) return interruption(io.stop);
    const refs = [other, run].flatMap((one) => (one === undefined ? [] : [refOf(one)]));
    const start = ['', refs.length > 1 ? 'compare' : 'run', ...refs].join('/');
    const page = await staticPage({ title: run.name, start }, documents);
    const output = resolve(io.cwd, settings.output);
    const { bytes } = await replaceFile(output, page, { name: settings.output, remedy: REMEDY });
    const url = await pageLink(output, settings, io);
    const described = ({ name, source }: ReadRun) => ({ name, source });
    const runs = { run: described(run), compare: other ? described(other) : null };
    const document = { schema: 'awb.report/1', output, url, samples, bytes, ...runs };
    const lines = [
      `written: ${shownPath(output, io)} (${samples} samples, ${(bytes / 1e6).toFixed(1)} MB)`,
      ...(isCut ? [`histories are left out: the texts exceed ${settings.inlineLimit} MB (--inline-limit)`] : []),
      `open: ${url}`,
    ];
    print(document, () => `${lines.join('\n')}\n`, settings, io);
    return EXIT.done;
  },
});

const REMEDY = 'name another file with --output';

/** A page is passed on to others: if a run has no label, its file is named without the folders above its own. */
function shareable(run: ReadRun): ReadRun {
  const { name, source } = run;
  return basename(name) === basename(source)
    ? { ...run, name: join(basename(dirname(source)), basename(source)) }
    : run;
}

/**
 * The documents of a report on a run, and on a run to compare it with. Histories are left out if there is no room; those of the other run
 * are always left out, since both runs have the same.
 */
async function reportDocuments(
  run: ReadRun,
  other: ReadRun | undefined,
  { dataDir, inlineLimit }: { readonly dataDir: string | undefined; readonly inlineLimit: number },
  io: Io,
) {
  const mostBytes = inlineLimit * 1e6;
  const texts: [DocumentName, TrajectoryTexts][] = [];
  const documents: [DocumentName, unknown][] = [];
  const listed: ListedRun[] = [];
  let [bytes, samples, isCut] = [0, 0, false];
  for (const one of other === undefined ? [run] : [run, other]) {
    const { costs, spent } = await readSpent(one, io.stop);
    const opened = openRun({ ...one, costs }, { io, dataDir, spent });
    const { ref } = opened;
    listed.push(listedRun(opened.run, one.made.endedAt ?? one.made.startedAt ?? ''));
    if (one.made.mode === 'scenarios') {
      const page = await opened.page({}, mostBytes);
      samples = one.rows.length - (page.leftOut ?? 0);
      documents.push([`run/${ref}`, page]);
      continue;
    }
    const panel = opened.panel();
    if (panel !== undefined) documents.push([`panel/${ref}`, panel]);
    const list = opened.samples();
    if (one === run) samples = list.samples.length;
    documents.push([`samples/${ref}`, list]);
    await closing(await opened.openTexts(), async (reader) => {
      for (const place of list.trajectories.keys()) {
        if (io.stop.aborted) break;
        const whole = await reader.of(place);
        const held = one === other || isCut ? withoutHistories(whole) : whole;
        bytes += held.strings.reduce((sum, text) => sum + text.length, 0);
        texts.push([`texts/${ref}/${place}`, held]);
        if (isCut || bytes <= mostBytes) continue;
        isCut = true;
        for (const entry of texts) entry[1] = withoutHistories(entry[1]);
      }
    });
    const notes = isCut ? [`Histories are left out: the texts exceed ${inlineLimit} MB (--inline-limit).`] : [];
    documents.push([`run/${ref}`, await opened.page({ forced: one === run ? other : undefined, notes })]);
  }
  if (other !== undefined) documents.push([`compare/${refOf(other)}/${refOf(run)}`, compareDocument(other, run)]);
  documents.push(['index', staticIndex(listed)]);
  return { documents: [...documents, ...texts], samples, isCut };
}

export const rate = defineCommand({
  description:
    "Writes an HTML page on which people rate predictions from 1 to 5 in the five dimensions, by keyboard. The judge's ratings are hidden until a sample is rated. The page needs no network and saves the ratings as a file for awb agree.",
  examples: {
    'awb rate out/judged.jsonl -o rate.html': '50 samples of a judged file',
    'awb rate step-200 step-100 --blind --samples 80': 'two runs mixed, without their names',
  },
  options: {
    run: JUDGED_RUN,
    other: option.text('RUN', 'a second run, mixed with the first under --blind'),
    blind: option.flag('hide the names of both runs, and show the prediction of each for every drawn row'),
    samples: option.integer('predictions to rate, spread over domains and trajectories', { min: 1, default: 50 }),
    seed: option.integer('seed of the draw; the same seed gives all raters the same samples', { min: 0, default: 1 }),
    db: RUN_OPTIONS.db,
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean rows'),
    output: option.text('FILE', 'the page to write', { short: 'o', default: 'rate.html' }),
    open: OPEN,
  },
  operands: ['run', 'other'],
  async run(settings, io) {
    requirePageName(settings.output, '--output', settings);
    const { blind, seed, dataDir } = settings;
    const output = resolve(io.cwd, settings.output);
    if (blind !== (settings.other !== undefined)) {
      throw new UserError('--blind mixes two runs; give the flag and a second run, or neither');
    }
    if (settings.run === settings.other) throw new UserError(`both runs are "${settings.run}"; name two runs`);
    const run = shareable(await readRun(settings.run, settings, io));
    const other = settings.other === undefined ? undefined : shareable(await readRun(settings.other, settings, io));
    const drawn = other === undefined ? drawSamples(run.rows, settings) : drawBlind(run.rows, other.rows, settings);
    if (drawn.length === 0 && other === undefined) {
      throw badData(`${run.name} has no row that the judge has rated; run awb judge first`);
    }
    if (drawn.length === 0) {
      throw badData(`no row is rated in both ${run.name} and ${other?.name}; name two runs on the same rows`);
    }
    const texts = await Promise.all(
      (other === undefined ? [run] : [run, other]).map((one) => openTexts(one, dataDir, io)),
    );
    const readers = texts.map(({ read }) => read);
    const gathered = await gatherSamples(drawn, readers, io).finally(() =>
      Promise.all(texts.map(({ close }) => close())),
    );
    if (gathered === undefined) return interruption(io.stop);
    const { samples, strings, shared } = gathered;
    // The same two runs share one store for progress, in either order and without their names.
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
    const { bytes } = await replaceFile(output, page, { remedy: REMEDY });
    const url = await pageLink(output, settings, io);
    const runs = other === undefined ? [run.source] : [run.source, other.source];
    const result = { schema: 'awb.rate/1', output, url, samples: samples.length, shared, blind, seed, bytes, runs };
    const named = runs.flatMap((source) => ['--predictions', shownPath(source, io)]);
    const lines = [
      `written: ${shownPath(output, io)} (${counted(samples.length, 'sample')}, ${(bytes / 1e6).toFixed(1)} MB)`,
      ...(shared === 0
        ? []
        : [`${counted(shared, 'prediction is', 'predictions are')} the same in both runs, and shown once`]),
      `next: open ${url}, rate, save the file, and give it to`,
      `      ${programName(io)} agree --ratings FILE ${shellLine(named)}`,
    ];
    print(result, () => `${lines.join('\n')}\n`, settings, io);
    return EXIT.done;
  },
});
