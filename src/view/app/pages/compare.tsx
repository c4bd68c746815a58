// Compares runs with the first of them.

import { Failed } from '../parts.js';
import { href, type PageProps } from '../route.js';
import { ShownPage } from '../shown.js';
import { SamplesPage } from './samples.js';

/** `#/compare/BASE/CANDIDATE`, with further candidates after it; `#/compare/BASE/CANDIDATE/samples`. */
export function ComparePage(props: PageProps) {
  const [, base = '', ...candidates] = props.route.path;
  const [candidate = '', page] = candidates;
  if (page === 'samples') return <SamplesPage {...props} runRef={candidate} against={base} />;
  if (candidates.length === 0) return <Failed reason="A comparison needs two runs. Choose them in the list of runs." />;
  return candidates.map((each) => (
    <ShownPage
      key={each}
      name={`compare/${base}/${each}`}
      rows={href(['compare', base, each, 'samples'], { sort: 'drop' })}
    />
  ));
}
