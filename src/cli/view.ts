// awb view: a local web app for SQLite files and folders of runs, or the same as static files.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXIT, inputMissing, interruption } from '../core/errors.js';
import { counted, printable, shownPath } from '../core/printable.js';
import { DEFAULT_DB } from '../results/databases.js';
import { openInBrowser, print } from '../results/output.js';
import { defineCommand, option, toolVersion, under } from '../settings/command.js';
import { writeBundle } from '../view/bundle.js';
import { openLibrary } from '../view/library.js';
import { startViewer } from '../view/server.js';

/** The default: the SQLite file and the runs of the working folder. */
const USUAL = [DEFAULT_DB, 'results'];
const PORT = 7531;

export const command = defineCommand({
  description:
    'Shows runs in a browser: a list including running ones, learning curves, each run with its samples and errors, comparisons of two runs, leaderboards and calibrations. It reads SQLite files of awb score and folders of runs, writes nothing, and is reachable only from this machine. Ctrl-C ends it.',
  examples: {
    'awb view': 'awb.sqlite and results in this folder',
    'awb view runs.sqlite shards': 'a SQLite file, and a folder of runs',
    'awb view --bundle site': 'the same as static files, to open from disk or from any web server',
    'awb view --host 0.0.0.0 --no-open': 'for other machines, with a token in the address',
  },
  options: {
    places: option.list('PLACE', `files or folders of runs (default: ${USUAL.join(' and ')})`, { whole: true }),
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean rows'),
    ...under('Server', {
      host: option.text('ADDRESS', 'address to listen on', { default: '127.0.0.1' }),
      port: option.integer('port to listen on; 0 for a free one', { min: 0, max: 65_535, default: PORT }),
      open: option.flag('do not open the browser', { default: true }),
    }),
    ...under('Files', {
      bundle: option.text('DIR', 'write everything to this folder and exit'),
      'scores-only': option.flag('with --bundle: leave all texts out', { belongsTo: 'bundle' }),
    }),
  },
  operands: ['places'],
  async run(settings, io) {
    const { places, bundle, scoresOnly, dataDir, host, port, json, quiet, open } = settings;
    const usual = USUAL.filter((name) => existsSync(resolve(io.cwd, name)));
    if (places.length === 0 && usual.length === 0) {
      throw inputMissing(`there is no ${USUAL.join(' or ')} here; name SQLite files of awb score, or folders of runs`);
    }
    const shown = places.length === 0 ? usual : places;
    const library = openLibrary(
      shown.map((place) => resolve(io.cwd, place)),
      { io, tool: `awb ${toolVersion()}`, dataDir },
    );
    const index = await library.index();
    if (index.runs.length + index.episodes.length + index.work.length + index.unread.length === 0) {
      throw inputMissing(`${printable(shown.join(', '))}: no runs there; awb score RUN stores one in ${DEFAULT_DB}`);
    }
    if (bundle !== undefined) {
      const dir = resolve(io.cwd, bundle);
      const { files, bytes } = await writeBundle(dir, library.documents({ scoresOnly }), io);
      const path = join(dir, 'index.html');
      const url = pathToFileURL(path).href;
      const text = `written: ${shownPath(path, io)} (${counted(index.runs.length, 'run')}, ${(bytes / 1e6).toFixed(1)} MB)\nopen: ${url}\n`;
      print({ schema: 'awb.view/1', output: path, url, files, bytes }, () => text, settings, io);
      return EXIT.done;
    }
    const onError = (text: string) => void io.stderr.write(`awb view: ${printable(text)}\n`);
    const viewer = await startViewer(library, { host, port, onError });
    const text = `${counted(index.runs.length, 'run')} at ${viewer.url}\n`;
    print({ schema: 'awb.view/1', url: viewer.url }, () => text, settings, io);
    if (!quiet && !json) io.stderr.write('Ctrl-C ends it.\n');
    if (open) await openInBrowser(viewer.url, io);
    if (!io.stop.aborted) await once(io.stop, 'abort');
    await viewer.close();
    await library.close();
    // An interrupt is the normal end of a server.
    return interruption(io.stop);
  },
});
