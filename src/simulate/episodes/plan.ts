// The episodes to play, their agent, and an upper bound of their cost: where each starts, in a reproducible order; and the agent, a separate
// model with its own prompts and price, its requests, and the reading of its replies: an action, or the word that it is done.

import { join, resolve } from 'node:path';
import { lastFence, readAction } from '../../benchmark/actions/agent-action.js';
import {
  agentMessages,
  agentSystemPrompt,
  describedTools,
  partsOfPrompt,
} from '../../benchmark/actions/agent-dialogue.js';
import { exists, fingerprintOf, loadPrompts, readText } from '../../benchmark/prompts.js';
import { costOf } from '../../core/costs.js';
import { badData, present, UserError } from '../../core/errors.js';
import { counted, dollars, grouped } from '../../core/printable.js';
import { hideKeys } from '../../core/redaction.js';
import { withoutThought } from '../../core/reply.js';
import { wrapped } from '../../core/terminal.js';
import { CHARS_A_TOKEN, charactersOf, type Domain, type Io, type Question } from '../../core/types.js';
import { requestOf, type World } from '../../infer/world.js';
import { samplingOf } from '../../run/options.js';
import type { Pricing } from '../../run/run.js';
import { openPricing, targetAt } from '../../run/target.js';
import { type EpisodeSettings, MOST_EPISODES } from '../options.js';
import { type Budget, fileOrText, LIVE, openPaid, type Start, type Starts } from '../simulation.js';

/** A place to start, and its domain. */
interface Beginning {
  readonly start: Start;
  readonly domain: Domain;
}

/** One world, played to its end. */
export interface Episode extends Beginning {
  /** From 0; files count from 1. */
  readonly number: number;
}

/**
 * The places where episodes start, each once: a domain with each task, or a row.
 * @throws UserError 2 for flags that contradict each other; 65 and 66 for tasks and data that cannot be used
 */
export async function beginningsOf(settings: EpisodeSettings, starts: Starts, io: Io): Promise<readonly Beginning[]> {
  const { domain, from, task, tasks } = settings;
  if (domain === undefined && from !== undefined) {
    if (task !== undefined || tasks !== undefined || settings.state !== undefined) {
      throw new UserError('rows have a task and a state of their own: --task, --tasks and --state belong to --domain');
    }
    const world = await starts.world({ row: from });
    return [{ start: { row: world.key ?? from }, domain: world.domain }];
  }
  if (domain === undefined || from !== undefined) {
    throw new UserError('say where episodes start: --domain (with --task or --tasks), or --from ROW');
  }
  // Report an unknown domain before anything is opened.
  await starts.world({ domain });
  const state = settings.state === undefined ? undefined : await fileOrText(settings.state, '--state', io);
  const all = await tasksOf(settings, io);
  if (all.length === 0) return [{ domain, start: { domain, state } }];
  return all.map((each) => ({ domain, start: { domain, task: each, state } }));
}

/** The episodes, cycling through these places. */
export function episodesOf(beginnings: readonly Beginning[], { episodes }: EpisodeSettings): Episode[] {
  const count = Math.min(episodes ?? beginnings.length, MOST_EPISODES);
  return Array.from({ length: count }, (_, number) => ({ ...present(beginnings[number % beginnings.length]), number }));
}

async function tasksOf({ task, tasks }: EpisodeSettings, { cwd }: Io): Promise<string[]> {
  if (task !== undefined && tasks !== undefined) throw new UserError('give --task or --tasks, not both');
  if (tasks === undefined) return task === undefined ? [] : [task];
  const text = await readText(resolve(cwd, tasks), '--tasks names a file of tasks, one per line');
  // `trim` also removes a byte order mark.
  return text.split('\n').flatMap((line) => line.trim() || []);
}

/**
 * Prints an upper bound: every episode takes all its steps, every reply uses its full budget and is readable at the first try, and all
 * replies are part of every later prompt. Prompts are counted at four characters per token.
 */
