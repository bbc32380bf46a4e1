/** The settings of the gateway, for admin tokens: a page of their own, with its screens at the left, by the address (`#settings/tokens`). */
import type { ComponentType, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Approvals } from '../chats/approvals.ts';
import { ListButton } from '../chats/inbox.tsx';
import { later } from '../parts/later.tsx';
import { say } from '../texts.ts';
import { Access } from './access.tsx';
import { Channels } from './channels.tsx';
import { type Config, ConfigAnswer, ConfigForm, isWithin } from './config-form.tsx';
import { type Setting, settingsIn } from './config-values.ts';
import { DeadLetters } from './dead-letters.tsx';
import { Environment } from './environment.tsx';
import { LogScreen } from './log.tsx';
import { Memories } from './memories.tsx';
import { Overview } from './overview.tsx';
import { Loading, useAnswer } from './parts.tsx';
import { Profiles } from './profiles.tsx';
import { Rules } from './rules.tsx';
import { Schedules } from './schedules.tsx';
import { SignIns } from './sign-ins.tsx';
import { Tokens } from './tokens.tsx';

// Seldom opened: the first load does not wait for them.
const Usage = later(async () => (await import('./usage.tsx')).Usage);
const Knowledge = later(async () => (await import('./knowledge.tsx')).Knowledge);

interface Screen {
  title: string;
  /** What is shown besides the form; `item` is the rest of the address. */
  View?: ComponentType<{ item: string }>;
  /** Parts of `config.json` that are changed here: a title, and paths. */
  parts?: readonly (readonly [string, readonly string[]])[];
}

/** All screens by their address, in their groups. */
const GROUPS: readonly (readonly [string, Readonly<Record<string, Screen>>])[] = [
  [
    say('page.set.general'),
    {
      overview: { title: say('page.set.overview'), View: Overview },
      general: {
        title: say('page.set.behaviour'),
        parts: [
          [say('page.set.general'), ['language', 'persona']],
          [say('page.set.turns'), ['turns']],
          [say('page.set.group_after_turn'), ['afterTurn']],
          [say('page.set.group_limits'), ['limits']],
        ],
      },
    },
  ],
  [
    say('page.set.models'),
    {
      models: {
        title: say('page.set.group_providers'),
        parts: [
          [say('page.set.group_providers'), ['providers']],
          [say('page.set.group_transcription'), ['transcription']],
          [say('page.set.group_speech'), ['speech']],
          [say('page.set.group_prices'), ['prices']],
        ],
      },
      profiles: {
        title: say('page.set.profiles'),
        View: Profiles,
        parts: [[say('page.set.group_bindings'), ['bindings']]],
      },
      usage: { title: say('page.set.usage'), View: Usage },
    },
  ],
  [say('page.set.channels'), { channels: { title: say('page.set.channels'), View: Channels } }],
  [
    say('page.set.people'),
    {
      access: {
        title: say('page.set.group_access'),
        View: Access,
        parts: [[say('page.set.group_proxy'), ['proxySignIn']]],
      },
      tokens: { title: say('page.set.tokens'), View: Tokens },
      'sign-ins': { title: say('page.set.sign_ins'), View: SignIns },
    },
  ],
  [
    say('page.set.tools_mcp'),
    {
      tools: {
        title: say('page.set.group_tools'),
        parts: [
          [say('page.set.group_tools'), ['tools']],
          [say('page.set.group_search'), ['search']],
          [say('page.set.mcp'), ['mcp']],
          [say('name.plugins'), ['plugins']],
        ],
      },
      rules: {
        title: say('page.set.group_approvals'),
        View: Rules,
        parts: [[say('page.set.group_approvals'), ['approvals']]],
      },
    },
  ],
  [
    say('page.set.automation'),
    {
      schedules: {
        title: say('page.schedules'),
        View: Schedules,
        parts: [
          [say('page.set.group_limits'), ['schedules']],
          [say('page.set.group_heartbeat'), ['heartbeat']],
        ],
      },
      webhooks: {
        title: say('page.set.webhooks'),
        parts: [
          [say('page.set.group_hooks'), ['hooks']],
          [say('page.set.group_webhooks'), ['webhooks']],
        ],
      },
    },
  ],
  [
    say('page.set.data'),
    {
      memory: {
        title: say('page.set.memory'),
        View: Memories,
        parts: [[say('page.set.memory'), ['memory']]],
      },
      knowledge: { title: say('page.set.knowledge'), View: Knowledge },
      storage: {
        title: say('page.set.storage'),
        parts: [
          [say('page.set.group_media'), ['media']],
          [say('page.set.group_retention'), ['retention']],
          [say('page.set.group_backup'), ['backup']],
        ],
      },
    },
  ],
  [
    say('page.set.system'),
    {
      log: { title: say('page.set.log'), View: LogScreen },
      'dead-letters': { title: say('page.set.dead_letters'), View: DeadLetters },
      environment: { title: say('page.set.environment'), View: Environment },
    },
  ],
];
const SCREENS: Readonly<Record<string, Screen>> = Object.assign({}, ...GROUPS.map(([, screens]) => screens));

