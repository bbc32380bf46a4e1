/** The screen about the gateway as a whole: what needs attention, and the state of everything with what can be done about it. */
import type { JSX } from 'preact';
import type { HealthReport } from '../../../../src/protocol/gateway-api.ts';
import type { LogLine } from '../../../../src/protocol/operator/administration.ts';
import { modelProblem } from '../failures/model-problem.ts';
import { type Mood, Moment, Row, Rows } from '../parts/rows.tsx';
import { say } from '../texts.ts';
import { Loading, Section, useAnswer } from './parts.tsx';

/** Pause between two looks at the gateway's health, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** What each state is called, and how it looks. */
const STATES: Readonly<Record<string, readonly [label: string, mood: Mood]>> = {
  off: [say('page.set.state_off'), 'off'],
  starting: [say('page.set.state_starting'), 'busy'],
  connecting: [say('page.set.state_starting'), 'busy'],
  standby: [say('page.set.state_standby'), 'ok'],
  up: [say('page.set.state_up'), 'ok'],
  degraded: [say('page.set.state_degraded'), 'warning'],
  read_only: [say('page.set.state_read_only'), 'warning'],
  dead: [say('page.set.state_dead'), 'error'],
  down: [say('page.set.state_down'), 'error'],
};

/** The label and the look of a state; one that is not known is shown as it is. */
function stateOf(state: string): readonly [label: string, mood: Mood] {
  return STATES[state] ?? [state, 'warning'];
}

/** The state of a channel in words, and its look. A channel that is off only lacks its variables, which its screen asks for. */
export function channelState({
  state,
  detail,
}: HealthReport['channels'][string]): readonly [about: string, mood: Mood] {
  const [word, mood] = stateOf(state);
  return [state === 'off' || detail === undefined ? word : `${word}: ${detail}`, mood];
}

interface Item {
  title: string;
  mood: Mood;
  about: string;
  /** Where something can be done about it. */
  href: string;
  action: string;
}

export function Overview(): JSX.Element {
  const health = useAnswer<HealthReport>('/v1/health', LOOK_EVERY_MS);
  const errors = useAnswer<{ lines: LogLine[] }>('/v1/log?level=error&lines=1');
  const letters = useAnswer<{ letters: unknown[] }>('/v1/dead-letters');
  const access = useAnswer<{ pairings: unknown[] }>('/v1/access');
  if (health.body === undefined) return <Loading of={health} />;
  const items = [...partsOf(health.body), ...connectionsOf(health.body)];
  const waiting = [
    ...requests(access.body?.pairings.length ?? 0),
    ...failed(letters.body?.letters.length ?? 0),
    ...items.filter(({ mood }) => mood === 'error' || mood === 'warning'),
  ];
  const [error] = errors.body?.lines ?? [];
  return (
    <>
      <Section title={say('page.set.attention')}>
        <Rows empty={<span class="dot ok">{say('page.set.all_well')}</span>}>{waiting.map(row)}</Rows>
      </Section>
      <Section title={say('page.set.state')}>
        <Rows empty="">{items.map(row)}</Rows>
      </Section>
      {error !== undefined && (
        <Section title={say('page.set.last_error')}>
          <Rows empty="">
            {[
              <Row key="error" title={error.message} mood="off" about={<Moment at={error.time} />}>
                <a href="#settings/log">{say('page.set.log')}</a>
              </Row>,
            ]}
          </Rows>
        </Section>
      )}
    </>
  );
}

function row({ title, mood, about, href, action }: Item): JSX.Element {
  return (
    <Row key={title} title={title} mood={mood} about={about}>
      <a href={href} aria-label={`${action}: ${title}`}>
        {action}
      </a>
    </Row>
  );
}

function requests(count: number): Item[] {
  if (count === 0) return [];
  const about = say('page.set.requests_waiting', { count });
  const [href, action] = ['#settings/access', say('page.set.look')];
  return [{ title: say('page.set.requests'), mood: 'busy', about, href, action }];
}

function failed(count: number): Item[] {
  if (count === 0) return [];
  const about = say('page.set.letters_waiting', { count });
  const [href, action] = ['#settings/dead-letters', say('page.set.look')];
  return [{ title: say('page.set.dead_letters'), mood: 'warning', about, href, action }];
}

/** The parts of the gateway itself. */
function partsOf(health: HealthReport): Item[] {
  const { store, model, settings, profiles, version, running, pending } = health;
  const [database, ofDatabase] = stateOf(store);
  const look = say('page.set.look');
  const change = say('page.set.change');
  return [
    {
      title: say('page.set.gateway'),
      mood: health.ready ? 'ok' : 'warning',
      about: `${say(health.ready ? 'page.set.ready' : 'page.set.not_ready', { version })} · ${say('page.set.turns_about', { running, pending })}`,
      href: '#settings/log',
      action: say('page.set.log'),
    },
    {
      title: say('page.set.model', { name: model.name ?? '' }).trim(),
      mood: stateOf(model.state)[1],
      about: modelProblem(model) ?? stateOf(model.state)[0],
      href: '#settings/models',
      action: change,
    },
    {
      title: say('page.set.database'),
      mood: ofDatabase,
      about: database,
      href: '#settings/storage',
      action: look,
    },
    {
      title: 'config.json',
      mood: settings.errors.length > 0 ? 'error' : settings.needsRestart.length > 0 ? 'busy' : 'ok',
      about:
        [
          ...settings.errors,
          ...(settings.needsRestart.length > 0
            ? [say('page.set.waits_restart', { fields: settings.needsRestart.join(', ') })]
            : []),
        ].join('; ') || say('page.set.ok'),
      href: '#settings/environment',
      action: look,
    },
    {
      title: say('page.set.profiles'),
      mood: profiles.state === 'degraded' ? 'error' : 'ok',
      about: say(profiles.state === 'degraded' ? 'page.set.profile_errors' : 'page.set.ok'),
      href: '#settings/profiles',
      action: change,
    },
  ];
}

/** The networks and the MCP servers. */
function connectionsOf({ channels, mcp }: HealthReport): Item[] {
  const change = say('page.set.change');
  const networks = Object.entries(channels).map(([name, channel]): Item => {
    const { label, state, notice } = channel;
    const [about, mood] = channelState(channel);
    return {
      title: label,
      mood: mood === 'ok' && notice !== undefined ? 'warning' : mood,
      about: [about, notice].filter(Boolean).join(': '),
      href: `#settings/channels/${name}`,
      action: state === 'off' ? say('page.set.set_up') : change,
    };
  });
  const servers = Object.entries(mcp).map(([name, { state, tools }]): Item => ({
    title: name,
    mood: stateOf(state)[1],
    about: say('page.set.mcp_about', { state, count: tools }),
    href: '#settings/tools',
    action: change,
  }));
  return [...networks, ...servers];
}
