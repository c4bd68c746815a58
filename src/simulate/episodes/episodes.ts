// `awb simulate` with an agent: plays episodes in simulated worlds, saves them as trajectories in the benchmark's format, and reports the
// results, as the document of --json and as the summary on the terminal.

import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { addUsage } from '../../core/costs.js';
import { EXIT, type ExitCode, interruption } from '../../core/errors.js';
import { countBy } from '../../core/groups.js';
import { fingerprintOf } from '../../core/identity.js';
import { counted, grouped, printable, shellLine, shownPath } from '../../core/printable.js';
import { hideKeys } from '../../core/redaction.js';
import type { Io, Usage } from '../../core/types.js';
import { writeLines } from '../../disk/files.js';
import { openFreshPrompts } from '../../infer/messages.js';
import { trajectoryRow } from '../../infer/world.js';
import { spendingText } from '../../run/budget.js';
import { type Manifest, writeManifest } from '../../run/manifest.js';
import { samplingOf } from '../../run/options.js';
import { openProgress } from '../../run/progress.js';
import { openRun } from '../../run/run.js';
import { drainOnInterrupt, wayOn } from '../../run/session.js';
import { programName, type ShownSettings, toolVersion } from '../../settings/command.js';
import type { EpisodeSettings } from '../options.js';
import { Budget, LIVE, openRowPrompts, openSimulation, openStarts } from '../simulation.js';
import { beginningsOf, type Episode, episodesOf, openAgent, printEpisodeBill } from './plan.js';
import { ENDS, endingOf, episodeState, PLAYERS, playAll, standingOf, type Work } from './playing.js';

type SessionResult = Awaited<ReturnType<typeof playAll>>;

/** Data files end in `_test.jsonl`, so the folder can be given to --data-dir directly. */
const NAME = 'episodes_test';

