// What a run's manifest holds: settings, fingerprints and counts. It is checked, since files are edited and disks fail.

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

/** Tokens of each kind, as far as servers counted them. */
export const USAGE = z.partialRecord(
  z.enum(['promptTokens', 'cachedTokens', 'writtenTokens', 'completionTokens', 'reasoningTokens']),
  // Servers have reported more than can be counted.
  z.number(),
);

/** Calls that ended, and the seconds of wall time that asking took. */
const PACE = z.object({ calls: COUNT, seconds: AMOUNT });

/** Calls that were broken off, or whose replies did not come to a record before the session ended. */
const UNRECORDED = z.object({ calls: COUNT, usage: USAGE, uncounted: z.custom<Uncounted>(isUncounted).optional() });

/** What a domain's rows took that have a record: all of their records, those that failed and were asked again among them. */
const DOMAIN_COST = z.object({
  /** Rows of which tokens were counted by the server. */
  rows: COUNT,
  usage: USAGE,
  /** US dollars under the run's price, each call priced by itself, of the rows whose cost is known; absent where there is none. */
  usd: AMOUNT.optional(),
  /** Rows whose cost is not known although they were asked: the server did not count them, or nobody knows the price. */
  unpriced: COUNT.optional(),
  /** Sums over the rows' latest records that were made by one call, of which it is known how many characters were sent. */
  counted: z.object({ rows: COUNT, chars: COUNT, promptTokens: COUNT }).optional(),
});

/** What a run has come to: predictions under `infer`, and under `judge` judgements, of which one prediction may have several. */
export const RUN_COUNTS = z.object({
  chosen: COUNT,
  ok: COUNT,
  failed: COUNT,
  notDone: COUNT,
  /** Chosen rows that could not be asked at all: unusable lines of the data, rows without a prediction. */
  absent: COUNT,
  failures: COUNTS,
  flags: COUNTS,
});

/** Under `awaiting`, results of batch files have still to come. */
export const STATE = z.enum(['running', 'complete', 'incomplete', 'interrupted', 'stopped', 'awaiting']);

/** An assembled file, its size, a fingerprint of the form it was written in, and SHA-256 hex of its bytes. */
const OUTPUT = z.object({ file: z.string(), bytes: COUNT, form: z.string(), sha256: z.string().optional() });

/** A part of a run, as it was when it was merged into it. */
const MERGED_PART = z.object({
  /** Its folder then. */
  dir: z.string(),
  /** Which of how many, such as `3/8`, where it was one. */
  shard: z.string().optional(),
  state: STATE,
  startedAt: z.string(),
  /** What it added to the run's own. */
  pace: PACE.optional(),
  unrecorded: UNRECORDED.optional(),
});

const MANIFEST = z.object({
  schema: z.literal('awb.manifest/1'),
  kind: z.enum(RUN_KINDS),
  tool: z.object({ name: z.string(), version: z.string() }),
  /** The checkpoint's name, as the user gave it. */
  label: z.string().optional(),
  meta: z.record(z.string(), z.string()),
  /** What the run's numbers depend on. */
  identity: MEMBERS,
  /** SHA-256 hex of the canonical identity. */
  fingerprint: z.string(),
  /** Every setting in force, secrets left out. */
  settings: MEMBERS,
  /** Hosts that were asked, without credentials or paths. */
  endpoints: z.array(z.string()),
  /** Models as the servers named them. */
  servedModels: z.array(z.string()),
  /** What `awb serve` says of the models it served: file, quantisation, llama.cpp release, cache, slots. */
  models: z.array(MEMBERS).optional(),
  data: MEMBERS,
  /** Under `judge`: the manifest of the predictions, where one lies beside them. */
  get predictions() {
    return MANIFEST.optional();
  },
  /** Rows, times repeats, that the run chose, by domain: the denominator of coverage. One that is judged several times counts once. */
  chosen: COUNTS,
  counts: RUN_COUNTS,
  /** What the rows' latest records took: those that the output holds. */
  tokens: USAGE,
  /** The price that the run was asked under, where one is known. */
  price: z.custom<Price>(isPrice).optional(),
  /** What the rows took, by domain. */
  costs: z.record(z.string(), DOMAIN_COST).optional(),
  /** Over all sessions that came to their end; absent where nobody was asked. */
  pace: PACE.optional(),
  /** What calls cost that no record holds, over all sessions that came to their end; absent where there were none. */
  unrecorded: UNRECORDED.optional(),
  /** Of a panel: its judges, what each gave, and how far they agree. */
  panel: MEMBERS.optional(),
  /** Of a run that was put together by awb merge: its parts. */
  merged: z.array(MERGED_PART).optional(),
  notices: z.array(z.string()),
  startedAt: z.string(),
  endedAt: z.string().optional(),
  state: STATE,
  /** The folder of the batch files that the run is asked by, while any result may still come. */
  batch: z.object({ dir: z.string() }).optional(),
  /** The process that works, or worked, on the run; and what it counts records against, by domain. */
  process: z.object({ pid: z.number(), host: z.string(), totals: COUNTS.optional() }),
  output: OUTPUT.optional(),
  /** A second file: all turns of a rollout. */
  beside: OUTPUT.optional(),
  /** SHA-256 hex of all the rest as canonical JSON. */
  checksum: z.string().optional(),
});

