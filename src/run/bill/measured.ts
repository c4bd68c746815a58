// What earlier runs took, by which a bill is estimated: those that the user names, else the run's own sessions.

import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import { asksWorldModel } from '../../core/run-kind.js';
import type { Domain, Io } from '../../core/types.js';
import type { EarlierRuns } from '../../model/bill.js';
import { shownPath } from '../../settings/shown-path.js';
import type { DomainCost, Manifest } from '../manifest.js';
import { readManifest } from '../manifest-file.js';
import type { Run } from '../run.js';

/** Servers that report a ratio beyond these count something else than tokens. */
const [LEAST_CHARACTERS, MOST_CHARACTERS] = [0.5, 50];

/** A manifest, and its path as people are shown it. */
interface Found {
  readonly name: string;
  /** What a file lacks is absent. */
  readonly manifest: Partial<Manifest> & Pick<Manifest, 'kind' | 'identity'>;
}

/** Runs of one kind, taken together. What none of them measured is undefined. */
export class Measured {
  readonly from: EarlierRuns;

  constructor(private readonly found: readonly Found[]) {
    const models = found.map(({ manifest: { kind, identity, servedModels } }) => {
      const asked = identity[asksWorldModel(kind) ? 'model' : 'judge'];
      return typeof asked === 'string' ? asked : (servedModels?.[0] ?? 'local model');
    });
    this.from = { runs: found.map(({ name }) => name), models: [...new Set(models)] };
  }

  /** Of a domain's prompts, or of all. */
  charactersPerToken(domain?: Domain): { readonly ratio: number; readonly calls: number } | undefined {
    const counted = this.#costs(domain).flatMap(({ counted }) => counted ?? []);
    const ratio = sum(counted, ({ chars }) => chars) / sum(counted, ({ promptTokens }) => promptTokens);
    if (!(ratio >= LEAST_CHARACTERS && ratio <= MOST_CHARACTERS)) return undefined;
    return { ratio, calls: sum(counted, ({ rows }) => rows) };
  }

  /** Tokens of a row's output in a domain, or in all: thinking and further tries included. */
  output(domain?: Domain): { readonly perRow: number; readonly rows: number } | undefined {
    const counted = this.#costs(domain).filter(({ usage }) => usage.completionTokens !== undefined);
    const rows = sum(counted, ({ rows }) => rows);
    return rows === 0 ? undefined : { rows, perRow: sum(counted, ({ usage }) => usage.completionTokens ?? 0) / rows };
  }

  /** The share of prompts that servers had in their caches, 0 to 1. */
  cachedShare(): number | undefined {
    const told = this.#costs().filter(({ usage }) => usage.cachedTokens !== undefined);
    const share = sum(told, ({ usage }) => usage.cachedTokens ?? 0) / sum(told, ({ usage }) => usage.promptTokens ?? 0);
    return share >= 0 ? Math.min(1, share) : undefined;
  }

  callsPerMinute(): number | undefined {
    const { calls, seconds } = this.#pace();
    return calls > 0 && seconds > 0 ? (60 * calls) / seconds : undefined;
  }

  /** Those that had to be made again are among them. Where rows took no call, it is less than what the others took. */
  callsPerRow(): number | undefined {
    const rows = sum(this.found, ({ manifest: { counts } }) => (counts?.ok ?? 0) + (counts?.failed ?? 0));
    const { calls } = this.#pace();
    return calls > 0 && rows > 0 ? calls / rows : undefined;
  }

  #costs(domain?: Domain): DomainCost[] {
    const all = this.found.map(({ manifest: { costs = {} } }) => costs);
    return all.flatMap((costs) => (domain === undefined ? Object.values(costs) : (costs[domain] ?? [])));
  }

  #pace() {
    const paces = this.found.flatMap(({ manifest: { pace } }) => pace ?? []);
    return { calls: sum(paces, ({ calls }) => calls), seconds: sum(paces, ({ seconds }) => seconds) };
  }
}

/**
 * What the named runs took, else what the run's own sessions did so far.
 * @param named folders, judged files, predictions files or manifests
 * @throws UserError (66) where what the user named holds no run of this kind
 */
export async function measuredBy(
  named: readonly string[],
  run: Pick<Run, 'kind' | 'stored' | 'manifestPath'>,
  io: Pick<Io, 'cwd'>,
): Promise<Measured> {
  const own = run.stored === undefined ? [] : [{ name: shownPath(run.manifestPath, io), manifest: run.stored }];
  if (named.length === 0) return new Measured(own);
  const found = new Map<string, Found>();
  for (const one of named) {
    const paths = await manifestsAt(resolve(io.cwd, one));
    const runs = await Promise.all(paths.map((path) => runAt(path, run.kind, io)));
    const usable = runs.filter((run) => run !== undefined);
    if (usable.length === 0) {
      throw new UserError(
        `--estimate-from: ${one} holds no manifest of awb ${run.kind}; name a run's folder or one of its files`,
        EXIT.inputMissing,
      );
    }
    // A judged file's manifest holds that of its predictions, which may lie beside it.
    for (const run of usable) {
      const id = `${run.manifest.fingerprint} ${run.manifest.startedAt}`;
      if (!found.has(id)) found.set(id, run);
    }
  }
  return new Measured([...found.values()]);
}

async function manifestsAt(path: string): Promise<string[]> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  if (!isFolder) return [path.replace(/(\.journal)?\.jsonl$/, '.manifest.json')];
  const manifests = /^(predictions|judged(\..*)?|calibration|likelihood)\.manifest\.json$/;
  const names = (await readdir(path)).filter((name) => manifests.test(name)).sort();
  return names.map((name) => join(path, name));
}

/** The manifest of a run of the kind: a judged file's holds that of its predictions, and a calibration asks a judge as a judging does. */
async function runAt(path: string, kind: Run['kind'], io: Pick<Io, 'cwd'>): Promise<Found | undefined> {
  const manifest = await readManifest(path).catch(() => undefined);
  const found = [manifest, manifest?.predictions].find(
    (one) => one !== undefined && asksWorldModel(one.kind) === asksWorldModel(kind),
  );
  return found && { name: shownPath(path, io), manifest: found };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
