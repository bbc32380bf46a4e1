/** The screen about the gateway as a whole: its state, its channels, its model. */
import { row, rows, section } from './parts.js';
import { modelProblem } from '../failures/model-problem.js';
import { say } from '../texts.ts';

/** @typedef {import('../../../../src/protocol/gateway-api.ts').HealthReport} HealthReport */

const LABELS = {
  off: say('page.set.state_off'),
  starting: say('page.set.state_starting'),
  up: say('page.set.state_up'),
  degraded: say('page.set.state_degraded'),
  dead: say('page.set.state_dead'),
  down: say('page.set.state_down'),
  read_only: say('page.set.state_read_only'),
};

/** @type {import('./parts.js').Screen} */
export async function overviewScreen({ ask }) {
  /** @type {HealthReport} */
  const health = await ask('GET', '/v1/health');
  const { store, model, settings, profiles, mcp } = health;
  const state = [
    row(
      say('page.set.gateway'),
      health.ready
        ? say('page.set.ready', { version: health.version })
        : say('page.set.not_ready', { version: health.version }),
    ),
    row(
      say('page.set.turns'),
      say('page.set.turns_about', { running: health.running, pending: health.pending }),
    ),
    row(say('page.set.database'), LABELS[store]),
    row(say('page.set.model', { name: model.name ?? '' }), modelProblem(model) ?? LABELS[model.state]),
    row(
      say('page.set.configuration'),
      [...settings.errors, ...waits(settings.needsRestart)].join('; ') || say('page.set.ok'),
    ),
    row(
      say('page.set.profiles'),
      say(profiles.state === 'degraded' ? 'page.set.profile_errors' : 'page.set.ok'),
    ),
  ];
  const channels = Object.values(health.channels).map((channel) =>
    row(
      channel.label,
      channel.detail === undefined ? LABELS[channel.state] : `${LABELS[channel.state]}: ${channel.detail}`,
    ),
  );
  const servers = Object.entries(mcp).map(([name, server]) =>
    row(name, say('page.set.mcp_about', { state: server.state, count: server.tools })),
  );
  return [
    section(say('page.set.state'), rows(state, '')),
    section(say('page.set.channels'), rows(channels, say('page.set.no_channels'))),
    ...(servers.length === 0 ? [] : [section(say('page.set.mcp'), rows(servers, ''))]),
  ];
}

/** @param {readonly string[]} fields */
function waits(fields) {
  return fields.length === 0 ? [] : [say('page.set.after_restart', { fields: fields.join(', ') })];
}
