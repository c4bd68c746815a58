// `awb simulate` for a person at a terminal, and for a script on a pipe: a session with a current world and its branches, the table of
// commands, and saving a trajectory as a file of the benchmark without overwriting others.

import { dirname, resolve } from 'node:path';
import {
  cannotCreate,
  codeOf,
  EXIT,
  type ExitCode,
  interruption,
  messageOf,
  present,
  UserError,
} from '../../core/errors.js';
import { counted, grouped, oneLine, printable } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import { makeFolders } from '../../disk/files.js';
import { actionFlaw, rewound, trajectoryRow, undone, type World } from '../../infer/world.js';
import { spendingText } from '../../run/budget.js';
import type { SimulationSettings } from '../options.js';
import { ENDING, type Simulation, startOfFlags, writeRow } from '../simulation.js';
import { faultOf, type Lines, liveScreen, openLines, roomText, type Screen, scriptScreen } from './screen.js';

interface Command {
  /** What follows its name, for the help. */
  readonly operand?: string;
  readonly help: string;
  /** Runs the command and returns its message. @throws UserError if it is not possible */
  run(session: Session, operand: string, io: Io): Promise<string | undefined> | string | undefined;
}

/** The commands, in the order of the help. */
const COMMANDS: Readonly<Record<string, Command>> = {
  scenario: {
    operand: '[TEXT|off]',
    help: 'tell the world model what should happen, before each action from now on; alone, show it',
    run(session, text) {
      if (text !== '') session.instruction = text === 'off' ? '' : text;
      const { instruction } = session;
      return instruction === ''
        ? 'no scenario: the world model decides what happens'
        : `before each action, the world model reads: ${instruction}\n(/scenario off ends it)`;
    },
  },
  undo: {
    help: 'go back by one turn',
    run(session) {
      const before = undone(session.world);
      if (before === undefined) throw new UserError('there is no simulated turn to undo');
      return session.enter(before, 'back');
    },
  },
  retry: { help: 'ask the last action again, with another seed', run: (session) => session.retry() },
  fork: {
    operand: '[NAME]',
    help: 'switch to a branch of this name, or create it from this world; alone, list the branches',
    run(session, name) {
      const { branches, branch } = session;
      if (name === '') {
        const line = (each: string, { turns }: World) =>
          `${each === branch ? '*' : ' '} ${each}  ${counted(turns.length, 'turn')}`;
        return Array.from(branches, ([each, world]) => line(each, world)).join('\n');
      }
      const [there, here] = [branches.get(name), session.world];
      session.branch = name;
      return session.enter(there ?? here, `${there ? 'back in the branch' : 'a new branch'} ${name},`);
    },
  },
  reset: {
    help: 'go back to the start; the branches stay',
    run: (session) => session.enter(rewound(session.world), 'back at the start,'),
  },
  show: {
    operand: '[N|system]',
    help: 'list the turns; with a number, show that turn; system: the system prompt',
    run: ({ world }, what) => shown(world, what),
  },
  save: {
    operand: 'FILE[!]',
    help: "write this trajectory in the benchmark's format (FILE_test.jsonl); ! replaces a file",
    run: save,
  },
  usage: { help: 'show calls, tokens and spending, and how full the context is', run: usageText },
  help: { help: 'list the commands', run: helpText },
  quit: { help: 'quit (as does Ctrl-D, or Ctrl-C twice)', run: () => '' },
};

/** Parses a command line into its name and operand. A path such as `/bin/ls` is not a command, nor is a line with a leading space. */
function commandIn(line: string): { readonly name: string; readonly operand: string } | undefined {
  const match = /^\/([a-z]+)(?:\s+(.*))?$/s.exec(line.trimEnd());
  return match === null ? undefined : { name: match[1] ?? '', operand: (match[2] ?? '').trim() };
}

