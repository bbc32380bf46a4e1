/** The screen about people: who asks to write, who may, and who are owners. */
import type { JSX } from 'preact';
import { confirmDelete } from '../confirm.tsx';
import { ask } from '../requests.ts';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say, sayParts } from '../texts.ts';
import type { AccessReport } from '../../../../src/protocol/operator/administration.ts';
import { Choice, Field, Form, Loading, Section, useAnswer } from './parts.tsx';

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
  const access = useAnswer<Access>('/v1/access');
  if (access.body === undefined) return <Loading of={access} />;
  const { pairings, channels } = access.body;
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
        <Rights access={access.body} act={access.act} />
        {channels.length > 0 && <GrantForm channels={channels} done={access.reload} />}
      </Section>
    </>
  );
}

function Rights({
  access,
  act,
}: {
  access: Access;
  act: (work: () => Promise<unknown>) => void;
}): JSX.Element {
  const remove = async ({ channel, kind, id }: Access['grants'][number]): Promise<void> => {
    const question = say('page.set.take_right', { name: `${channel} ${id}`, right: KINDS[kind] });
    if (!(await confirmDelete(question, say('page.set.remove')))) return;
    const path = [channel, kind, id].map(encodeURIComponent).join('/');
    act(() => ask('DELETE', `/v1/access/grants/${path}`));
  };
  const configured = access.channels.flatMap(({ label, owners, allowed }) => [
    ...owners.map((id) => [`${label} ${id}`, say('page.set.owner_config')] as const),
    ...allowed
      .filter((id) => !owners.includes(id))
      .map((id) => [`${label} ${id}`, say('page.set.dm_config')] as const),
  ]);
  return (
    <Rows empty={say('page.set.no_rights')}>
      {[
        ...access.grants.map((grant) => {
          const { channel, kind, id, grantedAt } = grant;
          const name = `${channel} ${id}`;
          const right = KINDS[kind];
          const about = sayParts('page.set.right_since', { right, moment: <Moment at={grantedAt} /> });
          return (
            <Row key={`${name} ${kind}`} title={name} about={about}>
              <Act
                label={say('page.set.remove')}
                of={`${name}, ${right}`}
                press={() => void remove(grant)}
                danger
              />
            </Row>
          );
        }),
        ...configured.map(([name, right]) => <Row key={`${name} ${right}`} title={name} about={right} />),
      ]}
    </Rows>
  );
}

/** Lets in a person or a group, by their id. */
function GrantForm(props: { channels: Access['channels']; done: () => Promise<void> }): JSX.Element {
  const add = async (read: (name: string) => string): Promise<void> => {
    await ask('POST', '/v1/access/grants', { channel: read('channel'), kind: read('kind'), id: read('id') });
    await props.done();
  };
  const hints = props.channels.map(({ label, idHint }) => `${label}: ${idHint}`).join('; ');
  return (
    <>
      <Form label={say('page.set.add')} submit={add}>
        <Field label={say('page.set.channel')}>
          <Choice
            name="channel"
            options={Object.fromEntries(props.channels.map(({ name, label }) => [name, label]))}
          />
        </Field>
        <Field label={say('page.set.right')}>
          <Choice name="kind" options={GRANTS} />
        </Field>
        <Field label={say('page.set.id')}>
          <input name="id" type="text" required maxLength={200} autocomplete="off" />
        </Field>
      </Form>
      <p class="quiet">{say('page.set.ids', { hints })}</p>
    </>
  );
}

/** Approves the person who was given a code. */
export function ApproveForm({ done }: { done?: () => Promise<void> }): JSX.Element {
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