export async function printEpisodeBill(
  episodes: readonly Episode[],
  { starts, agent }: { readonly starts: Starts; readonly agent: Agent },
  settings: EpisodeSettings,
  io: Io,
): Promise<void> {
  const { steps, agentMaxTokens: action, maxTokens: observation, context = Number.POSITIVE_INFINITY } = settings;
  const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
  const worldPricing = await openPricing(targetAt({ prefix: 'model', baseUrls, model, apiKey }, io), settings, io);
  const nothing = { calls: 0, promptTokens: 0, completionTokens: 0 };
  const bounds = { agent: { ...nothing }, world: { ...nothing } };
  const add = (bound: typeof nothing, first: number, budget: number, most: number) => {
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
  const usdOf = ({ calls, ...usage }: typeof nothing, pricing: Pricing) => {
    const price = pricing(new Set());
    return price && costOf(usage, price, calls);
  };
  const [ofAgent, ofWorld] = [usdOf(bounds.agent, agent.pricing), usdOf(bounds.world, worldPricing)];
  const usd = ofAgent === undefined || ofWorld === undefined ? undefined : ofAgent + ofWorld;
  if (settings.json) {
    const at_most = { ...bounds, usd: usd ?? null };
    const document = { schema: 'awb.simulate.cost-estimate/1', episodes: episodes.length, steps, at_most };
    io.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const lines = [
    `episodes: ${episodes.length} of ${counted(steps, 'step')} at most`,
    ...Object.entries(bounds).map(
      ([player, { calls, promptTokens, completionTokens }]) =>
        `${player}, at most: calls ${grouped(calls)}, prompt tokens ${grouped(promptTokens)}, output tokens ${grouped(completionTokens)}`,
    ),
    usd === undefined ? 'cost: unknown; both models need a price (--prices FILE)' : `cost: ${dollars(usd)} at most`,
    'An upper bound: every step taken, every reply as long as its budget and readable at the first try, prompts at 4 characters per token, nothing cached.',
  ];
  io.stdout.write(`${lines.flatMap((line) => wrapped(line, io.stdout.columns, 2)).join('\n')}\n`);
}

// The agent that acts in simulated worlds: its prompts and price, its requests, and the reading of its replies: an action, or the word
// that it is done.

/** Changes with what an agent is told in addition to its prompt, and with how its replies are read. */
const AGENT_TURN_VERSION = 1;
/** Hex digits of the prompts' hash in a run's identity. */
const PROMPT_DIGITS = 12;

export type Agent = Awaited<ReturnType<typeof openAgent>>;

/**
 * Opens the agent for worlds of these domains. Nothing is asked yet, and in a dry run nothing can be.
 * @throws UserError 65 for a domain without an agent prompt, and the errors of opening an endpoint
 */
export async function openAgent(settings: EpisodeSettings, domains: readonly string[], io: Io) {
  const prompts = await promptsFor(domains, settings, io);
  const { agentBaseUrl: baseUrls, agentModel: model, agentApiKey: apiKey } = settings;
  const target = targetAt({ prefix: 'agent', baseUrls, model, apiKey }, io);
  const pricing = await openPricing(target, settings, io);
  // It has its own sampling; timeouts and retries are the run's.
  const asked = {
    ...settings,
    ...{ maxTokens: settings.agentMaxTokens, temperature: settings.agentTemperature },
    ...{ extraBody: settings.agentExtraBody, reasoningEffort: undefined, preset: undefined },
    ...{ topP: undefined, topK: undefined, minP: undefined, presencePenalty: undefined },
    ...{ ...LIVE, context: undefined, local: undefined },
  };
  return {
    model: target.model,
    hosts: target.hosts,
    pricing,
    /** What the episodes depend on. */
    identity: {
      model: target.identity,
      prompts: fingerprintOf([...prompts]).slice(0, PROMPT_DIGITS),
      turn: AGENT_TURN_VERSION,
      sampling: hideKeys(samplingOf(asked)),
    },
    /** Its system prompt in a world. */
    briefing: (world: World) => agentBriefing(prompts.get(world.domain) ?? '', world),
    /** @throws UserError (2) for a budget in dollars if its price is unknown */
    live: (budget: Budget, onNotice: (text: string) => void) => openPaid(target, pricing, asked, budget, onNotice),
  };
}

/** The prompts of these domains, those of `DIR/agent` first. @throws UserError (65) for a domain without one */
async function promptsFor(domains: readonly string[], { domainPrompts }: EpisodeSettings, { cwd }: Io) {
  // A folder of prompts may be meant only for the world.
  const own = domainPrompts === undefined ? undefined : join(resolve(cwd, domainPrompts), 'agent');
  const known = await loadPrompts('agent', own !== undefined && (await exists(own)) ? own : undefined);
  const ofDomain = (domain: string) => {
    const prompt = known.prompt(domain);
    if (prompt !== undefined) return [domain, prompt] as const;
    throw badData(
      `the domain "${domain}" has no prompt for an agent; describe how to act there in DIR/agent/${domain}.txt, and name the folder with --domain-prompts DIR`,
    );
  };
  return new Map([...new Set(domains)].sort().map(ofDomain));
}

/** The words with which an agent ends its episode. */
const LAST_WORDS = { DONE: 'done', FAIL: 'gave-up' } as const;

const ENDING =
  'How you end: when the task is done, answer with the single word DONE in place of an action; where nothing more can be done about it, with the single word FAIL. What you have found out, if the task asks for it, stands in front of that word.';

/** The agent's system prompt in a world: how to act, how to end, and the tools that the world's own prompt describes. */
export function agentBriefing(prompt: string, world: World): string {
  return agentSystemPrompt(`${prompt}\n\n${ENDING}`, describedTools(world.systemPrompt));
}

/** Asks the agent for its next action in the world's current state. It does not see instructions to the world model. */
export function agentQuestion(briefing: string, { preface, turns }: World): Question {
  const seen = turns.map(({ prompt, response }) => ({ action: partsOfPrompt(prompt).action, observation: response }));
  return { messages: agentMessages(briefing, preface, seen) };
}

/**
 * Reads a reply: an action without its fence, an end with the agent's findings, or why it is neither. A last word only counts if the reply
 * has no fenced action: an action is carried out first.
 */
export function readAgentTurn(domain: Domain, reply: string) {
  const text = withoutThought(reply).trim();
  const fenced = lastFence(text)?.trim();
  const lines = text.split('\n');
  const word = (fenced ?? lines.at(-1) ?? '').replace(/^[\s*_"'`]+|[\s*_"'`.!]+$/g, '');
  if (word === 'DONE' || word === 'FAIL') {
    const said = fenced === undefined ? lines.slice(0, -1).join('\n').trim() : '';
    return { end: LAST_WORDS[word], ...(said !== '' && { said }) };
  }
  const read = readAction(domain, reply);
  return 'flaw' in read ? read : { action: read.text.split('\n').slice(1, -1).join('\n') };
}