/** Runs a command. A UserError is shown, and the session continues. @returns its exit code */
async function runCommand(name: string, operand: string, session: Session, io: Io): Promise<ExitCode | undefined> {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  try {
    if (command === undefined) {
      throw new UserError(`there is no command /${name}; /help lists them (a leading space makes it an action)`);
    }
    // `/undo 3` would only go back by one turn.
    if (command.operand === undefined && operand !== '') throw new UserError(`/${name} takes no argument`);
    const text = await command.run(session, operand, io);
    if (text !== undefined) session.screen.show({ type: 'command', command: name, text });
    return undefined;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    session.screen.show({ type: 'fault', text: messageOf(error) });
    return error.exitCode;
  }
}

async function save(session: Session, operand: string, io: Io): Promise<string> {
  const replace = operand.endsWith('!');
  const named = replace ? operand.slice(0, -1).trimEnd() : operand;
  if (named === '') throw new UserError('name a file: /save FILE');
  const id = `simulated-${new Date().toISOString().replace(/\.\d+Z$/, 'Z')}`;
  const file = await saveTrajectory(session.world, named, { replace, id }, io);
  session.saved = session.world;
  return `${counted(session.world.turns.length, 'turn')} saved in ${file}`;
}

/**
 * Writes the world's trajectory as one row, and returns the path of the file. Its name ends in `_test.jsonl`, added if missing, since
 * `awb infer --data-dir` reads such files.
 * @param replace whether an existing file may be replaced
 * @throws UserError: 2 if nothing has happened or the file exists, 73 and 74 if it cannot be written
 */
export async function saveTrajectory(
  world: World,
  named: string,
  { replace, id }: { readonly replace: boolean; readonly id: string },
  { cwd }: Pick<Io, 'cwd'>,
): Promise<string> {
  const row = trajectoryRow(world, id);
  if (row === undefined) throw new UserError('there is nothing to save yet: no turn has happened');
  const shown = `${named.replace(/(?:_test)?(?:\.jsonl)?$/, '')}${ENDING}`;
  const path = resolve(cwd, shown);
  const remedy = 'make room, or choose another place';
  const refuse = (error: unknown) => {
    throw error instanceof UserError ? error : cannotCreate(`cannot write ${shown}: ${messageOf(error)}; ${remedy}`);
  };
  await makeFolders(dirname(path)).catch(refuse);
  await writeRow(path, row, { name: shown, remedy }, replace).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') return refuse(error);
    throw new UserError(`${shown} exists already; give another name, or replace it with /save ${shown}!`);
  });
  return shown;
}

const MOST_COLUMNS = 60;

function shown(world: World, what: string): string {
  if (what === 'system') return world.systemPrompt || 'there is no system prompt';
  if (what === '') return listed(world);
  const turn = /^\d+$/.test(what) ? world.turns[Number(what) - 1] : undefined;
  if (turn === undefined) {
    const there = world.turns.length === 0 ? 'no turn has happened' : `there are turns 1 to ${world.turns.length}`;
    throw new UserError(`there is no turn ${oneLine(what, MOST_COLUMNS)}: ${there}`);
  }
  return `${turn.prompt}\n\n${turn.response}`;
}

function listed({ domain, key, preface, turns }: World): string {
  const start = key === undefined ? 'a fresh world' : `from row ${key}`;
  return [
    `${domain}, ${start}, ${counted(turns.length, 'turn')}`,
    ...(preface === '' ? [] : [printable(preface, { multiline: true })]),
    ...turns.map(
      ({ origin, action }, index) =>
        `${String(index + 1).padStart(4)}  ${origin.padEnd(9)}  ${oneLine(action, MOST_COLUMNS)}`,
    ),
  ].join('\n');
}

/** Calls, tokens and spending of a session. */
function usageText(session: Session): string {
  const { simulation } = session;
  const { spending } = simulation.budget;
  const room = simulation.roomFor({ world: session.world, action: '' });
  const tokens = spending.budget.tokens === undefined ? [`${grouped(spending.tokens)} tokens`] : [];
  return [
    [counted(simulation.asked.calls, 'call'), ...tokens, spendingText(spending) ?? []].flat().join(', '),
    ...(room === undefined ? [] : [roomText(room)]),
  ].join('\n');
}

