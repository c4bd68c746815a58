// awb score: a judged file -> scores in a table, in JSON and in SQLite.

import { resolve } from 'node:path';
import { judgedFileOf } from '../benchmark/judged-path.js';
import { EXIT, heedStop } from '../core/errors.js';
import { shownPath } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import { lookOf } from '../core/terminal.js';
import { askedWord, measureOf } from '../judge/modes.js';
import { PRICE_OPTIONS } from '../model/prices/prices.js';
import { scoreDocument, scoreText, shortLines } from '../report/score.js';
import { isForcedPartner, requireForced, rolloutOf } from '../results/comparability.js';
import { countCosts, pricesOf } from '../results/costs.js';
import { DEFAULT_DB } from '../results/databases.js';
import { readRun } from '../results/find.js';
import { type ReadRun, readJudgedRun, trustIn } from '../results/read-run.js';
import { scenarioRows } from '../results/score/scenarios.js';
import { keptLabel, nextSteps, recordOf } from '../results/stored-runs.js';
import { defineCommand, EXPLAIN, option } from '../settings/command.js';
import { shortLabel } from '../settings/sources.js';
import { LEAST_COVERAGE, shortDomains } from '../stats/coverage.js';
import { equivalenceCard } from '../stats/equivalence.js';
import type { StoredName } from '../store/runs.js';
import { openStore, withStore } from '../store/store.js';

/** The next step for a run whose scores must not be compared, since rows are missing. */
const STEP_FOR_MISSING = 'repeat awb infer and awb judge, which ask only for missing rows; then score again';

export const command = defineCommand({
  description:
    'Aggregates a judged file into scores of 0 to 100 by domain and dimension, with coverage and 95 % intervals, and stores them in SQLite.',
  examples: {
    'awb score results/step-100': 'a table, and the run in awb.sqlite',
    'awb score out/judged.jsonl --db runs.sqlite --label step-1000': 'another SQLite file and label',
    'awb score results/step-100 --verbose': 'also the cost of each domain',
    'awb score results/rollout --teacher-forced results/step-100': 'how fast a rollout drifts from the truth',
    'awb score results/step-100 --json | jq .overall.total_score': 'one unrounded figure',
  },
  options: {
    predictions: option.text('RUN', 'a judged.jsonl or scenarios.jsonl, or its folder', { required: true }),
    db: option.text('FILE', 'SQLite file for any number of runs', { default: DEFAULT_DB }),
    label: option.text('TEXT', "name of the checkpoint (default: the run's own)", { check: shortLabel }),
    'teacher-forced': option.text('RUN', 'for a rollout: the run with true histories, to measure drift'),
    'min-coverage': option.number('minimum share of scored rows in each domain; exit 3 below it', {
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
    const warnings: string[] = [];
    const read = await readJudgedRun(source, [], (text) => warnings.push(text), io, scenarios.take);
    const { rows, made, manifest, card, excerpts } = read;
    const prices = await pricesOf(manifest, settings.prices, io);
    const { judgements: spent, costs } = await countCosts(read, prices, io.stop);
    const judgements = spent.map((one) => ({ ...one, excerpt: excerpts?.get(rowIdOf(one.row)) }));
    await heedStop(io);
    let forced: ReadRun | undefined;
    if (teacherForced !== undefined) {
      const naming = { db: [settings.db], quiet: false };
      forced = await readRun(teacherForced, naming, io, (other) => isForcedPartner(read, other));
      requireForced(read, forced);
    }
    const rollout = rolloutOf(rows, card, forced?.rows);
    const record = recordOf(read, settings.label);
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
      const steps = short.length > 0 ? [STEP_FOR_MISSING] : nextSteps(id, db, io);
      const look = lookOf(settings, io);
      io.stdout.write(scoreText(scored, { steps, db: shownPath(db, io), measureOf, look, byDomain }));
    }
    for (const warning of warnings) io.stderr.write(`warning: ${warning}\n`);
    for (const line of shortLines(short, minCoverage)) io.stderr.write(`${line}\n`);
    return short.length === 0 ? EXIT.done : EXIT.incomplete;
  },
});
