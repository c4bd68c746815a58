// A folder of rows looked at as infer would ask them: what awb data check and awb data stats make theirs of.

import { resolve } from 'node:path';
import { openDataset } from '../../bench/dataset.js';
import { type SizesOf, surveyRows } from '../../bench/survey.js';
import { grouped } from '../../figures.js';
import { buildMessages } from '../../infer/messages.js';
import type { Survey } from '../../survey.js';
import { groundTruthOf } from '../../turn.js';
import type { Io } from '../../types.js';
import { requireData } from './data-folder.js';

const CHARACTERS_A_TOKEN = 4;

/** Rows by their sizes, and how tokens were counted. */
interface Surveyed {
  readonly survey: Survey;
  /** Such as `characters / 4`. */
  readonly tokens: string;
}

/**
 * @param step shows how far the work is
 * @throws UserError as `requireData`, `openDataset` and `surveyRows`
 */
export async function surveyData(dataDir: string, io: Io, step: (text: string) => void): Promise<Surveyed> {
  await requireData(dataDir, io);
  step('indexing rows');
  const dataset = await openDataset(resolve(io.cwd, dataDir), io.stop);
  try {
    const all = grouped(dataset.rows.length);
    const survey = await surveyRows(dataset, sizes, io.stop, (rows) =>
      step(`reading rows: ${grouped(rows)} of ${all}`),
    );
    return { survey, tokens: `characters / ${CHARACTERS_A_TOKEN}` };
  } finally {
    await dataset.close();
  }
}

/** By the official protocol, and the row's own system prompt. */
const sizes: SizesOf = (sample) => ({
  contextTokens: estimated(buildMessages(sample, 'history', sample.systemPrompt).map(({ content }) => content)),
  truthTokens: estimated([groundTruthOf(sample)]),
});

function estimated(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / CHARACTERS_A_TOKEN);
}
