// The files of a report: one page, or beyond a limit a page and pages of texts beside it.

import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, EXIT, UserError } from '../core/errors.js';
import { replaceFile } from '../disk/files.js';
import { makeFolders } from '../disk/make-folder.js';
import { policyHash } from '../results/output.js';
import type { Report } from './contents.js';
import { type PageScript, reportPage, textsPage } from './report.js';

/** Where texts go while it is not known yet whether they fit into the page. */
export interface Pages {
  /** Takes the JSON of the next chunk of texts. */
  add(json: string): Promise<void>;
  write(report: Report): Promise<Written>;
  /** Takes away what `write` has not made pages of. */
  discard(): Promise<void>;
}

export interface Written {
  readonly samples: number;
  /** Of all files. */
  readonly bytes: number;
  /** The folder of the pages of texts and their number, where there are some. */
  readonly texts?: { readonly folder: string; readonly pages: number };
}

const REMEDY = 'mend that, or name another file with --output';
/** What the build makes of src/view/browser; this file stands as deep in src as in dist. */
const SCRIPT = new URL('../../dist/view/browser.js', import.meta.url);
const PAGE_NAME = /^texts-\d+\.(html|json)$/;

/**
 * Chunks are kept in memory up to the limit. Beyond it each waits in a file of its own until its page can be made, which needs to
 * know of every sample.
 */
export function pagesAt(output: string, limitBytes: number): Pages {
  const folder = `${output.replace(/\.html?$/i, '')}.texts`;
  let kept: string[] = [];
  let size = 0;
  let count = 0;
  let spilled = false;
  const draftOf = (chunk: number) => join(folder, `texts-${chunk + 1}.json`);
  const spill = async () => {
    if (!spilled) {
      await clearPages(folder);
      await makeFolder(folder);
      spilled = true;
    }
    for (const [index, json] of kept.entries()) await write(draftOf(count - kept.length + index), [json]);
    kept = [];
  };
  return {
    async add(json) {
      kept.push(json);
      count++;
      size += Buffer.byteLength(json);
      if (spilled || size > limitBytes) await spill();
    },
    async write(report) {
      const page: PageScript = { script: await readFile(SCRIPT, 'utf8'), sha256: policyHash };
      if (!spilled) {
        await clearPages(folder);
        const bytes = await write(output, reportPage(report, { inline: kept }, page));
        return { samples: report.samples.length, bytes };
      }
      const links = { back: `../${encodeURIComponent(basename(output))}`, own: 'texts-' };
      let bytes = 0;
      for (let chunk = 0; chunk < count; chunk++) {
        const draft = draftOf(chunk);
        const json = await readFile(draft, 'utf8');
        bytes += await write(draft.replace(/json$/, 'html'), [textsPage(report, chunk, json, links, page)]);
        await rm(draft);
      }
      const pages = `${encodeURIComponent(basename(folder))}/texts-`;
      bytes += await write(output, reportPage(report, { pages }, page));
      return { samples: report.samples.length, bytes, texts: { folder, pages: count } };
    },
    async discard() {
      if (!spilled) return;
      for (let chunk = 0; chunk < count; chunk++) await rm(draftOf(chunk), { force: true });
    },
  };
}

/** Takes away the pages of an earlier report, and nothing else that may lie there. */
async function clearPages(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (PAGE_NAME.test(name)) await rm(join(folder, name));
  if (names.length > 0 && (await readdir(folder)).length === 0) await rm(folder, { recursive: true });
}

/** Returns the bytes written. */
async function write(path: string, pieces: Iterable<string>): Promise<number> {
  return (await replaceFile(path, pieces, { remedy: REMEDY })).bytes;
}

async function makeFolder(path: string): Promise<void> {
  try {
    await makeFolders(path);
  } catch (error) {
    throw new UserError(`cannot create the folder ${path} (${codeOf(error)}); ${REMEDY}`, EXIT.cannotWrite);
  }
}
