// Seeds one fault at a time into a copy of the checkout, and runs the test that must catch it.
// node scripts/faults.mjs [NAME ...] (default: all). test/faults.json describes each fault and the promise that it breaks. `seed` puts
// it into the current code, and must be updated with that code. `test` is a test file and, after a space, part of a test's title.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = new URL('..', import.meta.url).pathname;
const faults = JSON.parse(readFileSync(join(ROOT, 'test/faults.json'), 'utf8')).faults;
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !faults.some((fault) => fault.name === name));
if (unknown.length > 0) throw new Error(`test/faults.json has no fault named ${unknown.join(', ')}`);

const copy = mkdtempSync(join(tmpdir(), 'awb-faults-'));
// `timeout` kills the process group, since vitest's workers would otherwise run forever. It then exits with 137.
const run = (command, args, cwd = copy) =>
  spawnSync('timeout', ['--signal=KILL', '300', command, ...args], { cwd, encoding: 'utf8' });
run('git', ['clone', '--quiet', ROOT, '.']);
symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
// A seeded fault may leave a name unused, which must still compile.
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
    if (testOf(test).status !== 0) throw new Error(`${test} fails without a fault; fix it first`);
  }
  for (const { name, promise, fault, seed, test } of chosen) {
    const path = join(copy, seed.file);
    const before = readFileSync(path, 'utf8');
    if (before.split(seed.find).length !== 2)
      throw new Error(`${name}: ${seed.file} does not contain seed.find exactly once; update it`);
    writeFileSync(
      path,
      before.replace(seed.find, () => seed.replace),
    );
    const { status, stdout, stderr } = testOf(test);
    writeFileSync(path, before);
    const said = `${stdout}${stderr}`;
    if (/error TS\d+/.test(said)) throw new Error(`${name} does not compile:\n${said}`);
    const isRun = /Tests +.*\d+ (?:failed|passed)|FAIL/.test(stdout.replace(/\x1b\[\d+m/g, ''));
    // A test that hangs is killed and counts as having caught the fault.
    const isCaught = status === null || status === 137 || (status !== 0 && isRun);
    if (!isCaught) missed++;
    console.log(`${isCaught ? 'caught' : 'MISSED'}  ${name} (${promise}): ${fault}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`${missed} missed`);
process.exitCode = missed === 0 ? 0 : 1;
