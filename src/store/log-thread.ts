// A thread that copies the log of a SQLite file into the file: started by log.ts, and ended by itself.

import { workerData } from 'node:worker_threads';
import { openSqlite } from './sqlite.js';

const database = openSqlite(String(workerData), { fileMustExist: true });
database.exec('PRAGMA wal_checkpoint');
database.close();
