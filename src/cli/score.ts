// awb score: a judged file -> scores in a table, in JSON and in SQLite.

import { resolve } from 'node:path';
import { excerptOf, readJudged } from '../benchmark/judged.js';
import { judgedFileOf, manifestBeside } from '../benchmark/judged-path.js';
import { EXIT, heedStop } from '../core/errors.js';
import type { Excerpt } from '../core/judged-row.js';
import { printable, shownPath } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import { lookOf } from '../core/terminal.js';
import { askedWord, measureOf } from '../judge/modes.js';
import { PRICE_OPTIONS } from '../model/prices/prices.js';
import { scoreDocument, scoreText, shortLines } from '../report/score.js';
import { isForcedPartner, requireForced, rolloutOf } from '../results/comparability.js';
import { countCosts, manifestCosts, pricesOf } from '../results/costs.js';
import { DEFAULT_DB } from '../results/databases.js';
import { readRun } from '../results/find.js';
import type { ReadRun } from '../results/read-run.js';
import { trustIn } from '../results/read-run.js';
import { scenarioRows } from '../results/score/scenarios.js';
import { keptLabel, nextSteps, recordOf, stepForMissing } from '../results/stored-runs.js';
import { madeWith } from '../run/made-with.js';
import { changeSince, readManifest } from '../run/manifest.js';
import { defineCommand, EXPLAIN, option } from '../settings/command.js';
import { shortLabel } from '../settings/sources.js';
import { aggregate } from '../stats/aggregate.js';
import { LEAST_COVERAGE, shortDomains } from '../stats/coverage.js';
import { equivalenceCard } from '../stats/equivalence.js';
import type { StoredName } from '../store/runs.js';
import { openStore, withStore } from '../store/store.js';

export const command = defineCommand({
  description:
    'Aggregates a judged file into scores of 0 to 100 per domain and dimension, with coverage and 95 % intervals, and stores all of it in SQLite.',
  examples: {
    'awb score results/step-100': 'a table, and the run in awb.sqlite',
    'awb score out/judged.jsonl --db runs.sqlite --label step-1000': 'another SQLite file, and a name of your own',
    'awb score results/step-100 --verbose': 'what each domain cost, too',
    'awb score results/rollout --teacher-forced results/step-100': 'of a rollout: how fast it drifts from the truth',
    'awb score results/step-100 --json | jq .overall.total_score': 'one unrounded figure',
  },
  options: {
    predictions: option.text('RUN', 'a judged.jsonl, a scenarios.jsonl, or the folder of one', { required: true }),
    db: option.text('FILE', 'SQLite file, which can hold many runs', { default: DEFAULT_DB }),
    label: option.text('TEXT', 'name of the checkpoint (default: the one that it has)', { check: shortLabel }),
    'teacher-forced': option.text('RUN', 'of a rollout: the run with true histories, to tell drift', {
      namesRun: true,
    }),
    'min-coverage': option.number('share of the rows of each domain that must be scored, else exit 3', {
      min: 0,
      max: 1,
      default: LEAST_COVERAGE,
    }),
    ...PRICE_OPTIONS,
    ...EXPLAIN,
  },
  operands: ['predictions'],
  async run(settings, io) {
    const { teacherForced, minCoverage, json, verbose: byDomain } = settings;
    const source = judgedFileOf(settings.predictions, io, (text) => void io.stderr.write(`note: ${text}\n`));
    const scenarios = scenarioRows();
    const excerpts = new Map<string, Excerpt>();
    const { rows, sha256, warnings } = await readJudged(source, io.stop, (row, fields, line) => {
      scenarios.take(row, fields);
      excerpts.set(rowIdOf(row), excerptOf(row, fields, line));
    });
    const manifest = await readManifest(manifestBeside(source));
    const made = madeWith(manifest);
    const card = aggregate(rows, made.chosen, measureOf);
    const prices = await pricesOf(manifest, settings.prices, io);
    const told = { source, manifest, rows, costs: manifestCosts(manifest) };
    const { judgements: spent, costs } = await countCosts(told, prices, io.stop);
    const judgements = spent.map((one) => ({ ...one, excerpt: excerpts.get(rowIdOf(one.row)) }));
    await heedStop(io);
    const change = changeSince(manifest, shownPath(source, io), sha256);
    if (change !== undefined) io.stderr.write(`note: ${printable(change)}\n`);
    let forced: ReadRun | undefined;
    if (teacherForced !== undefined) {
      const naming = { db: [settings.db], quiet: false };
      forced = await readRun(teacherForced, naming, io, (other) => isForcedPartner({ made, rows }, other));
      requireForced({ made, rows }, forced);
    }
    const rollout = rolloutOf(rows, card, forced?.rows);
    const record = recordOf({ source, sha256, manifest, made }, settings.label);
    const run = { ...record, costs, equivalence: equivalenceCard(rows), scenarios: scenarios.figures() };
    await heedStop(io);
    const db = resolve(io.cwd, settings.db);
    const labelOver = (before: StoredName) => settings.label ?? keptLabel(before, made.label);
    const stored = withStore(db, openStore, (store) => ({
      ...store.saveRun(run, judgements, card, labelOver),
      runs: store.runs(),
      calibrations: store.calibrations(),
    }));
    const { id, replaced, runs, calibrations } = stored;
    const label = runs.find((one) => one.id === id)?.label;
    const short = shortDomains(card, minCoverage);
    const trust = trustIn(made, calibrations);
    const scored = {
      id,
      replaced,
      run: { ...run, label, asked: askedWord(made.mode) },
      db,
      card,
      rollout,
      trust,
      short,
    };
    if (json) io.stdout.write(`${JSON.stringify(scoreDocument(scored))}\n`);
    else {
      const unforced = rollout === undefined || forced !== undefined ? undefined : shownPath(source, io);
      const steps = short.length > 0 ? [stepForMissing({ manifest, made })] : nextSteps(id, db, runs, unforced, io);
      const look = lookOf(settings, io);
      io.stdout.write(scoreText(scored, { steps, db: shownPath(db, io), measureOf, look, byDomain }));
    }
    for (const warning of warnings) io.stderr.write(`warning: ${printable(warning)}\n`);
    for (const line of shortLines(short, minCoverage)) io.stderr.write(`${line}\n`);
    return short.length === 0 ? EXIT.done : EXIT.incomplete;
  },
});
