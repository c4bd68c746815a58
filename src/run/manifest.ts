// What a run's manifest holds: settings, fingerprints and counts. It is checked, since files are edited and disks fail.

import { EXIT, UserError } from '../errors.js';
import {
  type Check,
  isInteger,
  isNumber,
  isObject,
  isText,
  type JsonObject,
  listOf,
  mapOf,
  maybe,
  membersOf,
} from '../json.js';
import { isPrice, type Price } from '../price.js';
import { RUN_KINDS, type RunKind } from '../run-kind.js';
import type { CallCost, Usage } from '../types.js';
import { isUncounted } from '../usage.js';
import type { Identity } from './identity.js';

export interface Manifest {
  readonly schema: 'awb.manifest/1';
  readonly kind: RunKind;
  readonly tool: { readonly name: string; readonly version: string };
  /** The checkpoint's name, as the user gave it. */
  readonly label?: string | undefined;
  readonly meta: Readonly<Record<string, string>>;
  readonly identity: Identity;
  /** SHA-256 hex of the canonical identity. */
  readonly fingerprint: string;
  /** Every setting in force, secrets left out. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Hosts that were asked, without credentials or paths. */
  readonly endpoints: readonly string[];
  /** Models as the servers named them. */
  readonly servedModels: readonly string[];
  /** What `awb serve` says of the models it served: file, quantisation, llama.cpp release, cache, slots. */
  readonly models?: readonly Readonly<Record<string, unknown>>[];
  readonly data: Readonly<Record<string, unknown>>;
  /** Under `judge`: the manifest of the predictions, where one lies beside them. */
  readonly predictions?: Manifest | undefined;
  /** Rows, times repeats, that the run chose, by domain: the denominator of coverage. One that is judged several times counts once. */
  readonly chosen: Readonly<Record<string, number>>;
  readonly counts: Counts;
  /** What the rows' latest records took: those that the output holds. */
  readonly tokens: Usage;
  /** The price that the run was asked under, where one is known. */
  readonly price?: Price;
  /** What the rows took, by domain. */
  readonly costs?: Readonly<Record<string, DomainCost>>;
  /** Calls, and the seconds of wall time that asking took, over all sessions that came to their end; absent where nobody was asked. */
  readonly pace?: { readonly calls: number; readonly seconds: number };
  /** What calls cost that no record holds, over all sessions that came to their end; absent where there were none. */
  readonly unrecorded?: Unrecorded;
  /** Of a panel: its judges, what each gave, and how far they agree. */
  readonly panel?: JsonObject;
  /** Of a run that was put together by awb merge: its parts. */
  readonly merged?: readonly MergedPart[];
  readonly notices: readonly string[];
  readonly startedAt: string;
  readonly endedAt?: string;
  /** Under `awaiting`, results of batch files have still to come. */
  readonly state: 'running' | 'complete' | 'incomplete' | 'interrupted' | 'stopped' | 'awaiting';
  /** The folder of the batch files that the run is asked by, while any result may still come. */
  readonly batch?: { readonly dir: string };
  /** The process that works, or worked, on the run; and what it counts records against, by domain. */
  readonly process: {
    readonly pid: number;
    readonly host: string;
    readonly totals?: Readonly<Record<string, number>>;
  };
  /** The assembled file, its size, a fingerprint of the form it was written in, and SHA-256 hex of its bytes. */
  readonly output?: { readonly file: string; readonly bytes: number; readonly form: string; readonly sha256?: string };
  /** The same of a second file: all turns of a rollout. */
  readonly beside?: Manifest['output'];
  /** SHA-256 hex of all the rest as canonical JSON. */
  readonly checksum?: string;
}

/** A part of a run, as it was when it was merged into it. */
export interface MergedPart {
  /** Its folder then. */
  readonly dir: string;
  /** Which of how many, such as `3/8`, where it was one. */
  readonly shard?: string;
  readonly state: Manifest['state'];
  readonly startedAt: string;
  /** What it added to the run's own. */
  readonly pace?: Manifest['pace'];
  readonly unrecorded?: Unrecorded;
}

/** What a domain's rows took that have a record: all of their records, those that failed and were asked again among them. */
export interface DomainCost {
  /** Rows of which tokens were counted by the server. */
  readonly rows: number;
  readonly usage: Usage;
  /** US dollars under the run's price, each call priced by itself, of the rows whose cost is known; absent where there is none. */
  readonly usd?: number;
  /** Rows whose cost is not known although they were asked: the server did not count them, or nobody knows the price. */
  readonly unpriced?: number;
  /** Sums over the rows' latest records that were made by one call, of which it is known how many characters were sent. */
  readonly counted?: { readonly rows: number; readonly chars: number; readonly promptTokens: number };
}

