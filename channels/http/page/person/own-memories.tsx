/** What is remembered about the person who is signed in: read, and forgotten one by one. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../api.ts';
import { confirmDelete } from '../confirm.tsx';
import { messageOf } from '../failures/in-place.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say, sayParts } from '../texts.ts';

interface Memory {
  id: number;
  text: string;
  session: string;
  untrusted: boolean;
  createdAt: string;
}

/** Opens the list, which is read each time. */
export function showMemories(): void {
  showDialog((close) => <OwnMemories close={close} />);
}

function OwnMemories({ close }: { close: () => void }): JSX.Element {
  const [memories, setMemories] = useState<Memory[]>();
  const [problem, setProblem] = useState('');
  const attempt = (work: () => Promise<void>): void => {
    setProblem('');
    work().catch((error: unknown) => setProblem(messageOf(error)));
  };
  const read = async (): Promise<void> =>
    setMemories((await api.ask<{ memories: Memory[] }>('GET', '/v1/me/memories')).memories);
  const forget = async ({ id, text }: Memory): Promise<void> => {
    if (!(await confirmDelete(say('page.set.memory_delete', { text })))) return;
    await api.ask('DELETE', `/v1/me/memories/${id}`);
    await read();
  };
  useEffect(() => attempt(read), []);
  return (
    <Dialog class="memory" title={say('page.memory.title')} close={close}>
      <p class="quiet">{say('page.memory.how')}</p>
      <div aria-live="polite">
        {memories === undefined ? (
          say('page.memory.reading')
        ) : (
          <Rows empty={say('page.memory.none')}>
            {memories.map((memory) => {
              const { id, text, session, untrusted, createdAt } = memory;
              const key = untrusted ? 'page.memory.unverified' : 'page.memory.from';
              const about = sayParts(key, { session, moment: <Moment at={createdAt} /> });
              return (
                <Row key={id} title={text} about={about}>
                  <Act
                    label={say('page.memory.forget')}
                    name={say('page.memory.forget_of', { text })}
                    press={() => attempt(() => forget(memory))}
                  />
                </Row>
              );
            })}
          </Rows>
        )}
      </div>
      <p class="error-text" role="alert">
        {problem}
      </p>
    </Dialog>
  );
}
