// What made a run, in words: the models that its manifest names.

import { isObject, type JsonObject } from '../json.js';

/** What is read of a manifest; one that stands in another, or that an earlier version wrote, may hold less. */
type Told = { readonly identity?: unknown; readonly servedModels?: unknown } | undefined;

/** The model's name in a manifest's identity; of one that was served here, which is known by its file, the name and the file's hash. */
export function modelOf(manifest: Told, key: 'model' | 'judge'): string | undefined {
  const named = within(manifest?.identity)[key];
  if (typeof named === 'string') return named;
  const { sha256, kv_cache: cache } = within(named);
  if (typeof sha256 !== 'string') return undefined;
  const served = Array.isArray(manifest?.servedModels) ? manifest.servedModels[0] : undefined;
  const name = typeof served === 'string' ? served : 'local model';
  return `${name} (sha256 ${sha256.slice(0, 12)}, cache ${typeof cache === 'string' ? cache : 'unknown'})`;
}

/** Who judged: the snapshot that answered where the judge was asked by a name, else as `modelOf`. */
export function judgeNameOf(manifest: Told): string | undefined {
  const { judge, snapshot } = within(manifest?.identity);
  return typeof judge === 'string' && typeof snapshot === 'string' ? snapshot : modelOf(manifest, 'judge');
}

/** Whose predictions: the model, or the baseline in its place. */
export function worldModelOf(manifest: Told): string | undefined {
  const { baseline } = within(manifest?.identity);
  return modelOf(manifest, 'model') ?? (typeof baseline === 'string' ? `baseline ${baseline}` : undefined);
}

function within(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
