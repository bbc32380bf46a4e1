/** The routes about what is configured: `config.json`, profiles, and the tokens of channels; all changes are checked before they are written. */
import { z } from 'zod';
import { MAX_CONFIG_CHANGES } from '../../../src/protocol/operator/administration.ts';
import type { ProfileChanged } from '../../../src/protocol/agent/profile.ts';
import { inEnglish, type TextRef } from '../../../src/protocol/texts/say.ts';
import { badQuery, HttpError } from '../errors.ts';
import { type HttpContext, type Route, routeOf } from '../route.ts';
import { sayToCaller } from './person.ts';

const versionSchema = z.string().min(1).max(100);

/** A field of a file, and its new value. */
const changeSchema = z.strictObject({
  path: z
    .array(z.union([z.string().min(1).max(200), z.int().min(0).max(10_000)]))
    .min(1)
    .max(10),
  /** Left out: the field is reset to its default. */
  value: z.unknown().optional(),
});

/** Longest prompt that is read, in UTF-16 units; the gateway counts bytes. */
const MAX_PROMPT = 64 * 1024;

const prompt = z.string().max(MAX_PROMPT).nullable().optional();

const route = routeOf('administration');

export const configFileRoutes: readonly Route[] = [
  route('GET', '/v1/profiles', 'admin', {
    summary: 'The profiles',
    description: 'Built-in ones, and those with files of their own.',
    handle(c, { gateway }) {
      const { profiles, errors } = gateway.administration.profiles();
      return c.json({ profiles, ...wireProblems(errors) });
    },
  }),
  route('POST', '/v1/profiles', 'admin', {
    summary: 'Make a profile',
    description: 'Checked before it is written; in use from the next turn.',
    body: z.strictObject({ id: z.string().max(200) }),
    status: 201,
    async handle(c, { gateway }, read) {
      const { id } = await read();
      return c.json(answerOf(id, await gateway.administration.createProfile(id)), 201);
    },
  }),
  route('GET', '/v1/profiles/:id', 'admin', {
    summary: 'One profile: what its files say, and their schema',
    description: 'With the version that a change must name.',
    async handle(c, deps) {
      const { table } = await sayToCaller(c, deps);
      const id = idOf(c);
      const profile = deps.gateway.administration.profile(id, table);
      if (profile === undefined) throw noProfile(id);
      return c.json({ ...profile, ...wireProblems(profile.errors) });
    },
  }),
  route('PATCH', '/v1/profiles/:id', 'admin', {
    summary: 'Change the files of a profile, as they were read with `version`',
    description: 'Checked before they are written; 409 when the files have another version by then.',
    body: z.strictObject({
      version: versionSchema,
      changes: z.array(changeSchema).max(MAX_CONFIG_CHANGES).default([]),
      systemPrompt: prompt,
      subagentSystemPrompt: prompt,
    }),
    /** Makes all changes or none: 400 names every error by its field, 409 says that the files were edited in between. */
    async handle(c, { gateway }, read) {
      const { version, ...edit } = await read();
      const id = idOf(c);
      return c.json(answerOf(id, await gateway.administration.changeProfile(id, version, edit)));
    },
  }),
  route('DELETE', '/v1/profiles/:id', 'admin', {
    summary: 'Delete the files of a profile; a built-in one is as without them then',
    description: '409 when the files have another version by then, or a built-in profile has none.',
    query: { version: 'that of the profile as it was read' },
    async handle(c, { gateway }) {
      const id = idOf(c);
      const version = c.req.query('version') ?? '';
      if (version === '') throw badQuery('version', 'that of the profile as it was read');
      const result = await gateway.administration.removeProfile(id, version);
      switch (result.kind) {
        case 'removed':
          return c.json({ id, deleted: true, isBuiltIn: result.isBuiltIn });
        case 'unknown':
          throw noProfile(id);
        case 'stale':
          throw changedMeanwhile(id);
        case 'built_in': {
          const text = `"${id}" is a built-in profile without files: it stays.`;
          throw new HttpError(409, 'profile_built_in', text);
        }
        default:
          return result satisfies never;
      }
    },
  }),
  route('GET', '/v1/config', 'admin', {
    summary: 'The configuration with its schema, without secrets',
    description: 'With the version that a change must name.',
    async handle(c, deps) {
      const { table } = await sayToCaller(c, deps);
      const report = deps.gateway.administration.config(table);
      return c.json({ ...report, ...wireProblems(report.problems) });
    },
  }),
  route('PATCH', '/v1/config', 'admin', {
    summary: 'Change the configuration',
    description:
      'Every error is reported by its field, then nothing is written; most changes take effect at once.',
    body: z.strictObject({
      version: versionSchema,
      changes: z.array(changeSchema).min(1).max(MAX_CONFIG_CHANGES),
    }),
    async handle(c, { gateway }, read) {
      const { version, changes } = await read();
      const result = gateway.administration.changeConfig(version, changes);
      switch (result.kind) {
        case 'changed':
          return c.json(result);
        case 'stale': {
          const message =
            'config.json was edited since this version was read: read it again. Nothing was changed.';
          throw new HttpError(409, 'config_changed', message);
        }
        case 'refused':
          throw refusedChange('bad_config', result.problems);
        default:
          return result satisfies never;
      }
    },
  }),
  route('GET', '/v1/channels', 'admin', {
    summary: 'The networks, and what switches each on',
    description: 'Names of variables and whether they are set, never their values.',
    handle(c, { gateway }) {
      return c.json({ channels: gateway.administration.channelSetups() });
    },
  }),
  route('POST', '/v1/channels/:name', 'admin', {
    summary: 'Check a channel, or set it up',
    description:
      'Asks the platform. Variables that it accepts are saved in `.env` of `GATEWAY_HOME`, and a channel that was off starts at once; without variables, nothing is changed.',
    body: z.strictObject({
      variables: z.record(z.string().max(100), z.string().trim().min(1).max(10_000)).default({}),
    }),
    async handle(c, { gateway }, read) {
      const { variables } = await read();
      const name = c.req.param('name') ?? '';
      const result = await gateway.administration.setUpChannel(name, variables);
      if (result === undefined)
        throw new HttpError(
          404,
          'channel_not_found',
          `There is no channel "${name.slice(0, 80)}" to set up.`,
        );
      if (result.kind === 'refused') throw refusedChange('bad_config', result.problems);
      return c.json(result);
    },
  }),
];

