// The viewer's contents as a folder of files that opens from disk and from any web server.

import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { throwIfStopped, UserError } from '../core/errors.js';
import { shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { writeError } from '../disk/files.js';
import type { DocumentName } from './documents.js';
import { builtFile, frame, SAFE_POLICY, scriptJson } from './page.js';

/** Names in a bundle's folder. */
const NAMES = ['data', 'index.html', 'app.js', 'app.css'];

/**
 * Writes a bundle, replacing an existing one. The folder may contain other files, but none with a bundle's names.
 * @param documents made one after another, so that memory does not grow with their number
 * @returns the number of files and bytes
 * @throws UserError: 2 if the folder has other files of these names, 74 if it cannot be written, 130 or 143 once `io.stop` is aborted
 */
export async function writeBundle(
  dir: string,
  documents: AsyncIterable<readonly [DocumentName, unknown]>,
  io: Io,
): Promise<{ readonly files: number; readonly bytes: number }> {
  const taken = NAMES.find((name) => existsSync(join(dir, name)));
  if (taken !== undefined && !existsSync(join(dir, 'data', 'index.js'))) {
    throw new UserError(
      `${shownPath(join(dir, taken), io)} does not belong to a bundle and would be replaced; name a new folder`,
    );
  }
  try {
    await rm(join(dir, 'data'), { recursive: true, force: true });
    await mkdir(join(dir, 'data'), { recursive: true });
    // This marks the folder as a bundle, even if writing is interrupted. The document itself comes last.
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
