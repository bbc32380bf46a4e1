/** The screen about dead letters: messages that were given up, queued again or deleted. */
import type { JSX } from 'preact';
import { confirmDelete } from '../confirm.tsx';
import { ask } from '../requests.ts';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say, sayParts } from '../texts.ts';
import { Loading, Section, useAnswer } from './parts.tsx';

interface Letter {
  lane: string;
  seq: number;
  error: string;
  attempts: number;
  crashes: number;
  deadAt: string;
  text?: string;
}

export function DeadLetters(): JSX.Element {
  const answer = useAnswer<{ letters: Letter[]; more: boolean }>('/v1/dead-letters');
  if (answer.body === undefined) return <Loading of={answer} />;
  const { letters, more } = answer.body;
  const drop = async ({ lane, seq }: Letter): Promise<void> => {
    if (await confirmDelete(say('page.set.letter_delete', { name: `${lane}#${seq}` })))
      answer.act(() => ask('POST', '/v1/dead-letters/drop', { lane, seq }));
  };
  return (
    <Section title={say('page.set.dead_letters')} about={say('page.set.letters_about')}>
      <Rows empty={say('page.set.no_letters')}>
        {letters.map((letter) => {
          const { lane, seq, error, attempts, crashes, deadAt, text } = letter;
          const name = `${lane}#${seq}`;
          const moment = <Moment at={deadAt} />;
          return (
            <Row
              key={name}
              title={name}
              mood="error"
              about={sayParts('page.set.letter_about', { moment, attempts, crashes, error })}
              more={
                text !== undefined && (
                  <blockquote class="letter-text" dir="auto">
                    {text}
                  </blockquote>
                )
              }
            >
              <Act
                label={say('page.set.retry')}
                of={name}
                press={() => answer.act(() => ask('POST', '/v1/dead-letters/retry', { lane, seq }))}
              />
              <Act label={say('page.delete')} of={name} press={() => void drop(letter)} danger />
            </Row>
          );
        })}
      </Rows>
      {more && <p class="quiet">{say('page.set.letters_more')}</p>}
    </Section>
  );
}
