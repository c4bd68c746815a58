// From a model's name to its file on this machine: at hand already, downloaded before, or downloaded now.

import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { EXIT, nearest, UserError } from '../errors.js';
import { printable } from '../printable.js';
import { type HubOptions, SHA256 } from './client.js';
import { onDisk } from './disk-errors.js';
import { chooseModel, type ModelChoice, onlyModel, SPLIT } from './model-choice.js';
import { AGENTWORLD, type ModelReference, nameOf, referenceOf } from './model-name.js';
import type { WholeFile } from './part.js';
import { bytesOf, folderOf, openRepository } from './repository.js';
import { type TransferOptions, transfer } from './transfer.js';

export interface ModelOptions extends HubOptions, TransferOptions {
  /** Where relative paths begin. */
  readonly cwd: string;
  /** Where downloaded models are kept; made where it is missing. */
  readonly directory: string;
  /** Told what will be downloaded before it is; refuses by throwing. */
  readonly beforeDownload?: (model: Download) => void | Promise<void>;
}

interface Download {
  /** As `--model` takes it. */
  readonly name: string;
  readonly bytes: number;
}

interface ResolvedModel {
  /** Of a split model, its first file. */
  readonly path: string;
  /** Of a model in one file, where it was downloaded and checked; otherwise nothing is known. */
  readonly sha256?: string;
}

/**
 * Finds a model: a path, `hf:user/repo:QUANT`, `hf:user/repo/file.gguf`, either with `@revision` behind the repository,
 * or `qwen-agentworld-35b-a3b`. What was downloaded before is used without asking the hub.
 * Throws a UserError: 66 no such file or repository, 77 access denied, 69 hub out of reach, 73 or 74 cannot write, 65 wrong content,
 * 130 or 143 interrupted.
 */
export async function resolveModel(name: string, options: ModelOptions): Promise<ResolvedModel> {
  const reference = referenceOf(name);
  if (reference === undefined) return localModel(name, options.cwd);
  const folder = folderOf(reference, options.directory);
  const present = await downloadedModel(reference, folder);
  if (present !== undefined) return resolved(present, folder);
  const repository = openRepository(reference, options);
  const choice = chooseModel(await repository.listFiles(), reference);
  await options.beforeDownload?.({
    name: printable(nameOf(reference, choice.files[0]?.path ?? '')),
    bytes: bytesOf(choice.files),
  });
  await transfer(repository, choice.files, folder, options, noteHash);
  return resolved(choice, folder);
}

async function localModel(name: string, cwd: string): Promise<ResolvedModel> {
  const path = resolve(cwd, name);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) {
    const isRepository = /^[\w.-]+\/[\w.-]+(?::[\w.-]+)?$/.test(name) && !/\.gguf$/i.test(name);
    const near = nearest(name.toLowerCase(), [AGENTWORLD.name]);
    const hint = near
      ? `; did you mean ${near}?`
      : isRepository
        ? `; from a hub, write hf:${printable(name)}`
        : '; check --model';
    throw new UserError(`there is no model file ${printable(path)}${hint}`, EXIT.inputMissing);
  }
  if (!found.isFile())
    throw new UserError(`${printable(path)} is not a file; name the GGUF file in it`, EXIT.inputMissing);
  await requireAllParts(path);
  return { path };
}

async function requireAllParts(path: string): Promise<void> {
  const [, base, index, count] = SPLIT.exec(path) ?? [];
  if (base === undefined) return;
  if (Number(index) !== 1) {
    throw new UserError(
      `${printable(path)} is part ${Number(index)} of a split model; name its first part`,
      EXIT.usage,
    );
  }
  for (let part = 2; part <= Number(count); part++) {
    const other = `${base}-${String(part).padStart(5, '0')}-of-${count}.gguf`;
    const isThere = await stat(other).then(
      (found) => found.isFile(),
      () => false,
    );
    if (!isThere) {
      throw new UserError(
        `${printable(path)} lacks its part ${printable(basename(other))}; put all ${Number(count)} beside it`,
        EXIT.inputMissing,
      );
    }
  }
}

/** What an earlier run downloaded. A name without a quantisation or file does not say which model is meant, so that the hub is asked. */
async function downloadedModel(reference: ModelReference, folder: string): Promise<ModelChoice | undefined> {
  if (reference.file === undefined && reference.quantization === undefined) return undefined;
  const paths = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const files = paths.map((path) => ({ path: path.replaceAll('\\', '/'), bytes: 0 }));
  return onlyModel(files, reference);
}

async function resolved({ files }: ModelChoice, folder: string): Promise<ResolvedModel> {
  const path = join(folder, files[0]?.path ?? '');
  const sha256 = files.length === 1 ? await notedHash(path) : undefined;
  return { path, ...(sha256 !== undefined && { sha256 }) };
}

/** Notes the hash of a download beside it, in the notation of sha256sum. What the hub did not vouch for has none. */
async function noteHash({ path, sha256, isVerified }: WholeFile): Promise<void> {
  if (isVerified) await onDisk(noteOf(path), writeFile(noteOf(path), `${sha256}  ${basename(path)}\n`));
}

function noteOf(path: string): string {
  return `${path}.sha256`;
}

/** The hash that a download noted beside its file, unless the file changed since. */
async function notedHash(path: string): Promise<string | undefined> {
  try {
    const [file, note, text] = await Promise.all([stat(path), stat(noteOf(path)), readFile(noteOf(path), 'utf8')]);
    const [hash = ''] = text.split(' ', 1);
    // A copied file may keep an old modification time; the system alone sets the time of its change.
    return note.mtimeMs >= Math.max(file.mtimeMs, file.ctimeMs) && SHA256.test(hash) ? hash : undefined;
  } catch {
    return undefined;
  }
}
