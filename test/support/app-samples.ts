// Samples of two made-up runs for the app's pages: many rows, and texts that try to break out of a page.

import { rowId } from '../../src/core/row-id.js';
import type { Index, ListedSample, SampleList, SampleTexts, TrajectoryTexts } from '../../src/view/documents.js';

export const HOSTILE =
  '<script>document.title="owned"</script><img src=x onerror=alert(1)>\u202egnp.exe\u202c \x1b[31mred\x07\u200b';

const INDEX: Index = { tool: 'awb 0', isLive: false, scoresOnly: false, runs: [], episodes: [], work: [], unread: [] };
const DIMENSIONS = ['format', 'factuality', 'consistency', 'realism', 'quality'];
const TURNS = 5;
/** A line longer than a page can show at once, and the same line with a change in its middle. */
const HUGE = `${'lorem ipsum '.repeat(90_000)}A${' dolor sit'.repeat(90_000)}`;
const HISTORY = ['ls -la', 'total 8\n-rw-r--r-- 1 root root 12 notes.txt\n', 'cat notes.txt', 'hello world\n'];
const TRUTH = [
  '$ cat log',
  ...Array.from({ length: 30 }, (_, at) => `line ${at}`),
  'exit code: 0',
  'user root',
  '\tdone  ',
];
const PREDICTION = TRUTH.map((line) => (line === 'exit code: 0' ? 'exit code: 127' : line)).filter(
  (line) => line !== 'user root',
);

/**
 * @param rows how many samples
 * @param shift how much higher its scores are
 */
export function sampleList(ref: string, rows: number, shift = 0): SampleList {
  const samples = Array.from({ length: rows }, (_, at): ListedSample => {
    const ratings = DIMENSIONS.map((_, dimension) => 1 + ((at * 7 + dimension * 3) % 5));
    const failed = at % 97 === 13;
    return {
      k: `key${at}`,
      d: Math.floor(at / TURNS) % 2,
      g: Math.floor(at / TURNS),
      t: 1 + (at % TURNS),
      ...(failed
        ? { v: 0, x: 'context', y: 'the prompt is longer than the context of the model' }
        : { v: Math.min(100, ((at * 37) % 101) + (at % 3) * shift), f: ratings }),
      ...(at % 11 === 3 ? { l: ['truncated'] } : {}),
      ...(at % 4 === 0
        ? { u: ['the exit code is 0'], o: 3, n: 'The exit code differs from the true one, and a line is left out.' }
        : {}),
      ...(at === 1 ? { n: HOSTILE } : {}),
    };
  });
  return {
    ref,
    name: ref === 'base' ? 'qwen3-8b base' : 'qwen3-8b tuned',
    lead: { name: 'Overall', decimals: 1, from: 0, to: 100, better: 'larger' },
    domains: [
      { domain: 'terminal', name: 'Terminal' },
      { domain: 'mcp', name: 'MCP' },
    ],
    figures: DIMENSIONS.map((name) => [name, 5] as const),
    trajectories: Array.from({ length: Math.ceil(rows / TURNS) }, (_, at) => `hash${at}`),
    samples,
  };
}

/** The texts of a trajectory of `sampleList`. In the first trajectory, the second text is hostile, and the third contains a huge line. */
export function trajectoryTexts(list: SampleList, trajectory: number): TrajectoryTexts {
  const strings: string[] = [];
  const place = (text: string) => strings.push(text) - 1;
  const history = HISTORY.map(place);
  const rows = list.samples
    .filter(({ g }) => g === trajectory)
    .map(({ k, t }): [string, SampleTexts] => {
      const [truth, prediction] =
        k === 'key1'
          ? ['plain\n', HOSTILE]
          : k === 'key2'
            ? [HUGE, HUGE.replace('A', 'B')]
            : [TRUTH.join('\n'), PREDICTION.join('\n')];
      return [
        rowId(k, 0),
        {
          truth: place(truth),
          prediction: place(list.ref === 'base' ? prediction.replace('line 3', 'line three') : prediction),
          action: place(`cat log # ${k}`),
          history: t === 1 ? [] : history,
          system: place('You are a terminal.'),
          reply: place(`<think>hm</think>${prediction}`),
          strengths: ['Keeps the format of the shell.'],
          weaknesses: ['The exit code differs.', HOSTILE],
          facts: [
            { claim: 'the log has 30 lines', kind: 'determined', met: true },
            { claim: 'the exit code is 0', kind: 'determined', met: false, quote: 'exit code: 0' },
          ],
          judgeReply: place('{"format": 4}'),
          spent: ['prediction 19,000 + 280 tokens, $0.034', 'judgement 21,000 + 512 tokens, $0.041'],
          request: {
            url: 'http://127.0.0.1:8000/v1/chat/completions',
            body: { model: 'm', seed: 1 },
            messages: [{ role: 'user', content: place(`it's \u202e a request`) }],
          },
          commands: [`awb infer --ids ${k}`, `awb judge --ids ${k}`],
        },
      ];
    });
  return { strings, rows: Object.fromEntries(rows) };
}

/** The documents of a run with `rows` rows and the texts of some trajectories, and of a base to compare it with. */
export function sampleDocuments(rows: number, trajectories: number) {
  const lists = [sampleList('run', rows), sampleList('base', rows, -12)];
  const texts = lists.flatMap((list) =>
    Array.from({ length: trajectories }, (_, at) => [`texts/${list.ref}/${at}`, trajectoryTexts(list, at)] as const),
  );
  return {
    index: INDEX,
    ...Object.fromEntries([...lists.map((list) => [`samples/${list.ref}`, list] as const), ...texts]),
  };
}
