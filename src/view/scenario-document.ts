// What a world model makes of instructions, and the episodes of an agent, as data read from their files.

import { basename } from 'node:path';
import { partsOfPrompt } from '../benchmark/actions/agent-dialogue.js';
import { manifestBeside } from '../benchmark/judged-path.js';
import { objectsIn } from '../benchmark/line-file.js';
import { domainName } from '../core/domains.js';
import { present } from '../core/errors.js';
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
import type { Episode, EpisodesDocument, ScenarioDocument, ScenarioSample } from './documents.js';
import { count, number, plural, rangeBelow, scoreChart, withNotes } from './figures.js';
import { meanIn } from './run-document.js';

const WRITTEN_BY = { hint: 'awb infer --scenarios writes it', command: 'awb infer --scenarios' };

/**
 * @param ref by what the viewer knows the run
 * @param mostBytes texts of all samples together; those of further samples are left out
 * @throws UserError: 66 and 65 for the file, 130 or 143 once `stop` is aborted
 */
export async function scenarioDocument(
  run: ReadRun,
  ref: string,
  mostBytes: number,
  stop?: AbortSignal,
): Promise<ScenarioDocument> {
  const lines = await readScenarioLines(run.source, stop);
  const rows = scenarioRows();
  const room = roomFor<ScenarioSample>(mostBytes);
  for (const row of run.rows) {
    const fields = present(lines.get(row.key));
    rows.take(row, fields);
    const sample = sampleOf(row, fields, lines);
    const texts = sample.steps.flatMap(({ action, prediction = '', twin = '' }) => [action, prediction, twin]);
    room.add(sample, [sample.instruction, ...texts]);
  }
  const figures = present(rows.figures());
  const page = scenarioPage(figures, meanIn(run.card));
  return { ref, figures, page, samples: room.taken, leftOut: room.leftOut() };
}

const MEASURES = [
  ['followed', 'Followed', 'All that the instruction asks for is in the prediction.'],
  ['leaked', 'Leaked', 'The prediction speaks of the instruction: fewer is better.'],
  ['undisturbed', 'Undisturbed', 'Of what should not change, as near to the truth as without the instruction.'],
  [
    'twin_false_positives',
    'Twin',
    'The same row without the instruction would count as followed, which proves nothing.',
  ],
] as const;
const INTERVALS = 'In percent, with 95 % intervals clustered by trajectory.';

/** How the figures are shown. @param mean what the mean over the domains is called */
export function scenarioPage(figures: ScenarioFigures, mean: string): ScenarioDocument['page'] {
  const { overall, domains } = figures;
  const failed = Object.entries(overall.failures).map(([failure, rows]) => `${failure} ${count(rows)}`);
  const of = `${plural(overall.trajectories, 'trajectory', 'trajectories')}, ${plural(Object.keys(domains).length, 'domain')}`;
  return {
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
        note: `The same by scenario, over all of its rows alike. ${INTERVALS}`,
        tables: [withNotes(scenarioTable(figures))],
      },
    ],
  };
}

/** Takes what there is room for. */
function roomFor<T>(mostBytes: number) {
  const taken: T[] = [];
  let [bytes, leftOut] = [0, 0];
  return {
    taken,
    leftOut: () => leftOut,
    add(item: T, texts: readonly string[]) {
      bytes += texts.reduce((sum, text) => sum + text.length, 0);
      if (bytes <= mostBytes) taken.push(item);
      else leftOut++;
    },
  };
}

/** Every line by the key of its record: samples, the steps before them, and twins. */
async function readScenarioLines(path: string, stop?: AbortSignal): Promise<ReadonlyMap<string, JsonObject>> {
  const lines = new Map<string, JsonObject>();
  for await (const { fields } of objectsIn({ path, ...WRITTEN_BY }, stop)) {
    const key = isObject(fields.awb) ? fields.awb.key : undefined;
    if (typeof key === 'string') lines.set(key, fields);
  }
  return lines;
}

function sampleOf(row: JudgedRow, fields: JsonObject, lines: ReadonlyMap<string, JsonObject>): ScenarioSample {
  const count = isInteger(fields.steps) && fields.steps > 0 ? fields.steps : 1;
  const verdicts = Array.isArray(fields.verdicts) ? fields.verdicts : [];
  const twin = twinKey(row.key, count);
  const steps = Array.from({ length: count }, (_, step) => {
    const own = lines.get(stepKey(row.key, step, count));
    return {
      action: (own && textIn(own, 'action')) ?? '',
      prediction: predictionIn(own),
      twin: predictionIn(lines.get(stepKey(twin, step, count))),
      verdicts: objectsOf(verdicts[step]).map((item) => ({
        verifier: textIn(item, 'verifier') ?? '',
        met: item.met === true,
        why: textIn(item, 'why') ?? '',
      })),
    };
  });
  return {
    scenario: scenarioIn(fields) ?? '',
    domain: row.domain,
    id: String(fields.id),
    turn: row.turnIdx - count + 1,
    instruction: textIn(fields, 'instruction') ?? '',
    steps,
    measures: row.measures ?? {},
    failure: row.failure && `${row.failure.class}: ${row.failure.reason}`,
  };
}

/** What a line predicts; undefined where it is not there, or holds no prediction. */
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
 * The episodes of an agent, as `awb simulate` writes them.
 * @param path of episodes_test.jsonl
 * @param mostBytes texts of all episodes together; those of further ones are left out
 * @throws UserError: 66 and 65 for the file and its manifest, 130 or 143 once `stop` is aborted
 */
export async function episodesDocument(
  path: string,
  ref: string,
  mostBytes: number,
  stop?: AbortSignal,
): Promise<EpisodesDocument> {
  const manifest = await readManifest(manifestBeside(path));
  const room = roomFor<Episode>(mostBytes);
  let made: JsonObject = {};
  for await (const { fields } of objectsIn({ path, hint: 'awb simulate writes it', command: 'awb simulate' }, stop)) {
    made = asObject(fields.awb);
    const episode = episodeOf(fields, made);
    room.add(episode, [episode.task, ...episode.turns.flatMap(({ action, observation }) => [action, observation])]);
  }
  const facts: [string, string | undefined][] = [
    ['world model', textIn(made, 'world_model')],
    ['agent', textIn(made, 'agent')],
    ['played', manifest?.startedAt?.slice(0, 10)],
    ...Object.entries(manifest?.meta ?? {}),
    ['file', basename(path)],
  ];
  return {
    ref,
    name: manifest?.label ?? 'Episodes',
    facts: facts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
    episodes: room.taken,
    leftOut: room.leftOut(),
  };
}

function episodeOf(fields: JsonObject, made: JsonObject): Episode {
  const [prompts, responses] = [textsIn(fields.prompt), textsIn(fields.response)];
  const recorded = responses.length - (isInteger(made.steps) ? made.steps : responses.length);
  return {
    number: isInteger(made.episode) ? made.episode : 0,
    domain: (textIn(fields, 'task') ?? '').replace(/^simulated\//, ''),
    task: textIn(made, 'task') ?? textIn(made, 'row') ?? '',
    end: textIn(made, 'end') ?? '',
    said: textIn(made, 'said') ?? textIn(made, 'reason') ?? '',
    turns: responses.map((response, at) => ({
      action: partsOfPrompt(withoutRequest(prompts[at] ?? '')).action,
      observation: withoutMarker(response),
      isRecorded: at < recorded,
    })),
  };
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(isText) : [];
}
