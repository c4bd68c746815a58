// The agent that acts in simulated worlds: a model of its own, its prompts, and its price.

import { join, resolve } from 'node:path';
import { exists, fingerprintOf, loadAgentPrompts } from '../../benchmark/prompts.js';
import { EXIT, UserError } from '../../core/errors.js';
import { hideKeys } from '../../core/redaction.js';
import type { Io } from '../../core/types.js';
import type { World } from '../../infer/world.js';
import { type LiveHooks, type LiveOutcome, openLive } from '../../model/live.js';
import { backendOptions } from '../../run/model.js';
import { samplingOf } from '../../run/options.js';
import { openPricing, targetAt } from '../../run/target.js';
import { AGENT_TURN_VERSION, agentBriefing, agentQuestion } from '../agent-turn.js';
import type { EpisodeSettings } from './options.js';

/** Hex digits of the prompts' hash in a run's identity. */
const PROMPT_DIGITS = 12;

export type Agent = Awaited<ReturnType<typeof openAgent>>;

/**
 * Opens the agent for worlds of these domains. Nothing is asked yet.
 * @throws UserError 65 for a domain without a prompt for an agent, and what opening an endpoint throws
 */
export async function openAgent(
  settings: EpisodeSettings,
  domains: readonly string[],
  io: Io,
  onNotice: (text: string) => void,
) {
  const prompts = await promptsFor(domains, settings, io);
  const { agentBaseUrl: baseUrls, agentModel: model, agentApiKey: apiKey } = settings;
  const target = targetAt({ prefix: 'agent', baseUrls, model, apiKey }, io);
  const asked = askedAs(settings);
  const pricing = await openPricing(target, settings, io);
  const live = settings.dryRun
    ? undefined
    : await openLive(target.named, { ...backendOptions(asked), dropped: [], onNotice });
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
    /** Never rejects. `full`: no reply would fit into its context any more, and nothing was asked. */
    async ask(
      briefing: string,
      world: World,
      { seedOffset, ...hooks }: LiveHooks & { readonly seedOffset: number },
    ): Promise<LiveOutcome | { readonly status: 'full' }> {
      if (live === undefined) throw new Error('nobody is asked in a dry run');
      const question = agentQuestion(briefing, world);
      if (live.roomFor(question)?.state === 'full') return { status: 'full' };
      return live.ask({ ...question, seedOffset }, hooks);
    },
    close: async () => live?.close(),
  };
}

/** The settings by which the agent is asked: its sampling is its own, its clocks and retries are those of the run. */
function askedAs(settings: EpisodeSettings) {
  return {
    ...settings,
    maxTokens: settings.agentMaxTokens,
    temperature: settings.agentTemperature,
    extraBody: settings.agentExtraBody,
    topP: undefined,
    topK: undefined,
    minP: undefined,
    presencePenalty: undefined,
    reasoningEffort: undefined,
    preset: undefined,
    // A long episode leaves less of the context; what is left is used.
    fitMaxTokens: true,
    keepGoing: true,
  };
}

/** The prompts of these domains, those of `DIR/agent` first. @throws UserError (65) for a domain without one */
async function promptsFor(
  domains: readonly string[],
  { domainPrompts }: EpisodeSettings,
  { cwd }: Io,
): Promise<ReadonlyMap<string, string>> {
  // A folder of prompts may be meant for the world alone.
  const own = domainPrompts === undefined ? undefined : join(resolve(cwd, domainPrompts), 'agent');
  const known = await loadAgentPrompts(own !== undefined && (await exists(own)) ? own : undefined);
  const prompts = new Map<string, string>();
  for (const domain of [...new Set(domains)].sort()) {
    const prompt = known.prompt(domain);
    if (prompt === undefined) {
      throw new UserError(
        `there is no prompt for an agent in the domain "${domain}"; write how it acts there into DIR/agent/${domain}.txt, and name the folder with --domain-prompts DIR`,
        EXIT.badData,
      );
    }
    prompts.set(domain, prompt);
  }
  return prompts;
}