/** The address of a setting: its screen, and its path. */
function addressOf({ name }: Setting): string {
  const [top = '', channel = ''] = name.split('.');
  if (top === 'channels') return `#settings/channels/${channel}/${name}`;
  if (top === 'access')
    return `#settings/channels/${channel === 'owners' ? name.split('.')[2] : channel}/${name}`;
  const [screen] =
    Object.entries(SCREENS).find(([, { parts = [] }]) =>
      parts.some(([, paths]) => paths.some((path) => isWithin(name, path))),
    ) ?? [];
  return `#settings/${screen ?? 'environment'}/${name}`;
}

/** Most results of a search. */
const MAX_FOUND = 30;

/** Screens and settings that have all words, in their names, their paths or their sentences. */
function search(text: string, config: Config | undefined): { title: string; about: string; href: string }[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (...texts: (string | undefined)[]): boolean =>
    words.every((word) => texts.some((one) => one?.toLowerCase().includes(word)));
  const screens = GROUPS.flatMap(([group, inGroup]) =>
    Object.entries(inGroup)
      .filter(([, { title }]) => has(title))
      .map(([name, { title }]) => ({ title, about: group, href: `#settings/${name}` })),
  );
  const settings = (config === undefined ? [] : settingsIn(config))
    .filter(({ name, schema }) => has(name, schema.title, schema.description))
    .map((setting) => ({
      title: setting.schema.title ?? setting.name,
      about: setting.name,
      href: addressOf(setting),
    }));
  return [...screens, ...settings].slice(0, MAX_FOUND);
}

interface SettingsProps {
  /** `tokens`, `channels/telegram`. */
  address: string;
  /** The chat that the settings cover. */
  chatKey: string;
  approvals: Approvals;
}

/** The list of screens and the open one; on a phone either, by the address. */
export function Settings({ address, chatKey, approvals }: SettingsProps): JSX.Element {
  const [wanted = '', ...rest] = address.split('/');
  const name = wanted in SCREENS ? wanted : '';
  const item = rest.join('/');
  const config = useAnswer<Config>('/v1/config');
  /** Saved here; the gateway reports them once it has read the file. */
  const [waiting, noteWaiting] = useState<readonly string[]>([]);
  const open = name === '' ? 'overview' : name;
  const { title, View, parts } = SCREENS[open] ?? { title: '' };
  return (
    <ConfigAnswer.Provider value={{ ...config, noteWaiting }}>
      <div class={`settings-frame${name === '' ? ' settings-index' : ''}`}>
        <Nav open={open} chatKey={chatKey} config={config.body} />
        <div class="settings-main">
          <header class="chat-head">
            <ListButton approvals={approvals} />
            <a class="icon-button only-phone" href="#settings" aria-label={say('page.settings')}>
              ‹
            </a>
            <h1 class="chat-title">{title}</h1>
          </header>
          {/* It scrolls, also with the keyboard when it holds no control. */}
          <div
            key={`${open}/${View === Channels || View === Profiles ? item : ''}`}
            class="settings-body"
            data-screen={open}
            tabIndex={0}
            role="region"
            aria-label={title}
          >
            <RestartNote fields={[...new Set([...waiting, ...(config.body?.needsRestart ?? [])])]} />
            {View !== undefined && <View item={item} />}
            {parts !== undefined &&
              !(View === Profiles && item !== '' && !item.includes('.')) &&
              (config.body === undefined ? (
                <Loading of={config} />
              ) : (
                <ConfigForm parts={parts} item={item} />
              ))}
          </div>
        </div>
      </div>
    </ConfigAnswer.Provider>
  );
}

/** The way back, the search, and the list of screens or what was found. */
function Nav(props: { open: string; chatKey: string; config: Config | undefined }): JSX.Element {
  const [text, setText] = useState('');
  const found = text.trim() === '' ? undefined : search(text, props.config);
  return (
    <nav class="settings-nav" aria-label={say('page.settings')}>
      <h1 class="chat-title only-phone">{say('page.settings')}</h1>
      <a class="settings-back" href={`#${props.chatKey}`}>
        {say('page.set.back')}
      </a>
      <input
        type="search"
        class="search"
        aria-label={say('page.set.search')}
        placeholder={say('page.set.search')}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={({ key }) => key === 'Escape' && setText('')}
      />
      {found === undefined ? (
        GROUPS.map(([group, screens]) => (
          <div key={group} role="group" aria-label={group}>
            <p class="settings-group" aria-hidden="true">
              {group}
            </p>
            {Object.entries(screens).map(([address, screen]) => (
              <a
                key={address}
                href={`#settings/${address}`}
                aria-current={address === props.open ? 'page' : undefined}
              >
                {screen.title}
              </a>
            ))}
          </div>
        ))
      ) : (
        <Found found={found} />
      )}
    </nav>
  );
}

/** What a search has found. */
function Found({ found }: { found: ReturnType<typeof search> }): JSX.Element {
  return (
    <div role="region" aria-label={say('page.search.results')} aria-live="polite">
      {found.length === 0 && <p class="settings-group">{say('page.set.nothing_found')}</p>}
      {found.map(({ title, about, href }) => (
        <a key={href} href={href}>
          {title}
          <small class="quiet">{about}</small>
        </a>
      ))}
    </div>
  );
}

/** Which saved changes wait for a restart, on every screen. */
function RestartNote({ fields }: { fields: readonly string[] }): JSX.Element {
  if (fields.length === 0) return <></>;
  return (
    <p class="settings-note" role="status">
      {say('page.set.waits_restart', { fields: fields.join(', ') })} {say('page.set.restart_how')}
    </p>
  );
}
