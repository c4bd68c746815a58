// How far judges agree: those of a panel with each other, and a judge with people.

import type { Agreement } from '../../../report/agreement.js';
import { Block, Header, Loaded, Notes, ReportTable } from '../parts.js';
import type { PageProps } from '../route.js';
import { useDocument } from '../source.js';

/** `#/panel/REF`. */
export function PanelPage({ route }: PageProps) {
  const found = useDocument(`panel/${route.path[1] ?? ''}`);
  return <Loaded of={found}>{(agreement) => <Agreed title="Panel of judges" of={agreement} />}</Loaded>;
}

/** `#/agreement`. */
export function AgreementPage() {
  return <Loaded of={useDocument('agreement')}>{(found) => <Agreed title="A judge and people" of={found} />}</Loaded>;
}

function Agreed({ title, of: { sentences, tables, notes } }: { title: string; of: Agreement }) {
  return (
    <>
      <Header title={title} lines={sentences} />
      {tables.map((table) => {
        const name = table.columns[0]?.heading ?? '';
        return (
          <Block title={name}>
            <ReportTable table={table} label={name} />
          </Block>
        );
      })}
      <Notes notes={notes} />
    </>
  );
}
