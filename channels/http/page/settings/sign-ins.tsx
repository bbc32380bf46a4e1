/** The screen about browsers that are signed in by a link: when, last used, and signed out. */
import type { JSX } from 'preact';
import { confirmDelete } from '../confirm.tsx';
import { ask } from '../requests.ts';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { dayAndClock, say, sayParts } from '../texts.ts';
import { Loading, Section, useAnswer } from './parts.tsx';

interface SignIn {
  id: string;
  client: string;
  createdAt: string;
  expiresAt: string;
  lastUsedAt: string | null;
  isOwn: boolean;
}

const PATH = '/v1/sign-ins';

export function SignIns(): JSX.Element {
  const answer = useAnswer<{ signIns: SignIn[] }>(PATH);
  if (answer.body === undefined) return <Loading of={answer} />;
  const { signIns } = answer.body;
  const end = async (question: string, path: string): Promise<void> => {
    if (await confirmDelete(question, say('page.sign_out'))) answer.act(() => ask('DELETE', path));
  };
  const others = signIns.filter(({ isOwn }) => !isOwn).length;
  return (
    <Section title={say('page.set.signed_in')} about={say('page.set.sign_ins_tokens')}>
      <Rows empty={say('page.set.no_sign_ins')}>
        {signIns.map(({ id, client, createdAt, expiresAt, lastUsedAt, isOwn }) => {
          const name = browserOf(client);
          const used =
            lastUsedAt === null ? (
              say('page.set.unused')
            ) : (
              <span>{sayParts('page.set.last_used', { moment: <Moment at={lastUsedAt} /> })}</span>
            );
          const times = sayParts('page.set.sign_in_about', {
            since: <Moment at={createdAt} />,
            used,
            until: <Moment at={expiresAt} />,
          });
          return (
            <Row
              key={id}
              title={isOwn ? say('page.set.this_browser', { name }) : name}
              about={[...times, ' · ', client || say('page.set.no_name')]}
            >
              {!isOwn && (
                <Act
                  label={say('page.sign_out')}
                  of={`${name}, ${dayAndClock(createdAt)}`}
                  press={() =>
                    void end(say('page.set.sign_out_of', { name }), `${PATH}/${encodeURIComponent(id)}`)
                  }
                  danger
                />
              )}
            </Row>
          );
        })}
      </Rows>
      {others > 0 && (
        <button
          type="button"
          class="danger"
          onClick={() => void end(say('page.set.sign_out_others', { count: others }), PATH)}
        >
          {say('page.set.sign_out_all')}
        </button>
      )}
    </Section>
  );
}

const BROWSERS: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera', 'Mac OS X': 'macOS' };

/** The browser and the system that a user agent names, in two words; the most specific name counts. */
function browserOf(client: string): string {
  const browser = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((name) => client.includes(`${name}/`));
  const system = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'].find((name) =>
    client.includes(name),
  );
  const labelOf = (name: string): string => BROWSERS[name] ?? name;
  if (browser === undefined || system === undefined)
    return labelOf(browser ?? system ?? '') || say('page.set.a_browser');
  return say('page.set.browser_on', { browser: labelOf(browser), system: labelOf(system) });
}
