// Trajectories for rollouts: made-up ones with rows at chosen turns, and the recorded GUI rows in the form of the real data.

import { join } from 'node:path';
import { RECORDED } from './cli.js';
import { readRows } from './run-folder.js';

/** A row of the benchmark, as in a file. */
export interface TrajectoryRow extends Record<string, unknown> {
  readonly task: string;
  readonly id: number;
  readonly prompt: readonly string[];
  readonly response: readonly string[];
  readonly current_prompt: string;
  readonly system_str: string;
  readonly turn_idx: number;
}

export const TAIL =
  '\n\nPlease analyze the input above and say what the environment shows.\nPut it inside <predicted_observation></predicted_observation> tags.';
export const MARKER = '**Environment Observation:**\n';

/** The environment's true observation in a turn of a made-up trajectory. */
export function truthOf(id: number, turn: number): string {
  return `truth of trajectory ${id} turn ${turn}: ${'ab'.repeat((id + turn) % 7)}${id * 1000 + turn}`;
}

/** Rows of one trajectory at these turns. `state` puts the previous observation in each prompt from turn 2 on. */
export function trajectory({
  domain = 'mcp',
  id,
  at,
  state,
}: {
  readonly domain?: string;
  readonly id: number;
  readonly at: readonly number[];
  readonly state?: (truth: string) => string;
}): TrajectoryRow[] {
  const most = Math.max(...at);
  const response = Array.from({ length: most }, (_, index) => MARKER + truthOf(id, index + 1));
  const prompt = Array.from({ length: most }, (_, index) => {
    const shown = index > 0 && state !== undefined ? `${state(truthOf(id, index))}\n\n` : '';
    return `### Turn ${index + 1}\n${shown}**Action:**\n\`\`\`json\n{"name": "act", "arguments": {"step": ${index + 1}}}\n\`\`\``;
  });
  return at.map((turn) => rowAt({ task: `made-up/${domain}`, id, prompt, response, total: most }, turn));
}

function rowAt(
  {
    task,
    id,
    prompt,
    response,
    total,
  }: { task: string; id: number; prompt: string[]; response: string[]; total: number },
  turn: number,
): TrajectoryRow {
  const current = prompt[turn - 1] ?? '';
  return {
    task,
    id,
    prompt: [...prompt.slice(0, turn - 1), current + TAIL],
    response: response.slice(0, turn),
    current_prompt: current,
    system_str: `You are environment ${id}.`,
    turn_idx: turn,
    total_turns: total,
  };
}

/** The recorded rows of a domain. */
export async function recordedRows(domain: string): Promise<TrajectoryRow[]> {
  // Rows in the benchmark's format.
  return (await readRows(join(RECORDED, `${domain}_test.jsonl`))) as unknown as TrajectoryRow[];
}

/** The recorded rows of a GUI domain with the previous observation in every prompt, as in the real data. */
export async function recordedWithStates(
  domain: string,
  heading = 'Current State',
  shown: (observation: string) => string = (observation) => observation,
): Promise<TrajectoryRow[]> {
  const withState = (prompt: string, turn: number, responses: readonly string[]) =>
    turn === 1
      ? prompt
      : prompt.replace(/^(### Turn \d+\n)/, (head) => {
          const state = shown((responses[turn - 2] ?? '').slice(MARKER.length));
          return `${head}**${heading}:**\n${state}\n\n`;
        });
  return (await recordedRows(domain)).map((row) => ({
    ...row,
    prompt: row.prompt.map((prompt, index) => withState(prompt, index + 1, row.response)),
    current_prompt: withState(row.current_prompt, row.turn_idx, row.response),
  }));
}

/** Distinctive lines of true observations: long enough, and nowhere in the input of a rollout. */
export function tellingLines(row: TrajectoryRow, from = 0): string[] {
  const given = [row.system_str, row.prompt[0] ?? '', ...row.response.slice(0, from)].join('\n');
  const actions = row.prompt.map((prompt) => prompt.slice(prompt.lastIndexOf('**Action:**'))).join('\n');
  const lines = row.response.slice(from).flatMap((text) => text.slice(MARKER.length).split('\n'));
  return [...new Set(lines.map((line) => line.trim()))].filter(
    (line) => line.length >= 12 && !given.includes(line) && !actions.includes(line),
  );
}
