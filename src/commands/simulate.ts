// `awb simulate`: a world that a world model makes up, to act in.

import { SIMULATION_OPTIONS, type SimulationSettings } from '../asking/simulate/options.js';
import { openSimulation } from '../asking/simulate/simulation.js';
import { openStarts } from '../asking/simulate/starts.js';
import { actInTerminal } from '../asking/simulate/terminal/terminal.js';
import { namesTarget } from '../asking/target.js';
import { EXIT, type ExitCode } from '../errors.js';
import { printable } from '../printable.js';
import { defineCommand } from '../settings/command.js';
import type { Io } from '../types.js';

export const command = defineCommand({
  description:
    'Lets you act in a world that a world model makes up: type actions and see what the environment shows, as long as the context lasts.',
  examples: [
    {
      line: 'awb simulate --domain terminal --model-base-url http://localhost:8000/v1 \\\n  --model-name my-world-model',
      does: 'type into a machine that is not there; /help lists the commands',
    },
    { line: 'awb simulate --domain terminal --local model.gguf', does: 'the same with a model that is served here' },
    { line: 'awb simulate --from terminal:179757071433034:6 …', does: 'go on from a row of the benchmark' },
    {
      line: "printf 'ls\\npwd\\n/save run\\n' | awb simulate --domain terminal --json …",
      does: 'a script: a line for each turn, and the trajectory in run_test.jsonl',
    },
  ],
  daily: [
    'domain',
    'task',
    'state',
    'from',
    'list-rows',
    'data-dir',
    'model-base-url',
    'model-name',
    'model-api-key',
    'local',
    'context',
    'max-tokens',
    'temperature',
    'seed',
    'budget-usd',
  ],
  options: SIMULATION_OPTIONS,
  alsoNeeds: (settings) => (settings.listRows || namesTarget(settings) ? [] : ['model-base-url', 'model-name']),
  run: simulate,
});

async function simulate(settings: SimulationSettings, io: Io): Promise<ExitCode> {
  if (settings.listRows) return listRows(settings, io);
  const notice = (text: string) => {
    if (!settings.quiet) io.stderr.write(`awb: ${printable(text)}\n`);
  };
  const simulation = await openSimulation(settings, io, notice);
  try {
    return await actInTerminal(simulation, settings, io);
  } finally {
    await simulation.close();
  }
}

async function listRows(settings: SimulationSettings, io: Io): Promise<ExitCode> {
  const starts = openStarts(settings, io);
  try {
    const rows = await starts.names();
    const lines = rows.map(({ key, name }) => `${printable(name)}  ${key}\n`);
    io.stdout.write(settings.json ? `${JSON.stringify({ schema: 'awb.rows/1', rows })}\n` : lines.join(''));
    return EXIT.done;
  } finally {
    await starts.close();
  }
}