/** Plays the episodes that the flags ask for. */
export async function playEpisodes(settings: EpisodeSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  const starts = openStarts(settings, io);
  const closers: (() => Promise<unknown>)[] = [starts.close];
  try {
    const beginnings = await beginningsOf(settings, starts, io);
    const episodes = episodesOf(beginnings, settings);
    const domains = beginnings.map(({ domain }) => domain);
    const agent = await openAgent(settings, domains, io);
    if (settings.dryRun) {
      await printEpisodeBill(episodes, { starts, agent }, settings, io);
      return EXIT.done;
    }
    const notices: string[] = [];
    const note = (text: string) => void notices.push(text);
    const budget = new Budget(settings);
    const simulation = await openSimulation(settings, io, note, budget);
    closers.push(simulation.close);
    const asked = await agent.live(budget, note);
    closers.push(asked.close);
    const isFresh = beginnings.every(({ start }) => 'domain' in start);
    const prompts = await (isFresh ? openFreshPrompts(settings, io) : openRowPrompts(settings, io));
    const run = await openRun({
      kind: 'simulate',
      dir: resolve(io.cwd, settings.outputDir),
      name: NAME,
      fresh: settings.fresh,
      // Only what the episodes depend on: their number, addresses, keys and speed may change.
      identity: () => ({
        model: simulation.identity,
        sampling: hideKeys(samplingOf({ ...settings, ...LIVE })),
        system_prompt: prompts.identity,
        agent: agent.identity,
        starts: fingerprintOf({ starts: beginnings.map(({ start }) => start) }),
        steps: settings.steps,
        tries: settings.agentTries,
      }),
      stateOf: episodeState,
    });
    closers.push(() => run.close());
    const models = { agent: asked, world: simulation.asked };
    const work = { settings, io, shown, starts, beginnings, episodes, agent, run, simulation, models, budget, notices };
    return await playIn(work);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** Plays the unfinished episodes, writes the finished ones, and prints the result. @throws what interrupted it, once everything is saved */
async function playIn(work: Work): Promise<ExitCode> {
  const { run, models, episodes, settings, io } = work;
  for (const id of run.journal.ids()) {
    const { player, model, ...log } = run.journal.read(id).log;
    // Records are written by this program, each with its checksum.
    const call = { attempts: 0, usage: {}, ...log } as Parameters<typeof models.agent.count>[0];
    const asked = PLAYERS.find((name) => name === player);
    if (asked !== undefined) models[asked].count(call, typeof model === 'string' ? model : undefined);
  }
  await writeManifest(run.manifestPath, { ...manifestOf(work), state: 'running' });
  const session = await inSession(work);
  const seconds = (performance.now() - run.openedAt) / 1000;
  const { rows, ...output } = await writeOutput(work);
  const { failures, spent, error } = session;
  const endings = episodes.flatMap(({ number }) => endingOf(run.journal, number) ?? []);
  const [state, exitCode] = ((): [Manifest['state'], ExitCode] => {
    if (error === undefined && endings.length === episodes.length) return ['complete', EXIT.done];
    if (error === undefined && io.stop.aborted) return ['interrupted', interruption(io.stop)];
    if (spent !== undefined) return ['stopped', EXIT.later];
    return [error === undefined ? 'incomplete' : 'stopped', EXIT.incomplete];
  })();
  const endedAt = new Date().toISOString();
  const manifest = { ...manifestOf(work, failures), state, endedAt, output };
  await writeManifest(run.manifestPath, manifest);
  if (error !== undefined) throw error;
  const document = documentOf(work, session, endings, { manifest, exitCode, rows, seconds });
  io.stdout.write(`${settings.json ? JSON.stringify(document) : linesOf(document, work).join('\n')}\n`);
  return exitCode;
}

async function inSession(work: Work): Promise<SessionResult> {
  const { settings, io, run, models, budget, episodes } = work;
  const { quiet, verbose, color } = settings;
  const calls = () => counted(models.agent.calls + models.world.calls, 'call');
  const progress = openProgress(io, {
    ...{ title: 'simulate', quiet, verbose, color },
    totals: byDomain(episodes),
    already: byDomain(episodes.filter(({ number }) => endingOf(run.journal, number) !== undefined)),
    status: () => undefined,
    spending: () => [calls(), spendingText(budget.spending) ?? []].flat().join(', '),
  });
  const notice = (text: string) => progress.notice(text);
  if (run.journal.repaired !== undefined) notice(run.journal.repaired);
  io.setLastWords('stopped immediately: every reply is saved; run the same command again to continue');
  const drain = drainOnInterrupt(io, notice);
  const session = await playAll(work, drain.over, ({ domain }, { end, failure }, tokens) => {
    if (end !== undefined) progress.settled(domain, { status: 'ok', tokens });
    else if (failure) progress.settled(domain, { status: 'failed', tokens, reason: failure.reason });
  });
  drain.close();
  progress.finish();
  return session;
}

/** Writes a line for each finished episode with at least one step, in order. */
async function writeOutput({ run, episodes, settings, starts, agent, simulation }: Work) {
  const prefix = fingerprintOf(run.identity).slice(0, 8);
  let rows = 0;
  const lines = async function* () {
    for (const { number, start } of episodes) {
      const ending = endingOf(run.journal, number);
      if (ending === undefined || ending.steps === 0) continue;
      const { world } = standingOf(run.journal, number, await starts.world(start));
      const episode = number + 1;
      const seed = settings.seed ?? null;
      const begun = 'row' in start ? { row: start.row } : { task: start.task };
      const awb = { episode, agent: agent.model, world_model: simulation.model, seed, ...begun, ...ending };
      rows++;
      yield JSON.stringify({ ...trajectoryRow(world, `${prefix}-${episode}`), awb });
    }
  };
  const written = await writeLines(run.outputPath, lines());
  return { rows, file: run.outputPath, ...written, form: fingerprintOf({ rows }) };
}

/** @param halted failures that halted episodes in this session */
function manifestOf(
  { run, settings, shown, beginnings, episodes, agent, simulation, models, notices }: Work,
  halted: SessionResult['failures'] = new Map(),
) {
  const ok = episodes.filter(({ number }) => endingOf(run.journal, number) !== undefined).length;
  const failures = Object.fromEntries(Array.from(halted, ([name, { episodes: n }]) => [name, n]));
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  const tokens: Usage = {};
  for (const player of PLAYERS) addUsage(tokens, models[player].usage);
  return {
    schema: 'awb.manifest/1' as const,
    kind: 'simulate' as const,
    tool: { name: 'agentworldbench', version: toolVersion() },
    label: settings.label ?? run.stored?.label,
    meta: { ...run.stored?.meta, ...settings.meta },
    identity: run.identity,
    fingerprint: fingerprintOf(run.identity),
    settings: shown,
    endpoints: [...simulation.hosts, ...agent.hosts],
    servedModels: PLAYERS.flatMap((player) => [...models[player].served]),
    data: { starts: beginnings.length },
    chosen: Object.fromEntries(byDomain(episodes)),
    counts: {
      ...{ chosen: episodes.length, ok, failed, notDone: episodes.length - ok - failed },
      ...{ absent: 0, failures, flags: {} },
    },
    tokens,
    notices: [...new Set([...run.notices, ...notices])],
    startedAt: run.startedAt,
    process: { pid: process.pid, host: hostname() },
  };
}

function byDomain(episodes: readonly Episode[]): Map<string, number> {
  return new Map(Object.entries(countBy(episodes, ({ domain }) => domain)));
}

type EpisodesDocument = ReturnType<typeof documentOf>;

/** The result of the episodes. `rows` counts lines in the output: an episode without a step has none. */
function documentOf(
  { models: { agent, world }, budget }: Work,
  { failures, spent }: SessionResult,
  endings: readonly NonNullable<ReturnType<typeof endingOf>>[],
  end: { manifest: Manifest & { output: { file: string } }; exitCode: ExitCode; rows: number; seconds: number },
) {
  const { state, output, label, meta, fingerprint, notices, chosen: by_domain, counts } = end.manifest;
  const { chosen, ok: ended, failed, notDone: not_done } = counts;
  return {
    schema: 'awb.simulate/1',
    exit_code: end.exitCode,
    ...{ state, stop_reason: spent, output: output.file, label, meta, fingerprint },
    episodes: { chosen, ended, failed, not_done, by_domain },
    ends: countBy(endings, ({ end: name }) => name),
    rows: end.rows,
    steps: endings.reduce((sum, { steps }) => sum + steps, 0),
    failures: Object.fromEntries(failures),
    tokens: { agent: agent.usage, world: world.usage },
    calls: { agent: agent.calls, world: world.calls },
    served_models: { agent: [...agent.served], world: [...world.served] },
    ...{ spent: budget.spending, notices, seconds: end.seconds },
  };
}

/** The document as text. */
function linesOf(document: EpisodesDocument, { io, settings: { fresh, outputDir } }: Work): string[] {
  const { episodes, steps, ends, failures, tokens, calls, notices, output, rows } = document;
  const mean = episodes.ended === 0 ? '' : `, ${(steps / episodes.ended).toFixed(1)} per episode`;
  const money = spendingText(document.spent);
  // How to look at episodes: what the world said as predictions, which a report can show.
  const folders = ['--data-dir', outputDir, '--output-dir', join(outputDir, 'inspected')];
  const inspecting = ['infer', '--baseline', 'oracle', ...folders];
  return [
    `episodes: ${episodes.ended} of ${episodes.chosen} ended, ${document.seconds.toFixed(1)} s`,
    `steps: ${grouped(steps)}${mean}`,
    ...Object.entries(ENDS).flatMap(([end, why]) => (ends[end] ? `  ${end} ${ends[end]}: ${why}` : [])),
    ...Object.entries(failures).map(
      ([name, { episodes, reason }]) => `halted: ${counted(episodes, 'episode')} by ${name}: ${printable(reason)}`,
    ),
    ...PLAYERS.flatMap((player) => {
      const { promptTokens = 0, cachedTokens, completionTokens = 0 } = tokens[player];
      const cached = cachedTokens === undefined ? '' : ` (${grouped(cachedTokens)} cached)`;
      const sizes = `${grouped(promptTokens)} prompt tokens${cached}, ${grouped(completionTokens)} of output`;
      return calls[player] === 0 ? [] : `${player}: ${counted(calls[player], 'call')}, ${sizes}`;
    }),
    ...(money === undefined ? [] : [`spent: ${money}, both models and all sessions together`]),
    ...notices.map((notice) => `note: ${printable(notice)}`),
    `written: ${shownPath(output, io)} (${counted(rows, 'trajectory', 'trajectories')})`,
    lastLine(document, fresh, `${programName(io)} ${shellLine(inspecting)}`),
  ];
}

function lastLine(document: EpisodesDocument, fresh: boolean, next: string): string {
  const { state, stop_reason: spent, exit_code: exitCode, rows } = document;
  if (state !== 'complete') {
    return `${state}${spent === undefined ? '' : `: ${spent}`}; every reply is saved; ${wayOn(fresh, exitCode)}`;
  }
  return rows > 0 ? `next: ${next}` : 'no episode took a step; see the journal next to the output for the replies';
}
