// What episodes take at most, before any of them is played.

import { counted, grouped } from '../../core/figures.js';
import { dollars } from '../../core/money.js';
import { costOf } from '../../core/price.js';
import { CHARS_A_TOKEN, charactersOf } from '../../core/question.js';
import { wrapped } from '../../core/terminal.js';
import { requestOf, type World } from '../../infer/world.js';
import type { Pricing } from '../../run/run.js';
import { agentQuestion } from '../agent-turn.js';
import { PLAYERS, type Player } from './purse.js';
import type { Work } from './session.js';

interface Bound {
  calls: number;
  promptTokens: number;
  completionTokens: number;
}

/**
 * Prints an upper bound: every episode has all of its steps, every reply takes its whole budget and is read at the first try, and what
 * was said stands in every later prompt. Prompts are counted at four characters a token.
 */
export async function printEpisodeBill(work: Work, pricing: Readonly<Record<Player, Pricing>>): Promise<void> {
  const { io, settings, episodes, starts } = work;
  const bounds: Record<Player, Bound> = { agent: nothing(), world: nothing() };
  for (const { start } of episodes) add(bounds, await starts.world(start), work);
  const costs = PLAYERS.map((player) => costOfBound(bounds[player], pricing[player]));
  const usd = costs.every((cost) => cost !== undefined) ? costs.reduce((sum, cost) => sum + cost, 0) : undefined;
  if (settings.json) {
    const document = {
      schema: 'awb.simulate.bill/1',
      episodes: episodes.length,
      steps: settings.steps,
      at_most: { agent: bounds.agent, world: bounds.world, usd: usd ?? null },
    };
    io.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const lines = [
    `episodes: ${episodes.length} of ${counted(settings.steps, 'step')} at most`,
    ...PLAYERS.map((player) => `${player}, at most: ${boundText(bounds[player])}`),
    usd === undefined
      ? 'cost: unknown; the price of both models is needed (--prices FILE)'
      : `cost: ${dollars(usd)} at most`,
    'An upper bound: every step taken, every reply as long as its budget and read at the first try, prompts at 4 characters a token, nothing cached.',
    'Nothing was asked or written. --budget-usd and --budget-tokens bound what is spent.',
  ];
  io.stdout.write(`${lines.flatMap((line) => wrapped(line, io.stdout.columns, 2)).join('\n')}\n`);
}

function add(bounds: Record<Player, Bound>, world: World, { settings, agent }: Work): void {
  const { steps, agentMaxTokens: action, maxTokens: observation, context } = settings;
  const first: Record<Player, number> = {
    agent: charactersOf(agentQuestion(agent.briefing(world), world)) / CHARS_A_TOKEN,
    world: charactersOf(requestOf(world, '')) / CHARS_A_TOKEN + action,
  };
  const budget: Record<Player, number> = { agent: action, world: observation };
  for (const player of PLAYERS) {
    const bound = bounds[player];
    for (let step = 0; step < steps; step++) {
      const prompt = Math.ceil(first[player] + step * (action + observation));
      const most = player === 'world' && context !== undefined ? context : Number.POSITIVE_INFINITY;
      if (prompt > most) break;
      bound.calls++;
      bound.promptTokens += prompt;
      bound.completionTokens += Math.min(budget[player], most - prompt);
    }
  }
}

function nothing(): Bound {
  return { calls: 0, promptTokens: 0, completionTokens: 0 };
}

function costOfBound({ calls, ...usage }: Bound, pricing: Pricing): number | undefined {
  const price = pricing(new Set());
  return price === undefined ? undefined : costOf(usage, price, calls);
}

function boundText({ calls, promptTokens, completionTokens }: Bound): string {
  return `${counted(calls, 'call', 'calls', grouped)}, ${counted(promptTokens, 'prompt token', 'prompt tokens', grouped)}, ${grouped(completionTokens)} of output`;
}
