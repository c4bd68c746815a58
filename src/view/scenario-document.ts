// How a world model follows instructions, and the episodes of an agent, read from their files.

import { basename } from 'node:path';
import { partsOfPrompt } from '../benchmark/actions/agent-dialogue.js';
import { manifestBeside } from '../benchmark/judged-path.js';
import { objectsIn } from '../benchmark/line-file.js';
import { domainName } from '../core/domains.js';
import { present } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { asObject, isInteger, isObject, isText, type JsonObject } from '../core/json.js';
import { withoutMarker, writtenPrediction } from '../core/reply.js';
import { scenarioIn, stepKey, twinKey } from '../core/scenario-row.js';
import { withoutRequest } from '../core/turn.js';
import type { JudgedRow } from '../core/types.js';
import { scenarioTable } from '../report/score-table.js';
import type { ReadRun } from '../results/read-run.js';
import { scenarioRows } from '../results/score/scenarios.js';
import { readManifest } from '../run/manifest.js';
import type { ScenarioFigures } from '../stats/scenarios.js';
import type { Cell, Page, PageBlock, PageFold } from './documents.js';
import { count, number, plural, rangeBelow, scoreChart, withNotes } from './figures.js';
import { meanIn } from './run-document.js';

const WRITTEN_BY = { hint: 'awb infer --scenarios writes it', command: 'awb infer --scenarios' };

/**
 * The page of a scenario run: figures, and every sample next to the same row without the instruction.
 * @param page the page of the run itself
 * @param mostBytes limit for all samples; further ones are left out
 * @throws UserError: 66 and 65 for the file, 130 or 143 once `stop` is aborted
 */
export async function scenarioPage(run: ReadRun, page: Page, mostBytes: number, stop?: AbortSignal) {
  const lines = await readScenarioLines(run.source, stop);
  const rows = scenarioRows();
  const samples = run.rows.map((row) => {
    const fields = present(lines.get(row.key));
    rows.take(row, fields);
    return scenarioSample(row, fields, lines);
  });
  const fitted = fitting(samples, mostBytes);
  return { page: withScenarios(page, present(rows.figures()), meanIn(run.card), fitted), leftOut: fitted.leftOut };
}

/** A sample that opens on a click. */
interface ScenarioSample {
  readonly scenario: string;
  /** Whether everything was followed, and nothing leaked. */
  readonly isFine: boolean;
  readonly fold: PageFold;
}

const MEASURES = [
  ['followed', 'Followed', 'The prediction has everything that the instruction asks for.'],
  ['leaked', 'Leaked', 'The prediction reveals the instruction: fewer is better.'],
  ['undisturbed', 'Undisturbed', 'Of unaffected lines, the share that stays as correct as without the instruction.'],
  [
    'twin_false_positives',
    'Twin',
    'The same row without the instruction would also count as followed, so following proves nothing.',
  ],
] as const;
const INTERVALS = 'In percent, with 95 % intervals clustered by trajectory.';

type Fitting<T> = Readonly<{ taken: readonly T[]; leftOut: number }>;

/** The page with figures and samples. @param mean name of the mean over the domains */
export function withScenarios(
  page: Page,
  figures: ScenarioFigures,
  mean: string,
  { taken, leftOut }: Fitting<ScenarioSample>,
): Page {
  const { overall, domains } = figures;
  const failed = Object.entries(overall.failures).map(([failure, rows]) => `${failure} ${count(rows)}`);
  const of = `${plural(overall.trajectories, 'trajectory', 'trajectories')}, ${plural(Object.keys(domains).length, 'domain')}`;
  return {
    ...page,
    figures: [
      ...MEASURES.map(([measure, title]) => ({
        title,
        figure: number(overall[measure]),
        under: [rangeBelow(overall[measure])],
      })),
      {
        title: 'Rows',
        figure: count(overall.samples),
        under: [of, ...(failed.length > 0 ? [`failed: ${failed.join(', ')}`] : [])],
      },
    ],
    blocks: [
      ...MEASURES.map(([measure, title, says]) => {
        const lines = Object.entries(domains).map(([domain, part]) => ({
          name: domainName(domain),
          figure: part[measure],
        }));
        const sum = { name: mean, figure: overall[measure] };
        return { title, note: `${says} ${INTERVALS}`, tables: [scoreChart('Domain', [0, 100], lines, { sum })] };
      }),
      {
        title: 'Scenarios',
        note: `The same by scenario, over all its rows equally. ${INTERVALS}`,
        tables: [withNotes(scenarioTable(figures))],
      },
      {
        title: 'Samples',
        note: 'Samples that were not followed or leaked come first.',
        notes: leftOutNote(leftOut),
        folds: Array.from(
          groupBy(taken, ({ scenario }) => scenario),
          ([scenario, own]) => scenarioFold(scenario, own),
        ),
      },
      ...page.blocks,
    ],
  };
}

