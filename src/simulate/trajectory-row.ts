// A world's trajectory as a row of the benchmark: its last turn is the one to predict.

import type { World } from './world.js';

/**
 * The whole trajectory in one row, whose ground truth is what the world model said: `awb infer` asks for its last turn, and
 * `awb infer --rollout` for every turn. Undefined where nothing has happened.
 * @param id of the trajectory
 */
export function trajectoryRow(world: World, id: string | number): Record<string, unknown> | undefined {
  const { domain, turns, tail, systemPrompt } = world;
  const last = turns.at(-1);
  if (last === undefined) return undefined;
  return {
    task: `simulated/${domain}`,
    id,
    prompt: [...turns.slice(0, -1).map(({ prompt }) => prompt), last.prompt + tail],
    response: turns.map(({ response }) => response),
    current_prompt: last.prompt,
    system_str: systemPrompt,
    turn_idx: turns.length,
    total_turns: turns.length,
  };
}
