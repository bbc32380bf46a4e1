/** The screen about what is remembered about people: read in pages, deleted one by one. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { confirmDelete } from '../confirm.tsx';
import { ask } from '../requests.ts';
import { run } from '../failures/show-error.ts';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say, sayParts } from '../texts.ts';
import { Field, Form, Loading, Section, useAnswer } from './parts.tsx';

interface Memory {
  id: number;
  userId: string;
  text: string;
  session: string;
  untrusted: boolean;
  createdAt: string;
}

export function Memories(): JSX.Element {
  const [person, setPerson] = useState('');
  const path = `/v1/memories?user=${encodeURIComponent(person)}`;
  const answer = useAnswer<{ memories: Memory[]; next: number | null }>(path);
  /** The pages after the first. */
  const [older, setOlder] = useState<{ memories: Memory[]; next: number | null }>();
  if (answer.body === undefined) return <Loading of={answer} />;
  const { next } = older ?? answer.body;
  const readOlder = async (): Promise<void> => {
    const page = await ask<{ memories: Memory[]; next: number | null }>('GET', `${path}&before=${next}`);
    setOlder({ memories: [...(older?.memories ?? []), ...page.memories], next: page.next });
  };
  const remove = async ({ id, text }: Memory): Promise<void> => {
    if (!(await confirmDelete(say('page.set.memory_delete', { text })))) return;
    setOlder(undefined);
    answer.act(() => ask('DELETE', `/v1/memories/${id}`));
  };
  return (
    <Section title={say('page.set.facts')} about={say('page.set.memory_about_all')}>
      <Form
        label={say('page.set.show')}
        submit={async (read) => {
          setOlder(undefined);
          setPerson(read('person'));
        }}
      >
        <Field label={say('page.set.of_whom')}>
          <input name="person" type="text" maxLength={200} placeholder={say('page.set.memory_whose')} />
        </Field>
      </Form>
      <Rows empty={say('page.set.memory_none')}>
        {[...answer.body.memories, ...(older?.memories ?? [])].map((memory) => {
          const { id, userId, text, session, untrusted, createdAt } = memory;
          const key = untrusted ? 'page.set.memory_unverified' : 'page.set.memory_about';
          return (
            <Row
              key={id}
              title={text}
              about={sayParts(key, { userId, session, moment: <Moment at={createdAt} /> })}
            >
              <Act label={say('page.delete')} of={text} press={() => void remove(memory)} danger />
            </Row>
          );
        })}
      </Rows>
      {next !== null && (
        <button type="button" onClick={() => run(readOlder())}>
          {say('page.set.memory_older')}
        </button>
      )}
    </Section>
  );
}