function wireProblems(problems: readonly TextRef[]): {
  errors: string[];
  problems: readonly TextRef[];
} {
  return { errors: problems.map((problem) => inEnglish.text(problem)), problems };
}

/** 400 for changes that were not made, with every problem. */
function refusedChange(code: string, problems: readonly TextRef[]): HttpError {
  const lines = [inEnglish('problem.nothing_changed'), ...wireProblems(problems).errors];
  return new HttpError(400, code, lines.join('\n'), { problems });
}

function answerOf(id: string, result: ProfileChanged): { id: string; version: string } {
  switch (result.kind) {
    case 'changed':
      return { id, version: result.version };
    case 'unknown':
      throw noProfile(id);
    case 'stale':
      throw changedMeanwhile(id);
    case 'refused':
      throw refusedChange('bad_profile', result.problems);
    default:
      return result satisfies never;
  }
}

function idOf(c: HttpContext): string {
  return c.req.param('id') ?? '';
}

function noProfile(id: string): HttpError {
  return new HttpError(404, 'profile_not_found', `There is no profile "${id.slice(0, 80)}".`);
}

function changedMeanwhile(id: string): HttpError {
  const message = `The files of "${id}" were edited since this version was read: read it again. Nothing was changed.`;
  return new HttpError(409, 'profile_changed', message);
}
