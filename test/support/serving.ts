// `awb serve` as a process, and what a scripted model says.

import { type CliProcess, startAwb } from './cli.js';

export const PREDICTION = '<predicted_observation>\nroot@sandbox:/app# ls\nREADME.md\n</predicted_observation>';

export type Serving = CliProcess & { readonly url: string };

/** Starts a server and waits for the line that says where it listens. */
export async function startServing(args: readonly string[]): Promise<Serving> {
  const process = startAwb(['serve', '--gpu', 'off', '--threads', '1', '--quiet', '--json', ...args]);
  const url = await new Promise<string>((done, failed) => {
    let printed = '';
    process.child.stdout?.on('data', (text) => {
      printed += text;
      if (printed.includes('\n')) done((JSON.parse(printed) as { url: string }).url);
    });
    void process.ended.then(({ stderr }) => failed(new Error(stderr)));
  });
  return { ...process, url };
}
