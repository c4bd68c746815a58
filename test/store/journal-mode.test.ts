import { describe, expect, it } from 'vitest';
import { isOnNetwork } from '../../src/store/journal-mode.js';

describe('a network file system', () => {
  it.runIf(process.platform === 'linux').each([
    ['NFS', 0x6969, true],
    ['SMB 2', 0xfe534d42, true],
    ['SMB 2 as a signed number', 0xfe534d42 | 0, true],
    ['ext4', 0xef53, false],
    ['tmpfs', 0x01021994, false],
  ])('is told by its number: %s', (_name, type, expected) => {
    expect(isOnNetwork('/somewhere', () => type)).toBe(expected);
  });
});
