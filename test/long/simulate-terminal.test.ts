// A person's session: the compiled program on a pseudo-terminal, typed into key by key.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { parseObject } from '../../src/core/json.js';
import { temporaryFolder } from '../support/cli.js';
import { closeAll, serve, until } from '../support/endpoint.js';
import type { Handler, LoopbackServer } from '../support/loopback-server.js';
import { noTerminal, startOnTerminal } from '../support/terminal.js';

afterEach(closeAll);

async function session(server: LoopbackServer, flags: readonly string[] = []) {
  const folder = await temporaryFolder();
  const awb = ['simulate', '--domain', 'terminal'];
  const model = ['--model-base-url', server.url, '--model-name', 'wm'];
  const child = startOnTerminal([...awb, ...model, ...flags], folder);
  let shown = '';
  let from = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    folder,
    ended,
    /** Waits for a text after what was waited for before. */
    async see(text: string) {
      await until(() => shown.includes(text, from) || child.exitCode !== null);
      const at = shown.indexOf(text, from);
      if (at < 0) throw new Error(`${JSON.stringify(text)} never came; shown was ${JSON.stringify(shown.slice(from))}`);
      from = at + text.length;
    },
    type: (keys: string) => child.stdin.write(keys),
    get shown() {
      return shown;
    },
  };
}

const ENTER = '\r';
const CTRL_C = '\x03';
const CTRL_D = '\x04';
const UP = '\x1b[A';
const LEFT = '\x1b[D';

const echo: Handler = ({ body, index }) => {
  const keys = /"keystrokes": "(.*?)\\n"/.exec(String(body.messages.at(-1).content))?.[1];
  return {
    reasoning: 'secret thought',
    content: `<predicted_observation>\n$ ${keys}\nout ${index}\n</predicted_observation>`,
  };
};

describe.skipIf(noTerminal !== undefined)(
  `a person at a terminal${noTerminal === undefined ? '' : ` (${noTerminal})`}`,
  () => {
    test('edits a line, goes back in the history, and sees observations without thinking', async () => {
      const server = await serve(echo);
      const { see, type, ended, ...rest } = await session(server);
      await see('terminal 1> ');
      type(`lz${LEFT}\x1b[C\x7fs${ENTER}`);
      await see('$ ls\r\nout 0');
      await see('terminal 2> ');
      type(`${UP} -l${ENTER}`);
      await see('$ ls -l\r\nout 1');
      await see('terminal 3> ');
      type(`/save run${ENTER}`);
      await see('2 turns saved in run_test.jsonl');
      type(CTRL_D);
      expect(await ended).toBe(0);
      expect(rest.shown).not.toContain('secret');
      expect(parseObject(readFileSync(join(rest.folder, 'run_test.jsonl'), 'utf8').trim())?.turn_idx).toBe(2);
    });

    test('stops a reply with Ctrl-C: the turn is not added', async () => {
      const server = await serve(({ index }) =>
        index === 0
          ? { deltas: [{ content: '<predicted_observation>half a screen ' }, { content: 'and' }], ending: 'stall' }
          : { content: '<predicted_observation>whole</predicted_observation>' },
      );
      const { see, type, ended } = await session(server);
      await see('terminal 1> ');
      type(`top${ENTER}`);
      await see('half a screen and');
      type(CTRL_C);
      await see('the turn was not added');
      await see('terminal 1> ');
      await until(() => server.inFlight === 0);
      type(`ls${ENTER}`);
      await see('whole');
      expect(JSON.stringify(server.requests[1]?.body.messages)).not.toContain('half a screen');
      await see('terminal 2> ');
      type(`/quit${ENTER}`);
      await see('1 turn not saved');
      type(`/quit${ENTER}`);
      expect(await ended).toBe(0);
    });

    test('discards a line with Ctrl-C, and ends with two at the empty prompt', async () => {
      const server = await serve(echo);
      const { see, type, ended } = await session(server);
      await see('terminal 1> ');
      type('rm -rf /');
      await see('rm -rf /');
      type(CTRL_C);
      await see('^C');
      await see('terminal 1> ');
      type(CTRL_C);
      await see('repeat to quit anyway');
      type(CTRL_C);
      expect(await ended).toBe(0);
      expect(server.count).toBe(0);
    });

    test('is asked once more if Ctrl-D would lose turns', async () => {
      const { see, type, ended } = await session(await serve(echo));
      await see('terminal 1> ');
      type(`ls${ENTER}`);
      await see('terminal 2> ');
      type(CTRL_D);
      await see('1 turn not saved');
      await see('terminal 2> ');
      type(CTRL_D);
      expect(await ended).toBe(0);
    });

    test('gets no control sequence from the model, even in pieces', async () => {
      const pieces = ['<predicted_observation>a\x1b', ']0;owned', '\x07b\x9b', '31mc</predicted_observation>'];
      const { see, type, ended, ...rest } = await session(
        await serve([{ deltas: pieces.map((content) => ({ content })) }]),
        ['--no-color'],
      );
      await see('terminal 1> ');
      type(`ls${ENTER}`);
      await see('abc');
      await see('terminal 2> ');
      type(`/quit${ENTER}${ENTER}`);
      await see('not saved');
      type(`/quit${ENTER}`);
      expect(await ended).toBe(0);
      expect(rest.shown).not.toContain('owned');
      expect(rest.shown).not.toContain('\x9b');
    });
  },
);
