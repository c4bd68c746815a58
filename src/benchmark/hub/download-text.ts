// What is said of a download: what it will be, how far it is, and sizes.

import { printable } from '../../core/printable.js';

/** How far a transfer of files is. */
export interface TransferProgress {
  readonly file: string;
  /** `checking`: the part from an earlier run is read again. */
  readonly step: 'checking' | 'downloading';
  /** Of all files together. */
  readonly bytes: number;
  readonly totalBytes: number;
}

/** Powers of ten, as the hub's pages have it. */
export function sizeText(bytes: number): string {
  if (bytes < 1e5) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** `downloading hf:user/repo/model.gguf: 22.13 GB to /home/you/.cache/agentworldbench`. */
export function downloadText(download: { readonly name: string; readonly bytes: number }, directory: string): string {
  const { name, bytes } = download;
  return `downloading ${printable(name)}: ${fineSizeText(bytes, bytes)} to ${printable(directory)}`;
}

/** `downloading model.gguf: 1.20 GB of 22.13 GB`. */
export function progressText({ step, file, bytes, totalBytes }: TransferProgress): string {
  return `${step} ${printable(file)}: ${fineSizeText(bytes, totalBytes)} of ${fineSizeText(totalBytes, totalBytes)}`;
}

/** In the unit of the whole, so fine that a download is seen to move. */
function fineSizeText(bytes: number, wholeBytes: number): string {
  return wholeBytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
