// `awb simulate` with an agent: episodes are played in simulated worlds, and kept as trajectories of the benchmark's form.

import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { EXIT, type ExitCode, interruption } from '../../../errors.js';
import { counted } from '../../../figures.js';
import { hideKeys } from '../../../redaction.js';
import { writeLines } from '../../../run/files.js';
import { fingerprintOf, type Identity } from '../../../run/identity.js';
import type { Manifest } from '../../../run/manifest.js';
import { writeManifest } from '../../../run/manifest-file.js';
import type { ShownSettings } from '../../../settings/command.js';
import { toolVersion } from '../../../settings/version.js';
import { trajectoryRow } from '../../../simulate/trajectory-row.js';
import type { Io, Usage } from '../../../types.js';
import { addUsage } from '../../../usage.js';
import { spendingOf, spendingText } from '../../budget.js';
import { openPricing, requirePriced } from '../../pricing.js';
import { openProgress } from '../../progress/progress.js';
import { openRun, type Run } from '../../run.js';
import { samplingOf } from '../../sampling.js';
import { drainOnInterrupt } from '../../session.js';
import { openFreshPrompts, openSystemPrompts } from '../../system-prompts.js';
import { targetAt } from '../../target.js';
import { openSimulation, type Simulation } from '../simulation.js';
import { openStarts, type Starts } from '../starts.js';
import { type Agent, openAgent } from './agent.js';
import { printEpisodeBill } from './bill.js';
import type { EpisodeSettings } from './options.js';
import { type Beginning, beginningsOf, type Episode, episodesOf } from './plan.js';
import { PLAYERS, Purse } from './purse.js';
import { endingOf, episodeState, playerOf, standingOf } from './records.js';
import { type EpisodesResult, printEpisodes } from './result.js';
import { playAll, type SessionResult } from './session.js';

/** `_test.jsonl` is how a file of the data ends: the folder can be given to --data-dir as it is. */
const NAME = 'episodes_test';

/** Everything that the episodes of a run are made with. */
interface Work {
  readonly settings: EpisodeSettings;
  readonly io: Io;
  readonly shown: ShownSettings;
  readonly starts: Starts;
  readonly beginnings: readonly Beginning[];
  readonly episodes: readonly Episode[];
  readonly agent: Agent;
  readonly notices: string[];
}

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

async function bill({ settings, io, agent, episodes, starts }: Work): Promise<ExitCode> {
  const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
  const target = targetAt({ prefix: 'model', baseUrls, model, apiKey }, io);
  const pricing = { agent: agent.pricing, world: await openPricing(target, settings, io) };
  await printEpisodeBill(io, { settings, episodes, agent, pricing, world: ({ start }) => starts.world(start) });
  return EXIT.done;
}

async function play(work: Work, next: (dir: string) => string): Promise<ExitCode> {
  const { settings, io, agent, notices } = work;
  // Both models are paid from one purse, which the simulation knows nothing of.
  const unbounded = { ...settings, budgetUsd: undefined, budgetTokens: undefined };
  const simulation = await openSimulation(unbounded, io, (text) => notices.push(text));
  try {
    const pricing = { agent: agent.pricing, world: await openPricing(simulation, settings, io) };
    const purse = new Purse(pricing);
    requirePriced(settings, purse.isPriced('world'), simulation);
    requirePriced({ ...settings, local: undefined }, purse.isPriced('agent'), agent);
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
      const result = await playIn(run, { ...work, simulation, purse });
      printEpisodes(io, settings, result, next(settings.outputDir));
      return result.exitCode;
    } finally {
      await run.close();
    }
  } finally {
    await simulation.close();
  }
}

type PlayWork = Work & { readonly simulation: Simulation; readonly purse: Purse };

/** Plays what has not ended, then writes what has. @throws what broke it off, once everything is saved */
async function playIn(run: Run, work: PlayWork): Promise<EpisodesResult> {
  const { purse } = work;
  for (const id of run.journal.ids()) {
    const record = run.journal.read(id);
    const player = playerOf(record);
    if (player !== undefined) purse.add(player, record.log);
  }
  const startedAt = run.stored?.startedAt ?? new Date().toISOString();
  await writeManifest(run.manifestPath, manifestOf(run, work, { startedAt, state: 'running' }));
  const before = performance.now();
  const session = await inSession(run, work);
  const seconds = (performance.now() - before) / 1000;
  const { file, rows } = await writeOutput(run, work);
  const endings = work.episodes.flatMap(({ number }) => endingOf(run.journal, number) ?? []);
  const state = stateOf(work, session, endings.length);
  const times = { startedAt, state, endedAt: new Date().toISOString() };
  const manifest = { ...manifestOf(run, work, times, session), output: file };
  await writeManifest(run.manifestPath, manifest);
  if (session.error !== undefined) throw session.error;
  return { ...session, manifest, exitCode: exitCodeOf(work, state, session), endings, rows, purse, seconds };
}

