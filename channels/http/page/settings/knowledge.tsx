/** The screen about documents that the bot searches: where they come from, their state, and what is wrong with each. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WireDocument as Document, WireSource as Source } from '../../routes/knowledge.ts';
import { confirmDelete } from '../confirm.tsx';
import { Act, type Mood, Moment, Row, Rows } from '../parts/rows.tsx';
import { ask, send } from '../requests.ts';
import { say, sayParts } from '../texts.ts';
import { Choice, Field, Form, Loading, Section, useAnswer } from './parts.tsx';

interface Listed {
  sources: Source[];
  search: { model?: string };
}

/** How often the list is read while something is being read, in milliseconds. */
const WATCH_MS = 2_000;
const MOODS: Readonly<Record<Source['state'], Mood>> = {
  waiting: 'busy',
  reading: 'busy',
  ready: 'ok',
  failed: 'error',
};

export function Knowledge(): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const answer = useAnswer<Listed>('/v1/knowledge', isBusy ? WATCH_MS : undefined);
  if (answer.body === undefined) return <Loading of={answer} />;
  const { sources, search } = answer.body;
  const busyNow = sources.some(({ state }) => state === 'waiting' || state === 'reading');
  if (busyNow !== isBusy) queueMicrotask(() => setBusy(busyNow));
  const remove = async ({ id, location }: Source): Promise<void> => {
    if (!(await confirmDelete(say('page.set.knowledge_remove', { name: location })))) return;
    answer.act(() => ask('DELETE', `/v1/knowledge/${id}`));
  };
  const { model } = search;
  return (
    <>
      <Section
        title={say('page.set.knowledge')}
        about={
          <>
            {say('page.set.knowledge_about')}{' '}
            {model === undefined ? say('knowledge.by_words') : say('knowledge.by_meaning', { model })}
          </>
        }
      >
        <Rows label={say('page.set.knowledge')} empty={say('page.set.knowledge_none')}>
          {sources.map((source) => (
            <SourceRow
              key={source.id}
              source={source}
              refresh={() => answer.act(() => ask('POST', `/v1/knowledge/${source.id}/refresh`))}
              remove={() => void remove(source)}
            />
          ))}
        </Rows>
      </Section>
      <AddFile added={answer.reload} />
      <AddAddress added={answer.reload} />
    </>
  );
}

/** A file of this computer. */
function AddFile({ added: onAdd }: { added: () => Promise<void> }): JSX.Element {
  return (
    <Section title={say('page.set.knowledge_add_file_title')}>
      <Form
        label={say('page.set.knowledge_upload')}
        submit={async (read, data) => {
          const body = new FormData();
          body.set(...whom(read));
          body.set('file', data.get('file') ?? '');
          await send('/v1/knowledge', { method: 'POST', body });
          await onAdd();
        }}
      >
        <Field label={say('page.set.knowledge_file')}>
          <input name="file" type="file" required />
        </Field>
        <Whom />
      </Form>
    </Section>
  );
}

/** A page or a document on the web. */
function AddAddress({ added: onAdd }: { added: () => Promise<void> }): JSX.Element {
  return (
    <Section title={say('page.set.knowledge_add_url_title')}>
      <Form
        label={say('page.set.knowledge_add_url')}
        submit={async (read) => {
          const [kind, name] = whom(read);
          await ask('POST', '/v1/knowledge', { url: read('url'), [kind]: name });
          await onAdd();
        }}
      >
        <Field label={say('page.set.knowledge_url')}>
          <input name="url" type="url" required maxLength={2_048} />
        </Field>
        <Whom />
      </Form>
    </Section>
  );
}

/** Who gets a new document. */
function Whom(): JSX.Element {
  const options = {
    profile: say('page.set.knowledge_profile'),
    chat: say('page.set.knowledge_chat'),
  };
  return (
    <>
      <Field label={say('page.set.knowledge_scope')}>
        <Choice name="kind" options={options} />
      </Field>
      <Field label={say('page.set.knowledge_name')}>
        <input name="name" type="text" required maxLength={200} />
      </Field>
    </>
  );
}

function whom(read: (name: string) => string): ['profile' | 'chat', string] {
  return [read('kind') === 'chat' ? 'chat' : 'profile', read('name')];
}

function SourceRow(props: { source: Source; refresh: () => void; remove: () => void }): JSX.Element {
  const { source, refresh, remove } = props;
  const { id, location, kind, state, problem, notice } = source;
  const [isOpen, setOpen] = useState(false);
  return (
    <Row
      title={location}
      mood={MOODS[state]}
      about={[whose(source), describe(source), problem, notice]
        .filter((text) => text !== undefined)
        .join(' · ')}
      more={isOpen && <Documents id={id} />}
    >
      <button
        type="button"
        aria-expanded={isOpen}
        aria-label={`${say('page.set.knowledge_documents')}: ${location}`}
        onClick={() => setOpen(!isOpen)}
      >
        {say('page.set.knowledge_documents')}
      </button>
      {kind !== 'upload' && <Act label={say('page.set.knowledge_refresh')} of={location} press={refresh} />}
      <Act label={say('page.delete')} of={location} press={remove} danger />
    </Row>
  );
}

function whose({ scope }: Source): string {
  const at = scope.indexOf('/');
  const name = scope.slice(at + 1);
  return scope.startsWith('chat/')
    ? say('page.set.knowledge_of_chat', { name })
    : say('page.set.knowledge_of_profile', { name });
}

function describe({ state, documents, failed: failures, passages, vectors, total }: Source): string {
  if (state === 'waiting') return say('page.set.knowledge_waiting');
  if (state === 'reading') return say('page.set.knowledge_reading', { documents, total: total ?? '?' });
  return [
    say('page.set.knowledge_ready', { documents, passages }),
    ...(failures > 0 ? [say('page.set.knowledge_failed', { count: failures })] : []),
    ...(vectors > 0 ? [say('page.set.knowledge_vectors', { vectors, passages })] : []),
  ].join(' · ');
}

/** Those that could not be read first, each with its problem. */
function Documents({ id }: { id: string }): JSX.Element {
  const answer = useAnswer<{ documents: Document[] }>(`/v1/knowledge/${id}`);
  if (answer.body === undefined) return <Loading of={answer} />;
  return (
    <Rows label={say('page.set.knowledge_documents')} empty={say('page.set.knowledge_none')}>
      {answer.body.documents.map((document) => (
        <Row
          key={document.id}
          title={document.name}
          mood={document.problem === undefined ? 'ok' : 'error'}
          about={
            document.problem ?? (
              <>
                {sayParts('page.set.knowledge_document_passages', {
                  passages: String(document.passages),
                  moment: <Moment at={document.updatedAt} />,
                })}{' '}
                {document.notice}
              </>
            )
          }
        />
      ))}
    </Rows>
  );
}
