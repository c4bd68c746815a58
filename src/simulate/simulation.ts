// A simulation: a world model that is asked live, the start of its worlds (an empty world of a domain, or a row of the data), and its
// budget. All ways to act in a world use it.

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

/** An action in a world. */
interface Step {
  readonly world: World;
  readonly action: string;
  /** Only for the world model: what should happen in this turn. */
  readonly instruction?: string | undefined;
  /** Distinguishes repeated requests under one seed; default 0. */
  readonly seedOffset?: number;
  /** Replaces --seed. */
  readonly seed?: number | undefined;
}

/** The outcome of an action. Unless it is `ok`, nothing has happened in the world; `empty`: the reply has no observation. */
export type StepOutcome = Awaited<ReturnType<Simulation['step']>>;

export type Simulation = Awaited<ReturnType<typeof openSimulation>>;

/**
 * Opens the world model. Nothing is asked yet.
 * @param onNotice called with events of its endpoints
 * @param budget shared with other models that are paid from it
 * @throws UserError if the model or its server cannot be opened, and for a budget in dollars without a price
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
    /** Measured size of the request that led to a world. Worlds are immutable, so going back to one keeps its measurement. */
    const measured = new WeakMap<World, Measured>();
    return {
      /** The model's name in requests. */
      model: target.model,
      hosts: target.hosts,
      /** The model's part of a run's identity. */
      identity: target.identity,
      asked,
      world: starts.world,
      /** Never rejects. Any number of steps may run at once, each in its own world. */
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
      /** The context that an action would use; undefined if the context's size is unknown. */
      roomFor: ({ world, action, instruction }: Step): Room | undefined =>
        asked.roomFor(requestOf(world, action, instruction), measured.get(world)),
      budget,
      close,
    };
  });
}

/** The limit and the spending of one or several models together. */
export class Budget {
  /** Each model's current price. */
  readonly prices: (() => Price | undefined)[] = [];
  /** Dollars are known if the price of every model is. */
  readonly ledger = new Ledger(() => {
    const prices = this.prices.map((price) => price());
    return prices.includes(undefined) ? undefined : prices[0];
  });
  readonly reserve: Reserve;

  constructor(private readonly settings: BudgetSettings) {
    this.reserve = new Reserve(this.ledger, settings);
  }

  /** Why nothing more may be asked; undefined while budget is left. */
  get reached(): string | undefined {
    return reachedIn(this.ledger, this.settings);
  }

  get spending() {
    return spendingOf(this.ledger, this.settings);
  }
}

interface PaidHooks extends LiveHooks {
  /** Whether to stop asking; a call then stops waiting for the budget. */
  readonly isOff?: () => boolean;
}

/** In a long dialogue a reply may use what is left of the context, and a failure in one world does not affect the others. */
export const LIVE = { fitMaxTokens: true, keepGoing: true };

/**
 * Opens a model for live requests, each at the model's own price and within a budget.
 * @throws UserError (2) for a budget in dollars without a price, and the errors of opening endpoints
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

/** A model for live requests, each at the model's own price and within a budget. */
export class PaidModel {
  calls = 0;
  readonly usage: Usage = {};
  /** Names of the models that have answered. */
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

  /** Counts a call of this session, or a recorded one of an earlier session. */
  count(log: Pick<CallLog, 'attempts' | 'usage' | 'uncounted' | 'tries'>, model?: string, chars?: number): void {
    if (model !== undefined) this.served.add(model);
    addUsage(this.usage, log.usage);
    this.calls += log.attempts;
    this.budget.ledger.add({ ...log, calls: callsCounted(log), chars }, this.#price);
  }

  /**
   * Never rejects. Waits until the budget has room for it in addition to the calls in flight.
   * @param before measurement of the request that this one continues
   */
  async ask(request: ModelRequest, hooks: PaidHooks, before?: Measured) {
    const { budget, maxTokens } = this;
    const whyNot = () => budget.reached ?? (hooks.isOff?.() ? 'no further requests are sent' : undefined);
    const isOver = () => hooks.signal.aborted || whyNot() !== undefined;
    const release = await budget.reserve.turn(isOver, charactersOf(request), maxTokens, this.#price);
    let counted: Usage = {};
    try {
      const reason = whyNot();
      if (reason !== undefined) return { status: 'spent' as const, reason };
      const room = this.roomFor(request, before);
      if (room?.state === 'full') return { status: 'full' as const, room };
      // Some servers refuse a larger budget, and the retry would cost a call.
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

// The start of a simulation: an empty world of a domain, or a row of the data.

/** Where a world starts. */
export type Start = (
  | { readonly domain: string; readonly task?: string | undefined; readonly state?: string | undefined }
  /** A key, `DOMAIN:ID:TURN`, or an id. */
  | { readonly row: string }
) & {
  /** Replaces the domain's or the row's own. */
  readonly systemPrompt?: string | undefined;
  /** Set by an external agent, whose error messages must not mention flags or folders of this machine. */
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
    /** @throws UserError: 2 for an unknown domain or an ambiguous row, 66 for a missing row or missing data, 65 for a row without a prompt */
    async world(start: Start): Promise<World> {
      const { systemPrompt: own, isForeign } = start;
      if ('domain' in start) {
        const { domain, task, state } = start;
        if (own !== undefined) return freshWorld({ domain, systemPrompt: own, task, state });
        fresh ??= openFreshPrompts(settings, io);
        const prompts = await fresh;
        if (prompts.refusal(domain) !== undefined) {
          const what = unknownName(`domain "${oneLine(domain, 80)}"`, domain, prompts.domains);
          const way = '(--domain-prompts DIR adds domains with DIR/<domain>.txt)';
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

/** The prompts of worlds that start at rows. With `row`, --domain-prompts only applies to worlds without a row. */
export function openRowPrompts({ systemPrompt, domainPrompts }: PromptSettings, io: Io): Promise<SystemPrompts> {
  return openSystemPrompts({ systemPrompt, domainPrompts: systemPrompt === 'row' ? undefined : domainPrompts }, io);
}

/** The start given by the flags; undefined if there is none. @throws UserError (2) if they contradict each other */
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

/** The text of a file, or the text itself if there is no such file. @throws UserError (66) for a file that cannot be read */
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

// Writes a trajectory as a file of the benchmark, without overwriting existing files.

/** File name ending that `awb infer --data-dir` reads. */
export const ENDING = '_test.jsonl';

/**
 * Writes a row as its own file, atomically.
 * @param path absolute
 * @param words its name for the user, and what to do if it cannot be written
 * @throws EEXIST if the file exists and may not be replaced; UserError (74) if it cannot be written
 */
export async function writeRow(
  path: string,
  row: object,
  words: { readonly name: string; readonly remedy: string },
  mayReplace: boolean,
): Promise<void> {
  // Reserve the name first, so that no file is overwritten.
  if (!mayReplace) await writeFile(path, '', { flag: 'wx' });
  await replaceFile(path, [`${JSON.stringify(row)}\n`], words).catch(async (error: unknown) => {
    // A leftover from a full disk would block the name for the next try, and would be read as data by awb infer.
    if (!mayReplace) await rm(path, { force: true });
    throw error;
  });
}
