// Package registries on 127.0.0.1 as installations see them: npm's, which has this package and passes everything else on; pip's; and
// the place from which better-sqlite3 downloads its binary.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { ROOT } from './cli.js';

const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

/**
 * @param tarball the package, as `npm pack` writes it
 * @param upstream the registry that has all other packages
 * @param wheels files of wheels; what is added later is served, too
 */
export async function serveRegistries(tarball: string, upstream: string, wheels: readonly string[]) {
  const packed = readFileSync(tarball);
  const manifest = read('package.json');
  const files = new Map<string, () => Buffer | string>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    const wheel = wheels.find((file) => path === `/wheels/${basename(file)}`);
    const answer = files.get(path) ?? (wheel === undefined ? undefined : () => readFileSync(wheel));
    if (answer !== undefined) {
      response.writeHead(200, path.startsWith('/simple/') ? { 'content-type': 'text/html' } : {}).end(answer());
    } else if (/^\/(?:simple|wheels|binaries)\//.test(path)) {
      response.writeHead(404).end();
    } else {
      response.writeHead(302, { location: `${upstream.replace(/\/$/, '')}${request.url}` }).end();
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const integrity = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
  const { name, version } = manifest;
  const own = { ...manifest, dist: { tarball: `${url}/${name}.tgz`, integrity } };
  files.set(`/${name}`, () => JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: own } }));
  files.set(`/${name}.tgz`, () => packed);
  files.set(`/simple/${name}/`, () =>
    wheels.map((file) => `<a href="/wheels/${basename(file)}">${basename(file)}</a>`).join('\n'),
  );
  return {
    npm: url,
    pip: `${url}/simple/`,
    /** Serves the binary of this checkout, which this Node can load. @returns what better-sqlite3's install script takes for its host */
    serveBinary(dir: string): string {
      const sqlite = read('node_modules/better-sqlite3/package.json').version;
      const abi = `node-v${process.versions.modules}-${process.platform}-${process.arch}`;
      const file = join(dir, `better-sqlite3-v${sqlite}-${abi}.tar.gz`);
      mkdirSync(dir, { recursive: true });
      const native = 'build/Release/better_sqlite3.node';
      execFileSync('tar', ['-czf', file, '-C', join(ROOT, 'node_modules/better-sqlite3'), native]);
      files.set(`/binaries/v${sqlite}/${basename(file)}`, () => readFileSync(file));
      return `${url}/binaries`;
    },
    close: () => server.close(),
  };
}
