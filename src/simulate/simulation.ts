// A simulation: a world model that is asked live, where its worlds start (an empty world of a domain, or the place of a row of the data), and what
// it may spend. All ways to act in a world use it.

import { readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Dataset, openDataset, type RowRef } from '../benchmark/dataset.js';
import { addUsage, callsCounted, type Price } from '../core/costs.js';
import { nearest } from '../core/edits.js';
import { badData, closingOnFailure, codeOf, inputMissing, messageOf, UserError } from '../core/errors.js';
import { oneLine } from '../core/printable.js';
import { unknownName } from '../core/schema.js';
import { type CallLog, charactersOf, type Io, type ModelRequest, type Usage } from '../core/types.js';
import { replaceFile } from '../disk/files.js';
import { requireData } from '../infer/chosen-rows.js';
import { openFreshPrompts, openSystemPrompts, type SystemPrompts } from '../infer/messages.js';
import { afterReply, freshWorld, requestOf, type World, worldAt } from '../infer/world.js';
import type { Measured, Room } from '../model/context.js';
import { type LiveHooks, type LiveModel, measuredBy, openLive } from '../model/live.js';
import { Ledger, Reserve, reachedIn, spendingOf } from '../run/budget.js';
import { backendOptions } from '../run/model.js';
import type { BudgetSettings, CallSettings } from '../run/options.js';
import type { Pricing } from '../run/run.js';
import { namesTarget, openPricing, openTarget, requirePriced, type Target } from '../run/target.js';
import type { SimulationSettings } from './options.js';

/** What is done in a world. */
interface Step {
  readonly world: World;
  readonly action: string;
  /** Said to the world model alone: what is to happen in this turn. */
  readonly instruction?: string | undefined;
  /** Sets apart what is asked several times under one seed; 0 where it is absent. */
  readonly seedOffset?: number;
  /** In place of --seed. */
  readonly seed?: number | undefined;
}

/** What came of an action. In all cases but `ok` nothing has happened in the world; `empty`: the reply holds no observation. */
export type StepOutcome = Awaited<ReturnType<Simulation['step']>>;

export type Simulation = Awaited<ReturnType<typeof openSimulation>>;

/**
 * Opens the world model. Nothing is asked yet.
 * @param onNotice is told what its endpoints are up to
 * @param budget is shared with other models that are paid from it
 * @throws UserError where the model or its server cannot be opened, and for a budget in dollars without a price
 */
export async function openSimulation(
  settings: SimulationSettings,
  io: Io,
  onNotice: (text: string) => void,
  budget = new Budget(settings),
) {
  const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
  if (namesTarget(settings) && (baseUrls.length > 0 || model !== undefined)) {
    throw new UserError('give one world model: --local, or --model-base-url with --model-name');
  }
  const target = await openTarget({ prefix: 'model', baseUrls, model, apiKey }, { ...settings, dryRun: false }, io);
  const closers: (() => Promise<unknown>)[] = [() => target.close()];
  const close = async () => {
    for (const one of closers.splice(0).reverse()) await one();
  };
  return closingOnFailure({ close }, async () => {
    const pricing = await openPricing(target, settings, io);
    const asked = await openPaid(target, pricing, { ...settings, ...LIVE }, budget, onNotice);
    closers.push(() => asked.close());
    const starts = openStarts(settings, io);
    closers.push(() => starts.close());
    /** What the request measured that a world came from. Worlds never change, so one that is gone back to is known still. */
    const measured = new WeakMap<World, Measured>();
    return {
      /** The name that the model is asked by. */
      model: target.model,
      hosts: target.hosts,
      /** What a run's identity holds of the model. */
      identity: target.identity,
      asked,
      world: starts.world,
      /** Never rejects. Any number of steps may be under way, each of a world of its own. */
      async step(step: Step, hooks: PaidHooks) {
        const { world, action, instruction, seedOffset = 0, seed } = step;
        const question = requestOf(world, action, instruction);
        const request = { ...question, seedOffset, ...(seed !== undefined && { seed }) };
        const outcome = await asked.ask(request, hooks, measured.get(world));
        if (outcome.status !== 'ok') return outcome;
        // The token budget, or the context, ended the reply.
        const truncated = outcome.finishReason === 'length';
        const next = afterReply(world, action, outcome.content, instruction);
        if (next === undefined) return { status: 'empty' as const, truncated, reply: outcome };
        const size = measuredBy(question, outcome);
        if (size !== undefined) measured.set(next, size);
        const { observation = '' } = next.turns.at(-1) ?? {};
        return { status: 'ok' as const, world: next, observation, truncated, reply: outcome };
      },
      /** What an action would take of the context; undefined where nobody knows its size. */
      roomFor: ({ world, action, instruction }: Step): Room | undefined =>
        asked.roomFor(requestOf(world, action, instruction), measured.get(world)),
      budget,
      close,
    };
  });
}

