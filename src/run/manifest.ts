// The contents of a run's manifest: settings, fingerprints and counts. They are checked, since files get edited and disks fail.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isPrice, isUncounted, type Price } from '../core/costs.js';
import { badData } from '../core/errors.js';
import { RUN_KINDS } from '../core/identity.js';
import { canonicalJson, isObject, type JsonObject } from '../core/json.js';
import type { Uncounted } from '../core/types.js';
import { readJson, writeJson } from '../disk/files.js';

const COUNT = z.int().min(0);
const AMOUNT = z.number().min(0);
const MEMBERS = z.record(z.string(), z.unknown());
const COUNTS = z.record(z.string(), COUNT);

/** Tokens of each kind, where servers counted them. */
export const USAGE = z.partialRecord(
  z.enum(['promptTokens', 'cachedTokens', 'writtenTokens', 'completionTokens', 'reasoningTokens']),
  // Servers have reported impossible counts.
  z.number(),
);

/** Calls that ended, and the wall time spent asking, in seconds. */
const PACE = z.object({ calls: COUNT, seconds: AMOUNT });

/** Calls that were broken off, or whose replies did not become a record before the session ended. */
const UNRECORDED = z.object({ calls: COUNT, usage: USAGE, uncounted: z.custom<Uncounted>(isUncounted).optional() });

/** The cost of a domain's rows that have a record: all their records, including those that failed and were asked again. */
const DOMAIN_COST = z.object({
  /** Rows whose tokens the server counted. */
  rows: COUNT,
  usage: USAGE,
  /** US dollars at the run's price, each call priced on its own, for the rows whose cost is known; absent if there are none. */
  usd: AMOUNT.optional(),
  /** Rows that were asked but whose cost is unknown: the server did not count them, or there is no price. */
  unpriced: COUNT.optional(),
  /** Sums over the rows' latest records that took one call and whose number of characters sent is known. */
  counted: z.object({ rows: COUNT, chars: COUNT, promptTokens: COUNT }).optional(),
});

/** The result of a run: counts of predictions for `infer`, of judgements for `judge`; one prediction may have several judgements. */
export const RUN_COUNTS = z.object({
  chosen: COUNT,
  ok: COUNT,
  failed: COUNT,
  notDone: COUNT,
  /** Chosen rows that could not be asked: unusable lines of the data, rows without a prediction. */
  absent: COUNT,
  failures: COUNTS,
  flags: COUNTS,
});

/** `awaiting`: results of batch files are still to come. */
export const STATE = z.enum(['running', 'complete', 'incomplete', 'interrupted', 'stopped', 'awaiting']);

/** An assembled file: its size, a fingerprint of its form, and the SHA-256 hex of its bytes. */
const OUTPUT = z.object({ file: z.string(), bytes: COUNT, form: z.string(), sha256: z.string().optional() });

/** A part of a run, as it was when it was merged. */
const MERGED_PART = z.object({
  /** Its folder at that time. */
  dir: z.string(),
  /** Which shard of how many, such as `3/8`, if it was one. */
  shard: z.string().optional(),
  state: STATE,
  startedAt: z.string(),
  /** What it added to the run's totals. */
  pace: PACE.optional(),
  unrecorded: UNRECORDED.optional(),
});