const HELP_INDENT = 23;

function helpText(): string {
  return [
    'Anything else is an action. A line with a leading space is always one.',
    '``` opens and closes an action of several lines.',
    ...Object.entries(COMMANDS).map(([name, { operand = '', help }]) => {
      return `${`  /${name} ${operand}`.padEnd(HELP_INDENT)}${help}`;
    }),
  ].join('\n');
}

const FIRST_BRANCH = 'main';

/** The last request, so that it can be repeated. */
interface Asked {
  readonly world: World;
  readonly action: string;
  readonly instruction: string;
  /** Number of times it was asked. */
  readonly times: number;
}

class Session {
  branch = FIRST_BRANCH;
  /** By name, including the current one. */
  readonly branches = new Map<string, World>();
  /** Instruction to the world model before each action, until changed; empty for none. */
  instruction = '';
  /** Exit code of a failed action, until one succeeds. */
  fault: ExitCode | undefined;
  saved: World | undefined;
  #asked: Asked | undefined;

  constructor(
    readonly simulation: Simulation,
    readonly screen: Screen,
    private readonly lines: Pick<Lines, 'during'>,
    start: World,
  ) {
    this.world = start;
  }

  get world(): World {
    return present(this.branches.get(this.branch));
  }

  set world(world: World) {
    this.branches.set(this.branch, world);
  }

  /** Simulated turns of the current world, unless exactly this world was saved. */
  get unsaved(): number {
    if (this.saved === this.world) return 0;
    return this.world.turns.filter(({ origin }) => origin === 'simulated').length;
  }

  async act(action: string): Promise<void> {
    const flaw = actionFlaw(this.world.domain, action);
    if (flaw !== undefined) return this.screen.show({ type: 'fault', text: flaw });
    await this.#ask({ world: this.world, action, instruction: this.instruction, times: 0 });
  }

  /** Asks the last action again, in the world in which it was taken. @throws UserError if there is none */
  async retry(): Promise<undefined> {
    const asked = this.#asked ?? this.#lastTurn();
    if (asked === undefined) throw new UserError('there is no action to ask again');
    await this.#ask({ ...asked, instruction: this.instruction || asked.instruction });
  }

  /** Continues in another world. @returns the given words and the place */
  enter(world: World, how: string): string {
    this.world = world;
    this.#asked = undefined;
    return `${how} before turn ${world.turns.length + 1}`;
  }

  /** The last turn as a request to repeat, after going back or switching to it. */
  #lastTurn(): Asked | undefined {
    const world = undone(this.world);
    const turn = this.world.turns.at(-1);
    if (world === undefined || turn === undefined) return undefined;
    return { world, action: turn.action, instruction: turn.instruction ?? '', times: 1 };
  }

  async #ask(asked: Asked): Promise<void> {
    const { world, action, instruction, times: seedOffset } = asked;
    const { screen } = this;
    screen.begin();
    const onAgain = (reason: string, waitMs: number) =>
      screen.show({ type: 'again', reason, wait_ms: Math.ceil(waitMs) });
    const hooks = { group: this.branch, onText: screen.hear, onAgain };
    const startedAt = performance.now();
    const outcome = await this.lines.during((signal) =>
      this.simulation.step({ world, action, instruction, seedOffset }, { signal, ...hooks }),
    );
    const ms = Math.round(performance.now() - startedAt);
    const turn = world.turns.length + 1;
    screen.show({ type: 'turn', turn, branch: this.branch, action, instruction, outcome, ms });
    this.#asked = { ...asked, times: seedOffset + 1 };
    if (outcome.status === 'ok') {
      this.world = outcome.world;
      this.fault = undefined;
      const room = this.simulation.roomFor({ world: this.world, action: '' });
      if (room !== undefined && room.state !== 'open') screen.show({ type: 'note', text: roomText(room) });
      return;
    }
    // A repeated turn that fails is gone: its action now has another outcome, which is unknown.
    this.world = world;
    this.fault = faultOf(outcome).exitCode;
  }
}

