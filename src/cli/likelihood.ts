// `awb likelihood`: the likelihood that a world model gives the true observation of every row, in bits per byte; no judge, no generation.

import { join } from 'node:path';
import { UserError } from '../core/errors.js';
import { shellLine } from '../core/printable.js';
import { withChosenRows } from '../infer/chosen-rows.js';
import { askedAs, LIKELIHOOD_OPTIONS, likelihoodIdentity, likelihoodStage } from '../infer/likelihood.js';
import { judgementState } from '../judge/asking.js';
import { billOrAsk, runOptions, withRun } from '../run/command.js';
import type { Manifest } from '../run/manifest.js';
import { printStageResult } from '../run/summary.js';
import { namesTarget } from '../run/target.js';
import { defineCommand, programName } from '../settings/command.js';

export const command = defineCommand({
  description:
    'Measures the likelihood that a world model gives the true observation of every chosen row, in bits per byte (lower is better), and writes likelihood.jsonl for awb score. Nothing is generated or judged. The endpoint must return the log probabilities of a given reply, as vLLM and awb serve (--local) do. The same command continues an interrupted run.',
  examples: {
    'awb likelihood --data-dir data --model-base-url http://localhost:8000/v1 \\\n  --model-name my-world-model --output-dir results/step-100':
      'the whole benchmark, under vLLM',
    'awb likelihood --data-dir data --local my-checkpoint-Q8_0.gguf': 'a GGUF file, served here for the run',
    'awb likelihood … --sample 20 --label step-100': '20 rows of each domain',
    'awb likelihood … --dry-run': 'a cost estimate; nothing is asked or written',
    'awb score --predictions results/step-100/likelihood.jsonl': 'the figures by domain, with intervals',
  },
  daily:
    'data-dir output-dir domains sample shard label fresh model-base-url model-name model-api-key local concurrency dry-run budget-usd',
  options: LIKELIHOOD_OPTIONS,
  alsoNeeds: (settings) => (namesTarget(settings) ? [] : ['model-base-url', 'model-name']),
  async run(given, io, shown) {
    const settings = askedAs(given);
    const isNamed = settings.modelBaseUrl.length > 0 || settings.modelName !== undefined;
    if (namesTarget(settings) && isNamed) {
      throw new UserError('give one world model: --local, or --model-base-url with --model-name');
    }
    return withChosenRows(settings, io, (rows) => {
      const work = { settings, io, shown, ...rows };
      const identity = (stored: Manifest | undefined) => likelihoodIdentity(work, stored);
      const kind = { kind: 'likelihood', name: 'likelihood', stateOf: judgementState } as const;
      return withRun({ ...runOptions(settings, io), ...kind, identity, pricing: rows.pricing }, (run) =>
        billOrAsk(likelihoodStage(work, run), (result) => {
          const next = shellLine(['score', '--predictions', join(settings.outputDir, 'likelihood.jsonl')]);
          const words = { noun: 'true observations', absent: 'unusable', next: `${programName(io)} ${next}` };
          printStageResult(io, settings, result, words);
          return result.exitCode;
        }),
      );
    });
  },
});
