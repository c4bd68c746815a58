// awb export mlflow: a run with its settings and scores to an MLflow server.

import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { readRun } from '../results/find.js';
import { namesOf } from '../results/read-run.js';
import { httpUrl } from '../settings/address.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { exportTo, mlflowRecord } from './export/mlflow.js';
import { mlflowAt } from './export/mlflow-server.js';

const OPTIONS = {
  run: JUDGED_RUN,
  'tracking-uri': {
    kind: 'text',
    value: 'URL',
    check: httpUrl,
    help: 'address of the MLflow server (default: MLFLOW_TRACKING_URI)',
  },
  experiment: {
    kind: 'text',
    value: 'NAME',
    help: 'experiment to put the run in, made where there is none (default: MLFLOW_EXPERIMENT_NAME, else agentworldbench)',
  },
  db: RUN_OPTIONS.db,
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Puts a judged run into an MLflow server: settings and identity as parameters, scores by domain as metrics (at the step of --meta step=N), scores and manifest as files. The same command again updates the same MLflow run. MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, are sent to the server.',
  examples: [
    {
      line: 'awb export mlflow results/step-100 --tracking-uri http://mlflow:5000',
      does: 'into the experiment agentworldbench',
    },
    {
      line: 'awb export mlflow step-100 --db runs.sqlite --experiment nightly',
      does: 'a stored run, to MLFLOW_TRACKING_URI',
    },
  ],
  options: OPTIONS,
  operands: ['run'],
  run: exportMlflow,
});

async function exportMlflow(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const { env } = io;
  const server = mlflowAt(trackingUri(settings.trackingUri, env), io);
  const experiment = settings.experiment ?? (env.MLFLOW_EXPERIMENT_NAME || 'agentworldbench');
  const run = await readRun(settings.run, settings, io);
  const made = await exportTo(server, experiment, mlflowRecord(run, namesOf(run)));
  const { runId, experimentId, isUpdate, kept, withoutFiles } = made;
  const note = (text: string) => {
    if (!settings.quiet) io.stderr.write(`note: ${printable(text)}\n`);
  };
  if (kept.length > 0) {
    note(
      `MLflow changes no parameters; ${counted(kept.length, 'keeps', 'keep')} the value of the first export: ${kept.join(', ')}`,
    );
  }
  if (withoutFiles !== undefined) note(`no files were put beside the run: ${withoutFiles}`);
  const url = `${server.root}/#/experiments/${experimentId}/runs/${runId}`;
  const document = {
    schema: 'awb.mlflow-export/1',
    experiment,
    experiment_id: experimentId,
    run_id: runId,
    updated: isUpdate,
    url,
  };
  io.stdout.write(
    settings.json ? `${JSON.stringify(document)}\n` : `${isUpdate ? 'updated' : 'exported'}: ${printable(url)}\n`,
  );
  return EXIT.done;
}

/** @throws UserError (2) where there is none, or where it is no address of a server */
function trackingUri(given: string | undefined, { MLFLOW_TRACKING_URI: named }: Io['env']): string {
  const address = given ?? (named || undefined);
  const remedy = 'name a server with --tracking-uri, such as http://127.0.0.1:5000';
  if (address === undefined) throw new UserError(`no MLflow server is named; ${remedy}, or set MLFLOW_TRACKING_URI`);
  if (httpUrl(address) === undefined) return address;
  throw new UserError(`MLFLOW_TRACKING_URI is no http:// or https:// address; ${remedy}`);
}
