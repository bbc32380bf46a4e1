/** The screens about channels: the networks with their state, and each set up from its token to its first message. */
import type { JSX } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { HealthReport } from '../../../../src/protocol/gateway-api.ts';
import type { ChannelSetup, ChannelTried } from '../../../../src/protocol/operator/administration.ts';
import { ask } from '../requests.ts';
import { run } from '../failures/show-error.ts';
import { Row, Rows } from '../parts/rows.tsx';
import { say } from '../texts.ts';
import { ApproveForm } from './access.tsx';
import { ConfigAnswer, ConfigForm } from './config-form.tsx';
import { Back, Field, Form, Loading, Section, useAnswer } from './parts.tsx';
import { channelState } from './overview.tsx';

/** Pause between two looks at the channels, in milliseconds. */
const LOOK_EVERY_MS = 3_000;

/** The list of networks; `item` is one of them, maybe with the path of a setting after it. */
export function Channels({ item }: { item: string }): JSX.Element {
  const health = useAnswer<HealthReport>('/v1/health', LOOK_EVERY_MS);
  const setups = useAnswer<{ channels: ChannelSetup[] }>('/v1/channels');
  if (health.body === undefined || setups.body === undefined)
    return <Loading of={health.body === undefined ? health : setups} />;
  const [name = '', setting] = item.split('/');
  const channel = health.body.channels[name];
  const setup = setups.body.channels.find((one) => one.name === name);
  if (channel !== undefined)
    return (
      <ChannelScreen
        name={name}
        channel={channel}
        setup={setup}
        setting={setting}
        reload={() => Promise.all([health.reload(), setups.reload()])}
      />
    );
  return (
    <Section title={say('page.set.channels')} about={say('page.set.channels_about')}>
      <Rows empty="">
        {Object.entries(health.body.channels).map(([id, one]) => {
          const { label, state } = one;
          const [about, mood] = channelState(one);
          const action = state === 'off' ? say('page.set.set_up') : say('page.set.change');
          return (
            <Row key={id} title={label} mood={mood} about={about}>
              <a href={`#settings/channels/${id}`} aria-label={`${action}: ${label}`}>
                {action}
              </a>
            </Row>
          );
        })}
      </Rows>
    </Section>
  );
}

function ChannelScreen(props: {
  name: string;
  channel: HealthReport['channels'][string];
  setup: ChannelSetup | undefined;
  setting: string | undefined;
  reload: () => Promise<unknown>;
}): JSX.Element {
  const { name, channel, setup } = props;
  const { label, notice } = channel;
  const [about, mood] = channelState(channel);
  const config = useContext(ConfigAnswer);
  return (
    <>
      <Back href="#settings/channels" to={say('page.set.channels')} />
      <Section title={label}>
        <p class={`dot ${mood}`} role="status">
          {about}
        </p>
        {notice !== undefined && <p class="settings-note">{notice}</p>}
        {setup !== undefined && <SetUp key={name} setup={setup} reload={props.reload} />}
      </Section>
      {setup?.isOn && (
        <Section title={say('page.set.first_message')} about={say('page.set.first_message_about')}>
          <ApproveForm />
        </Section>
      )}
      {config?.body !== undefined && (
        <ConfigForm
          parts={[
            ...(setup === undefined
              ? []
              : ([[say('page.set.group_access'), [`access.owners.${name}`, `access.${name}`]]] as const)),
            [say('page.set.behaviour'), [`channels.${name}`]],
          ]}
          item={props.setting ?? ''}
        />
      )}
    </>
  );
}

/** The token of a channel: asked of the platform before it is saved. */
function SetUp({ setup, reload }: { setup: ChannelSetup; reload: () => Promise<unknown> }): JSX.Element {
  const [tried, setTried] = useState<ChannelTried>();
  const [isBusy, setBusy] = useState(false);
  const { name, variables, isOn, needsRestart } = setup;
  const send = async (values: Record<string, string>): Promise<void> => {
    setBusy(true);
    try {
      setTried(await ask<ChannelTried>('POST', `/v1/channels/${name}`, { variables: values }));
      await reload();
    } finally {
      setBusy(false);
    }
  };
  const open = variables.filter(({ isFixed }) => !isFixed);
  const word = say(isOn ? 'page.set.check_save' : 'page.set.switch_on');
  return (
    <>
      {needsRestart && <p class="settings-note">{say('page.set.restart_how')}</p>}
      {variables
        .filter(({ isFixed }) => isFixed)
        .map((variable) => (
          <p key={variable.name} class="quiet">
            {say('page.set.variable_fixed', { name: variable.name })}
          </p>
        ))}
      {open.length > 0 && (
        <TokenForm setup={setup} open={open} label={isBusy ? say('page.set.loading') : word} send={send} />
      )}
      {isOn && (
        <p>
          <button type="button" disabled={isBusy} onClick={() => run(send({}))}>
            {say('page.set.check')}
          </button>
        </p>
      )}
      {tried !== undefined && <Findings tried={tried} />}
    </>
  );
}

/** What a variable holds, by its name without that of the network. */
const KINDS: Readonly<Record<string, string>> = {
  BOT_TOKEN: say('page.set.bot_token'),
  APP_TOKEN: say('page.set.app_token'),
  TOKEN: say('page.set.access_token'),
  URL: say('page.set.server_address'),
};

/** The fields of a channel's variables; what stays empty is not changed. */
function TokenForm(props: {
  setup: ChannelSetup;
  open: ChannelSetup['variables'];
  label: string;
  send: (values: Record<string, string>) => Promise<void>;
}): JSX.Element {
  const { setup, open, send } = props;
  const { label: network, tokenPage } = setup;
  return (
    <Form
      label={props.label}
      submit={(read) =>
        send(Object.fromEntries(open.map(({ name }) => [name, read(name)]).filter(([, value]) => value)))
      }
    >
      {tokenPage !== undefined && (
        <p class="quiet">
          {say('page.set.token_from', { network })}{' '}
          <a href={tokenPage} target="_blank" rel="noreferrer">
            {tokenPage.replace('https://', '')}
          </a>
        </p>
      )}
      {open.map(({ name, isSecret, isSet }) => (
        <Field key={name} label={KINDS[name.slice(name.indexOf('_') + 1)] ?? name} code={name}>
          {isSecret ? (
            <input type="password" {...fieldOf(name, isSet)} />
          ) : (
            <input type="text" {...fieldOf(name, isSet)} />
          )}
        </Field>
      ))}
    </Form>
  );
}

function fieldOf(name: string, isSet: boolean) {
  const placeholder = isSet ? say('page.set.keep') : undefined;
  return { name, placeholder, required: !isSet, autocomplete: 'off', spellcheck: false } as const;
}

const OUTCOMES = {
  checked: say('page.set.checked'),
  failed: say('page.set.not_saved'),
  started: say('page.set.started_now'),
  needs_restart: say('page.set.saved_later'),
};
const MOODS = { ok: 'ok', warning: 'warning', error: 'error' };

function Findings({ tried }: { tried: ChannelTried }): JSX.Element {
  if (tried.kind === 'refused') return <></>;
  return (
    <div class="findings" role="status">
      <p>{OUTCOMES[tried.kind]}</p>
      <ul>
        {tried.findings.map(({ level, text, remedy }) => (
          <li key={text} class={`dot ${MOODS[level]}`}>
            {text}
            {remedy !== undefined && <span class="quiet"> {remedy}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
