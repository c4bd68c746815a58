// Where a simulation starts: an empty world of a domain, or the place of a row of the data.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Dataset, openDataset, type RowRef } from '../benchmark/dataset.js';
import { codeOf, EXIT, messageOf, nearest, UserError } from '../core/errors.js';
import { oneLine } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { requireData } from '../infer/chosen-rows.js';
import { openFreshPrompts, openSystemPrompts, type SystemPrompts } from '../infer/messages.js';
import { freshWorld, type World, worldAt } from '../infer/world.js';
import type { SimulationSettings } from './options.js';

/** Where a world is to start. */
export type Start = (
  | { readonly domain: string; readonly task?: string | undefined; readonly state?: string | undefined }
  /** A key, `DOMAIN:ID:TURN`, or an id. */
  | { readonly row: string }
) & {
  /** In place of the domain's or the row's own. */
  readonly systemPrompt?: string | undefined;
  /** An agent elsewhere named it, which is told of no flag and no folder of this machine. */
  readonly isForeign?: boolean;
};

/** A row that a world can start from; its name is `DOMAIN:ID:TURN`. */
export type NamedRow = Pick<RowRef, 'key' | 'domain' | 'trajectory' | 'turnIdx'> & { readonly name: string };

export type Starts = ReturnType<typeof openStarts>;

type PromptSettings = Pick<SimulationSettings, 'systemPrompt' | 'domainPrompts'>;

/** Nothing is read before a start needs it. */
export function openStarts(settings: PromptSettings & Pick<SimulationSettings, 'dataDir'>, io: Io) {
  let fresh: Promise<SystemPrompts> | undefined;
  let ofRows: Promise<SystemPrompts> | undefined;
  let data: Promise<Dataset> | undefined;
  const dataset = () => {
    data ??= requireData(settings.dataDir, io).then(() => openDataset(resolve(io.cwd, settings.dataDir), io.stop));
    return data;
  };
  const freshAt = async ({
    domain,
    task = '',
    state = '',
    systemPrompt,
    isForeign,
  }: Extract<Start, { readonly domain: string }>) => {
    if (systemPrompt !== undefined) return freshWorld({ domain, systemPrompt, task, state });
    fresh ??= openFreshPrompts(settings, io);
    const prompts = await fresh;
    if (prompts.refusal(domain) !== undefined) throw unknownDomain(domain, prompts.domains, isForeign);
    return freshWorld({ domain, systemPrompt: prompts.of({ domain, systemPrompt: '' }), task, state });
  };
  return {
    /** @throws UserError: 2 for an unknown domain, 66 for a row or data that are not there, 65 for an ambiguous row */
    async world(start: Start): Promise<World> {
      if ('domain' in start) return freshAt(start);
      const { row, systemPrompt, isForeign } = start;
      const opened = await dataset().catch((error: unknown) => {
        if (!isForeign || !(error instanceof UserError)) throw error;
        throw new UserError('no world can start at a row here: this server has no data', EXIT.inputMissing);
      });
      const sample = await opened.readSample(rowNamed(row, opened, isForeign));
      if (systemPrompt !== undefined) return worldAt(sample, systemPrompt);
      ofRows ??= openRowPrompts(settings, io);
      const prompts = await ofRows;
      const refusal = prompts.refusal(sample.domain);
      if (refusal !== undefined) throw new UserError(refusal, EXIT.badData);
      return worldAt(sample, prompts.of(sample));
    },
    /** The rows that can be named, each with its key. @throws UserError (66) where there is no data */
    async names(): Promise<readonly NamedRow[]> {
      const { rows } = await dataset();
      return rows.map((row) => {
        const { key, domain, trajectory, turnIdx } = row;
        return { key, name: nameOf(row), domain, trajectory, turnIdx };
      });
    },
    async close(): Promise<void> {
      await (await data?.catch(() => undefined))?.close();
    },
  };
}

/** The prompts of worlds that start at rows: under `row`, a folder of prompts is meant for worlds without a row. */
export function openRowPrompts({ systemPrompt, domainPrompts }: PromptSettings, io: Io): Promise<SystemPrompts> {
  return openSystemPrompts({ systemPrompt, domainPrompts: systemPrompt === 'row' ? undefined : domainPrompts }, io);
}

/** Where the flags say that a world starts; undefined where they say nothing. @throws UserError (2) where they contradict each other */
export async function startOfFlags(
  { domain, from, task, state }: Pick<SimulationSettings, 'domain' | 'from' | 'task' | 'state'>,
  io: Io,
): Promise<Start | undefined> {
  if (domain !== undefined && from !== undefined) {
    throw new UserError('give one place to start: --domain NAME for an empty world, or --from ROW');
  }
  if (from !== undefined && (task !== undefined || state !== undefined)) {
    throw new UserError('--task and --state belong to --domain: a row brings its own');
  }
  if (domain === undefined) return from === undefined ? undefined : { row: from };
  return { domain, task, state: state === undefined ? undefined : await fileOrText(state, '--state', io) };
}

/** The text of a file, or the text itself where there is no such file. @throws UserError (66) for a file that cannot be read */
export async function fileOrText(named: string, what: string, { cwd }: Pick<Io, 'cwd'>): Promise<string> {
  if (named.includes('\n') || named.trim() === '') return named;
  try {
    return (await readFile(resolve(cwd, named), 'utf8')).trimEnd();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(codeOf(error) ?? '')) return named;
    throw new UserError(`cannot read ${named} (${what}): ${messageOf(error)}`, EXIT.inputMissing);
  }
}

function nameOf({ domain, id, turnIdx }: RowRef): string {
  return `${domain}:${id}:${turnIdx}`;
}

/** How many rows of one name are listed. */
const MOST_LISTED = 5;

function rowNamed(name: string, { rows, find }: Dataset, isForeign = false): RowRef {
  const byKey = find(name);
  if (byKey !== undefined) return byKey;
  const found = rows.filter((row) => [nameOf(row), row.id, `${row.domain}:${row.id}`].includes(name));
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  const [flag, way] = isForeign ? ['', ''] : ['--from: ', ' (--list-rows lists them)'];
  const shown = oneLine(name, 80);
  if (only === undefined) {
    const near = nearest(
      name,
      rows.flatMap((row) => [nameOf(row), row.key, row.id]),
    );
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    throw new UserError(`${flag}there is no row "${shown}"${hint}${way}`, EXIT.inputMissing);
  }
  // Equal rows of one name differ by their keys alone.
  const isClear = new Set(found.map(nameOf)).size === found.length;
  const listed = found.slice(0, MOST_LISTED).map((row) => (isClear ? nameOf(row) : row.key));
  throw new UserError(`${flag}${found.length} rows are named "${shown}": give one such as ${listed.join(', ')}`);
}

function unknownDomain(domain: string, known: readonly string[], isForeign = false): UserError {
  const near = nearest(domain, known);
  const advice = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
  const unknown = `unknown domain "${oneLine(domain, 80)}"; ${advice}`;
  if (isForeign) return new UserError(unknown);
  return new UserError(`--domain: ${unknown} (--domain-prompts DIR adds domains by DIR/<domain>.txt)`);
}
