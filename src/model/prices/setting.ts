// `--prices`: the option, and the price list that it opens.

import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import type { Io } from '../../core/types.js';
import { entriesOf, parseYaml } from '../../disk/yaml-file.js';
import type { OptionTable, Settings } from '../../settings/options.js';
import type { PriceFile } from './price-file.js';
import { openPrices, type PriceList } from './prices.js';

export const PRICE_OPTIONS = {
  prices: {
    kind: 'text',
    value: 'FILE',
    group: 'Cost',
    help: "YAML or JSON file of what models cost, before the catalogue's prices; see docs/costs.md",
  },
} as const satisfies OptionTable;

/** Some 7,000 models. YAML of many more takes minutes to read, since every key is held against every other. */
const MOST_BYTES = 250_000;

type PriceSettings = Pick<Settings<typeof PRICE_OPTIONS>, 'prices'>;

/**
 * The prices that the user's file and the catalogue know.
 * @throws UserError: 66 for a file that cannot be read, 65 for one that cannot be taken at its word.
 */
export async function openPriceList({ prices: path }: PriceSettings, io: Pick<Io, 'cwd'>): Promise<PriceList> {
  return openPrices(path === undefined ? undefined : await readPriceFile(path, io));
}

async function readPriceFile(path: string, io: Pick<Io, 'cwd'>): Promise<PriceFile> {
  let text: string;
  try {
    text = await readStart(resolve(io.cwd, path), MOST_BYTES + 1);
  } catch (error) {
    throw new UserError(`cannot read the price file ${path} (--prices): ${codeOf(error)}`, EXIT.inputMissing);
  }
  if (Buffer.byteLength(text) > MOST_BYTES) {
    throw new UserError(
      `the price file ${path} (--prices) has more than 250 kB; name patterns such as step-* in it, or only the models at hand`,
      EXIT.badData,
    );
  }
  const file = await parseYaml(text, path, EXIT.badData);
  const root = file.document.contents;
  return { path, entries: file.yaml.isMap(root) ? entriesOf(file, root, LEVELS) : [] };
}

/** Up to so many bytes of a file; a device may have no end. */
async function readStart(path: string, most: number): Promise<string> {
  const file = await open(path);
  try {
    const bytes = Buffer.alloc(most);
    let length = 0;
    for (let read = 1; read > 0 && length < most; length += read) {
      read = (await file.read(bytes, length, most - length)).bytesRead;
    }
    return bytes.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}

/** A price file is a mapping of models, each a mapping of fields. */
const LEVELS = 3;
