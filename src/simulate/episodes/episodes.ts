// `awb simulate` with an agent: episodes are played in simulated worlds, and kept as trajectories of the benchmark's form.

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { EXIT, type ExitCode, interruption } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { groupBy } from '../../core/groups.js';
import { fingerprintOf, type Identity } from '../../core/identity.js';
import { hideKeys } from '../../core/redaction.js';
import type { Io, Usage } from '../../core/types.js';
import { addUsage } from '../../core/usage.js';
import { writeLines } from '../../disk/files.js';
import { openFreshPrompts, openSystemPrompts } from '../../infer/messages.js';
import { trajectoryRow } from '../../infer/world.js';
import { spendingOf, spendingText } from '../../run/budget.js';
import { type Manifest, writeManifest } from '../../run/manifest.js';
import { samplingOf } from '../../run/options.js';
import { openProgress } from '../../run/progress.js';
import { openRun } from '../../run/run.js';
import { drainOnInterrupt } from '../../run/session.js';
import { openPricing, requirePriced, targetAt } from '../../run/target.js';
import type { ShownSettings } from '../../settings/command.js';
import { toolVersion } from '../../settings/version.js';
import { openSimulation, type Simulation } from '../simulation.js';
import { openStarts } from '../starts.js';
import { openAgent } from './agent.js';
import { printEpisodeBill } from './bill.js';
import type { EpisodeSettings } from './options.js';
import { beginningsOf, type Episode, episodesOf } from './plan.js';
import { PLAYERS, Purse } from './purse.js';
import { endingOf, episodeState, playerOf, standingOf } from './records.js';
import { type EpisodesResult, printEpisodes } from './result.js';
import { type OpenWork, playAll, type SessionResult, type Work } from './session.js';

/** `_test.jsonl` is how a file of the data ends: the folder can be given to --data-dir as it is. */
const NAME = 'episodes_test';

/** Plays the episodes that the flags ask for. @param next what to type once all have ended */
export async function playEpisodes(
  settings: EpisodeSettings,
  io: Io,
  shown: ShownSettings,
  next: (dir: string) => string,
): Promise<ExitCode> {
  const starts = openStarts(settings, io);
  try {
    const beginnings = await beginningsOf(settings, starts, io);
    const episodes = episodesOf(beginnings, settings);
    const notices: string[] = [];
    const domains = beginnings.map(({ domain }) => domain);
    const agent = await openAgent(settings, domains, io, (text) => notices.push(text));
    try {
      const work: Work = { settings, io, shown, starts, beginnings, episodes, agent, notices };
      return await (settings.dryRun ? bill(work) : play(work, next));
    } finally {
      await agent.close();
    }
  } finally {
    await starts.close();
  }
}

async function bill(work: Work): Promise<ExitCode> {
  const { settings, io, agent } = work;
  const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
  const target = targetAt({ prefix: 'model', baseUrls, model, apiKey }, io);
  await printEpisodeBill(work, { agent: agent.pricing, world: await openPricing(target, settings, io) });
  return EXIT.done;
}

async function play(work: Work, next: (dir: string) => string): Promise<ExitCode> {
  const { settings, io, agent, notices } = work;
  // Both models are paid from one purse, which the simulation knows nothing of.
  const unbounded = { ...settings, budgetUsd: undefined, budgetTokens: undefined };
  const simulation = await openSimulation(unbounded, io, (text) => notices.push(text));
  try {
    const purse = new Purse({ agent: agent.pricing, world: await openPricing(simulation, settings, io) });
    requirePriced(settings, purse.world.ledger.usd !== undefined, simulation);
    requirePriced({ ...settings, local: undefined }, purse.agent.ledger.usd !== undefined, agent);
    const identity = await identityOf(work, simulation);
    const run = await openRun({
      kind: 'simulate',
      dir: resolve(io.cwd, settings.outputDir),
      name: NAME,
      fresh: settings.fresh,
      identity: () => identity,
      stateOf: episodeState,
    });
    try {
      const result = await playIn({ ...work, run, simulation, purse });
      printEpisodes(io, settings, result, next(settings.outputDir));
      return result.exitCode;
    } finally {
      await run.close();
    }
  } finally {
    await simulation.close();
  }
}

/** Plays what has not ended, then writes what has. @throws what broke it off, once everything is saved */
async function playIn(work: OpenWork): Promise<EpisodesResult> {
  const { run, purse, episodes } = work;
  for (const id of run.journal.ids()) {
    const record = run.journal.read(id);
    const player = playerOf(record);
    if (player !== undefined) purse[player].add(record.log);
  }
  const startedAt = run.stored?.startedAt ?? new Date().toISOString();
  await writeManifest(run.manifestPath, manifestOf(work, { startedAt, state: 'running' }));
  const before = performance.now();
  const session = await inSession(work);
  const seconds = (performance.now() - before) / 1000;
  const { rows, ...output } = await writeOutput(work);
  const endings = episodes.flatMap(({ number }) => endingOf(run.journal, number) ?? []);
  const { state, exitCode } = endOf(work, session, endings.length);
  const times = { startedAt, state, endedAt: new Date().toISOString() };
  const manifest = { ...manifestOf(work, times, session), output };
  await writeManifest(run.manifestPath, manifest);
  if (session.error !== undefined) throw session.error;
  return { ...session, manifest, exitCode, endings, rows, purse, seconds };
}