const MANIFEST = z.object({
  schema: z.literal('awb.manifest/1'),
  kind: z.enum(RUN_KINDS),
  tool: z.object({ name: z.string(), version: z.string() }),
  /** The checkpoint's name, as given by the user. */
  label: z.string().optional(),
  meta: z.record(z.string(), z.string()),
  /** Everything that the run's numbers depend on. */
  identity: MEMBERS,
  /** SHA-256 hex of the canonical identity. */
  fingerprint: z.string(),
  /** Every setting in force, without secrets. */
  settings: MEMBERS,
  /** Hosts that were asked, without credentials or paths. */
  endpoints: z.array(z.string()),
  /** Models as the servers named them. */
  servedModels: z.array(z.string()),
  /** What `awb serve` says of the models it served: file, quantisation, llama.cpp release, cache, slots. */
  models: z.array(MEMBERS).optional(),
  data: MEMBERS,
  /** For `judge`: the manifest of the predictions, if one lies next to them. */
  get predictions() {
    return MANIFEST.optional();
  },
  /** Rows, times repeats, that the run chose, by domain: the denominator of coverage. A row that is judged several times counts once. */
  chosen: COUNTS,
  counts: RUN_COUNTS,
  /** Tokens of the rows' latest records, which are those in the output. */
  tokens: USAGE,
  /** The price the run was asked at, if known. */
  price: z.custom<Price>(isPrice).optional(),
  /** The cost of the rows, by domain. */
  costs: z.record(z.string(), DOMAIN_COST).optional(),
  /** Over all sessions that ended properly; absent if no model was called. */
  pace: PACE.optional(),
  /** The cost of calls that no record contains, over all sessions that ended properly; absent if there were none. */
  unrecorded: UNRECORDED.optional(),
  /** For a panel: its judges, their results, and how far they agree. */
  panel: MEMBERS.optional(),
  /** For a run assembled by awb merge: its parts. */
  merged: z.array(MERGED_PART).optional(),
  notices: z.array(z.string()),
  startedAt: z.string(),
  endedAt: z.string().optional(),
  state: STATE,
  /** The folder of the batch files that the run asks through, while results may still arrive. */
  batch: z.object({ dir: z.string() }).optional(),
  /** The process that is or was working on the run, and the totals it counts records against, by domain. */
  process: z.object({ pid: z.number(), host: z.string(), totals: COUNTS.optional() }),
  output: OUTPUT.optional(),
  /** A second file: all turns of a rollout. */
  beside: OUTPUT.optional(),
  /** SHA-256 hex of everything else as canonical JSON. */
  checksum: z.string().optional(),
});

type Deep<T> = T extends object ? { readonly [Name in keyof T]: Deep<T[Name]> } : T;

export type Manifest = Deep<z.infer<typeof MANIFEST>>;
export type MergedPart = Deep<z.infer<typeof MERGED_PART>>;
export type DomainCost = Deep<z.infer<typeof DOMAIN_COST>>;
export type Unrecorded = Deep<z.infer<typeof UNRECORDED>>;
export type Counts = Deep<z.infer<typeof RUN_COUNTS>>;

/**
 * A manifest whose fields are each known to match `Manifest` or to be absent: files get edited, and disks fail.
 * @param path shown in the error
 * @param remedy the next step, if it differs from the usual one for a run's folder
 * @throws UserError (65) for a file of another kind or version, without its identity, or with a field of the wrong type.
 */
export function checkedManifest(value: JsonObject, path: string, remedy?: string): Manifest {
  const refusal = (what: string, usual: string) => badData(`${path} ${what}; ${remedy ?? usual}`);
  if (value.schema !== 'awb.manifest/1') {
    throw refusal(
      `has schema ${JSON.stringify(value.schema ?? null)}, but this version reads "awb.manifest/1"`,
      'use the awb version that wrote it, or another --output-dir',
    );
  }
  if (!isObject(value.identity)) throw refusal('has no "identity"', 'move it aside, or start over with --fresh');
  const { error } = MANIFEST.safeParse(value, { reportInput: true });
  const odd = error?.issues.find(({ input }) => input !== undefined);
  if (odd !== undefined) {
    const what = `is damaged: "${odd.path.join('.')}" does not have a valid value`;
    throw refusal(what, 'fix it, move it aside, or start over with --fresh');
  }
  // Checked field by field; removed fields are absent.
  return value as unknown as Manifest;
}

/** Reads a run's manifest; undefined if there is none. @throws UserError: 66 if it cannot be read, 65 as `checkedManifest`. */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  const value = await readJson(path);
  return value === undefined ? undefined : checkedManifest(value, path);
}

/**
 * One sentence about a run's file, or its manifest, that is no longer as the run wrote it (edited by a user, or damaged by a disk).
 * Undefined if both are unchanged, or if the manifest does not say.
 */
export function changeSince(manifest: Manifest | undefined, path: string, sha256: string): string | undefined {
  if (manifest === undefined) return undefined;
  const { kind, output, checksum } = manifest;
  const said = (what: string, how: string) =>
    `${what} was edited or damaged since awb ${kind} wrote it (${how}); run the same awb ${kind} command to rewrite it`;
  const { sha256: written = sha256 } = output ?? {};
  if (written !== sha256) return said(path, 'the SHA-256 in its manifest differs');
  if (checksum === undefined || checksum === checksumOf(manifest)) return undefined;
  return said(`the manifest of ${path}`, 'its checksum differs');
}

function checksumOf({ checksum: _, ...rest }: Manifest): string {
  return createHash('sha256').update(canonicalJson(rest)).digest('hex');
}

export async function writeManifest(path: string, manifest: Manifest): Promise<void> {
  await writeJson(path, { ...manifest, checksum: checksumOf(manifest) });
}
