// `awb serve`: serves a GGUF model on this machine over the wire format of hosted models.

import { once } from 'node:events';
import { resolve } from 'node:path';
import { cacheFolder, downloadText, progressText } from '../benchmark/hub/client.js';
import { AGENTWORLD, aliasesOf, resolveModel, servedName } from '../benchmark/hub/models.js';
import { EXIT, type ExitCode, interruption, messageOf } from '../core/errors.js';
import { counted, printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import type { ServeDocument } from '../model/local.js';
import { openEngine } from '../serve/engine.js';
import { startServer } from '../serve/http/server.js';
import { showLoading } from '../serve/loading.js';
import { readModelFile, requirePossible, settingsThatFit } from '../serve/memory.js';
import { defineCommand, type OptionTable, option, type Settings, under } from '../settings/command.js';

// biome-ignore format: a table with one line per option
const OPTIONS = {
  ...under('Model', {
model: option.text('MODEL', `a GGUF file, hf:user/repo:QUANT, or ${AGENTWORLD.name}`, { required: true }),
'model-dir': option.text('DIR', 'folder for downloads (~/.cache/agentworldbench)'),
}),
  ...under('Server', {
host: option.text('ADDRESS', 'address to listen on', { default: '127.0.0.1' }),
port: option.integer('port; 0 for a free one', { min: 0, max: 65535, default: 8000 }),
alias: option.list('NAME', 'another name for the model; repeatable'),
'api-key': option.text('KEY', 'key that clients must send; required except on loopback', { secret: true }),
queue: option.integer('requests that may wait; more get 429', { min: 0, default: 256 }),
'until-stdin-closes': option.flag('exit when standard input closes (when the parent ends)'),
}),
  ...under('Hardware', {
parallel: option.integer('number of slots; 1 for exactly reproducible replies', { min: 1, max: 256, default: 1 }),
context: option.integer('tokens per slot (default: as many as fit)', { min: 256 }),
gpu: option.choice(['auto', 'cuda', 'vulkan', 'metal', 'off'], 'backend', { default: 'auto' }),
'gpu-layers': option.integer('layers on the GPU (default: as many as fit)', { min: 0 }),
'kv-cache': option.choice(['auto', 'f16', 'q8_0'], 'type of the cache; auto: f16, or q8_0 if the context would be short', { default: 'auto' }),
'flash-attention': option.flag('turn flash attention off', { default: true }),
threads: option.integer('CPU threads (default: cores minus one)', { min: 1 }),
'batch-size': option.integer('tokens per evaluation', { min: 16, max: 65536, default: 512 }),
'checkpoint-memory': option.integer('MiB of host memory for states that later turns can resume', { min: 0, default: 2048 }),
'thinking-budget': option.integer('maximum thinking tokens (default: no limit)', { min: 0 }),
}),
} as const satisfies OptionTable;

type ServeSettings = Settings<typeof OPTIONS>;

/** Running calls get this long after the first interrupt. */
const DRAIN_MS = 60_000;
const REQUEST_TIMEOUT_MS = 120_000;

export const command = defineCommand({
  description:
    "Serves a GGUF model on this machine's GPUs or CPU over OpenAI's wire format: /v1/chat/completions, /v1/models, /health and /metrics.",
  examples: {
    [`awb serve --model ${AGENTWORLD.name} --parallel 4`]: 'the reference model; downloads 20 GB the first time',
    'awb serve --model my-checkpoint-Q8_0.gguf --port 8081': 'a file of your own',
    'awb infer --data-dir data --local my-checkpoint-Q8_0.gguf': 'serve, infer and stop in one command',
  },
  daily: 'host port api-key parallel context gpu',
  options: OPTIONS,
  run: serve,
});

async function serve(settings: ServeSettings, io: Io): Promise<ExitCode> {
  const wishes = {
    contextSize: settings.context ?? 'most',
    slots: settings.parallel,
    kvCache: settings.kvCache,
    gpuLayers: settings.gpuLayers ?? 'most',
    checkpointBytes: settings.checkpointMemory * 2 ** 20,
    batchSize: settings.batchSize,
    flashAttention: settings.flashAttention,
  } as const;
  requirePossible(wishes, settings.threads);
  const ending = endingOf(settings, io);
  const stopped = (ending.aborted ? Promise.resolve() : once(ending, 'abort')).then(() => undefined);
  const loading = showLoading(io.stderr, settings.quiet);
  const { say } = loading;
  const directory = resolve(io.cwd, settings.modelDir ?? cacheFolder(io.env));
  const path = await resolveModel(settings.model, {
    beforeDownload: (download) => say(downloadText(download, directory)),
    onProgress: (progress) => loading.step('download', progressText(progress)),
    cwd: io.cwd,
    directory,
    env: io.env,
    signal: ending,
  }).finally(() => loading.finish());
  const file = await readModelFile(path, settings.gpu);
  const givingUp = new AbortController();
  const opening = openEngine({
    ...(await settingsThatFit(file, settings.gpu, wishes, say)),
    file,
    name: servedName(settings.model),
    gpu: settings.gpu,
    cacheDirectory: directory,
    signal: AbortSignal.any([ending, givingUp.signal]),
    onNote: say,
    onProgress: (step, done) => loading.step(step, `${step} the model: ${Math.floor(100 * done)} %`),
    threads: settings.threads,
  });
  // Handled below. Without this, a failure while the port is opened would end the process.
  opening.catch(() => undefined);
  const server = await startServer(opening, {
    host: settings.host,
    port: settings.port,
    queueLimit: settings.queue,
    aliases: aliasesOf(settings.model, settings.alias),
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    apiKey: settings.apiKey,
    thinkingBudget: settings.thinkingBudget,
    onRequest: settings.verbose ? (record) => say(printable(JSON.stringify(record))) : undefined,
    onError: (error) => say(`engine: ${printable(messageOf(error))}`),
  }).catch((error) => {
    givingUp.abort();
    throw error;
  });
  try {
    const engine = await Promise.race([opening, stopped]);
    loading.finish();
    if (engine !== undefined) {
      io.stdout.write(started(settings, { schema: 'awb.serve/1', url: `${server.url}/v1`, model: engine.facts }));
      await stopped;
      if (io.stop.aborted) say('stopping: running requests may finish; interrupt again to stop immediately');
    }
    await server.close(engine !== undefined && io.stop.aborted ? DRAIN_MS : 0);
    await opening.then((loaded) => loaded.close()).catch(() => undefined);
    // An interrupt is the normal end of a server.
    return io.stop.aborted ? interruption(io.stop) : EXIT.done;
  } catch (error) {
    loading.finish();
    await server.close(0);
    throw error;
  }
}

/** The text printed once the model is served. */
function started({ json }: ServeSettings, document: ServeDocument): string {
  if (json) return `${JSON.stringify(document)}\n`;
  const { name, quantization, slots, contextSize, gpu, gpuLayers, threads } = document.model;
  const hardware = gpuLayers > 0 ? `${gpu}, ${counted(gpuLayers, 'layer')}` : `CPU, ${counted(threads, 'thread')}`;
  return `serving ${printable(name)} (${printable(quantization)}; ${hardware}; ${slots} x ${contextSize} tokens) at ${document.url}\n`;
}

/** Aborted by the first interrupt and, with --until-stdin-closes, when standard input closes. */
function endingOf(settings: ServeSettings, io: Io): AbortSignal {
  if (!settings.untilStdinCloses) return io.stop;
  const closed = new AbortController();
  // Ends a download with the exit code of Ctrl-C.
  void io.stdinClosed().then(() => closed.abort('SIGINT'));
  return AbortSignal.any([io.stop, closed.signal]);
}