/** What the calls of one model or of several may cost, and have cost, together. */
export class Budget {
  /** What a call of each of the models costs now. */
  readonly prices: (() => Price | undefined)[] = [];
  /** Dollars are known where the price of every model is. */
  readonly ledger = new Ledger(() => {
    const prices = this.prices.map((price) => price());
    return prices.includes(undefined) ? undefined : prices[0];
  });
  readonly reserve: Reserve;

  constructor(private readonly settings: BudgetSettings) {
    this.reserve = new Reserve(this.ledger, settings);
  }

  /** Why nothing more may be asked; undefined while something is left. */
  get reached(): string | undefined {
    return reachedIn(this.ledger, this.settings);
  }

  get spending() {
    return spendingOf(this.ledger, this.settings);
  }
}

interface PaidHooks extends LiveHooks {
  /** Whether nothing more is to be asked; a call then waits no longer for the budget. */
  readonly isOff?: () => boolean;
}

/** Of a long dialogue's context a reply uses what is left, and no failure of one world is that of another. */
export const LIVE = { fitMaxTokens: true, keepGoing: true };

/**
 * Opens a model to be asked live, each call at the model's own price and within a budget.
 * @throws UserError (2) for a budget in dollars without a price, and what opening endpoints throws
 */
export async function openPaid(
  target: Target,
  pricing: Pricing,
  settings: CallSettings & { readonly context?: number | undefined },
  budget: Budget,
  onNotice: (text: string) => void,
) {
  requirePriced(settings, pricing(new Set()) !== undefined, target);
  const options = { ...backendOptions(settings), dropped: [], onNotice };
  const live = await openLive(target.named, options, settings.context);
  return new PaidModel(live, pricing, settings.maxTokens, budget);
}

/** A model that is asked live, each call at the model's own price and within a budget. */
export class PaidModel {
  calls = 0;
  readonly usage: Usage = {};
  /** The models that have answered. */
  readonly served = new Set<string>();
  readonly roomFor: LiveModel['roomFor'];
  readonly close: LiveModel['close'];
  readonly #price: () => Price | undefined;