/** Calls that were broken off, or whose replies did not come to a record before the session ended. */
export interface Unrecorded extends CallCost {
  readonly calls: number;
}

/** What a run has come to: predictions under `infer`, and under `judge` judgements, of which one prediction may have several. */
export interface Counts {
  readonly chosen: number;
  readonly ok: number;
  readonly failed: number;
  readonly notDone: number;
  /** Chosen rows that could not be asked at all: unusable lines of the data, rows without a prediction. */
  readonly absent: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly flags: Readonly<Record<string, number>>;
}

/**
 * A manifest of which every field is known to be what `Manifest` says, or to be absent: files are edited, and disks fail.
 * @param path names it in the error
 * @param remedy how to go on, where that is not what mends a run's folder
 * @throws UserError (65) for a file of another kind or version, without its identity, or with a field of another type.
 */
export function checkedManifest(value: JsonObject, path: string, remedy?: string): Manifest {
  if (value.schema !== 'awb.manifest/1') {
    throw new UserError(
      `${path} has schema ${JSON.stringify(value.schema ?? null)}, this version reads "awb.manifest/1"; ${remedy ?? 'use the awb version that wrote it, or another --output-dir'}`,
      EXIT.badData,
    );
  }
  if (!isObject(value.identity)) {
    throw new UserError(
      `${path} has lost its "identity"; ${remedy ?? 'move it aside, or start over with --fresh'}`,
      EXIT.badData,
    );
  }
  const odd = oddField(value);
  if (odd !== undefined) {
    throw new UserError(
      `${path} is damaged: "${odd}" is not what it was written as; ${remedy ?? REMEDY}`,
      EXIT.badData,
    );
  }
  // Checked field by field; what somebody took out is absent.
  return value as unknown as Manifest;
}

const REMEDY = 'mend it, move it aside, or start over with --fresh';

const isCount: Check = (value) => isInteger(value) && value >= 0;
const isAmount: Check = (value) => isNumber(value) && value >= 0;
const fieldsOf = (fields: Readonly<Record<string, Check>>) =>
  membersOf(Object.fromEntries(Object.entries(fields).map(([name, check]) => [name, maybe(check)])));

const isPace = fieldsOf({ calls: isCount, seconds: isAmount });
const isUnrecorded = fieldsOf({ calls: isCount, usage: mapOf(isCount), uncounted: isUncounted });

const FIELDS: Readonly<Record<string, Check>> = {
  kind: (value) => RUN_KINDS.some((kind) => kind === value),
  tool: mapOf(isText),
  label: isText,
  meta: mapOf(isText),
  identity: isObject,
  fingerprint: isText,
  settings: isObject,
  endpoints: listOf(isText),
  servedModels: listOf(isText),
  models: listOf(isObject),
  data: isObject,
  chosen: mapOf(isCount),
  counts: fieldsOf({
    chosen: isCount,
    ok: isCount,
    failed: isCount,
    notDone: isCount,
    absent: isCount,
    failures: mapOf(isCount),
    flags: mapOf(isCount),
  }),
  // Servers have reported more than can be counted.
  tokens: mapOf(isNumber),
  price: isPrice,
  costs: mapOf(
    fieldsOf({
      rows: isCount,
      usage: mapOf(isCount),
      usd: isAmount,
      unpriced: isCount,
      counted: fieldsOf({ rows: isCount, chars: isCount, promptTokens: isCount }),
    }),
  ),
  pace: isPace,
  unrecorded: isUnrecorded,
  panel: isObject,
  merged: listOf(
    fieldsOf({
      dir: isText,
      shard: isText,
      state: isText,
      startedAt: isText,
      pace: isPace,
      unrecorded: isUnrecorded,
    }),
  ),
  notices: listOf(isText),
  startedAt: isText,
  endedAt: isText,
  state: isText,
  batch: (value) => isObject(value) && isText(value.dir),
  process: fieldsOf({ totals: mapOf(isCount) }),
  output: fieldsOf({ file: isText, bytes: isCount, form: isText, sha256: isText }),
  beside: fieldsOf({ file: isText, bytes: isCount, form: isText, sha256: isText }),
  checksum: isText,
};

/** The first field, by its path, that is there and of another type than was written. */
function oddField(manifest: JsonObject): string | undefined {
  const odd = Object.keys(FIELDS).find((name) => manifest[name] !== undefined && !FIELDS[name]?.(manifest[name]));
  if (odd !== undefined || manifest.predictions === undefined) return odd;
  if (!isObject(manifest.predictions)) return 'predictions';
  const within = oddField(manifest.predictions);
  return within === undefined ? undefined : `predictions.${within}`;
}
