// `awb simulate` for a person at a terminal, and for a script behind a pipe.

import { EXIT, type ExitCode, interruption, UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import type { Io } from '../../core/types.js';
import { isUnfinished } from '../../infer/world.js';
import type { SimulationSettings } from '../options.js';
import { type Simulation, startOfFlags } from '../simulation.js';
import { commandIn, completions, runCommand, Session, usageText } from './commands.js';
import { type Lines, pipedLines, typedLines } from './lines.js';
import { liveScreen, scriptScreen } from './screen.js';

const FENCE = '```';

/**
 * Lets whoever types act in a world, until the input ends. In a pipe, actions behind one that brought nothing about are left out, and
 * the exit code tells of it; commands are carried out all the same.
 * @throws UserError where the world cannot be started
 */
export async function actInTerminal(simulation: Simulation, settings: SimulationSettings, io: Io): Promise<ExitCode> {
  const input = io.input?.();
  if (input === undefined) throw new UserError('there is no standard input to read actions from');
  const place = await startOfFlags(settings, io);
  if (place === undefined) {
    throw new UserError('say where to start: --domain NAME for an empty world, or --from ROW for the place of a row');
  }
  const start = await simulation.world(place);
  const isTyped = input.isTTY === true && io.stdout.isTTY && !settings.json;
  const screen = isTyped ? liveScreen(io, settings) : scriptScreen(io, settings);
  const complete = (line: string) => completions(line, session.branches.keys());
  const lines = isTyped ? typedLines(input, io.stdout, io.stop, complete) : pipedLines(input, io.stop);
  const session = new Session(simulation, screen, lines, start);
  try {
    if (isTyped) {
      const { model, hosts } = simulation;
      screen.note(`${start.domain}, acted by ${model} at ${hosts.join(', ')}; /help lists the commands`);
      const shown = start.turns.at(-1)?.observation ?? start.preface;
      if (shown !== '') screen.say('start', shown);
    }
    const fault = await doAsTyped(session, lines, io, isTyped);
    if (!settings.quiet && simulation.calls > 0) {
      const [usage = ''] = usageText(session).split('\n');
      if (isTyped) screen.note(usage);
      else io.stderr.write(`${usage}\n`);
    }
    if (io.stop.aborted) return interruption(io.stop);
    return isTyped ? EXIT.done : (session.fault ?? fault ?? EXIT.done);
  } finally {
    lines.close();
  }
}

/** Reads lines and does what they say. @returns the exit code of the first command that could not be carried out */
async function doAsTyped(session: Session, lines: Lines, io: Io, isTyped: boolean): Promise<ExitCode | undefined> {
  let fault: ExitCode | undefined;
  let mayEnd = false;
  for (;;) {
    const typed = await lines.next(promptOf(session));
    if (io.stop.aborted) return fault;
    const line = typeof typed === 'string' ? '' : typed.line;
    const command = commandIn(line);
    const ending = typeof typed === 'string' ? typed : command?.name === 'quit' ? 'quit' : undefined;
    if (ending !== undefined) {
      if (!isTyped || mayEnd || (ending !== 'interrupt' && session.unsaved === 0)) return fault;
      askAgain(session, ending);
      mayEnd = true;
    } else if (line.trim() !== '') {
      mayEnd = false;
      const action = command === undefined ? await wholeAction(line, session, lines) : undefined;
      if (command !== undefined) {
        const failed = await runCommand(command, session, io);
        fault ??= failed;
      } else if (action !== undefined && !isTyped && session.fault !== undefined) {
        session.screen.fault('left out, since the action before it brought nothing about');
      } else if (action !== undefined) await session.act(action);
    }
  }
}

/** A session with turns that are not saved is ended by asking twice. */
function askAgain({ unsaved, screen }: Session, ending: 'interrupt' | 'end' | 'quit'): void {
  const again = { interrupt: 'Ctrl-C', end: 'Ctrl-D', quit: '/quit' }[ending];
  screen.note(
    unsaved === 0
      ? `${again} once more ends (so does Ctrl-D)`
      : `${counted(unsaved, 'turn')} not saved: /save FILE keeps them, ${again} once more ends`,
  );
}

/** The action that a line begins: a block between fences, or JSON until its brackets are closed. Undefined where it was given up. */
async function wholeAction(first: string, { world }: Session, input: Lines): Promise<string | undefined> {
  const isBlock = first.trim() === FENCE;
  const lines = isBlock ? [] : [first];
  while (isBlock || isUnfinished(world.domain, lines.join('\n'))) {
    const typed = await input.next('... ');
    if (typed === 'interrupt') return undefined;
    if (typed === 'end' || (isBlock && typed.line.trim() === FENCE)) break;
    lines.push(typed.line);
  }
  const action = lines.join('\n');
  return action.trim() === '' ? undefined : action;
}

function promptOf({ world, branch, next, instruction }: Session): string {
  const where = branch === 'main' ? world.domain : `${world.domain}/${branch}`;
  return `${where} ${next}${instruction === '' ? '' : ' (scenario)'}> `;
}