  constructor(
    private readonly live: LiveModel,
    pricing: Pricing,
    private readonly maxTokens: number,
    private readonly budget: Budget,
  ) {
    this.roomFor = live.roomFor;
    this.close = live.close;
    this.#price = () => pricing(this.served);
    budget.prices.push(this.#price);
  }

  /** Counts a call: of this session, or by its record of an earlier one. */
  count(log: Pick<CallLog, 'attempts' | 'usage' | 'uncounted' | 'tries'>, model?: string, chars?: number): void {
    if (model !== undefined) this.served.add(model);
    addUsage(this.usage, log.usage);
    this.calls += log.attempts;
    this.budget.ledger.add({ ...log, calls: callsCounted(log), chars }, this.#price);
  }

  /**
   * Never rejects. Waits until the budget has room beside the calls in flight.
   * @param before the request that this one goes on from
   */
  async ask(request: ModelRequest, hooks: PaidHooks, before?: Measured) {
    const { budget, maxTokens } = this;
    const whyNot = () => budget.reached ?? (hooks.isOff?.() ? 'nothing more is asked' : undefined);
    const isOver = () => hooks.signal.aborted || whyNot() !== undefined;
    const release = await budget.reserve.turn(isOver, charactersOf(request), maxTokens, this.#price);
    let counted: Usage = {};
    try {
      const reason = whyNot();
      if (reason !== undefined) return { status: 'spent' as const, reason };
      const room = this.roomFor(request, before);
      if (room?.state === 'full') return { status: 'full' as const, room };
      // A larger budget would be refused by some servers, and asked for again at the cost of a call.
      const isLess = room !== undefined && room.replyTokens < maxTokens;
      const outcome = await this.live.ask(isLess ? { ...request, maxTokens: room.replyTokens } : request, hooks);
      const { log } = outcome;
      this.count(log, outcome.status === 'ok' ? outcome.servedModel : undefined, measuredBy(request, outcome)?.chars);
      counted = log.attempts === 1 ? log.usage : {};
      return outcome;
    } finally {
      release?.(counted);
    }
  }
}

// Where a simulation starts: an empty world of a domain, or the place of a row of the data.

/** Where a world is to start. */
export type Start = (
  | { readonly domain: string; readonly task?: string | undefined; readonly state?: string | undefined }
  /** A key, `DOMAIN:ID:TURN`, or an id. */
  | { readonly row: string }
) & {
  /** In place of the domain's or the row's own. */
  readonly systemPrompt?: string | undefined;
  /** An agent elsewhere named it, which is told of no flag and no folder of this machine. */
  readonly isForeign?: boolean;
};

export type Starts = ReturnType<typeof openStarts>;

type PromptSettings = Pick<SimulationSettings, 'systemPrompt' | 'domainPrompts'>;

/** Nothing is read before a start needs it. */
export function openStarts(settings: PromptSettings & Pick<SimulationSettings, 'dataDir'>, io: Io) {
  let fresh: Promise<SystemPrompts> | undefined;
  let ofRows: Promise<SystemPrompts> | undefined;
  let data: Promise<Dataset> | undefined;
  const dataset = () => {
    data ??= requireData(settings.dataDir, io).then(() => openDataset(resolve(io.cwd, settings.dataDir), io.stop));
    return data;
  };
  return {
    /** @throws UserError: 2 for an unknown domain, 66 for a row or data that are not there, 65 for an ambiguous row */
    async world(start: Start): Promise<World> {
      const { systemPrompt: own, isForeign } = start;
      if ('domain' in start) {
        const { domain, task, state } = start;
        if (own !== undefined) return freshWorld({ domain, systemPrompt: own, task, state });
        fresh ??= openFreshPrompts(settings, io);
        const prompts = await fresh;
        if (prompts.refusal(domain) !== undefined) {
          const what = unknownName(`domain "${oneLine(domain, 80)}"`, domain, prompts.domains);
          const way = '(--domain-prompts DIR adds domains by DIR/<domain>.txt)';
          throw new UserError(isForeign ? what : `--domain: ${what} ${way}`);
        }
        return freshWorld({ domain, systemPrompt: prompts.of({ domain, systemPrompt: '' }), task, state });
      }
      const opened = await dataset().catch((error: unknown) => {
        if (!isForeign || !(error instanceof UserError)) throw error;
        throw inputMissing('no world can start at a row here: this server has no data');
      });
      const sample = await opened.readSample(rowNamed(start.row, opened));
      if (own !== undefined) return worldAt(sample, own);
      ofRows ??= openRowPrompts(settings, io);
      const prompts = await ofRows;
      const refusal = prompts.refusal(sample.domain);
      if (refusal !== undefined) throw badData(refusal);
      return worldAt(sample, prompts.of(sample));
    },
    async close(): Promise<void> {
      await (await data?.catch(() => undefined))?.close();
    },
  };
}

/** The prompts of worlds that start at rows: under `row`, a folder of prompts is meant for worlds without a row. */
export function openRowPrompts({ systemPrompt, domainPrompts }: PromptSettings, io: Io): Promise<SystemPrompts> {
  return openSystemPrompts({ systemPrompt, domainPrompts: systemPrompt === 'row' ? undefined : domainPrompts }, io);
}

/** Where the flags say that a world starts; undefined where they say nothing. @throws UserError (2) where they contradict each other */
export async function startOfFlags(
  { domain, from, task, state }: SimulationSettings,
  io: Io,
): Promise<Start | undefined> {
  if (domain !== undefined && from !== undefined) {
    throw new UserError('give one place to start: --domain NAME for an empty world, or --from ROW');
  }
  if (from !== undefined && (task !== undefined || state !== undefined)) {
    throw new UserError('--task and --state belong to --domain: a row brings its own');
  }
  if (domain === undefined) return from === undefined ? undefined : { row: from };
  return { domain, task, state: state === undefined ? undefined : await fileOrText(state, '--state', io) };
}

/** The text of a file, or the text itself where there is no such file. @throws UserError (66) for a file that cannot be read */
export async function fileOrText(named: string, what: string, { cwd }: Pick<Io, 'cwd'>): Promise<string> {
  if (named.includes('\n') || named.trim() === '') return named;
  try {
    return (await readFile(resolve(cwd, named), 'utf8')).trimEnd();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error) ?? '')) return named;
    throw inputMissing(`cannot read ${named} (${what}): ${messageOf(error)}`);
  }
}

function nameOf({ domain, id, turnIdx }: RowRef): string {
  return `${domain}:${id}:${turnIdx}`;
}

function rowNamed(name: string, { rows, find }: Dataset): RowRef {
  const found = rows.filter((row) => [nameOf(row), row.id].includes(name));
  const row = find(name) ?? found[0];
  const shown = oneLine(name, 80);
  if (row === undefined) {
    const near = nearest(name, rows.map(nameOf));
    throw inputMissing(`there is no row "${shown}"${near === undefined ? '' : `; did you mean "${near}"?`}`);
  }
  if (row === found[0] && found.length > 1) {
    throw new UserError(`${found.length} rows are named "${shown}": give the name of one, such as ${nameOf(row)}`);
  }
  return row;
}

// A trajectory as a file of the benchmark, by which nothing that is there is lost.

/** How the name of a file ends that `awb infer --data-dir` reads. */
export const ENDING = '_test.jsonl';

/**
 * Writes a row as a file of its own, whole or not at all.
 * @param path absolute
 * @param words its name for the user, and what to do where it cannot be written
 * @throws EEXIST where there is such a file, unless it is to be replaced; UserError (74) where it cannot be written
 */
export async function writeRow(
  path: string,
  row: object,
  words: { readonly name: string; readonly remedy: string },
  mayReplace: boolean,
): Promise<void> {
  // Its own name is taken first, so that no file is written over.
  if (!mayReplace) await writeFile(path, '', { flag: 'wx' });
  await replaceFile(path, [`${JSON.stringify(row)}\n`], words).catch(async (error: unknown) => {
    // What a full disk left would keep its name from the next try, and be data to infer.
    if (!mayReplace) await rm(path, { force: true });
    throw error;
  });
}