function leftOutNote(left: number): string[] {
  return left > 0 ? [`${count(left)} more do not fit (--inline-limit).`] : [];
}

function scenarioFold(title: string, samples: readonly ScenarioSample[]): PageFold {
  const wrong = samples.filter(({ isFine }) => !isFine);
  const note = wrong.length === 0 ? 'all followed, none leaked' : `${wrong.length} not followed or leaked`;
  const folds = [...wrong, ...samples.filter(({ isFine }) => isFine)].map(({ fold }) => fold);
  return { title, about: [`${plural(samples.length, 'row')}, ${note}`], blocks: [{ folds }] };
}

/** As many of the items as fit. */
function fitting<T>(items: readonly T[], mostBytes: number): Fitting<T> {
  let bytes = 0;
  const taken = items.filter((item) => {
    bytes += JSON.stringify(item).length;
    return bytes <= mostBytes;
  });
  return { taken, leftOut: items.length - taken.length };
}

/** All lines by record key: samples, the steps before them, and twins. */
async function readScenarioLines(path: string, stop?: AbortSignal): Promise<ReadonlyMap<string, JsonObject>> {
  const lines = new Map<string, JsonObject>();
  for await (const { fields } of objectsIn({ path, ...WRITTEN_BY }, stop)) {
    const key = isObject(fields.awb) ? fields.awb.key : undefined;
    if (typeof key === 'string') lines.set(key, fields);
  }
  return lines;
}

/** @param fields those of its line; @param lines all lines of the file, by key */
export function scenarioSample(
  row: JudgedRow,
  fields: JsonObject,
  lines: ReadonlyMap<string, JsonObject>,
): ScenarioSample {
  const { key, domain, turnIdx, failure, measures = {} } = row;
  const count = isInteger(fields.steps) && fields.steps > 0 ? fields.steps : 1;
  const verdicts = Array.isArray(fields.verdicts) ? fields.verdicts : [];
  const twin = twinKey(key, count);
  const steps = Array.from({ length: count }, (_, step): PageBlock[] => {
    const own = lines.get(stepKey(key, step, count));
    const texts = [predictionIn(lines.get(stepKey(twin, step, count))), predictionIn(own)];
    return [
      {
        title: count === 1 ? 'Action' : `Step ${step + 1}: Action`,
        text: (own && textIn(own, 'action')) ?? '',
        notes: objectsOf(verdicts[step]).map(verdictOf),
      },
      {
        pair: ['Without the instruction', 'With the instruction'].map((title, at) => ({
          title,
          text: texts[at] ?? null,
        })),
      },
    ];
  });
  const instruction = { title: 'Instruction', text: textIn(fields, 'instruction') ?? '' };
  return {
    scenario: scenarioIn(fields) ?? '',
    isFine: measures.followed === 100 && measures.leaked === 0,
    fold: {
      title: `${domainName(domain)} ${fields.id}, turn ${turnIdx - count + 1}`,
      about: marksOf(measures),
      blocks: [
        ...(failure ? [{ notes: [{ text: `${failure.class}: ${failure.reason}`, look: 'bad' }] }] : []),
        instruction,
        ...steps.flat(),
      ],
    },
  };
}

