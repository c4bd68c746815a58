// Where a simulation starts: an empty world of a domain, or the place of a row of the data.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Dataset, openDataset, type RowRef } from '../benchmark/dataset.js';
import { codeOf, EXIT, messageOf, nearest, UserError } from '../core/errors.js';
import { oneLine } from '../core/printable.js';
import { shellLine } from '../core/shell.js';
import type { Io, Sample } from '../core/types.js';
import { requireData } from '../infer/chosen-rows.js';
import { openFreshPrompts, openSystemPrompts, type SystemPrompts } from '../infer/messages.js';
import { freshWorld, type World, worldAt } from '../infer/world.js';
import { programName } from '../settings/program-name.js';
import type { SimulationSettings } from './options.js';

/** Where a world is to start. */
export type Start = (
  | {
      readonly domain: string;
      readonly task?: string | undefined;
      readonly state?: string | undefined;
      /** In place of the domain's own. */
      readonly systemPrompt?: string | undefined;
    }
  | {
      /** A key, `DOMAIN:ID:TURN`, or an id. */
      readonly row: string;
      readonly systemPrompt?: string | undefined;
    }
) & {
  /** An agent elsewhere named it, which is told of no flag and no folder of this machine. */
  readonly isForeign?: boolean;
};

/** A row that a world can start from. */
export interface NamedRow {
  readonly key: string;
  /** `DOMAIN:ID:TURN` */
  readonly name: string;
  readonly domain: string;
  readonly trajectory: string;
  readonly turnIdx: number;
}

export type Starts = ReturnType<typeof openStarts>;

type StartSettings = Pick<SimulationSettings, 'dataDir' | 'systemPrompt' | 'domainPrompts'>;

/** Nothing is read before a start needs it. */
export function openStarts(settings: StartSettings, io: Io) {
  let fresh: Promise<SystemPrompts> | undefined;
  let ofRows: Promise<SystemPrompts> | undefined;
  let data: Promise<Dataset> | undefined;
  const freshPrompt = async (domain: string, isForeign: boolean) => {
    fresh ??= openFreshPrompts(settings, io);
    const prompts = await fresh;
    if (prompts.refusal(domain) !== undefined) throw unknownDomain(domain, prompts.domains, isForeign);
    return prompts.of({ domain, systemPrompt: '' });
  };
  const rowPrompt = async (sample: Sample) => {
    const { systemPrompt, domainPrompts } = settings;
    // A folder of prompts may be meant for worlds without a row.
    const own = systemPrompt === 'row' ? { systemPrompt, domainPrompts: undefined } : { systemPrompt, domainPrompts };
    ofRows ??= openSystemPrompts(own, io);
    const prompts = await ofRows;
    const refusal = prompts.refusal(sample.domain);
    if (refusal !== undefined) throw new UserError(refusal, EXIT.badData);
    return prompts.of(sample);
  };
  const dataset = () => {
    data ??= openData(settings.dataDir, io);
    return data;
  };
  return {
    /** @throws UserError: 2 for an unknown domain, 66 for a row or data that are not there, 65 for an ambiguous row */
    async world(start: Start): Promise<World> {
      const { isForeign = false } = start;
      if ('domain' in start) {
        const { domain, task = '', state = '', systemPrompt = await freshPrompt(domain, isForeign) } = start;
        return freshWorld({ domain, systemPrompt, task, state });
      }
      const opened = await dataset().catch((error: unknown) => {
        throw isForeign && error instanceof UserError ? noRows() : error;
      });
      const list = isForeign ? undefined : listingOf(settings.dataDir, io);
      const sample = await opened.readSample(rowNamed(start.row, opened, list));
      return worldAt(sample, start.systemPrompt ?? (await rowPrompt(sample)));
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

async function openData(dataDir: string, io: Io): Promise<Dataset> {
  await requireData(dataDir, io);
  return openDataset(resolve(io.cwd, dataDir), io.stop);
}

function nameOf({ domain, id, turnIdx }: RowRef): string {
  return `${domain}:${id}:${turnIdx}`;
}

/** How many rows of one name are listed. */
const MOST_LISTED = 5;

/** What an agent elsewhere is told where there is no data, or none that can be read. */
function noRows(): UserError {
  return new UserError('no world can start at a row here: this server has no data', EXIT.inputMissing);
}

type Listing = (hint: string) => string;

/** Where rows are looked for, and how they are listed. */
function listingOf(dataDir: string, io: Io): Listing {
  const line = `${programName(io)} ${shellLine(['simulate', '--list-rows', '--data-dir', dataDir])}`;
  return (hint) => ` in ${dataDir};${hint} to list its rows, type\n  ${line}`;
}

/** @param listing what is said of a row that is not there; undefined for an agent elsewhere */
function rowNamed(name: string, { rows, find }: Dataset, listing: Listing | undefined): RowRef {
  const byKey = find(name);
  if (byKey !== undefined) return byKey;
  const found = rows.filter((row) => {
    const full = nameOf(row);
    return full === name || row.id === name || full.slice(0, full.lastIndexOf(':')) === name;
  });
  const [only, ...others] = found;
  const flag = listing === undefined ? '' : '--from: ';
  if (only === undefined) {
    const known = rows.flatMap((row) => [nameOf(row), row.key, row.id]);
    const near = nearest(name, known);
    const hint = near === undefined ? '' : ` did you mean "${near}"?`;
    const behind = listing === undefined ? hint && `;${hint}` : listing(hint);
    throw new UserError(`${flag}there is no row "${oneLine(name, 80)}"${behind}`, EXIT.inputMissing);
  }
  if (others.length === 0) return only;
  // Equal rows of one name differ by their keys alone.
  const isClear = new Set(found.map(nameOf)).size === found.length;
  const shown = found.slice(0, MOST_LISTED).map((row) => (isClear ? nameOf(row) : row.key));
  const more = found.length > shown.length ? `, and ${found.length - shown.length} more` : '';
  throw new UserError(
    `${flag}${found.length} rows are named "${oneLine(name, 80)}": give one of ${shown.join(', ')}${more}`,
    EXIT.usage,
  );
}

function unknownDomain(domain: string, known: readonly string[], isForeign: boolean): UserError {
  const near = nearest(domain, known);
  const advice = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
  const unknown = `unknown domain "${oneLine(domain, 80)}"; ${advice}`;
  return new UserError(
    isForeign ? unknown : `--domain: ${unknown} (--domain-prompts DIR adds domains by DIR/<domain>.txt)`,
    EXIT.usage,
  );
}
