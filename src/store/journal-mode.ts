// How SQLite keeps its promises at a place: with a write-ahead log, or on a network file system with a rollback journal.

import { statfsSync } from 'node:fs';
import { type Sqlite, sqliteCode } from './sqlite.js';

/**
 * A write-ahead log lets others read while one process writes. It has them share memory, which processes on two machines cannot, so
 * a network file system gets the rollback journal (sqlite.org/wal.html, "all processes ... must be on the same host").
 */
export function chooseJournal(database: Sqlite, folder: string): void {
  const wanted = isOnNetwork(folder) ? 'delete' : 'wal';
  if (database.value('PRAGMA journal_mode') === wanted) return;
  try {
    database.exec(`PRAGMA journal_mode = ${wanted}`);
  } catch (error) {
    // A file system on which processes cannot share memory says so only here.
    if (!/^SQLITE_(IOERR_SHM|PROTOCOL|NOLFS)/.test(sqliteCode(error) ?? '')) throw error;
    database.exec('PRAGMA journal_mode = delete');
  }
}

/** Linux's numbers of file systems that other machines may write to as well (statfs(2)): NFS, SMB, CIFS, SMB2, 9p, FUSE, Lustre, GPFS, BeeGFS, Ceph, AFS, VirtualBox. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x0bd00bd0, 0x47504653, 0x19830326, 0x00c36400,
  0x5346414f, 0x786f4256,
]);

/** Whether a folder lies on a file system that machines share, as far as the system tells. */
export function isOnNetwork(folder: string, typeOf: (folder: string) => number = (at) => statfsSync(at).type): boolean {
  return process.platform === 'linux' && NETWORK_FILE_SYSTEMS.has(typeOf(folder) >>> 0);
}
