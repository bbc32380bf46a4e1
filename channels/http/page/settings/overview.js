/** The screen about the gateway as a whole: its state, its channels, its model. */
import { row, rows, section } from './parts.js';

/** @typedef {import('../../../../src/contracts/gateway-api.ts').HealthReport} HealthReport */

const WORDS = {
  off: 'off',
  starting: 'starting',
  up: 'works',
  degraded: 'works in part',
  dead: 'does not work',
  down: 'cannot be reached',
};

/** @type {import('./parts.js').Screen} */
export async function overviewScreen({ ask }) {
  /** @type {HealthReport} */
  const health = await ask('GET', '/v1/health');
  const { store, model, settings, profiles, mcp } = health;
  const state = [
    row('Gateway', `${health.ready ? 'ready' : 'not ready'}, version ${health.version}`),
    row('Turns', `${health.running} running, ${health.pending} messages wait`),
    row('Database', WORDS[store]),
    row(`Model ${model.name ?? ''}`, model.detail ?? WORDS[model.state]),
    row('Configuration', [...settings.errors, ...waits(settings.needsRestart)].join('; ') || 'in order'),
    row('Profiles', profiles.detail ?? 'in order'),
  ];
  const channels = Object.values(health.channels).map((channel) =>
    row(
      channel.label,
      channel.detail === undefined ? WORDS[channel.state] : `${WORDS[channel.state]}: ${channel.detail}`,
    ),
  );
  const servers = Object.entries(mcp).map(([name, server]) =>
    row(name, `${server.state}, ${server.tools} tools`),
  );
  return [
    section('State', rows(state, '')),
    section('Channels', rows(channels, 'There are no channels.')),
    ...(servers.length === 0 ? [] : [section('MCP servers', rows(servers, ''))]),
  ];
}

/** @param {readonly string[]} fields */
function waits(fields) {
  return fields.length === 0 ? [] : [`after a restart: ${fields.join(', ')}`];
}
