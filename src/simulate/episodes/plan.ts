// Which episodes are played, and what they take at most: where each starts, in an order that is the same every time.

import { resolve } from 'node:path';
import { readText } from '../../benchmark/prompts.js';
import { costOf } from '../../core/costs.js';
import { inputMissing, UserError } from '../../core/errors.js';
import { counted, dollars, grouped } from '../../core/figures.js';
import { wrapped } from '../../core/terminal.js';
import { CHARS_A_TOKEN, charactersOf, type Domain, type Io } from '../../core/types.js';
import { requestOf } from '../../infer/world.js';
import type { Pricing } from '../../run/run.js';
import { type EpisodeSettings, MOST_EPISODES } from '../options.js';
import { fileOrText, type NamedRow, type Start, type Starts } from '../simulation.js';
import { type Agent, agentQuestion } from './agent.js';

/** A place to start, and the domain that it lies in. */
interface Beginning {
  readonly start: Start;
  readonly domain: Domain;
  /** What the agent is to do; absent where the row's own prompt says it. */
  readonly task?: string;
  /** The key of the row. */
  readonly row?: string;
}

/** One world that is acted in to its end. */
export interface Episode extends Beginning {
  /** From 0; the files count from 1. */
  readonly number: number;
}

/**
 * The places where episodes start, each once: a domain with each task, a row, or the first rows of the data's trajectories.
 * @throws UserError 2 for flags that contradict each other; 65 and 66 for tasks and data that cannot be used
 */
export async function beginningsOf(
  settings: EpisodeSettings,
  starts: Pick<Starts, 'names' | 'world'>,
  io: Io,
): Promise<readonly Beginning[]> {
  const { domain, from, fromRows, task, tasks } = settings;
  const places = [from !== undefined, fromRows, domain !== undefined && !fromRows].filter(Boolean).length;
  if (places !== 1) {
    throw new UserError('say where episodes start: --domain (with --task or --tasks), or --from ROW, or --from-rows');
  }
  if (domain === undefined || fromRows) {
    if (task !== undefined || tasks !== undefined || settings.state !== undefined) {
      throw new UserError('rows have a task and a state of their own: --task, --tasks and --state belong to --domain');
    }
    if (from === undefined) return firstRows(await starts.names(), settings);
    const world = await starts.world({ row: from });
    return [{ start: { row: world.key ?? from }, domain: world.domain, row: world.key ?? from }];
  }
  // A domain that nobody knows is told before anything is opened.
  await starts.world({ domain });
  const state = settings.state === undefined ? undefined : await fileOrText(settings.state, '--state', io);
  const all = await tasksOf(settings, io);
  if (all.length === 0) return [{ domain, start: { domain, state } }];
  return all.map((each) => ({ domain, task: each, start: { domain, task: each, state } }));
}

/** The episodes over these places in turn. @throws UserError (2) where it has to be said how many they are */
export function episodesOf(beginnings: readonly Beginning[], { episodes, fromRows }: EpisodeSettings): Episode[] {
  if (episodes === undefined && fromRows) {
    throw new UserError(
      `--from-rows: say how many episodes to play with --episodes N; there are ${counted(beginnings.length, 'trajectory', 'trajectories')} to start from`,
    );
  }
  const count = Math.min(episodes ?? beginnings.length, MOST_EPISODES);
  return Array.from({ length: count }, (_, number) => {
    const beginning = beginnings[number % beginnings.length];
    if (beginning === undefined) throw new Error('there is no place to start');
    return { ...beginning, number };
  });
}

async function tasksOf({ task, tasks }: EpisodeSettings, { cwd }: Io): Promise<string[]> {
  if (task !== undefined && tasks !== undefined) throw new UserError('give --task or --tasks, not both');
  if (tasks === undefined) return task === undefined ? [] : [task];
  const lines = (await readText(resolve(cwd, tasks), '--tasks names a file of tasks, one a line'))
    .replace(/^\uFEFF/, '')
    .split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/** A trajectory's first row, in the order of the data. */
function firstRows(rows: readonly NamedRow[], { domain, dataDir }: EpisodeSettings): Beginning[] {
  const first = new Map<string, NamedRow>();
  for (const row of rows) {
    if (domain !== undefined && row.domain !== domain) continue;
    const known = first.get(row.trajectory);
    if (known === undefined || row.turnIdx < known.turnIdx) first.set(row.trajectory, row);
  }
  if (first.size === 0) {
    const domains = [...new Set(rows.map((row) => row.domain))].join(', ');
    throw inputMissing(`--domain: ${dataDir} has no row of "${domain}", only of ${domains}`);
  }
  return Array.from(first.values(), ({ key, domain: named }) => ({ start: { row: key }, domain: named, row: key }));
}

/**
 * Prints an upper bound: every episode has all of its steps, every reply takes its whole budget and is read at the first try, and what
 * was said stands in every later prompt. Prompts are counted at four characters a token.
 */
export async function printEpisodeBill(
  episodes: readonly Episode[],
  { starts, agent, worldPricing }: { starts: Starts; agent: Agent; worldPricing: Pricing },
  settings: EpisodeSettings,
  io: Io,
): Promise<void> {
  const { steps, agentMaxTokens: action, maxTokens: observation, context = Number.POSITIVE_INFINITY } = settings;
  const bounds = {
    agent: { calls: 0, promptTokens: 0, completionTokens: 0 },
    world: { calls: 0, promptTokens: 0, completionTokens: 0 },
  };
  const add = (bound: (typeof bounds)['agent'], first: number, budget: number, most: number) => {
    for (let step = 0; step < steps; step++) {
      const prompt = Math.ceil(first + step * (action + observation));
      if (prompt > most) break;
      bound.calls++;
      bound.promptTokens += prompt;
      bound.completionTokens += Math.min(budget, most - prompt);
    }
  };
  for (const { start } of episodes) {
    const world = await starts.world(start);
    const told = charactersOf(agentQuestion(agent.briefing(world), world)) / CHARS_A_TOKEN;
    add(bounds.agent, told, action, Number.POSITIVE_INFINITY);
    add(bounds.world, charactersOf(requestOf(world, '')) / CHARS_A_TOKEN + action, observation, context);
  }
  const costs = [
    [bounds.agent, agent.pricing(new Set())] as const,
    [bounds.world, worldPricing(new Set())] as const,
  ].map(([{ calls, ...usage }, price]) => price && costOf(usage, price, calls));
  const usd = costs.reduce((sum, cost) => (sum === undefined || cost === undefined ? undefined : sum + cost), 0);
  if (settings.json) {
    const at_most = { ...bounds, usd: usd ?? null };
    const document = { schema: 'awb.simulate.bill/1', episodes: episodes.length, steps, at_most };
    io.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const lines = [
    `episodes: ${episodes.length} of ${counted(steps, 'step')} at most`,
    ...Object.entries(bounds).map(
      ([player, { calls, promptTokens, completionTokens }]) =>
        `${player}, at most: ${counted(calls, 'call', 'calls', grouped)}, ${counted(promptTokens, 'prompt token', 'prompt tokens', grouped)}, ${grouped(completionTokens)} of output`,
    ),
    usd === undefined
      ? 'cost: unknown; the price of both models is needed (--prices FILE)'
      : `cost: ${dollars(usd)} at most`,
    'An upper bound: every step taken, every reply as long as its budget and read at the first try, prompts at 4 characters a token, nothing cached.',
    'Nothing was asked or written. --budget-usd and --budget-tokens bound what is spent.',
  ];
  io.stdout.write(`${lines.flatMap((line) => wrapped(line, io.stdout.columns, 2)).join('\n')}\n`);
}
