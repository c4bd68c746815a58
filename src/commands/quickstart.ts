// `awb quickstart`: the whole job over recorded rows, with world models that need no model; no key, no network, no GPU.

import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT, type ExitCode } from '../errors.js';
import { BASELINES } from '../infer/baselines.js';
import { terminal } from '../report/formats.js';
import { type Column, domainName, type Table } from '../report/table.js';
import { DOMAINS, type Io, type TextSink } from '../types.js';
import { defineCommand, type OptionTable, type RunAwb, type Settings, type ShownSettings } from './settings.js';

const OPTIONS = {
  'output-dir': { kind: 'text', value: 'DIR', default: './quickstart', help: 'folder for what it makes' },
} as const satisfies OptionTable;

const RECORDED = fileURLToPath(new URL('../../fixtures/recorded', import.meta.url));
const MEASURE = 'chrf';

/** What `awb score --json` says of a run, as far as it is shown here. */
interface ScoreDocument {
  readonly domains: Readonly<
    Record<string, { readonly measures: Readonly<Record<string, { readonly value: number }>> }>
  >;
  readonly overall_measures: Readonly<Record<string, { readonly value: number }>>;
}

export const command = defineCommand({
  description:
    'Runs infer, judge and score over the recorded rows that come with the tool, with baselines as world models and text metrics as judge: no key, no network, no GPU.',
  examples: [{ line: 'awb quickstart', does: 'writes ./quickstart' }],
  options: OPTIONS,
  run: quickstart,
});

async function quickstart(
  settings: Settings<typeof OPTIONS>,
  io: Io,
  _shown: ShownSettings,
  awb: RunAwb,
): Promise<ExitCode> {
  const dir = settings.outputDir;
  const db = join(dir, 'awb.sqlite');
  const look = settings.color ? [] : ['--no-color'];
  const documents: [string, ScoreDocument][] = [];
  for (const baseline of Object.keys(BASELINES)) {
    const folder = join(dir, baseline);
    const steps = [
      ['infer', '--data-dir', RECORDED, '--baseline', baseline, '--output-dir', folder, '--label', baseline],
      ['judge', '--predictions', join(folder, 'predictions.jsonl'), '--mode', 'metrics', '--output-dir', folder],
      ['score', '--predictions', join(folder, 'judged.jsonl'), '--db', db, '--json'],
    ];
    let printed = '';
    for (const step of steps) {
      if (!settings.quiet) io.stderr.write(`$ awb ${step.map((word) => shown(word, io)).join(' ')}\n`);
      printed = '';
      const stdout: TextSink = {
        isTTY: false,
        columns: io.stdout.columns,
        write(text) {
          printed += text;
        },
      };
      const code = await awb([...step, ...look, ...(settings.quiet ? ['--quiet'] : [])], { ...io, stdout });
      if (code !== EXIT.done) return code;
    }
    documents.push([baseline, JSON.parse(printed) as ScoreDocument]);
  }
  if (settings.json) {
    io.stdout.write(
      `${JSON.stringify({ schema: 'awb.quickstart/1', db: resolve(io.cwd, db), runs: Object.fromEntries(documents) })}\n`,
    );
  } else {
    const color = settings.color && io.stdout.isTTY;
    io.stdout.write(`\n${terminal(tableOf(documents), { columns: io.stdout.columns, color })}\n`);
    io.stdout.write(`SQLite file: ${shown(resolve(io.cwd, db), io)}\n`);
    io.stdout.write(
      'Next, your own model:\n  awb infer --data-dir DATA --model-base-url http://localhost:8000/v1 --model-name NAME --output-dir results\n',
    );
  }
  return EXIT.done;
}

/** Paths below the current folder, as one would type them. */
function shown(word: string, io: Io): string {
  const path = relative(io.cwd, word);
  return word.startsWith('/') && !path.startsWith('..') ? path : word;
}

function tableOf(documents: readonly (readonly [string, ScoreDocument])[]): Table {
  const number = (heading: string): Column => ({ heading, short: heading, align: 'right' });
  return {
    columns: [
      { heading: 'World model', short: 'Model', align: 'left' },
      ...DOMAINS.map((domain) => number(domainName(domain))),
      number('Mean'),
    ],
    groups: [
      documents.map(([name, document]) => [
        name,
        ...DOMAINS.map((domain) => figure(document.domains[domain]?.measures[MEASURE]?.value)),
        figure(document.overall_measures[MEASURE]?.value),
      ]),
    ],
    footnotes: ['chrF of prediction against ground truth, 0-100, over 63 recorded rows; no LLM judge was asked.'],
  };
}

function figure(value: number | undefined): string {
  return value === undefined ? '-' : value.toFixed(2);
}
