// `awb simulate` for a person at a terminal, and for a script behind a pipe.

import { EXIT, type ExitCode, interruption, UserError } from '../../../errors.js';
import { counted } from '../../../figures.js';
import { isUnfinished } from '../../../simulate/action-text.js';
import type { World } from '../../../simulate/world.js';
import type { Io } from '../../../types.js';
import type { SimulationSettings } from '../options.js';
import type { Simulation } from '../simulation.js';
import { fileOrText } from '../starts.js';
import { commandIn, completions, runCommand, usageText } from './commands.js';
import { jsonScreen } from './json-screen.js';
import { type Lines, pipedLines, type Typed, TypedLines } from './lines.js';
import { liveScreen, pipedScreen, type Screen } from './screen.js';
import { Session } from './session.js';

const FENCE = '```';

/**
 * Lets whoever types act in a world, until the input ends. In a pipe, actions behind one that brought nothing about are left out, and
 * the exit code tells of it; commands are carried out all the same.
 * @throws UserError where the world cannot be started
 */
export async function actInTerminal(simulation: Simulation, settings: SimulationSettings, io: Io): Promise<ExitCode> {
  const input = io.input?.();
  if (input === undefined) throw new UserError('there is no standard input to read actions from');
  const start = await simulation.world(await startOf(settings, io));
  const isTyped = input.isTTY === true && io.stdout.isTTY && !settings.json;
  const screen = isTyped ? liveScreen(io, settings) : settings.json ? jsonScreen(io) : pipedScreen(io, settings);
  let session: Session | undefined;
  const complete = (line: string) => completions(line, session?.branches.keys() ?? []);
  const lines = isTyped ? new TypedLines(input, io.stdout, io.stop, complete) : pipedLines(input, io.stop);
  try {
    session = new Session(simulation, screen, lines, start);
    if (isTyped) greet(screen, simulation, start);
    const reading = new Reading(session, lines, io, isTyped);
    await reading.untilEnd();
    if (!settings.quiet) closing(session, screen, io, isTyped);
    if (io.stop.aborted) return interruption(io.stop);
    return isTyped ? EXIT.done : (session.fault ?? reading.fault ?? EXIT.done);
  } finally {
    lines.close();
  }
}

async function startOf({ domain, from, task, state }: SimulationSettings, io: Io) {
  if ((domain === undefined) === (from === undefined)) {
    throw new UserError('say where to start: --domain NAME for an empty world, or --from ROW for the place of a row');
  }
  if (domain === undefined) {
    if (task !== undefined || state !== undefined) {
      throw new UserError('--task and --state belong to --domain: a row brings its own');
    }
    return { row: from ?? '' };
  }
  return { domain, task, state: state === undefined ? undefined : await fileOrText(state, '--state', io) };
}

/** Reads lines and does what they say. */
class Reading {
  /** Of the first command that could not be carried out. */
  fault: ExitCode | undefined;
  #mayEnd = false;

  constructor(
    private readonly session: Session,
    private readonly lines: Lines,
    private readonly io: Io,
    private readonly isTyped: boolean,
  ) {}

  async untilEnd(): Promise<void> {
    for (;;) {
      const typed = await this.lines.next(this.#prompt());
      if (this.io.stop.aborted) return;
      if (typeof typed === 'string') {
        if (this.#ends(typed)) return;
        continue;
      }
      const { line } = typed;
      if (line.trim() === '') continue;
      const command = commandIn(line);
      if (command?.name === 'quit') {
        if (this.#ends('quit')) return;
        continue;
      }
      this.#mayEnd = false;
      if (command === undefined) {
        await this.#act(line);
        continue;
      }
      const fault = await runCommand(command, this.session, this.io);
      this.fault ??= fault;
    }
  }

  /** A session with turns that are not saved is ended by asking twice. */
  #ends(how: 'interrupt' | 'end' | 'quit'): boolean {
    const { unsaved, screen } = this.session;
    if (!this.isTyped || this.#mayEnd || (how !== 'interrupt' && unsaved === 0)) return true;
    this.#mayEnd = true;
    const again = { interrupt: 'Ctrl-C', end: 'Ctrl-D', quit: '/quit' }[how];
    screen.note(
      unsaved === 0
        ? `${again} once more ends (so does Ctrl-D)`
        : `${counted(unsaved, 'turn')} not saved: /save FILE keeps them, ${again} once more ends`,
    );
    return false;
  }

  async #act(first: string): Promise<void> {
    const action = await this.#whole(first);
    if (action === undefined) return;
    if (!this.isTyped && this.session.fault !== undefined) {
      this.session.screen.fault('left out, since the action before it brought nothing about');
      return;
    }
    await this.session.act(action);
  }

  /** The action that a line begins: a block between fences, or JSON until its brackets are closed. Undefined where it was given up. */
  async #whole(first: string): Promise<string | undefined> {
    const isBlock = first.trim() === FENCE;
    const lines = isBlock ? [] : [first];
    while (isBlock || isUnfinished(this.session.world.domain, lines.join('\n'))) {
      const typed: Typed = await this.lines.next('... ');
      if (typeof typed === 'string') {
        if (typed === 'interrupt') return undefined;
        break;
      }
      if (isBlock && typed.line.trim() === FENCE) break;
      lines.push(typed.line);
    }
    const action = lines.join('\n');
    return action.trim() === '' ? undefined : action;
  }

  #prompt(): string {
    const { world, branch, next, instruction } = this.session;
    const where = branch === 'main' ? world.domain : `${world.domain}/${branch}`;
    return `${where} ${next}${instruction === '' ? '' : ' (scenario)'}> `;
  }
}

function greet(screen: Screen, { model, hosts }: Simulation, start: World): void {
  screen.note(`${start.domain}, acted by ${model} at ${hosts.join(', ')}; /help lists the commands`);
  const last = start.turns.at(-1);
  const shown = last?.observation ?? start.preface;
  if (shown !== '') screen.say('start', shown);
}

function closing(session: Session, screen: Screen, io: Io, isTyped: boolean): void {
  if (session.simulation.calls === 0) return;
  const [usage = ''] = usageText(session).split('\n');
  if (isTyped) screen.note(usage);
  else io.stderr.write(`${usage}\n`);
}
