// `awb likelihood`: how likely a world model holds the true observation of every row to be, in bits a byte; no judge, no generation.

import { join } from 'node:path';
import { type ExitCode, UserError } from '../core/errors.js';
import { shellLine } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { withChosenRows } from '../infer/chosen-rows.js';
import {
  askedAs,
  LIKELIHOOD_OPTIONS,
  type LikelihoodSettings,
  likelihoodIdentity,
  likelihoodStage,
  type Measuring,
} from '../infer/likelihood.js';
import { judgementState } from '../judge/asking.js';
import { billOrAsk, runOptions, withRun } from '../run/command.js';
import type { Manifest } from '../run/manifest.js';
import { printStageResult } from '../run/summary.js';
import { namesTarget } from '../run/target.js';
import { defineCommand, programName, type ShownSettings } from '../settings/command.js';

export const command = defineCommand({
  description:
    'Measures how likely a world model holds the true observation of every chosen row to be, in bits a byte (fewer are better), and writes likelihood.jsonl, which awb score reads. Nothing is generated and nobody judges. The endpoint has to tell the probabilities of a given reply: vLLM does, and so does awb serve (--local). The same command continues an interrupted run.',
  examples: {
    'awb likelihood --data-dir data --model-base-url http://localhost:8000/v1 \\\n  --model-name my-world-model --output-dir results/step-100':
      'the whole benchmark, under vLLM',
    'awb likelihood --data-dir data --local my-checkpoint-Q8_0.gguf': 'a GGUF file, served here for the run',
    'awb likelihood … --sample 20 --label step-100': '20 rows of each domain',
    'awb likelihood … --dry-run': 'what that would cost; nothing is asked or written',
    'awb score --predictions results/step-100/likelihood.jsonl': 'the figures by domain, with intervals',
  },
  daily: [
    ...(['data-dir', 'output-dir', 'domains', 'sample', 'shard', 'label', 'fresh'] as const),
    ...(['model-base-url', 'model-name', 'model-api-key', 'local'] as const),
    ...(['concurrency', 'dry-run', 'budget-usd'] as const),
  ],
  options: LIKELIHOOD_OPTIONS,
  alsoNeeds: (settings) => (namesTarget(settings) ? [] : ['model-base-url', 'model-name']),
  run: likelihood,
});

async function likelihood(given: LikelihoodSettings, io: Io, shown: ShownSettings): Promise<ExitCode> {
  const settings = askedAs(given);
  const isNamed = settings.modelBaseUrl.length > 0 || settings.modelName !== undefined;
  if (namesTarget(settings) && isNamed) {
    throw new UserError('give one world model: --local, or --model-base-url with --model-name');
  }
  return withChosenRows(settings, io, (rows) => measureChosen({ settings, io, shown, ...rows }));
}

function measureChosen(work: Measuring): Promise<ExitCode> {
  const { settings, io, pricing } = work;
  const identity = (stored: Manifest | undefined) => likelihoodIdentity(work, stored);
  const name = 'likelihood';
  return withRun({ ...runOptions(settings, io), kind: name, name, identity, stateOf: judgementState, pricing }, (run) =>
    billOrAsk(likelihoodStage(work, run), (result) => {
      const output = join(settings.outputDir, 'likelihood.jsonl');
      printStageResult(io, settings, result, {
        noun: 'true observations',
        absent: 'unusable',
        next: `${programName(io)} ${shellLine(['score', '--predictions', output])}`,
      });
      return result.exitCode;
    }),
  );
}
