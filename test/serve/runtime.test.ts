// How to add the runtime.

import { expect, test } from 'vitest';
import { installationHint } from '../../src/serve/runtime.js';

test.each([
  ['linux', 'x64', ['linux-x64@', 'linux-x64-cuda@', 'linux-x64-vulkan@']],
  ['linux', 'arm64', ['linux-arm64@']],
  ['darwin', 'arm64', ['mac-arm64-metal@']],
  ['darwin', 'x64', ['mac-x64@']],
  ['win32', 'x64', ['win-x64@', 'win-x64-cuda@', 'win-x64-vulkan@']],
])('on %s %s the way to add the runtime names one binary package for each kind', (platform, arch, packages) => {
  const hint = installationHint(platform, arch);
  expect(hint.match(/(?<=@node-llama-cpp\/)[\w-]+@/g)).toEqual(packages);
});
