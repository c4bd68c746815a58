// How many threads compute.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Those asked for; else cores less one, since ggml's waiting threads starve Node's own on the last core, and two at least where one computes wrongly. */
export function threadsOf({ threads, parallel }: { readonly threads?: number; readonly parallel: number }): number {
  return threads ?? Math.max(needsTwoThreads(parallel) ? 2 : 1, availableParallelism() - 1);
}

/**
 * Whether one thread would answer wrongly on this processor: llama.cpp's code for AMX gives NaN for batches of several slots when a single
 * thread computes them (v0.4.0, seen with Q8_0 weights; not with two threads, nor without AMX). Only its binaries for Linux have that code.
 */
export function needsTwoThreads(parallel: number): boolean {
  if (parallel === 1 || process.platform !== 'linux') return false;
  try {
    return /^flags\s*:.*\bamx_int8\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
}
