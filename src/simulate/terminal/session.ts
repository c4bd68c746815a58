// One session in worlds: the one that is acted in, its branches, and what is done in it.

import type { ExitCode } from '../../core/errors.js';
import { actionFlaw, afterReply, undone, type World } from '../../infer/world.js';
import type { Simulation, StepOutcome } from '../simulation.js';
import type { Lines } from './lines.js';
import { faultOf, roomText, type Screen } from './screen.js';

const FIRST_BRANCH = 'main';

/** What was asked last, so that it can be asked anew. */
interface Asked {
  readonly world: World;
  readonly action: string;
  readonly instruction: string;
  /** How often it was asked. */
  readonly times: number;
  /** What had come of the reply where it was stopped. */
  readonly partial?: string;
}

export class Session {
  world: World;
  branch = FIRST_BRANCH;
  /** What the world model is told in front of each action, until it is told otherwise; empty for nothing. */
  instruction = '';
  /** Of the first action that brought nothing about and was not asked again since. */
  fault: ExitCode | undefined;
  #saved: World | undefined;
  readonly #branches = new Map<string, World>();
  #asked: Asked | undefined;

  constructor(
    readonly simulation: Simulation,
    readonly screen: Screen,
    private readonly lines: Pick<Lines, 'during'>,
    start: World,
  ) {
    this.world = start;
  }

  /** The number of the turn that the next action makes. */
  get next(): number {
    return this.world.turns.length + 1;
  }

  /** Simulated turns of the present world, unless it was saved as it is. */
  get unsaved(): number {
    if (this.#saved === this.world) return 0;
    return this.world.turns.filter(({ origin }) => origin === 'simulated').length;
  }

  saved(): void {
    this.#saved = this.world;
  }

  /** The branches by name, the present one among them. */
  get branches(): ReadonlyMap<string, World> {
    return new Map(this.#branches).set(this.branch, this.world);
  }

  async act(action: string): Promise<void> {
    const flaw = actionFlaw(this.world.domain, action);
    if (flaw !== undefined) return this.screen.fault(flaw);
    await this.#ask({ world: this.world, action, instruction: this.instruction, times: 0 });
  }

  /** Asks the last action anew, in the world in which it was done. False where there is none. */
  async retry(): Promise<boolean> {
    const asked = this.#asked ?? this.#lastTurn();
    if (asked === undefined) return false;
    const { partial: _, ...again } = asked;
    await this.#ask({ ...again, instruction: this.instruction || again.instruction });
    return true;
  }

  /** Adds the turn whose reply was stopped, with what had come. False where there is no such turn or nothing had come. */
  keep(): boolean {
    const { world, action, instruction, partial } = this.#asked ?? {};
    const kept = world && partial !== undefined ? afterReply(world, action ?? '', partial, instruction) : undefined;
    if (kept === undefined) return false;
    this.enter(kept, 'kept');
    this.fault = undefined;
    return true;
  }

  /** Goes on in the branch of this name. @returns its world; undefined where there is none yet, and it is made of the present one */
  fork(name: string): World | undefined {
    const there = this.branches.get(name);
    this.#branches.set(this.branch, this.world);
    this.branch = name;
    return there;
  }

  /** Goes on in another world. @returns where that is, behind the words given */
  enter(world: World, how: string): string {
    this.world = world;
    this.#asked = undefined;
    return `${how} in front of turn ${this.next}`;
  }

  /** The last turn as something to be asked anew: one that was gone back to, or switched to. */
  #lastTurn(): Asked | undefined {
    const world = undone(this.world);
    const turn = this.world.turns.at(-1);
    if (world === undefined || turn === undefined) return undefined;
    return { world, action: turn.action, instruction: turn.instruction ?? '', times: 1 };
  }

  async #ask(asked: Asked): Promise<void> {
    const { world, action, instruction, times: seedOffset } = asked;
    const view = this.screen.reply();
    const hooks = { group: this.branch, onText: view.hear, onAgain: view.again };
    const startedAt = performance.now();
    const outcome = await this.lines.during((signal) =>
      this.simulation.step({ world, action, instruction, seedOffset }, { signal, ...hooks }),
    );
    const ms = Math.round(performance.now() - startedAt);
    view.end({ turn: world.turns.length + 1, branch: this.branch, action, instruction, outcome, ms });
    this.#settle({ ...asked, times: seedOffset + 1 }, outcome);
  }

  #settle(asked: Asked, outcome: StepOutcome): void {
    if (outcome.status === 'ok') {
      this.world = outcome.world;
      this.#asked = asked;
      this.fault = undefined;
      const room = this.simulation.roomFor({ world: this.world, action: '' });
      if (room !== undefined && room.state !== 'open') this.screen.note(roomText(room));
      return;
    }
    // A turn that is asked anew and fails is gone: its action has another outcome now, and nobody knows it.
    this.world = asked.world;
    this.#asked = outcome.status === 'interrupted' ? { ...asked, partial: outcome.content } : asked;
    this.fault = faultOf(outcome).exitCode;
  }
}
