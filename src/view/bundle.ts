// All that the viewer shows as a folder of files, which opens from a disk and from any web server.

import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfStopped, UserError } from '../core/errors.js';
import { shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { writeError } from '../disk/files.js';
import type { DocumentName } from './documents.js';
import { builtFile, frame, SAFE_POLICY, scriptJson } from './page.js';

/** What lies in the folder of a bundle. */
const NAMES = ['data', 'index.html', 'app.js', 'app.css'];

/**
 * Writes a bundle, over one that is there. Other files may lie next to it, but none of the names that it takes.
 * @param documents made one after the other, so that memory does not grow with their number
 * @returns how many files and bytes it holds
 * @throws UserError: 2 for a folder with files of these names, 74 where it cannot be written, 130 or 143 once `io.stop` is aborted
 */
export async function writeBundle(
  dir: string,
  documents: AsyncIterable<readonly [DocumentName, unknown]>,
  io: Io,
): Promise<{ readonly files: number; readonly bytes: number }> {
  const taken = NAMES.find((name) => existsSync(join(dir, name)));
  if (taken !== undefined && !existsSync(join(dir, 'data', 'index.js'))) {
    throw new UserError(
      `${shownPath(join(dir, taken), io)} is not of a bundle, which would replace it; name a new folder`,
    );
  }
  try {
    await rm(join(dir, 'data'), { recursive: true, force: true });
    await mkdir(join(dir, 'data'), { recursive: true });
    // By this a folder is known for a bundle, one that was broken off, too. The document itself comes last.
    await writeFile(join(dir, 'data', 'index.js'), '');
    let [files, bytes] = [0, 0];
    const write = async (name: string, parts: readonly string[]) => {
      const content = Buffer.from(parts.join(''));
      await writeFile(join(dir, name), content);
      [files, bytes] = [files + 1, bytes + content.length];
    };
    for await (const [name, value] of documents) {
      throwIfStopped(io.stop);
      await write(join('data', `${name.replaceAll('/', '-')}.js`), [
        `awb(${JSON.stringify(name)}, ${scriptJson(value)});\n`,
      ]);
    }
    const policy = `${SAFE_POLICY}; script-src 'self'; style-src 'self'`;
    const head = '<link rel="stylesheet" href="app.css">';
    await write('app.js', [await builtFile('app.js')]);
    await write('app.css', [await builtFile('app.css')]);
    await write(
      'index.html',
      frame({ title: 'AgentWorldBench', source: 'files', policy }, head, ['<script src="app.js"></script>']),
    );
    return { files, bytes };
  } catch (error) {
    throw writeError(dir, error, 'name another folder with --bundle');
  }
}
