// A simulation: a world model that is asked live, where its worlds start, and what it may spend. All ways to act in a world use it.

import { UserError } from '../core/errors.js';
import { charactersOf } from '../core/question.js';
import type { CallLog, Io, ModelReply } from '../core/types.js';
import { callsCounted } from '../core/usage.js';
import { afterReply, requestOf, type World } from '../infer/world.js';
import type { Measured, Room } from '../model/context.js';
import { type LiveFailure, type LiveHooks, type LiveModel, measuredBy, openLive } from '../model/live.js';
import { Reserve, reachedIn, spendingOf } from '../run/budget.js';
import { Ledger } from '../run/ledger.js';
import { backendOptions } from '../run/model.js';
import { namesTarget, openPricing, openTarget, requirePriced } from '../run/target.js';
import type { SimulationSettings } from './options.js';
import { openStarts } from './starts.js';

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

type ToCome = Pick<Step, 'world' | 'action' | 'instruction'>;

/** What came of an action. In all cases but the first nothing has happened in the world. */
export type StepOutcome =
  | {
      readonly status: 'ok';
      readonly world: World;
      readonly observation: string;
      /** The token budget, or the context, ended the reply. */
      readonly truncated: boolean;
      readonly reply: ModelReply;
    }
  /** The reply holds no observation. */
  | { readonly status: 'empty'; readonly truncated: boolean; readonly reply: ModelReply }
  | { readonly status: 'failed'; readonly failure: LiveFailure }
  /** The caller has ended it; `content` is what had come of the reply. */
  | { readonly status: 'interrupted'; readonly content: string; readonly log: CallLog }
  /** No reply would fit into the context any more; nothing was asked. */
  | { readonly status: 'full'; readonly room: Room }
  /** The budget is spent; nothing was asked. */
  | { readonly status: 'spent'; readonly reason: string };

export type Simulation = Awaited<ReturnType<typeof openSimulation>>;

/**
 * Opens the world model. Nothing is asked yet.
 * @param onNotice is told what its endpoints are up to
 * @throws UserError where the model or its server cannot be opened, and for a budget in dollars without a price
 */
export async function openSimulation(settings: SimulationSettings, io: Io, onNotice: (text: string) => void) {
  const { modelBaseUrl: baseUrls, modelName: model, modelApiKey: apiKey } = settings;
  if (namesTarget(settings) && (baseUrls.length > 0 || model !== undefined)) {
    throw new UserError('give one world model: --local, or --model-base-url with --model-name');
  }
  const target = await openTarget({ prefix: 'model', baseUrls, model, apiKey }, { ...settings, dryRun: false }, io);
  const closers: (() => Promise<unknown>)[] = [() => target.close()];
  const close = async () => {
    for (const one of closers.splice(0).reverse()) await one();
  };
  try {
    const servedModels = new Set<string>();
    const pricing = await openPricing(target, settings, io);
    const ledger = new Ledger(() => pricing(servedModels));
    requirePriced(settings, ledger.usd !== undefined, target);
    const live = await openLive(
      target.named,
      {
        ...backendOptions({ ...settings, fitMaxTokens: true, keepGoing: true }),
        dropped: [],
        onNotice,
      },
      settings.context,
    );
    closers.push(() => live.close());
    const starts = openStarts(settings, io);
    closers.push(() => starts.close());
    const asking = new Asking(live, settings, ledger, servedModels);
    return {
      /** The name that the model is asked by. */
      model: target.model,
      hosts: target.hosts,
      /** What a run's identity holds of the model. */
      identity: target.identity,
      world: starts.world,
      names: starts.names,
      /** Never rejects. Any number of steps may be under way, each of a world of its own. */
      step: (step: Step, hooks: LiveHooks) => asking.step(step, hooks),
      /** What an action would take of the context; undefined where nobody knows its size. */
      roomFor: (step: ToCome) => asking.roomFor(step),
      spending: () => spendingOf(ledger, settings),
      /** Tries that have been made. */
      get calls() {
        return asking.calls;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

class Asking {
  calls = 0;
  /** What the request measured that a world came from. Worlds never change, so one that is gone back to is known still. */
  readonly #measured = new WeakMap<World, Measured>();
  readonly #reserve: Reserve;

  constructor(
    private readonly live: LiveModel,
    private readonly settings: SimulationSettings,
    private readonly ledger: Ledger,
    private readonly servedModels: Set<string>,
  ) {
    this.#reserve = new Reserve(ledger, settings);
  }

  roomFor({ world, action, instruction }: ToCome): Room | undefined {
    return this.live.roomFor(requestOf(world, action, instruction), this.#measured.get(world));
  }

  async step(step: Step, hooks: LiveHooks): Promise<StepOutcome> {
    const { world, action, instruction } = step;
    const isOff = () => hooks.signal.aborted || reachedIn(this.ledger, this.settings) !== undefined;
    const chars = charactersOf(requestOf(world, action, instruction));
    const release = await this.#reserve.turn(isOff, chars, this.settings.maxTokens, this.ledger);
    const outcome = await this.#ask(step, hooks);
    const log = 'reply' in outcome ? outcome.reply.log : undefined;
    release?.(log?.attempts === 1 ? log.usage : {});
    return outcome;
  }

  async #ask(step: Step, hooks: LiveHooks): Promise<StepOutcome> {
    const { world, action, instruction, seedOffset = 0, seed } = step;
    const reason = reachedIn(this.ledger, this.settings);
    if (reason !== undefined) return { status: 'spent', reason };
    const room = this.roomFor(step);
    if (room?.state === 'full') return { status: 'full', room };
    const question = requestOf(world, action, instruction);
    // A larger budget would be refused by some servers, and asked for again at the cost of a call.
    const isLess = room !== undefined && room.replyTokens < this.settings.maxTokens;
    const own = { ...(seed !== undefined && { seed }), ...(isLess && { maxTokens: room.replyTokens }) };
    const outcome = await this.live.ask({ ...question, seedOffset, ...own }, hooks);
    this.calls += outcome.log.attempts;
    const measured = measuredBy(question, outcome);
    if (outcome.status === 'ok' && outcome.servedModel !== undefined) this.servedModels.add(outcome.servedModel);
    this.ledger.add({ ...outcome.log, calls: callsCounted(outcome.log), chars: measured?.chars });
    if (outcome.status === 'interrupted') {
      return { status: 'interrupted', content: outcome.content, log: outcome.log };
    }
    if (outcome.status === 'failed') return { status: 'failed', failure: outcome };
    const truncated = outcome.finishReason === 'length';
    const next = afterReply(world, action, outcome.content, instruction);
    if (next === undefined) return { status: 'empty', truncated, reply: outcome };
    if (measured !== undefined) this.#measured.set(next, measured);
    return { status: 'ok', world: next, observation: next.turns.at(-1)?.observation ?? '', truncated, reply: outcome };
  }
}
