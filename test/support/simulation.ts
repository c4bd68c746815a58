// Settings of a simulation, read as the program reads them.

import { main } from '../../src/cli.js';
import { defineCommand } from '../../src/settings/command.js';
import { SIMULATION_OPTIONS, type SimulationSettings } from '../../src/simulate/options.js';
import { ioIn } from './io.js';

/** The settings from these flags. */
export async function simulationSettings(flags: readonly string[]): Promise<SimulationSettings> {
  let found: SimulationSettings | undefined;
  const command = defineCommand({
    description: 'x',
    examples: { x: 'x' },
    options: SIMULATION_OPTIONS,
    async run(settings) {
      found = settings;
      return 0;
    },
  });
  let said = '';
  const io = ioIn(process.cwd());
  const stderr = {
    ...io.stderr,
    write(text: string) {
      said += text;
    },
  };
  await main(['simulate', ...flags], { ...io, stderr }, [
    { name: 'simulate', summary: 'x', load: async () => ({ command }) },
  ]);
  if (found === undefined) throw new Error(said);
  return found;
}
