// The list of rows that are too long for the served context, told before the first of them is asked.

import { resolve } from 'node:path';
import type { OpenBackend } from '../model/backend.js';
import { fitNotice, leastRoom, overlongRows } from '../model/context.js';
import { present } from '../present.js';
import { charactersOf, textsOf } from '../question.js';
import { openTokenizer, requireTokenizer } from '../tokens/tokenizer.js';
import type { Io, Question } from '../types.js';
import type { AskingSettings } from './options.js';
import { samplingOf } from './sampling.js';
import type { Stage, StageJob } from './stage-contract.js';

/**
 * Tells a slip in --tokenizer before anything is read or asked: a server with a large context would never have it opened.
 * @throws UserError (66) for a tokenizer that is not there, (65) for what cannot be one
 */
export async function requireNamedTokenizer(
  { tokenizer: file }: Pick<AskingSettings, 'tokenizer'>,
  { cwd }: Pick<Io, 'cwd'>,
): Promise<void> {
  if (file !== undefined) await requireTokenizer(resolve(cwd, file), file);
}

/**
 * Lists the rows that are too long for a context that is told. They are asked all the same: sizes are estimates.
 * @throws UserError where no row can fit, where the tokenizer cannot be used, or once the user has interrupted; the backend is closed then
 */
export async function sayWhatIsTooLong<J extends StageJob>(
  stage: Stage<J>,
  backend: OpenBackend,
  notice: (text: string, more: string) => void,
): Promise<void> {
  const { settings, io } = stage;
  const budget = { maxTokens: samplingOf(settings).maxTokens, fitMaxTokens: settings.fitMaxTokens };
  try {
    const room = leastRoom(await backend.contexts(), budget);
    if (room === undefined) return;
    const tooLong = await overlongRows(sizable(stage), room, await charsAToken(stage), io.stop);
    const said = fitNotice(tooLong, room, budget);
    if (said !== undefined) notice(said.summary, `:\n${said.lines.join('\n')}`);
  } catch (error) {
    await backend.close();
    throw error;
  }
}

function* sizable<J extends StageJob>(stage: Stage<J>) {
  for (const job of stage.order) {
    const found = stage.asks(job) ? stage.placeOf(job) : undefined;
    if (found === undefined) continue;
    yield { ...found, domain: job.domain, characters: async () => charactersOf(await firstQuestion(stage, job)) };
  }
}

async function firstQuestion<J extends StageJob>({ questions }: Stage<J>, job: J): Promise<Question> {
  // A row that asks the model has a question.
  return present((await questions(job))[0]);
}

/** So many rows, and so many characters of each, tell the characters a token under a tokenizer: to count whole rows takes seconds. */
const ROWS_COUNTED = 12;
const CHARACTERS_COUNTED = 20_000;

/** By the tokenizer that the user named, else as the run has measured. */
async function charsAToken<J extends StageJob>(stage: Stage<J>): Promise<number> {
  const { io, run, order, asks } = stage;
  const { tokenizer: file } = stage.settings;
  if (file === undefined) return run.ledger.charsAToken;
  const { count } = await openTokenizer(resolve(io.cwd, file), file);
  let [characters, tokens] = [0, 0];
  for (let place = 0; place < order.length; place += Math.ceil(order.length / ROWS_COUNTED)) {
    const job = order.at(place);
    if (job === undefined || !asks(job)) continue;
    const text = textsOf(await firstQuestion(stage, job)).join('\n');
    const start = Math.max(0, (text.length - CHARACTERS_COUNTED) / 2);
    const part = text.slice(start, start + CHARACTERS_COUNTED);
    characters += part.length;
    tokens += count(part);
  }
  return tokens === 0 ? run.ledger.charsAToken : characters / tokens;
}
