// The pages of a run: its results, what went wrong, and its samples.

import { href, type PageProps } from '../route.js';
import { ShownPage } from '../shown.js';
import { ProblemsPage } from './problems.js';
import { SamplesPage } from './samples.js';

const TABS = [
  ['', 'Overview'],
  ['problems', 'What went wrong'],
  ['samples', 'Samples'],
] as const;

/** `#/run/REF`, followed by the name of a tab. */
export function RunPage({ index, route }: PageProps) {
  const [, id = '', tab = ''] = route.path;
  const overview = <ShownPage name={`run/${id}`} />;
  // The page of a scenario run contains its samples.
  if (index.runs.some(({ ref, mode }) => ref === id && mode === 'scenarios')) return overview;
  return (
    <>
      <nav class="tabs" aria-label="Run">
        {TABS.map(([path, name]) => (
          <a href={href(['run', id, path].filter(Boolean))} aria-current={path === tab ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      {tab === '' && overview}
      {tab === 'problems' && <ProblemsPage runRef={id} />}
      {tab === 'samples' && <SamplesPage index={index} route={route} runRef={id} />}
    </>
  );
}
