// `awb simulate`: lets people or agents act in a world simulated by a world model.

import { closing, type ExitCode, UserError } from '../core/errors.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { namesTarget } from '../run/target.js';
import { defineCommand, type ShownSettings } from '../settings/command.js';
import { serveEnvironment } from '../simulate/environment/http.js';
import { simulatorOf } from '../simulate/environment/sessions.js';
import { playEpisodes } from '../simulate/episodes/episodes.js';
import {
  ENVIRONMENT_OPTIONS,
  type EnvironmentSettings,
  EPISODE_OPTIONS,
  type EpisodeSettings,
  namesAgent,
  SIMULATION_OPTIONS,
  servesAgents,
} from '../simulate/options.js';
import { openSimulation } from '../simulate/simulation.js';
import { actInTerminal } from '../simulate/terminal/commands.js';

export const command = defineCommand({
  description:
    'Lets you act in a world simulated by a world model: type actions and see the observations, as long as the context lasts. With --agent-model, an agent acts instead, and every episode is kept as a trajectory of the benchmark. With --listen or --mcp, external agents act.',
  examples: {
    'awb simulate --domain terminal --model-base-url http://localhost:8000/v1 \\\n  --model-name my-world-model':
      'type into a simulated machine; /help lists the commands',
    'awb simulate --domain terminal --local model.gguf': 'the same, with a model served here',
    'awb simulate --from terminal:179757071433034:6 …': 'continue from a row of the benchmark',
    "printf 'ls\\npwd\\n/save run\\n' | awb simulate --domain terminal --json …":
      'a script: one line per turn, and the trajectory in run_test.jsonl',
    'awb simulate --domain terminal --tasks tasks.txt --steps 20 … \\\n  --agent-base-url http://localhost:8001/v1 --agent-model my-agent':
      'an agent acts, one episode per task: episodes/episodes_test.jsonl',
    'awb simulate --listen 127.0.0.1:7860 --record episodes …':
      'an environment for external agents (OpenEnv; --mcp for MCP)',
  },
  daily:
    'domain task tasks from data-dir model-base-url model-name model-api-key local agent-base-url agent-model agent-api-key episodes steps output-dir dry-run budget-usd listen mcp',
  options: { ...SIMULATION_OPTIONS, ...EPISODE_OPTIONS, ...ENVIRONMENT_OPTIONS },
  alsoNeeds: (settings) => [
    ...(namesTarget(settings) ? [] : (['model-base-url', 'model-name'] as const)),
    ...(namesAgent(settings) ? (['agent-base-url', 'agent-model'] as const) : []),
  ],
  run: simulate,
});

async function simulate(
  settings: EpisodeSettings & EnvironmentSettings,
  io: Io,
  shown: ShownSettings,
): Promise<ExitCode> {
  const isServed = servesAgents(settings);
  if (namesAgent(settings)) {
    if (isServed) throw new UserError('--agent-model cannot be combined with --listen or --mcp; leave one out');
    return playEpisodes(settings, io, shown);
  }
  const notice = (text: string) => {
    if (!settings.quiet) io.stderr.write(`awb: ${printable(text)}\n`);
  };
  return closing(await openSimulation(settings, io, notice), async (simulation) =>
    isServed
      ? serveEnvironment(await simulatorOf(simulation, settings, io), settings, io)
      : actInTerminal(simulation, settings, io),
  );
}