async function inSession(run: Run, work: PlayWork): Promise<SessionResult> {
  const { settings, io, purse, starts, episodes, agent, simulation } = work;
  const already = episodes.filter(({ number }) => endingOf(run.journal, number) !== undefined);
  const { quiet, verbose, color } = settings;
  const progress = openProgress(io, {
    ...{ title: 'simulate', quiet, verbose, color },
    totals: byDomain(episodes),
    already: byDomain(already),
    status: () => undefined,
    spending: () => [callsText(purse), spendingText(spendingOf(purse, settings))].filter(isGiven).join(', '),
  });
  if (run.journal.repaired !== undefined) progress.notice(run.journal.repaired);
  io.setLastWords('ended at once: every reply is saved; the same command continues');
  const drain = drainOnInterrupt(io, (text) => progress.notice(text));
  const session = await playAll({
    ...{ settings, run, purse, episodes, agent, simulation, stop: io.stop, over: drain.over },
    world: ({ start }) => starts.world(start),
    onPlayed(episode, played, tokens) {
      if (played.status === 'halted' && played.failure === undefined) return;
      const status = played.status === 'ended' ? 'ok' : 'failed';
      const reason = played.status === 'ended' ? undefined : played.failure?.reason;
      progress.settled(episode.domain, { status, tokens, ...(reason === undefined ? {} : { reason }) });
    },
  });
  drain.close();
  progress.finish();
  return session;
}

/** A line for each episode that has ended behind a step, in their order. */
async function writeOutput(run: Run, { episodes, settings, starts, agent, simulation }: PlayWork) {
  const prefix = fingerprintOf(run.identity).slice(0, 8);
  let rows = 0;
  const lines = async function* () {
    for (const { number, start, row, task } of episodes) {
      const ending = endingOf(run.journal, number);
      if (ending === undefined || ending.steps === 0) continue;
      const { world } = standingOf(run.journal, number, await starts.world(start));
      const place = number + 1;
      const awb = {
        ...{ episode: place, agent: agent.model, world_model: simulation.model, seed: settings.seed ?? null },
        ...(row === undefined ? {} : { row }),
        ...(task === undefined ? {} : { task }),
        ...ending,
      };
      rows++;
      yield JSON.stringify({ ...trajectoryRow(world, `${prefix}-${place}`), awb });
    }
  };
  const written = await writeLines(run.outputPath, lines());
  return { rows, file: { file: run.outputPath, ...written, form: fingerprintOf({ rows }) } };
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
  run: Run,
  { settings, shown, episodes, beginnings, agent, simulation, purse, notices }: PlayWork,
  times: Pick<Manifest, 'startedAt' | 'state' | 'endedAt'>,
  session?: SessionResult,
): Manifest {
  const ok = episodes.filter(({ number }) => endingOf(run.journal, number) !== undefined).length;
  const halted = [...(session?.failures ?? [])].map(([name, { episodes: count }]) => [name, count] as const);
  const failed = halted.reduce((sum, [, count]) => sum + count, 0);
  const tokens: Usage = {};
  for (const player of PLAYERS) addUsage(tokens, purse.of(player).usage);
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
    servedModels: PLAYERS.flatMap((player) => purse.of(player).served),
    data: { starts: beginnings.length },
    chosen: Object.fromEntries(byDomain(episodes)),
    counts: {
      ...{ chosen: episodes.length, ok, failed, notDone: episodes.length - ok - failed, absent: 0 },
      failures: Object.fromEntries(halted),
      flags: {},
    },
    tokens,
    notices: [...new Set([...run.notices, ...notices])],
    ...times,
    process: { pid: process.pid, host: hostname() },
  };
}

function stateOf({ io, episodes }: Work, { error, spent }: SessionResult, ended: number): Manifest['state'] {
  if (error !== undefined) return 'stopped';
  if (ended === episodes.length) return 'complete';
  if (io.stop.aborted) return 'interrupted';
  return spent === undefined ? 'incomplete' : 'stopped';
}

function exitCodeOf({ io }: Work, state: Manifest['state'], { spent }: SessionResult): ExitCode {
  if (state === 'interrupted') return interruption(io.stop);
  if (state === 'complete') return EXIT.done;
  return spent === undefined ? EXIT.incomplete : EXIT.later;
}

function callsText(purse: Purse): string {
  return counted(
    PLAYERS.reduce((sum, player) => sum + purse.of(player).calls, 0),
    'call',
  );
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined;
}

function byDomain(episodes: readonly Episode[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { domain } of episodes) counts.set(domain, (counts.get(domain) ?? 0) + 1);
  return counts;
}
