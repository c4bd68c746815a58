// The turns of a rollout, which infer wrote beside its predictions: the history that the world model saw, read when a row's turn comes.

import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { badData, present } from '../core/errors.js';
import { isInteger, type JsonObject, parseObject } from '../core/json.js';
import { rowId } from '../core/row-id.js';
import type { Turn } from '../core/turn.js';
import { badLine, objectLines, openToRead, readAgain, type Span, spanOf } from './line-file.js';

/** What a row of the benchmark was asked behind. */
export interface SimulatedHistory {
  /** The turns that the world model wrote, the first of them being turn `from + 1`. */
  readonly turns: readonly Turn[];
  /** True turns in front of them. */
  readonly from: number;
  /** The prompt of the row's own turn, as it stood behind them. */
  readonly prompt: string;
}

interface RolloutTurns {
  readonly path: string;
  /** What changes with a row's simulated history; undefined for a row that is not there. */
  stampOf(key: string, repeat: number): string | undefined;
  /** @throws UserError (65) where the row is not there, or another text lies in its place by now. */
  read(key: string, repeat: number): Promise<SimulatedHistory>;
  close(): Promise<void>;
}

/** A row: the turns of its chain before it, its own as the last, and a hash over them. */
interface Place {
  readonly spans: readonly Span[];
  readonly stamp: string;
}

const HINT =
  'awb infer --rollout writes it beside predictions.jsonl, and --judge-sees rollout shows it; keep both together, or leave --judge-sees out';
const REMEDY = 'run awb infer again, which writes it anew';

/** @throws UserError: 66 where the file cannot be read, 65 for a line that is no turn of a rollout, 130 or 143 once `stop` is aborted. */
export async function openRolloutTurns(path: string, stop?: AbortSignal): Promise<RolloutTurns> {
  const handle = await openToRead(path, HINT);
  try {
    const places = await placesIn(path, handle, stop);
    return {
      path,
      stampOf: (key, repeat) => places.get(rowId(key, repeat))?.stamp,
      async read(key, repeat) {
        const { spans } = places.get(rowId(key, repeat)) ?? { spans: [] };
        // The same bytes are the same turn.
        const texts = await Promise.all(spans.map((span) => readAgain(handle, span, path)));
        const lines = texts.map((text) => present(turnOf(present(parseObject(text)))));
        const own = lines.pop();
        if (own === undefined) throw badData(`${path} has no turn of the row ${key}; ${REMEDY}`);
        const turns = lines.map(({ prompt, observation }) => ({ prompt, response: observation }));
        return { turns, from: own.from, prompt: own.prompt };
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function placesIn(
  path: string,
  handle: FileHandle,
  stop: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Place>> {
  const places = new Map<string, Place>();
  const chains = new Map<string, { readonly spans: Span[]; hash: number; step: number }>();
  const file = { path, hint: HINT, command: 'awb infer' };
  for await (const { line, fields } of objectLines(handle, file, stop)) {
    const turn = turnOf(fields);
    if (turn === undefined) throw badLine(file, line, `no turn of a rollout; ${REMEDY}`);
    const chainId = rowId(turn.chain, turn.repeat);
    const chain = chains.get(chainId) ?? { spans: [], hash: 0, step: turn.from };
    if (turn.step !== chain.step + 1) {
      throw badLine(file, line, `turn ${turn.step} stands where turn ${chain.step + 1} should; ${REMEDY}`);
    }
    chain.spans.push(spanOf(line));
    chain.hash = crc32(turn.prompt, chain.hash);
    if (turn.row !== null)
      places.set(rowId(turn.row, turn.repeat), { spans: [...chain.spans], stamp: String(chain.hash) });
    chain.hash = crc32(turn.observation, chain.hash);
    chain.step = turn.step;
    chains.set(chainId, chain);
  }
  return places;
}

/** What a line says of its turn; undefined where it says none. */
function turnOf({ chain, step, distance, repeat = 0, row, prompt, observation }: JsonObject) {
  const isPlaced = typeof chain === 'string' && isInteger(step) && isInteger(distance) && isInteger(repeat);
  if (!isPlaced || distance < 1 || step < distance) return undefined;
  if (typeof prompt !== 'string' || typeof observation !== 'string') return undefined;
  if (row !== null && typeof row !== 'string') return undefined;
  return { chain, step, from: step - distance, repeat, row, prompt, observation };
}
