// The samples of the page for raters, each with its texts, the hash of its prediction, and what the judge says of it.

import { domainName } from '../../domains.js';
import { EXIT, UserError } from '../../errors.js';
import { isRated } from '../../points.js';
import { present } from '../../present.js';
import type { JudgeSays, RatingSample } from '../../report/page/rating/data.js';
import { textsChunk } from '../../report/page/texts.js';
import { rowId } from '../../row-id.js';
import { DIMENSIONS, type Io } from '../../types.js';
import { judgeFigures, predictionHash } from '../agree/predictions.js';
import type { RunWithTexts } from '../report/texts.js';
import type { Drawn } from './draw.js';

interface GatheredSamples {
  readonly samples: readonly RatingSample[];
  /** The JSON of their texts, in their order. */
  readonly texts: string;
  /** Predictions that both runs made in the same words, so that they are shown once. */
  readonly shared: number;
}

/**
 * Reads what was drawn of one run or two; undefined where the user stopped it.
 * @throws UserError (65) where a file was changed meanwhile
 */
export async function gatherSamples(
  drawn: readonly Drawn[],
  runs: readonly RunWithTexts[],
  io: Pick<Io, 'stop'>,
): Promise<GatheredSamples | undefined> {
  const samples = new Map<string, RatingSample>();
  const chunk = textsChunk();
  for (const { judgements, run } of drawn) {
    if (io.stop.aborted) return undefined;
    const { read, source } = present(runs[run]);
    const { key, repeat, index, trajectory, domain, turnIdx } = judgements.find(isRated) ?? judgements[0];
    const texts = await read(rowId(key, repeat, index));
    if (texts === undefined) {
      throw new UserError(`${source} was changed while it was being read; run the same command again`, EXIT.badData);
    }
    const { prediction, strengths, weaknesses, truth, action, history, systemPrompt } = texts;
    const sha256 = predictionHash(prediction);
    const id = `${rowId(key, repeat)} ${sha256}`;
    if (samples.has(id)) continue;
    const figures = judgeFigures({ rows: judgements });
    const says = { ratings: DIMENSIONS.map((name) => figures[name] ?? null), strengths, weaknesses };
    const title = `${domainName(domain)} · turn ${turnIdx}${repeat > 0 ? ` · repeat ${repeat + 1}` : ''}`;
    samples.set(id, { key, repeat, trajectory, domain, title, sha256, judge: sealed(says) });
    chunk.add({ prediction, truth, action, history, systemPrompt, strengths: [], weaknesses: [] });
  }
  return { samples: [...samples.values()], texts: chunk.json(), shared: drawn.length - samples.size };
}

function sealed(says: JudgeSays): string {
  return Buffer.from(JSON.stringify(says)).toString('base64');
}