async function inSession(work: OpenWork): Promise<SessionResult> {
  const { settings, io, run, purse, episodes } = work;
  const { quiet, verbose, color } = settings;
  const progress = openProgress(io, {
    ...{ title: 'simulate', quiet, verbose, color },
    totals: byDomain(episodes),
    already: byDomain(episodes.filter(({ number }) => endingOf(run.journal, number) !== undefined)),
    status: () => undefined,
    spending: () => [counted(purse.calls, 'call'), spendingText(spendingOf(purse, settings)) ?? []].flat().join(', '),
  });
  if (run.journal.repaired !== undefined) progress.notice(run.journal.repaired);
  io.setLastWords('ended at once: every reply is saved; the same command continues');
  const drain = drainOnInterrupt(io, (text) => progress.notice(text));
  const session = await playAll(work, drain.over, ({ domain }, played, tokens) => {
    if (played.status === 'ended') progress.settled(domain, { status: 'ok', tokens });
    else if (played.failure !== undefined) {
      progress.settled(domain, { status: 'failed', tokens, reason: played.failure.reason });
    }
  });
  drain.close();
  progress.finish();
  return session;
}

/** A line for each episode that has ended behind a step, in their order. */
async function writeOutput({ run, episodes, settings, starts, agent, simulation }: OpenWork) {
  const prefix = fingerprintOf(run.identity).slice(0, 8);
  let rows = 0;
  const lines = async function* () {
    for (const { number, start, row, task } of episodes) {
      const ending = endingOf(run.journal, number);
      if (ending === undefined || ending.steps === 0) continue;
      const { world } = standingOf(run.journal, number, await starts.world(start));
      const episode = number + 1;
      const seed = settings.seed ?? null;
      const awb = { episode, agent: agent.model, world_model: simulation.model, seed, row, task, ...ending };
      rows++;
      yield JSON.stringify({ ...trajectoryRow(world, `${prefix}-${episode}`), awb });
    }
  };
  const written = await writeLines(run.outputPath, lines());
  return { rows, file: run.outputPath, ...written, form: fingerprintOf({ rows }) };
}

/** What the episodes depend on, and nothing else: how many there are, addresses, keys and speed may change. */
async function identityOf({ settings, beginnings, agent, io }: Work, simulation: Simulation): Promise<Identity> {
  const isFresh = beginnings.every(({ row }) => row === undefined);
  const { systemPrompt, domainPrompts } = settings;
  const ofRows = systemPrompt === 'row' ? { systemPrompt, domainPrompts: undefined } : { systemPrompt, domainPrompts };
  const prompts = await (isFresh ? openFreshPrompts(settings, io) : openSystemPrompts(ofRows, io));
  return {
    model: simulation.identity,
    sampling: hideKeys(samplingOf({ ...settings, fitMaxTokens: true, keepGoing: true })),
    system_prompt: prompts.identity,
    agent: agent.identity,
    starts: fingerprintOf({ starts: beginnings.map(({ start }) => start) }),
    steps: settings.steps,
    tries: settings.agentTries,
  };
}

function manifestOf(
  { run, settings, shown, episodes, beginnings, agent, simulation, purse, notices }: OpenWork,
  times: Pick<Manifest, 'startedAt' | 'state' | 'endedAt'>,
  session?: SessionResult,
): Manifest {
  const ok = episodes.filter(({ number }) => endingOf(run.journal, number) !== undefined).length;
  const failures = Object.fromEntries(Array.from(session?.failures ?? [], ([name, { episodes: n }]) => [name, n]));
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  const tokens: Usage = {};
  for (const player of PLAYERS) addUsage(tokens, purse[player].usage);
  const label = settings.label ?? run.stored?.label;
  return {
    schema: 'awb.manifest/1',
    kind: 'simulate',
    tool: { name: 'agentworldbench', version: toolVersion() },
    ...(label === undefined ? {} : { label }),
    meta: { ...run.stored?.meta, ...settings.meta },
    identity: run.identity,
    fingerprint: fingerprintOf(run.identity),
    settings: shown,
    endpoints: [...simulation.hosts, ...agent.hosts],
    servedModels: PLAYERS.flatMap((player) => [...purse[player].served]),
    data: { starts: beginnings.length },
    chosen: Object.fromEntries(byDomain(episodes)),
    counts: {
      ...{ chosen: episodes.length, ok, failed, notDone: episodes.length - ok - failed, absent: 0 },
      failures,
      flags: {},
    },
    tokens,
    notices: [...new Set([...run.notices, ...notices])],
    ...times,
    process: { pid: process.pid, host: hostname() },
  };
}

function endOf(
  { io, episodes }: Work,
  { error, spent }: SessionResult,
  ended: number,
): { readonly state: Manifest['state']; readonly exitCode: ExitCode } {
  const unfinished = spent === undefined ? EXIT.incomplete : EXIT.later;
  if (error !== undefined) return { state: 'stopped', exitCode: unfinished };
  if (ended === episodes.length) return { state: 'complete', exitCode: EXIT.done };
  if (io.stop.aborted) return { state: 'interrupted', exitCode: interruption(io.stop) };
  return { state: spent === undefined ? 'incomplete' : 'stopped', exitCode: unfinished };
}

function byDomain(episodes: readonly Episode[]): Map<string, number> {
  return new Map([...groupBy(episodes, ({ domain }) => domain)].map(([domain, all]) => [domain, all.length]));
}
