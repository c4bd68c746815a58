// What a user may write for a model of a hub: hf:user/repo:QUANT, hf:user/repo/file.gguf, or the reference model's own name.

import { UserError } from '../errors.js';
import { printable } from '../printable.js';
import type { RepositoryName } from './repository.js';

/** What the name `qwen-agentworld-35b-a3b` stands for: one file, since scores depend on it. */
export const AGENTWORLD = {
  name: 'qwen-agentworld-35b-a3b',
  /** On the hub, where its weights are not quantised. */
  official: 'Qwen/Qwen-AgentWorld-35B-A3B',
  repository: 'unsloth/Qwen-AgentWorld-35B-A3B-GGUF',
  revision: '3a305abf5cfd119ee999dfe929c433746edd8d63',
  file: 'Qwen-AgentWorld-35B-A3B-UD-Q4_K_M.gguf',
  quantization: 'UD-Q4_K_M',
  sha256: 'e7a8eafdd8013443b6bcc4b6fb47b2d2025f772d359650b9ceb7d75971e22cad',
} as const;

/** A model of a hub as a user names it. */
export interface ModelReference extends RepositoryName {
  readonly kind: 'model';
  readonly quantization?: string;
  readonly file?: string;
  /** What the file must be, whatever the hub says. */
  readonly sha256?: string;
}

/** A revision with slashes is one of the hub's own, such as refs/pr/1: elsewhere a slash begins the file's path. */
const REFERENCE = /^hf:([\w.-]+\/[\w.-]+)(?:@(refs\/[\w.-]+\/[\w.-]+|[\w.-]+))?(?::([\w.-]+)|\/(.+\.gguf))?$/i;
/** Parts of a path that lead out of it. */
const DOTS = /(?:^|\/)\.+(?:\/|$)/;

/** Undefined for what is a path. Throws a UserError (2) for what looks like a hub's name and is none. */
export function referenceOf(name: string): ModelReference | undefined {
  if (name.toLowerCase() === AGENTWORLD.name) {
    const { repository, revision, file, sha256 } = AGENTWORLD;
    return { kind: 'model', repository, revision, file, sha256 };
  }
  if (!name.startsWith('hf:')) return undefined;
  const [, repository, revision = 'main', quantization, file] = REFERENCE.exec(name) ?? [];
  if (repository === undefined || DOTS.test(repository) || DOTS.test(revision)) {
    throw new UserError(
      `"${printable(name)}" does not name a model; write hf:user/repo:QUANT or hf:user/repo/file.gguf, such as hf:${AGENTWORLD.repository}:${AGENTWORLD.quantization}`,
    );
  }
  return { kind: 'model', repository, revision, ...(quantization && { quantization }), ...(file && { file }) };
}

/** The name of one file of a repository, as a user may write it. */
export function nameOf({ repository, revision }: RepositoryName, path: string): string {
  return `hf:${repository}${revision === 'main' ? '' : `@${revision}`}/${path}`;
}

/** The name under which a model is served: `models/My-Model-Q8_0.gguf` -> `My-Model-Q8_0`; other names stand for themselves. */
export function servedName(model: string): string {
  return model.replace(/^.*[/\\]/, '').replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '');
}

/** The further names of a model, `alias` among them. The reference model also answers to its name on the hub, which the model card's own code asks for. */
export function aliasesOf(model: string, alias: readonly string[]): string[] {
  const own = servedName(model);
  const official = own.toLowerCase() === AGENTWORLD.name ? [AGENTWORLD.official] : [];
  return [...new Set([...alias, ...official])].filter((name) => name !== own);
}
