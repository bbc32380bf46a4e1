/** What is remembered about the person who is signed in: read, and forgotten one by one. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../api.ts';
import { confirmDelete } from '../confirm.tsx';
import { messageOf } from '../failures/in-place.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { Time } from '../parts/time.tsx';
import { dayAndClock, say, sayParts } from '../texts.ts';

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
    <Dialog class="wide memory" title={say('page.memory.title')} close={close}>
      <p class="quiet">{say('page.memory.how')}</p>
      <div aria-live="polite">
        {memories === undefined && say('page.memory.reading')}
        {memories?.length === 0 && <p>{say('page.memory.none')}</p>}
        <ul class="linked-list">
          {memories?.map((memory) => {
            const { id, text, session, untrusted, createdAt } = memory;
            const moment = <Time at={createdAt} format={dayAndClock} />;
            const key = untrusted ? 'page.memory.unverified' : 'page.memory.from';
            return (
              <li key={id} class="linked-row">
                <span dir="auto">{text}</span>
                <span class="quiet">{sayParts(key, { session, moment })}</span>
                <button
                  type="button"
                  class="text-button"
                  aria-label={say('page.memory.forget_of', { text })}
                  onClick={() => attempt(() => forget(memory))}
                >
                  {say('page.memory.forget')}
                </button>
              </li>
            );
          })}
        </ul>
      </div>
      <p class="error-text" role="alert">
        {problem}
      </p>
    </Dialog>
  );
}
