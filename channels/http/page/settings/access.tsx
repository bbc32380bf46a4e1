/** The screen about people: who asks to write, who may, and who are owners. */
import type { JSX } from 'preact';
import { confirmDelete } from '../confirm.tsx';
import { say, sayParts } from '../texts.ts';
import type { AccessReport } from '../../../../src/protocol/operator/administration.ts';
import {
  Act,
  Choice,
  Field,
  Form,
  Loading,
  Moment,
  Row,
  Rows,
  Section,
  useAnswer,
  useHost,
} from './parts.tsx';

type Wire<Part> = { [Key in keyof Part]: Part[Key] extends Date ? string : Part[Key] };

const KINDS = {
  dm: say('page.set.kind_dm'),
  group: say('page.set.kind_group'),
  owner: say('page.set.kind_owner'),
  guild: say('page.set.kind_guild'),
  role: say('page.set.kind_role'),
};
const GRANTS = {
  dm: say('page.set.grant_dm'),
  group: say('page.set.grant_group'),
  owner: say('page.set.grant_owner'),
  guild: say('page.set.grant_guild'),
  role: say('page.set.grant_role'),
};

interface Access {
  pairings: Wire<AccessReport['pairings'][number]>[];
  grants: Wire<AccessReport['grants'][number]>[];
  channels: AccessReport['channels'];
}

export function Access(): JSX.Element {
  const { ask } = useHost();
  const access = useAnswer<Access>('/v1/access');
  if (access.body === undefined) return <Loading of={access} />;
  const { pairings, grants, channels } = access.body;
  const remove = async ({ channel, kind, id }: Access['grants'][number]): Promise<void> => {
    const question = say('page.set.take_right', { name: `${channel} ${id}`, right: KINDS[kind] });
    if (!(await confirmDelete(question, say('page.set.remove')))) return;
    const path = [channel, kind, id].map(encodeURIComponent).join('/');
    access.act(() => ask('DELETE', `/v1/access/grants/${path}`));
  };
  const add = async (read: (name: string) => string): Promise<void> => {
    await ask('POST', '/v1/access/grants', { channel: read('channel'), kind: read('kind'), id: read('id') });
    await access.reload();
  };
  const configured = channels.flatMap(({ label, owners, allowed }) => [
    ...owners.map((id) => (
      <Row key={`${label} ${id}`} title={`${label} ${id}`} about={say('page.set.owner_config')} />
    )),
    ...allowed
      .filter((id) => !owners.includes(id))
      .map((id) => <Row key={`${label} ${id}`} title={`${label} ${id}`} about={say('page.set.dm_config')} />),
  ]);
  const hints = channels.map(({ label, idHint }) => `${label}: ${idHint}`).join('; ');
  return (
    <>
      <Section title={say('page.set.requests')} about={say('page.set.requests_about')}>
        <Rows empty={say('page.set.no_requests')}>
          {pairings.map(({ channel, senderId, senderName, expiresAt }) => (
            <Row
              key={`${channel} ${senderId}`}
              title={`${senderName ?? senderId} (${channel} ${senderId})`}
              about={sayParts('page.set.asks_until', { moment: <Moment at={expiresAt} /> })}
            />
          ))}
        </Rows>
        <ApproveForm done={access.reload} />
      </Section>
      <Section title={say('page.set.rights')}>
        <Rows empty={say('page.set.no_rights')}>
          {[
            ...grants.map((grant) => {
              const { channel, kind, id, grantedAt } = grant;
              const name = `${channel} ${id}`;
              const right = KINDS[kind];
              return (
                <Row
                  key={`${name} ${kind}`}
                  title={name}
                  about={sayParts('page.set.right_since', { right, moment: <Moment at={grantedAt} /> })}
                >
                  <Act
                    label={say('page.set.remove')}
                    of={`${name}, ${right}`}
                    press={() => void remove(grant)}
                    danger
                  />
                </Row>
              );
            }),
            ...configured,
          ]}
        </Rows>
        {channels.length > 0 && (
          <Form label={say('page.set.add')} submit={add}>
            <Field label={say('page.set.channel')}>
              <Choice
                name="channel"
                options={Object.fromEntries(channels.map(({ name, label }) => [name, label]))}
              />
            </Field>
            <Field label={say('page.set.right')}>
              <Choice name="kind" options={GRANTS} />
            </Field>
            <Field label={say('page.set.id')}>
              <input name="id" type="text" required maxLength={200} autocomplete="off" />
            </Field>
          </Form>
        )}
        <p class="quiet">{say('page.set.ids', { hints })}</p>
      </Section>
    </>
  );
}

/** Approves the person who was given a code. */
export function ApproveForm({ done }: { done?: () => Promise<void> }): JSX.Element {
  const { ask } = useHost();
  const approve = async (read: (name: string) => string): Promise<void> => {
    await ask('POST', '/v1/access/pairings', { code: read('code'), firstOwns: read('first') === 'on' });
    await done?.();
  };
  return (
    <Form label={say('page.approval.approve')} submit={approve}>
      <Field label={say('page.set.code')}>
        <input name="code" type="text" required maxLength={100} autocomplete="off" />
      </Field>
      <label class="check">
        <input name="first" type="checkbox" defaultChecked /> {say('page.set.first_owns')}
      </label>
    </Form>
  );
}
