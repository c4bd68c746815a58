// Checks whether a tag may be published: it must match the version of package.json, and CHANGELOG.md must have entries for it.
// node scripts/release-check.mjs v1.2.3

import { readFileSync } from 'node:fs';

const [tag = ''] = process.argv.slice(2);
const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
const { version } = JSON.parse(read('package.json'));
const section = read('CHANGELOG.md')
  .split(/^## /m)
  .find((part) => part.startsWith(`[${version}]`));
const faults = [
  ...(tag === `v${version}` ? [] : [`the tag is "${tag}", but package.json has version ${version}; tag v${version}`]),
  ...(section !== undefined && /^- /m.test(section)
    ? []
    : [`CHANGELOG.md has no entries under [${version}]; write them`]),
];
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
