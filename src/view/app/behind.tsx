// The texts of a sample, each in a fold that is drawn when opened: history, replies, the rebuilt request, commands.

import { useState } from 'preact/hooks';
import { asciiJson } from '../../core/json.js';
import type { RequestAgain, SampleTexts } from '../documents.js';
import { count, plural } from '../figures.js';
import { Fold, Notes } from './parts.js';
import { Text, visible } from './text.js';

/** A text shown on demand; nothing if there is none. */
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

/** The turns before a turn. @param texts action and observation of each earlier turn */
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

/** The records of asking and judging a row. @param of suffix such as ` of NAME`, if two runs are shown */
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
      <TextFold title={`Raw reply${of}`} text={text(row.reply)} />
      <TextFold title={`Judge's reply${of}`} text={text(row.judgeReply)} />
      <TextFold title={`Judge's reasoning${of}`} text={text(row.judgeThoughts)} />
      {request !== undefined && (
        <Fold title={visible(`Request${of}`)} about="rebuilt from its parts">
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
        Requests are not stored: this one is rebuilt from the row, the prompt and the run's settings. API keys are left
        out.
      </p>
      <Copied name="JSON" text={JSON.stringify(whole, null, 2)} />
      <Copied name="curl line" text={curlOf(url, whole)} />
    </>
  );
}

/** A shell command. The body goes through standard input, since an argument has no room for a long history. */
function curlOf(url: string, body: unknown): string {
  // Plain ASCII hides nothing in a terminal, and no line of the body ends the input early.
  const json = asciiJson(body);
  const quoted = `'${url.replaceAll("'", "'\\''")}'`;
  return `curl ${quoted} -H 'Content-Type: application/json' -H "Authorization: Bearer $API_KEY" --data-binary @- <<'JSON'\n${json}\nJSON`;
}

/** A text with a button that copies it; if the page may not copy, the text is selected. */
function Copied({ name, text }: { readonly name: string; readonly text: string }) {
  const [state, setState] = useState<'' | 'copied' | 'refused'>('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      // Pages opened from a file may have no clipboard access.
      setState('refused');
    }
  };
  return (
    <div class="copied">
      <div class="row">
        <button type="button" onClick={copy}>{`Copy the ${name}`}</button>
        <span role="status">
          {state === 'copied' && 'Copied.'}
          {state === 'refused' && 'Selected; copy it with Ctrl+C.'}
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
