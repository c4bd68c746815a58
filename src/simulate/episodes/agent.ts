// The agent that acts in simulated worlds: a model of its own, its prompts and its price, what it is asked, and what its replies do: an
// action, or the word that it is done.

import { join, resolve } from 'node:path';
import { lastFence, readAction } from '../../benchmark/actions/agent-action.js';
import {
  agentMessages,
  agentSystemPrompt,
  describedTools,
  partsOfPrompt,
} from '../../benchmark/actions/agent-dialogue.js';
import { exists, fingerprintOf, loadAgentPrompts } from '../../benchmark/prompts.js';
import { badData } from '../../core/errors.js';
import { hideKeys } from '../../core/redaction.js';
import { withoutThought } from '../../core/reply.js';
import type { Domain, Io, Question } from '../../core/types.js';
import type { World } from '../../infer/world.js';
import { openLive } from '../../model/live.js';
import { backendOptions } from '../../run/model.js';
import { samplingOf } from '../../run/options.js';
import { openPricing, requirePriced, targetAt } from '../../run/target.js';
import type { EpisodeSettings } from '../options.js';
import { type Budget, PaidModel } from '../simulation.js';

/** Changes with what an agent is told beside its prompt, and with how its replies are read. */
const AGENT_TURN_VERSION = 1;
/** Hex digits of the prompts' hash in a run's identity. */
const PROMPT_DIGITS = 12;

export type Agent = Awaited<ReturnType<typeof openAgent>>;

/**
 * Opens the agent for worlds of these domains. Nothing is asked yet, and in a dry run nothing can be.
 * @throws UserError 65 for a domain without a prompt for an agent, and what opening an endpoint throws
 */
export async function openAgent(settings: EpisodeSettings, domains: readonly string[], io: Io) {
  const prompts = await promptsFor(domains, settings, io);
  const { agentBaseUrl: baseUrls, agentModel: model, agentApiKey: apiKey } = settings;
  const target = targetAt({ prefix: 'agent', baseUrls, model, apiKey }, io);
  const pricing = await openPricing(target, settings, io);
  // Its sampling is its own, its clocks and retries are those of the run. Of a long episode's context, it uses what is left.
  const asked = {
    ...settings,
    ...{ maxTokens: settings.agentMaxTokens, temperature: settings.agentTemperature },
    ...{ extraBody: settings.agentExtraBody, reasoningEffort: undefined, preset: undefined },
    ...{ topP: undefined, topK: undefined, minP: undefined, presencePenalty: undefined },
    ...{ fitMaxTokens: true, keepGoing: true },
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
    /** What it is told of its part in a world. */
    briefing: (world: World) => agentBriefing(prompts.get(world.domain) ?? '', world),
    /** @throws UserError (2) for a budget in dollars where nobody knows its price */
    async live(budget: Budget, onNotice: (text: string) => void) {
      requirePriced({ ...settings, local: undefined }, pricing(new Set()) !== undefined, target);
      const live = await openLive(target.named, { ...backendOptions(asked), dropped: [], onNotice });
      return { asked: new PaidModel(live, pricing, asked.maxTokens, budget), close: () => live.close() };
    },
  };
}

/** The prompts of these domains, those of `DIR/agent` first. @throws UserError (65) for a domain without one */
async function promptsFor(domains: readonly string[], { domainPrompts }: EpisodeSettings, { cwd }: Io) {
  // A folder of prompts may be meant for the world alone.
  const own = domainPrompts === undefined ? undefined : join(resolve(cwd, domainPrompts), 'agent');
  const known = await loadAgentPrompts(own !== undefined && (await exists(own)) ? own : undefined);
  const prompts = new Map<string, string>();
  for (const domain of [...new Set(domains)].sort()) {
    const prompt = known.prompt(domain);
    if (prompt === undefined) {
      throw badData(
        `there is no prompt for an agent in the domain "${domain}"; write how it acts there into DIR/agent/${domain}.txt, and name the folder with --domain-prompts DIR`,
      );
    }
    prompts.set(domain, prompt);
  }
  return prompts;
}

/** The words by which an agent ends its episode. */
const LAST_WORDS = { DONE: 'done', FAIL: 'gave-up' } as const;

const ENDING =
  'How you end: when the task is done, answer with the single word DONE in place of an action; where nothing more can be done about it, with the single word FAIL. What you have found out, if the task asks for it, stands in front of that word.';

/** The agent's system prompt in a world: how to act, how to end, and the tools that the world's own prompt describes. */
export function agentBriefing(prompt: string, world: World): string {
  return agentSystemPrompt(`${prompt}\n\n${ENDING}`, describedTools(world.systemPrompt));
}

/** What is asked of the agent: its next action, in front of the world as it stands. Instructions to the world are none of its business. */
export function agentQuestion(briefing: string, { preface, turns }: World): Question {
  const seen = turns.map(({ prompt, response }) => ({ action: partsOfPrompt(prompt).action, observation: response }));
  return { messages: agentMessages(briefing, preface, seen) };
}

/** What an agent's reply comes to: an action without its fence, an end with what the agent found out, or why it is neither. */
type AgentTurn =
  | { readonly action: string }
  | { readonly end: (typeof LAST_WORDS)[keyof typeof LAST_WORDS]; readonly said?: string }
  | { readonly flaw: string };

/** What a reply does. A last word counts where the reply holds no action in a fence beside it: an action is carried out first. */
export function readAgentTurn(domain: Domain, reply: string): AgentTurn {
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
