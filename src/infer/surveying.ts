// A folder of rows looked at as infer would ask them: what awb data check and awb data stats make theirs of.

import { resolve } from 'node:path';
import { openDataset } from '../benchmark/dataset.js';
import { type SizesOf, type Survey, surveyRows } from '../benchmark/survey.js';
import { grouped } from '../core/figures.js';
import { printable } from '../core/printable.js';
import { CHARS_A_TOKEN } from '../core/question.js';
import { groundTruthOf } from '../core/turn.js';
import type { Io } from '../core/types.js';
import { openSizes, openTokenizer } from '../model/tokens/tokenizer.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { requireData } from './chosen-rows.js';
import { buildMessages } from './messages.js';

/** Rows by their sizes, and how tokens were counted. */
interface Surveyed {
  readonly survey: Survey;
  /** Such as `characters / 4`. */
  readonly tokens: string;
}

/** The options that say what is looked at. */
// biome-ignore format: a table, a line an option
export const SURVEY_OPTIONS = {
  'data-dir': { kind: 'text', value: 'DIR', default: 'data', help: 'folder of *_test.jsonl files' },
  tokenizer: { kind: 'text', value: 'FILE', help: "count tokens by a model's tokenizer.json, or the one in this folder (default: characters / 4)" },
} as const satisfies OptionTable;

/**
 * @param step shows how far the work is
 * @throws UserError as `requireData`, `openTokenizer`, `openDataset` and `surveyRows`
 */
export async function surveyData(
  { dataDir, tokenizer: file }: Pick<Settings<typeof SURVEY_OPTIONS>, 'dataDir' | 'tokenizer'>,
  io: Io,
  step: (text: string) => void,
): Promise<Surveyed> {
  await requireData(dataDir, io);
  const tokenizer = file === undefined ? undefined : await openTokenizer(resolve(io.cwd, file), file);
  step('indexing rows');
  const dataset = await openDataset(resolve(io.cwd, dataDir), io.stop);
  try {
    const all = grouped(dataset.rows.length);
    const onRow = (rows: number) => step(`reading rows: ${grouped(rows)} of ${all}`);
    const survey = await surveyRows(
      dataset,
      sizesBy(tokenizer?.count ?? (({ length }) => length / CHARS_A_TOKEN)),
      io.stop,
      onRow,
    );
    return {
      survey,
      tokens: file === undefined ? `characters / ${CHARS_A_TOKEN}` : `counted by ${printable(file)}`,
    };
  } finally {
    await dataset.close();
  }
}

/** By the official protocol, and the row's own system prompt. What a chat template puts around messages is left out. */
function sizesBy(count: (text: string) => number): SizesOf {
  const sizeOf = openSizes(count);
  return (sample) => {
    const messages = buildMessages(sample, 'history', sample.systemPrompt);
    return {
      contextTokens: Math.ceil(sizeOf({ messages }).tokens),
      truthTokens: Math.ceil(count(groundTruthOf(sample))),
    };
  };
}
