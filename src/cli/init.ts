// awb init: a commented configuration and gate policy to start from.

import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { cannotCreate, codeOf, EXIT } from '../core/errors.js';
import { shownPath } from '../core/printable.js';
import { print } from '../results/output.js';
import { defineCommand, option, schemaUrl } from '../settings/command.js';

/** The files, each with its schema; their texts are in examples/. */
const FILES = { 'awb.yaml': 'config', 'gate.yaml': 'gate-policy' };

export const command = defineCommand({
  description:
    'Writes a commented configuration (awb.yaml) and gate policy (gate.yaml), which name their schemas for editors. Existing files are kept.',
  examples: {
    'awb init': 'in this folder',
    'awb infer --config awb.yaml --print-config': 'the settings that a command reads from it',
  },
  options: { dir: option.text('DIR', 'folder to write to', { default: '.' }) },
  operands: ['dir'],
  async run({ dir, ...settings }, io) {
    const files = [];
    for (const [name, schema] of Object.entries(FILES)) {
      const path = resolve(io.cwd, dir, name);
      const text = await readFile(new URL(`../../examples/${name}`, import.meta.url), 'utf8');
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, `# yaml-language-server: $schema=${schemaUrl(schema)}\n${text}`, { flag: 'wx' });
        files.push({ path, state: 'written' as const });
      } catch (error) {
        const isThere = codeOf(error) === 'EEXIST' && (await stat(path).catch(() => undefined))?.isFile();
        if (!isThere) throw cannotCreate(`cannot write ${path} (${codeOf(error)}); name another folder`);
        files.push({ path, state: 'kept' as const });
      }
    }
    const lines = files.map(({ path, state }) => `${state}: ${shownPath(path, io)}\n`);
    print({ schema: 'awb.init/1', files }, () => lines.join(''), settings, io);
    return EXIT.done;
  },
});
