// The texts behind a sample, each in a fold that is drawn when it is opened: history, replies, the request made again, commands.

import { useState } from 'preact/hooks';
import { asciiJson } from '../../core/json.js';
import type { RequestAgain, SampleTexts } from '../documents.js';
import { count, plural } from '../figures.js';
import { Fold, Notes } from './parts.js';
import { Text, visible } from './text.js';

/** A text that is there on demand; nothing where there is none. */
export function TextFold({ title, text }: { readonly title: string; readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <Fold title={visible(title)} about={sizeOf(text)}>
      {() => <Text text={text} />}
    </Fold>
  );
}

function sizeOf(...texts: readonly string[]): string {
  return plural(
    texts.reduce((sum, text) => sum + text.length, 0),
    'character',
  );
}

/** What happened before a turn. @param texts action and observation of each earlier turn */
export function History({ texts }: { readonly texts: readonly string[] }) {
  const turns = Array.from({ length: texts.length / 2 }, (_, at) => texts.slice(2 * at, 2 * at + 2));
  return (
    <Fold title="History" about={`${plural(turns.length, 'earlier turn')}, ${sizeOf(...texts)}`}>
      {() =>
        turns.map((turn, at) => (
          <Fold title={`Turn ${at + 1}`} about={sizeOf(...turn)}>
            {() => turn.map((text, place) => [<h3>{place === 0 ? 'Action' : 'Observation'}</h3>, <Text text={text} />])}
          </Fold>
        ))
      }
    </Fold>
  );
}

/** What is kept of asking and judging a row. @param of whose it is, such as ` of NAME`, where two runs are shown */
export function Behind(props: {
  row: SampleTexts;
  of: string;
  text: (place: number | undefined) => string | undefined;
}) {
  const { row, of, text } = props;
  const { spent = [], request, commands } = row;
  return (
    <>
      {spent.length > 0 && <Fold title={visible(`Tokens and times${of}`)}>{() => <Notes notes={spent} />}</Fold>}
      <TextFold title={`The reply as it came${of}`} text={text(row.reply)} />
      <TextFold title={`The judge's reply${of}`} text={text(row.judgeReply)} />
      <TextFold title={`The judge's reasoning${of}`} text={text(row.judgeThoughts)} />
      {request !== undefined && (
        <Fold title={visible(`The request${of}`)} about="made again from its parts">
          {() => <Request request={request} text={text} />}
        </Fold>
      )}
      {commands.length > 0 && (
        <Fold title={visible(`Ask or judge this row again${of}`)}>
          {() => commands.map((command) => <Copied name="command" text={command} />)}
        </Fold>
      )}
    </>
  );
}

function Request(props: { request: RequestAgain; text: (place: number | undefined) => string | undefined }) {
  const { url, body, messages } = props.request;
  const whole = {
    ...body,
    messages: messages.map(({ role, content }) => ({ role, content: props.text(content) ?? '' })),
  };
  return (
    <>
      <p class="note">
        No request is kept: this one is made again from the row, the prompt and the settings of the run. Keys are left
        out.
      </p>
      <Copied name="JSON" text={JSON.stringify(whole, null, 2)} />
      <Copied name="curl line" text={curlOf(url, whole)} />
    </>
  );
}

/** A command for a shell. The body goes through its input, since an argument has no room for a long history. */
function curlOf(url: string, body: unknown): string {
  // In plain ASCII nothing hides in a terminal, and no line of the body ends the input early.
  const json = asciiJson(body);
  const quoted = `'${url.replaceAll("'", "'\\''")}'`;
  return `curl ${quoted} -H 'Content-Type: application/json' -H "Authorization: Bearer $API_KEY" --data-binary @- <<'JSON'\n${json}\nJSON`;
}

/** A text with a button that copies it; where a page may not do that, the text is selected. */
function Copied({ name, text }: { readonly name: string; readonly text: string }) {
  const [state, setState] = useState<'' | 'copied' | 'refused'>('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      // Pages opened from a file may not have a clipboard.
      setState('refused');
    }
  };
  return (
    <div class="copied">
      <div class="row">
        <button type="button" onClick={copy}>{`Copy the ${name}`}</button>
        <span role="status">
          {state === 'copied' && 'Copied.'}
          {state === 'refused' && 'Selected: copy it with Ctrl+C.'}
        </span>
        <span class="soft">{`${count(text.length)} characters`}</span>
      </div>
      {state === 'refused' ? (
        <textarea aria-label={name} readOnly rows={6} value={text} ref={(field) => field?.select()} />
      ) : (
        <Text text={text} />
      )}
    </div>
  );
}