type Deep<T> = T extends object ? { readonly [Name in keyof T]: Deep<T[Name]> } : T;

export type Manifest = Deep<z.infer<typeof MANIFEST>>;
export type MergedPart = Deep<z.infer<typeof MERGED_PART>>;
export type DomainCost = Deep<z.infer<typeof DOMAIN_COST>>;
export type Unrecorded = Deep<z.infer<typeof UNRECORDED>>;
export type Counts = Deep<z.infer<typeof RUN_COUNTS>>;

/**
 * A manifest of which every field is known to be what `Manifest` says, or to be absent: files are edited, and disks fail.
 * @param path names it in the error
 * @param remedy how to go on, where that is not what mends a run's folder
 * @throws UserError (65) for a file of another kind or version, without its identity, or with a field of another type.
 */
export function checkedManifest(value: JsonObject, path: string, remedy?: string): Manifest {
  const refusal = (what: string, usual: string) => badData(`${path} ${what}; ${remedy ?? usual}`);
  if (value.schema !== 'awb.manifest/1') {
    throw refusal(
      `has schema ${JSON.stringify(value.schema ?? null)}, this version reads "awb.manifest/1"`,
      'use the awb version that wrote it, or another --output-dir',
    );
  }
  if (!isObject(value.identity)) throw refusal('has lost its "identity"', 'move it aside, or start over with --fresh');
  const { error } = MANIFEST.safeParse(value, { reportInput: true });
  const odd = error?.issues.find(({ input }) => input !== undefined);
  if (odd !== undefined) {
    const what = `is damaged: "${odd.path.join('.')}" is not what it was written as`;
    throw refusal(what, 'mend it, move it aside, or start over with --fresh');
  }
  // Checked field by field; what somebody took out is absent.
  return value as unknown as Manifest;
}

/** Reads a run's manifest; undefined where there is none. @throws UserError: 66 where it cannot be read, 65 as `checkedManifest`. */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  const value = await readJson(path);
  return value === undefined ? undefined : checkedManifest(value, path);
}

/**
 * One sentence on a run's file, or its manifest, that is not as the run wrote it: a user may have edited it, or a disk failed.
 * Undefined where both are as they were written, or where the manifest does not tell.
 */
export function changeSince(manifest: Manifest | undefined, path: string, sha256: string): string | undefined {
  if (manifest === undefined) return undefined;
  const { kind, output, checksum } = manifest;
  const said = (what: string, how: string) =>
    `${what} was edited or damaged since awb ${kind} wrote it (${how}); the same awb ${kind} command writes it anew`;
  const { sha256: written = sha256 } = output ?? {};
  if (written !== sha256) return said(path, 'its manifest has another SHA-256');
  if (checksum === undefined || checksum === checksumOf(manifest)) return undefined;
  return said(`the manifest of ${path}`, 'its checksum is another one');
}

function checksumOf({ checksum: _, ...rest }: Manifest): string {
  return createHash('sha256').update(canonicalJson(rest)).digest('hex');
}

export async function writeManifest(path: string, manifest: Manifest): Promise<void> {
  await writeJson(path, { ...manifest, checksum: checksumOf(manifest) });
}