/** The measures in words. */
function marksOf({
  followed,
  leaked,
  undisturbed,
  twin_false_positives: taken,
}: NonNullable<JudgedRow['measures']>): Cell[] {
  const marks: (readonly [look: string, text: string] | false)[] = [
    followed === undefined ? ['soft', 'unknown'] : followed === 100 ? ['good', 'followed'] : ['bad', 'not followed'],
    leaked === 100 && ['bad', 'leaked'],
    undisturbed !== undefined && ['soft', `undisturbed ${undisturbed.toFixed(0)} %`],
    taken === 100 && ['soft', 'its twin would count as following'],
  ];
  return marks.flatMap((mark) => (mark === false ? [] : [{ text: mark[1], look: `chip ${mark[0]}` }]));
}

function verdictOf(item: JsonObject): Cell {
  const verifier = textIn(item, 'verifier') ?? '';
  const isMet = item.met === true;
  const leak = isMet ? 'nothing leaked' : 'leaked';
  const said = verifier === 'never' ? leak : `${verifier} ${isMet ? 'met' : 'not met'}`;
  return { text: `${said}: ${textIn(item, 'why') ?? ''}`, look: isMet ? 'good' : 'bad' };
}

/** A line's prediction; undefined if the line or its prediction is missing. */
function predictionIn(fields: JsonObject | undefined): string | undefined {
  if (fields === undefined || !isObject(fields.awb) || fields.awb.status !== 'ok') return undefined;
  return writtenPrediction(textIn(fields, 'gen') ?? '');
}

function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textIn(fields: JsonObject, name: string): string | undefined {
  const { [name]: value } = fields;
  return typeof value === 'string' ? value : undefined;
}

/**
 * Transcripts of an agent's episodes, as written by `awb simulate`.
 * @param path of episodes_test.jsonl
 * @param mostBytes limit for all episodes; further ones are left out
 * @throws UserError: 66 and 65 for the file and its manifest, 130 or 143 once `stop` is aborted
 */
export async function episodesPage(path: string, mostBytes: number, stop?: AbortSignal): Promise<Page> {
  const manifest = await readManifest(manifestBeside(path));
  const all: PageFold[] = [];
  let made: JsonObject = {};
  for await (const { fields } of objectsIn({ path, hint: 'awb simulate writes it', command: 'awb simulate' }, stop)) {
    made = asObject(fields.awb);
    all.push(episodeFold(fields, made));
  }
  const { taken, leftOut } = fitting(all, mostBytes);
  const facts: [string, string | undefined][] = [
    ['world model', textIn(made, 'world_model')],
    ['agent', textIn(made, 'agent')],
    ['played', manifest?.startedAt?.slice(0, 10)],
    ...Object.entries(manifest?.meta ?? {}),
    ['file', basename(path)],
  ];
  return {
    title: manifest?.label ?? 'Episodes',
    facts: facts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
    blocks: [
      {
        title: 'Episodes',
        note: 'What an agent did in a world simulated by the model, turn by turn, and how it ended. Whether a task was done is not checked.',
        notes: leftOutNote(leftOut),
        folds: taken,
      },
    ],
  };
}

function episodeFold(fields: JsonObject, made: JsonObject): PageFold {
  const [prompts, responses] = [textsIn(fields.prompt), textsIn(fields.response)];
  const recorded = responses.length - (isInteger(made.steps) ? made.steps : responses.length);
  const domain = (textIn(fields, 'task') ?? '').replace(/^simulated\//, '');
  // The agent's task, or the row where it began.
  const task = textIn(made, 'task') ?? textIn(made, 'row') ?? '';
  const end = (textIn(made, 'end') ?? '').replace('-', ' ');
  return {
    title: `${made.episode}: ${task.slice(0, 120)}`,
    about: [`${domain}, ${plural(responses.length, 'turn')}, ${end}`],
    blocks: [
      { title: 'Task', text: task },
      ...responses.map((response, at) => ({
        pair: [
          {
            title: `Turn ${at + 1}${at < recorded ? ', recorded' : ''}: action`,
            text: partsOfPrompt(withoutRequest(prompts[at] ?? '')).action,
          },
          { title: 'Observation', text: withoutMarker(response) },
        ],
      })),
      // The agent's findings, or why the episode ended.
      { title: `End: ${end}`, text: textIn(made, 'said') ?? textIn(made, 'reason') ?? '' },
    ],
  };
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(isText) : [];
}
