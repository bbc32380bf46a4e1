/** The screen about approval rules: the calls that run without a question. */
import type { JSX } from 'preact';
import { confirmDelete } from '../confirm.tsx';
import { ask } from '../requests.ts';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say, sayParts } from '../texts.ts';
import { Loading, Section, useAnswer } from './parts.tsx';

interface Rule {
  id: string;
  session: string;
  tool: string;
  args: unknown;
  createdBy: string;
  createdName: string | null;
  createdAt: string;
  uses: number;
  usedAt: string | null;
}

export function Rules(): JSX.Element {
  const answer = useAnswer<{ rules: Rule[] }>('/v1/approval-rules');
  if (answer.body === undefined) return <Loading of={answer} />;
  const remove = async (id: string, call: string): Promise<void> => {
    if (await confirmDelete(say('page.set.ask_again_of', { call }), say('page.set.ask_again')))
      answer.act(() => ask('DELETE', `/v1/approval-rules/${encodeURIComponent(id)}`));
  };
  return (
    <Section title={say('page.set.rules_title')} about={say('page.set.rules_about')}>
      <Rows empty={say('page.set.rules_none')}>
        {answer.body.rules.map(
          ({ id, session, tool, args, createdBy, createdName, createdAt, uses, usedAt }) => {
            const call = `${tool} ${JSON.stringify(args)}`;
            const moment = <Moment at={usedAt} />;
            const used =
              uses === 0 ? (
                say('page.set.unused')
              ) : (
                <span>{sayParts('page.set.used_times', { count: uses, moment })}</span>
              );
            const about = sayParts('page.set.rule_about', {
              session,
              who: createdName ?? createdBy,
              moment: <Moment at={createdAt} />,
              used,
            });
            return (
              <Row key={id} title={call} about={about}>
                <Act label={say('page.set.remove')} of={call} press={() => void remove(id, call)} danger />
              </Row>
            );
          },
        )}
      </Rows>
    </Section>
  );
}
