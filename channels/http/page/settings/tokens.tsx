/** The screen about tokens: made, shown once, renamed, given another secret, revoked. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { askText, confirmDelete } from '../confirm.tsx';
import { ask } from '../requests.ts';
import { run } from '../failures/show-error.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say, sayParts } from '../texts.ts';
import { Choice, Field, Form, Loading, Section, useAnswer } from './parts.tsx';

interface Token {
  id: string;
  name: string;
  scopes: string[];
  origin: string;
  expired: boolean;
  expiresAt: string | null;
  lastUsedAt: string | null;
  own: boolean;
}

const SCOPES = {
  approve: say('page.set.scope_approve'),
  commands: say('page.set.scope_commands'),
  admin: say('page.set.scope_admin'),
};
const ORIGINS: Readonly<Record<string, string>> = {
  env: 'GATEWAY_TOKEN',
  file: say('page.set.file_token'),
};
const LIVES = {
  '': say('page.set.never'),
  7: say('page.set.days', { count: 7 }),
  30: say('page.set.days', { count: 30 }),
  90: say('page.set.days', { count: 90 }),
  365: say('page.set.year'),
};

export function Tokens(): JSX.Element {
  const answer = useAnswer<{ tokens: Token[] }>('/v1/tokens');
  const [newSecret, setNewSecret] = useState<{ name: string; secret: string }>();
  if (answer.body === undefined) return <Loading of={answer} />;
  const make = async (read: (name: string) => string, data: FormData): Promise<void> => {
    const [name, days] = [read('name'), read('days')];
    const scopes = ['chat', ...data.getAll('scope')];
    const body = { name, scopes, ...(days !== '' && { expiresInDays: Number(days) }) };
    const { secret } = await ask<{ secret: string }>('POST', '/v1/tokens', body);
    setNewSecret({ name, secret });
    await answer.reload();
  };
  const rotate = async ({ id, name }: Token): Promise<void> => {
    if (!(await confirmDelete(say('page.set.rotate_ask', { name }), say('page.set.rotate')))) return;
    const { secret } = await ask<{ secret: string }>('POST', `/v1/tokens/${encodeURIComponent(id)}/rotate`);
    setNewSecret({ name, secret });
    await answer.reload();
  };
  return (
    <>
      <Section title={say('page.set.tokens')} about={say('page.set.tokens_about')}>
        {newSecret !== undefined && <Secret {...newSecret} close={() => setNewSecret(undefined)} />}
        <Rows empty={say('page.set.no_tokens')}>
          {answer.body.tokens.map((token) => (
            <TokenRow key={token.id} token={token} act={answer.act} rotate={() => run(rotate(token))} />
          ))}
        </Rows>
      </Section>
      <Section title={say('page.set.new_token')}>
        <Form label={say('page.set.create')} submit={make}>
          <Field label={say('page.set.name')}>
            <input name="name" type="text" required maxLength={100} autocomplete="off" />
          </Field>
          <Field label={say('page.set.life')}>
            <Choice name="days" options={LIVES} />
          </Field>
          <fieldset class="settings-scopes">
            <legend>{say('page.set.scopes')}</legend>
            {Object.entries(SCOPES).map(([scope, description]) => (
              <label key={scope} class="check">
                <input name="scope" type="checkbox" value={scope} /> {scope}: {description}
              </label>
            ))}
          </fieldset>
        </Form>
      </Section>
    </>
  );
}

function TokenRow(props: {
  token: Token;
  act: (work: () => Promise<unknown>) => void;
  rotate: () => void;
}): JSX.Element {
  const { id, name, scopes, origin, expired, expiresAt, lastUsedAt, own } = props.token;
  const path = `/v1/tokens/${encodeURIComponent(id)}`;
  const rename = async (): Promise<void> => {
    const other = await askText(say('page.set.name'), name, { most: 100 });
    if (other === null || other.trim() === '' || other === name) return;
    props.act(() => ask('PATCH', path, { name: other }));
  };
  const revoke = async (): Promise<void> => {
    if (await confirmDelete(say('page.set.revoke_ask', { name }), say('page.set.revoke')))
      props.act(() => ask('DELETE', path));
  };
  const usage =
    lastUsedAt === null
      ? [say('page.set.unused')]
      : sayParts('page.set.last_used', { moment: <Moment at={lastUsedAt} /> });
  const life =
    expiresAt === null
      ? [say('page.set.no_expiry')]
      : sayParts(expired ? 'page.set.expired' : 'page.set.expires', { moment: <Moment at={expiresAt} /> });
  const from = ORIGINS[origin];
  const source = from === undefined ? [] : [' · ', say('page.set.from', { from })];
  return (
    <Row
      title={own ? say('page.set.this_token', { name }) : name}
      mood={expired ? 'error' : 'ok'}
      about={[scopes.join(', '), ' · ', ...usage, ' · ', ...life, ...source]}
    >
      <Act label={say('page.row.rename')} of={name} press={() => void rename()} />
      {!own && from === undefined && <Act label={say('page.set.rotate')} of={name} press={props.rotate} />}
      {!own && <Act label={say('page.set.revoke')} of={name} press={() => void revoke()} danger />}
    </Row>
  );
}

/** A secret, until it has been saved. */
function Secret({ name, secret, close }: { name: string; secret: string; close: () => void }): JSX.Element {
  const note = useRef<HTMLDivElement>(null);
  useEffect(() => note.current?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <div ref={note} class="settings-note" role="status">
      <p>{say('page.set.token_once', { name })}</p>
      <p class="settings-secret">
        <code>{secret}</code>
        <CopyButton text={secret} label={say('page.set.copy_token')} />
      </p>
      <button type="button" onClick={close}>
        {say('page.set.token_saved')}
      </button>
    </div>
  );
}