const FENCE = '```';

/**
 * Lets the user act in a world until the input ends. In a pipe, actions after a failed one are skipped, and the exit code reports it;
 * commands still run.
 * @throws UserError if the world cannot be started
 */
export async function actInTerminal(simulation: Simulation, settings: SimulationSettings, io: Io): Promise<ExitCode> {
  const input = io.input?.();
  if (input === undefined) throw new UserError('there is no standard input to read actions from');
  const place = await startOfFlags(settings, io);
  if (place === undefined) {
    throw new UserError('say where to start: --domain NAME for an empty world, or --from ROW to start at a row');
  }
  const start = await simulation.world(place);
  const isTyped = input.isTTY === true && io.stdout.isTTY && !settings.json;
  const screen = isTyped ? liveScreen(io, settings) : scriptScreen(io, settings);
  const lines = openLines(input, io, isTyped);
  const session = new Session(simulation, screen, lines, start);
  try {
    if (isTyped) {
      const { model, hosts } = simulation;
      const text = `${start.domain}, acted by ${model} at ${hosts.join(', ')}; /help lists the commands`;
      screen.show({ type: 'note', text });
      const shown = start.turns.at(-1)?.observation ?? start.preface;
      if (shown !== '') screen.show({ type: 'command', command: 'start', text: shown });
    }
    const fault = await doAsTyped(session, lines, io, isTyped);
    if (!settings.quiet && simulation.asked.calls > 0) {
      const [usage = ''] = usageText(session).split('\n');
      if (isTyped) screen.show({ type: 'note', text: usage });
      else io.stderr.write(`${usage}\n`);
    }
    if (io.stop.aborted) return interruption(io.stop);
    return isTyped ? EXIT.done : (session.fault ?? fault ?? EXIT.done);
  } finally {
    lines.close();
  }
}

/** Reads lines and executes them. @returns the exit code of the first command that failed */
async function doAsTyped(session: Session, lines: Lines, io: Io, isTyped: boolean): Promise<ExitCode | undefined> {
  let fault: ExitCode | undefined;
  let mayEnd = false;
  for (;;) {
    const typed = await lines.next(promptOf(session));
    if (io.stop.aborted) return fault;
    const line = typeof typed === 'string' ? '' : typed.line;
    const command = commandIn(line);
    if (typeof typed === 'string' || command?.name === 'quit') {
      if (!isTyped || mayEnd || (typed !== 'interrupt' && session.unsaved === 0)) return fault;
      const text = `${counted(session.unsaved, 'turn')} not saved; repeat to quit anyway`;
      session.screen.show({ type: 'note', text });
      mayEnd = true;
    } else if (line.trim() !== '') {
      mayEnd = false;
      const action = command === undefined ? await wholeAction(line, lines) : undefined;
      if (command !== undefined) {
        const failed = await runCommand(command.name, command.operand, session, io);
        fault ??= failed;
      } else if (action !== undefined && !isTyped && session.fault !== undefined) {
        session.screen.show({ type: 'fault', text: 'skipped, since the action before it failed' });
      } else if (action !== undefined) await session.act(action);
    }
  }
}

/** The action that a line begins: the line itself, or a block between fences. Undefined if it was abandoned. */
async function wholeAction(first: string, input: Lines): Promise<string | undefined> {
  if (first.trim() !== FENCE) return first.trim() === '' ? undefined : first;
  const lines: string[] = [];
  for (;;) {
    const typed = await input.next('... ');
    if (typed === 'interrupt') return undefined;
    if (typed === 'end' || typed.line.trim() === FENCE) break;
    lines.push(typed.line);
  }
  const action = lines.join('\n');
  return action.trim() === '' ? undefined : action;
}

function promptOf({ world, branch, instruction }: Session): string {
  const where = branch === 'main' ? world.domain : `${world.domain}/${branch}`;
  return `${where} ${world.turns.length + 1}${instruction === '' ? '' : ' (scenario)'}> `;
}
