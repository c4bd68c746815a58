// Seeds one fault after the other into a copy of the checkout, and runs the test that has to catch it.
// node scripts/faults.mjs [NAME ...] (all where none is named). test/faults.json describes each fault in words, by the promise that it
// breaks; `seed` puts it into today's code and moves along with that, `test` names the test file and, behind a blank, a part of a title.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = new URL('..', import.meta.url).pathname;
const faults = JSON.parse(readFileSync(join(ROOT, 'test/faults.json'), 'utf8')).faults;
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !faults.some((fault) => fault.name === name));
if (unknown.length > 0) throw new Error(`test/faults.json has no fault ${unknown.join(', ')}`);

const copy = mkdtempSync(join(tmpdir(), 'awb-faults-'));
// `timeout` ends a whole group: vitest's workers would go on for ever. It exits with 137 then.
const run = (command, args, cwd = copy) =>
  spawnSync('timeout', ['--signal=KILL', '300', command, ...args], { cwd, encoding: 'utf8' });
run('git', ['clone', '--quiet', ROOT, '.']);
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
// A seed may leave something unused.
const tsconfig = join(copy, 'tsconfig.json');
writeFileSync(tsconfig, readFileSync(tsconfig, 'utf8').replace(/("noUnused\w+": )true/g, '$1false'));
let missed = 0;
const testOf = (test) => {
  const [file, ...title] = test.split(' ');
  const more = title.length === 0 ? [] : ['-t', title.join(' ')];
  return run('npx', ['vitest', 'run', file, '--bail=1', '--testTimeout=60000', ...more]);
};
const chosen = faults.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
try {
  for (const test of new Set(chosen.map((fault) => fault.test))) {
    if (testOf(test).status !== 0) throw new Error(`${test} fails without any fault`);
  }
  for (const { name, promise, fault, seed, test } of chosen) {
    const path = join(copy, seed.file);
    const before = readFileSync(path, 'utf8');
    if (before.split(seed.find).length !== 2) throw new Error(`${name}: ${seed.file} does not hold its text once`);
    writeFileSync(
      path,
      before.replace(seed.find, () => seed.replace),
    );
    const { status, stdout, stderr } = testOf(test);
    writeFileSync(path, before);
    const said = `${stdout}${stderr}`;
    if (/error TS\d+/.test(said)) throw new Error(`${name} does not compile:\n${said}`);
    const isRun = /Tests +.*\d+ (?:failed|passed)|FAIL/.test(stdout.replace(/\x1b\[\d+m/g, ''));
    // A test that hangs is ended, and has caught it.
    const isCaught = status === null || status === 137 || (status !== 0 && isRun);
    if (!isCaught) missed++;
    console.log(`${isCaught ? 'caught' : 'MISSED'}  ${name} (${promise}): ${fault}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${missed} missed`);
process.exitCode = missed === 0 ? 0 : 1;
